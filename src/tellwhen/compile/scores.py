"""What is a subscription worth? By slot its score, and the weights of its attributes.

Most indexes have neither: what is zero takes no room. Scores change in place, while other threads read them. A reader
notes `changes` before and after: if it is the same even number, nothing has changed in between.
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
"""The greatest magnitude of a weight: one of a subscription times one of an event, added up, is a finite number."""


class Worth(NamedTuple):
    """What a user says of one subscription."""

    score: float = 0.0
    weights: Mapping[str, float] | None = None


WORTHLESS = Worth()


class Weights(NamedTuple):
    """The weights of all slots that have some, by slot ascending."""

    slot: I32  # |3 3|8|
    name: I32  # |0 1|0|
    weight: F64


class Scores:
    """By slot; a slot beyond the end of the array has a score of 0."""

    def __init__(self) -> None:
        self._score = Growing(np.float64)
        self._slot, self._name, self._weight = Growing(np.int32), Growing(np.int32), Growing(np.float64)
        self._names: dict[str, int] = {}
        self.changes = 0  # odd while they change

    @property
    def growing(self) -> tuple[Growing, ...]:
        """The arrays, for whoever marks and rewinds them. A name that is left over does no harm."""
        return self._score, self._slot, self._name, self._weight

    @property
    def score(self) -> F64:
        """By slot, as far as there are any."""
        return self._score.view

    @property
    def weights(self) -> Weights:
        count = self._weight.count  # which is extended last: another thread may be about it
        return Weights(self._slot.data[:count], self._name.data[:count], self._weight.data[:count])

    @property
    def names(self) -> list[str]:
        """The attributes that have weights, by number."""
        return list(self._names)

    def of(self, slots: I32) -> F64:
        """The scores of some slots."""
        known = self._score.view
        found = np.zeros(len(slots))
        is_known = slots < len(known)
        found[is_known] = known[slots[is_known]]
        return found

    def extend(self, first: int, worths: Sequence[Worth]) -> None:
        """Those of new slots, the first of which is given."""
        if any(worth.score for worth in worths):
            self._fill(first)
            self._score.extend(np.array([worth.score for worth in worths]))
        for slot, worth in enumerate(worths, start=first):
            for name, weight in (worth.weights or {}).items():
                self._slot.append(slot)
                self._name.append(self._names.setdefault(name, len(self._names)))
                self._weight.append(weight)

    def room_for(self, slots: int) -> int:
        """The bytes that scores for all of these slots would take besides."""
        return max(0, slots - self._score.count) * self._score.data.itemsize

    def _fill(self, slots: int) -> None:
        """Zeros for all slots before this one that have no score yet."""
        self._score.extend(np.zeros(max(0, slots - self._score.count)))

    def change(self, slots: I32, scores: F64) -> int:
        """New scores of slots that there are; returns what `changes` was before."""
        if len(slots) and slots.max() >= self._score.count:
            self._fill(int(slots.max()) + 1)
        before = self.changes
        self.changes += 2 if before & 1 else 1  # odd already: an interrupt came in the middle of an earlier change
        self._score.data[slots] = scores
        self.changes += 1
        return before

    def adopt(self, other: Scores, first: int, slots: I32) -> None:
        """Append those of some slots of another, the first of which becomes slot `first`."""
        scores = other.of(slots)
        if scores.any():
            self._fill(first)
            self._score.extend(scores)
        theirs = other.weights
        place = np.full(int(theirs.slot[-1]) + 1 if len(theirs.slot) else 0, -1, dtype=np.int64)
        is_known = slots < len(place)
        place[slots[is_known]] = np.flatnonzero(is_known) + first
        mine = np.flatnonzero(place[theirs.slot] >= 0)
        mine = mine[np.argsort(place[theirs.slot[mine]], kind="stable")]
        numbers = np.array([self._names.setdefault(name, len(self._names)) for name in other.names], dtype=np.int32)
        self._slot.extend(place[theirs.slot[mine]].astype(np.int32))
        self._name.extend(numbers[theirs.name[mine]] if len(mine) else theirs.name[mine])
        self._weight.extend(theirs.weight[mine])

    def weights_of(self, slot: int) -> dict[str, float]:
        """The weights that were given for a slot."""
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
        """All arrays by name."""
        start, text = Texts.from_strings(self.names).arrays()
        weights = {"slot": self._slot.view, "name": self._name.view, "weight": self._weight.view}
        return {"score": self.score, **weights, "names_start": start, "names": text}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Scores:
        """From saved arrays. The scores are copied: they may change, and a mapped file may not."""
        found = cls()
        found._score = Growing(np.float64, np.array(arrays["score"]))
        found._slot, found._name = Growing(np.int32, arrays["slot"]), Growing(np.int32, arrays["name"])
        found._weight = Growing(np.float64, arrays["weight"])
        names = Texts(arrays["names_start"], arrays["names"])
        found._names = {names[number]: number for number in range(len(names))}
        return found


def checked_score(given: Any) -> float:
    """A score as a float, 0 for None; raises ScoreError for what is none."""
    if given is None:
        return 0.0
    number = _number(given, "a score")
    if math.isnan(number):
        raise ScoreError("a score is a number that can be compared, not NaN")
    return number


def checked_weights(given: Any) -> dict[str, float] | None:
    """Weights by the names of attributes; raises ScoreError for what is none. JSON as text will do, as in a table."""
    if given is None:
        return None
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    if not isinstance(given, Mapping):
        raise ScoreError(f"weights are a mapping from attributes to numbers, not {abbreviate(given)}")
    return {_checked_name(name): _checked_weight(name, weight) for name, weight in given.items()}


def _checked_name(name: Any) -> str:
    if not isinstance(name, str):
        raise ScoreError(f"weights are by the names of attributes, not by {abbreviate(name)}")
    return name


def _checked_weight(name: str, given: Any) -> float:
    number = _number(given, f"the weight of {name}")
    if not abs(number) <= WEIGHT_MAX:
        raise ScoreError(
            f"the weight of {name} is a number from -{WEIGHT_MAX:g} to {WEIGHT_MAX:g}, not {abbreviate(given)}"
        )
    return number


def _number(given: Any, what: str) -> float:
    if isinstance(given, bool | np.bool_) or not isinstance(
        given, int | float | Decimal | Fraction | np.integer | np.floating
    ):
        raise ScoreError(f"{what} is a number, not {abbreviate(given)}")
    try:
        return float(given) + 0.0  # which makes 0 of -0
    except (OverflowError, ValueError):
        raise ScoreError(f"{what} is a number that a double can hold, unlike {abbreviate(given)}") from None
