"""Filter of matches by an expression on the payloads of their subscriptions: symmetric matching.

The expression comes with an event, and is evaluated on a payload as a subscription is on an event (BE-Tree, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import I32
from tellwhen.language.ast import Expr

ABSENT = 0
"""The number for payloads that lack the key. None has a number of its own: it may hide a member of the same name."""


class ExpressionFilter:
    """Test whether the payloads of slots satisfy an expression.

    `columns` has the keys that the expression may need, each with its distinct values and, by slot, the number of the
    payload's value among them.
    """

    def __init__(self, expression: Expr, columns: Mapping[str, tuple[list[Any], I32]]) -> None:
        self._expression, self._columns = expression, columns
        self._is_true: dict[tuple[int, ...], bool] = {}  # by numbers of values: many payloads have equal values

    def mask_slots(self, slots: I32) -> np.ndarray:
        """Return for each of the slots whether the expression is true of its payload."""
        if not self._columns:
            return np.full(len(slots), self._evaluate(()), dtype=np.bool_)
        combination = np.zeros(len(slots), dtype=np.int64)
        for values, numbers in self._columns.values():
            combination = np.unique(combination * len(values) + numbers[slots], return_inverse=True)[1]
        _, first, position = np.unique(combination, return_index=True, return_inverse=True)
        examples = np.stack([numbers[slots[first]] for _, numbers in self._columns.values()], axis=1)
        is_true = np.array([self._evaluate(tuple(row)) for row in examples.tolist()], dtype=np.bool_)
        return is_true[position]

    def _evaluate(self, numbers: tuple[int, ...]) -> bool:
        is_true = self._is_true.get(numbers)
        if is_true is None:
            columns = zip(self._columns.items(), numbers, strict=True)
            payload = {key: values[number] for (key, (values, _)), number in columns if number != ABSENT}
            is_true = self._is_true[numbers] = self._expression.evaluate(payload) is True
        return is_true
