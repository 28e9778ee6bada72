"""Which conjunctions does an expression become? Those of its disjunctive normal form (A-Tree, "Translation").

For an engine that indexes clauses: the clauses of its conjunctive normal form.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.kernels.normal_form import (
    MASK_BITS,
    MAX_CONJUNCTIONS,
    MAX_STATES,
    STATE_WORDS,
    distinct_tests,
    normal_form,
    unfold,
)
from tellwhen.containers.growing import Growing
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, I32, I64, PROGRAM, Subscriptions

OVER_BUDGET = (
    f"it has more than {MASK_BITS} different predicates, or its normal form more than {MAX_CONJUNCTIONS} terms "
    "(in translation: more than its option says), or too many predicates in one"
)
"""Why an engine of conjunctions refuses an expression."""


class Conjunctions(NamedTuple):
    """Conjunctions, or clauses, and whose they are; those of one subscription are neighbours."""

    slot: I32  # |0|1|-3|-3|    -1 - slot for one of several
    start: I64  # |0|3|5|...     predicates of conjunction c are predicate[start[c]:start[c+1]]
    predicate: I32


class Form(NamedTuple):
    """The normal form of one program."""

    lengths: I64  # predicates of each conjunction, or clause
    predicates: I32  # of all of them


class Translator:
    """The conjunctions of programs: made once, when a subscription comes, and kept for every later build.

    With the goal ACCEPT they are conjunctions, with REJECT clauses. A program may become `conjunctions_max` of them.
    """

    def __init__(self, predicates_max: int, conjunctions: Conjunctions | None = None, goal: int = ACCEPT) -> None:
        self.predicates_max, self.goal = predicates_max, goal
        self.conjunctions_max = MAX_CONJUNCTIONS
        self.seconds = 0.0  # spent on normal forms so far
        self._slot, self._start, self._predicate = Growing(np.int32), Growing(np.int64, [0]), Growing(np.int32)
        if conjunctions is not None:
            self._keep(conjunctions)
        self._found: dict[int, Form | None] = {}  # by slot: what `takes` found, for `add`

    @property
    def conjunctions(self) -> Conjunctions:
        return Conjunctions(self._slot.view, self._start.view, self._predicate.view)

    def conjunctions_of(self, slots: I32) -> Conjunctions:
        """The conjunctions of some slots."""
        slot, start, predicate = self.conjunctions
        is_chosen = np.isin(np.where(slot < 0, -1 - slot, slot), slots)
        lengths = np.diff(start)
        return Conjunctions(
            slot[is_chosen],
            np.concatenate([[0], np.cumsum(lengths[is_chosen])]),
            predicate[np.repeat(is_chosen, lengths)],
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
        """Keep the conjunctions of the programs among the slots. It takes all of these."""
        for slot in slots[subscriptions.kind[slots] == PROGRAM].tolist():
            form = self._found.get(slot) or self._form(subscriptions, slot)
            assert form is not None
            several = len(form.lengths) != 1
            self._slot.extend(np.full(len(form.lengths), -1 - slot if several else slot, dtype=np.int32))
            self._start.extend(np.cumsum(form.lengths) + self._predicate.count)
            self._predicate.extend(form.predicates)
        self._found = {}

    def _form(self, subscriptions: Subscriptions, slot: int) -> Form | None:
        """The normal form of a program, unless it is over budget."""
        begin = time.perf_counter()
        code = subscriptions.code[subscriptions.start[slot] : subscriptions.start[slot + 1]]
        form = translated(code, self.goal, self.conjunctions_max)
        self.seconds += time.perf_counter() - begin
        if form is not None and len(form.lengths) and form.lengths.max() > self.predicates_max:
            return None
        return form

    def forget(self, died: I64, version: int) -> None:
        """Drop the conjunctions of removed subscriptions."""
        self._keep(self.conjunctions_of(np.flatnonzero(died > version).astype(np.int32)))

    def _keep(self, conjunctions: Conjunctions) -> None:
        """These and no others."""
        self._slot = Growing(np.int32, conjunctions.slot)
        self._start = Growing(np.int64, conjunctions.start)
        self._predicate = Growing(np.int32, conjunctions.predicate)


BITS = np.arange(MASK_BITS)


def translated(code: I32, goal: int, conjunctions_max: int) -> Form | None:
    """The normal form of a program's code; None if it would have too many predicates, states or conjunctions."""
    tests = np.empty(MASK_BITS, dtype=np.int32)
    local, needed, first_state = np.empty((3, len(code) // 3), dtype=np.int64)
    width = distinct_tests(code, tests, local)
    if width < 0:
        return None
    states = np.empty((MAX_STATES, STATE_WORDS), dtype=np.int64)
    count = unfold(code, needed, first_state, states)
    if count < 0:
        return None
    forms = np.empty((count, conjunctions_max + 1), dtype=np.int64)
    count = normal_form(code, local, goal, first_state, states, forms)
    if count < 0:
        return None
    bits = forms[0, :count, None] >> BITS[:width] & 1 != 0
    return Form(bits.sum(axis=1), np.broadcast_to(tests[:width], bits.shape)[bits])
