"""Scores of subscriptions and weights of their attributes, by slot.

Most indexes have neither, so zeros at the end of the arrays take no memory. Scores change in place while other threads
read them. A reader takes the number `changes` before and after reading: if both are the same even number, the scores
have not changed in between.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tellwhen.containers.growing import Growing
from tellwhen.containers.texts import Texts
from tellwhen.errors import ScoreError, abbreviate
from tellwhen.kernels.arrays import F64, I32

WEIGHT_MAX = 1e150
"""Greatest magnitude of a weight, so that a sum of products of two weights is a finite number."""


class Worth(NamedTuple):
    """Score and weights of one subscription."""

    score: float = 0.0
    weights: Mapping[str, float] | None = None


NO_WORTH = Worth()


class Weights(NamedTuple):
    """Weights of all slots that have weights, ordered by slot."""

    slot: I32  # |3 3|8|
    name: I32  # |0 1|0|   number of the attribute in `Scores.names`
    weight: F64


class Scores:
    """Scores and weights of all slots of a store. A slot beyond the end of the array has the score 0."""

    def __init__(self) -> None:
        self._score = Growing(np.float64)
        self._slot, self._name, self._weight = Growing(np.int32), Growing(np.int32), Growing(np.float64)
        self._names: dict[str, int] = {}
        self.changes = 0  # odd while scores change

    @property
    def growing_arrays(self) -> tuple[Growing, ...]:
        """Arrays that a rewind of the store shortens. A name that is left over does no harm."""
        return self._score, self._slot, self._name, self._weight

    @property
    def scores_by_slot(self) -> F64:
        return self._score.view

    @property
    def weights(self) -> Weights:
        count = self._weight.count  # the array that is extended last, since another thread may be extending them
        return Weights(self._slot.data[:count], self._name.data[:count], self._weight.data[:count])

    @property
    def names(self) -> list[str]:
        """Names of the attributes that have weights, by number."""
        return list(self._names)

    def get_scores(self, slots: I32) -> F64:
        known = self._score.view
        scores = np.zeros(len(slots))
        is_known = slots < len(known)
        scores[is_known] = known[slots[is_known]]
        return scores

    def extend(self, first_slot: int, worths: Sequence[Worth]) -> None:
        """Append the scores and weights of new slots, which begin with `first_slot`."""
        if any(worth.score for worth in worths):
            self._append_zeros(first_slot)
            self._score.extend(np.array([worth.score for worth in worths]))
        for slot, worth in enumerate(worths, start=first_slot):
            for name, weight in (worth.weights or {}).items():
                self._slot.append(slot)
                self._name.append(self._names.setdefault(name, len(self._names)))
                self._weight.append(weight)

    def compute_growth_bytes(self, slot_count: int) -> int:
        """Return how many more bytes a score for each of `slot_count` slots would take."""
        return max(0, slot_count - self._score.count) * self._score.data.itemsize

    def _append_zeros(self, slot_count: int) -> None:
        """Append zeros until the first `slot_count` slots have a score."""
        self._score.extend(np.zeros(max(0, slot_count - self._score.count)))

    def change(self, slots: I32, scores: F64) -> int:
        """Change the scores of existing slots, and return the value of `changes` before."""
        if len(slots) and slots.max() >= self._score.count:
            self._append_zeros(int(slots.max()) + 1)
        before = self.changes
        self.changes += 2 if before & 1 else 1  # odd already if an interrupt stopped an earlier change
        self._score.data[slots] = scores
        self.changes += 1
        return before

    def adopt(self, other: Scores, first_slot: int, slots: I32, scores: F64 | None = None) -> None:
        """Append the scores and weights of some slots of another store. Their new slots begin with `first_slot`.

        `scores` are the scores of the slots if they were read before.
        """
        if scores is None:
            scores = other.get_scores(slots)
        if scores.any():
            self._append_zeros(first_slot)
            self._score.extend(scores)
        weights = other.weights
        new_slot = np.full(int(weights.slot[-1]) + 1 if len(weights.slot) else 0, -1, dtype=np.int64)
        has_weights = slots < len(new_slot)
        new_slot[slots[has_weights]] = np.flatnonzero(has_weights) + first_slot
        entries = np.flatnonzero(new_slot[weights.slot] >= 0)
        entries = entries[np.argsort(new_slot[weights.slot[entries]], kind="stable")]
        numbers = np.array([self._names.setdefault(name, len(self._names)) for name in other.names], dtype=np.int32)
        self._slot.extend(new_slot[weights.slot[entries]].astype(np.int32))
        self._name.extend(numbers[weights.name[entries]] if len(entries) else weights.name[entries])
        self._weight.extend(weights.weight[entries])

    def get_weights(self, slot: int) -> dict[str, float]:
        """Return the weights of a slot by attribute."""
        begin, end = np.searchsorted(self._slot.view, [slot, slot + 1]).tolist()
        names = self.names
        return {
            names[name]: weight
            for name, weight in zip(
                self._name.view[begin:end].tolist(), self._weight.view[begin:end].tolist(), strict=True
            )
        }

    # saving

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name."""
        start, text = Texts.from_strings(self.names).arrays()
        weights = {"slot": self._slot.view, "name": self._name.view, "weight": self._weight.view}
        return {"score": self.scores_by_slot, **weights, "names_start": start, "names": text}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Scores:
        """Restore saved arrays. Copy the scores, which may change while a mapped file must not."""
        restored = cls()
        restored._score = Growing(np.float64, np.array(arrays["score"]))
        restored._slot, restored._name = Growing(np.int32, arrays["slot"]), Growing(np.int32, arrays["name"])
        restored._weight = Growing(np.float64, arrays["weight"])
        names = Texts(arrays["names_start"], arrays["names"])
        restored._names = {names[number]: number for number in range(len(names))}
        return restored


def parse_score(value: Any) -> float:
    """Return a score as a float, 0 for None. Raise ScoreError if the value is not a score."""
    if value is None:
        return 0.0
    number = _parse_number(value, "a score")
    if math.isnan(number):
        raise ScoreError("a score is a number that can be compared, not NaN")
    return number


def parse_weights(value: Any) -> dict[str, float] | None:
    """Return weights by attribute, from a mapping or from JSON text. Raise ScoreError if the value is neither."""
    if value is None:
        return None
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, Mapping):
        raise ScoreError(f"weights are a mapping from attributes to numbers, not {abbreviate(value)}")
    return {_validate_name(name): _parse_weight(name, weight) for name, weight in value.items()}


def _validate_name(name: Any) -> str:
    if not isinstance(name, str):
        raise ScoreError(f"weights are by the names of attributes, not by {abbreviate(name)}")
    return name


def _parse_weight(name: str, value: Any) -> float:
    number = _parse_number(value, f"the weight of {name}")
    if not abs(number) <= WEIGHT_MAX:
        raise ScoreError(
            f"the weight of {name} is a number from -{WEIGHT_MAX:g} to {WEIGHT_MAX:g}, not {abbreviate(value)}"
        )
    return number


def _parse_number(value: Any, role: str) -> float:
    """Return the value as a float. Raise ScoreError if it is no number; `role` names the value in the message."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | Decimal | Fraction | np.integer | np.floating
    ):
        raise ScoreError(f"{role} is a number, not {abbreviate(value)}")
    try:
        return float(value) + 0.0  # + 0.0 turns -0 into 0
    except (OverflowError, ValueError):
        raise ScoreError(f"{role} is a number that a double can hold, unlike {abbreviate(value)}") from None
