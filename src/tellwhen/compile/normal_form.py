"""Any expression -> conjunctions: the disjunctive form that engines of conjunctions index (A-Tree, "Translation").

Or, for an engine that indexes these, the clauses of its conjunctive form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.containers.growing import Growing
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, I32, I64, PROGRAM, Subscriptions
from tellwhen.kernels.normal_form import MASK_BITS, distinct_tests, normal_form

MAX_CONJUNCTIONS = 64
"""Conjunctions, or clauses, that one subscription may become."""


_Form = tuple[I64, I32]


class Conjunctions(NamedTuple):
    """Conjunctions, or clauses, and whose they are; those of one subscription are neighbours."""

    slot: I32  # |0|1|-3|-3|    -1 - slot for one of several
    start: I64  # |0|3|5|...     predicates of conjunction r are predicate[start[r]:start[r+1]]
    predicate: I32


class Translator:
    """The conjunctions of programs, made once when a subscription comes and kept for every later build.

    With the goal ACCEPT they are conjunctions, with REJECT clauses (see kernels/translate.py).
    """

    def __init__(self, predicates_max: int, conjunctions: Conjunctions | None = None, goal: int = ACCEPT) -> None:
        self.predicates_max, self.goal = predicates_max, goal
        empty = conjunctions or Conjunctions(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32))
        self._slot, self._start, self._predicate = (
            Growing(np.int32, empty.slot), Growing(np.int64, empty.start), Growing(np.int32, empty.predicate),
        )  # fmt: skip
        self._found: dict[int, _Form | None] = {}  # what `takes` found out, for `add`

    @property
    def conjunctions(self) -> Conjunctions:
        return Conjunctions(self._slot.view, self._start.view, self._predicate.view)

    def conjunctions_of(self, slots: I32) -> Conjunctions:
        """The conjunctions of some of the slots."""
        slot, start, predicate = self.conjunctions
        mine = np.isin(np.where(slot < 0, -1 - slot, slot), slots)
        lengths = np.diff(start)
        return Conjunctions(
            slot[mine], np.concatenate([[0], np.cumsum(lengths[mine])]), predicate[np.repeat(mine, lengths)]
        )

    def takes(self, subscriptions: Subscriptions, slots: I32) -> NDArray[np.bool_]:
        """Which slots have a normal form within the budget?"""
        lengths = subscriptions.start[slots + 1] - subscriptions.start[slots]
        taken: NDArray[np.bool_] = (subscriptions.kind[slots] != CONJUNCTION) | (lengths <= self.predicates_max)
        programs = np.flatnonzero(subscriptions.kind[slots] == PROGRAM)
        self._found = {slot: self._form(subscriptions, slot) for slot in slots[programs].tolist()}
        taken[programs] = [form is not None for form in self._found.values()]
        return taken

    def add(self, subscriptions: Subscriptions, slots: I32) -> None:
        """Keep the conjunctions of programs among the slots, all of which it takes."""
        for slot in slots[subscriptions.kind[slots] == PROGRAM].tolist():
            form = self._found.get(slot) or self._form(subscriptions, slot)
            assert form is not None
            lengths, predicates = form
            several = len(lengths) != 1
            self._slot.extend(np.full(len(lengths), -1 - slot if several else slot, dtype=np.int32))
            self._start.extend(np.cumsum(lengths) + self._predicate.count)
            self._predicate.extend(predicates)
        self._found = {}

    def _form(self, subscriptions: Subscriptions, slot: int) -> _Form | None:
        """The lengths of the conjunctions and their predicates, unless that is over budget."""
        code = subscriptions.code[subscriptions.start[slot] : subscriptions.start[slot + 1]]
        tests = np.empty(MASK_BITS, dtype=np.int32)
        local = np.empty(len(code) // 3, dtype=np.int32)
        found = np.empty(MAX_CONJUNCTIONS + 1, dtype=np.uint64)
        width = distinct_tests(code, tests, local)
        count = normal_form(code, local, self.goal, found) if width >= 0 else -1
        if count < 0:
            return None
        bits = (found[:count, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1) != 0
        lengths = bits.sum(axis=1)
        if count and lengths.max() > self.predicates_max:
            return None
        return lengths, np.broadcast_to(tests[:width], bits.shape)[bits]

    def forget(self, died: I64, version: int) -> None:
        """Drop the conjunctions of removed subscriptions."""
        alive = self.conjunctions_of(np.flatnonzero(died > version).astype(np.int32))
        self._slot, self._predicate = Growing(np.int32, alive.slot), Growing(np.int32, alive.predicate)
        self._start = Growing(np.int64, alive.start)
