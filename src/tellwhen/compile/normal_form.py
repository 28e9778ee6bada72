"""Normal forms of expressions (A-Tree, "Translation").

Engines of conjunctions index the conjunctions of the disjunctive normal form. An engine of clauses indexes the clauses
of the conjunctive normal form.
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
    build_normal_form,
    list_distinct_tests,
    unfold,
)
from tellwhen.containers.growing import Growing
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, I32, I64, PROGRAM, Subscriptions

OVER_BUDGET = (
    f"it has more than {MASK_BITS} different predicates, or its normal form more than {MAX_CONJUNCTIONS} terms "
    "(in translation: more than its option says), or too many predicates in one"
)
"""Message with which an engine of conjunctions refuses an expression."""


class Conjunctions(NamedTuple):
    """Conjunctions (or clauses) with their slots. Those of one subscription are adjacent."""

    slot: I32  # |0|1|-3|-3|    -1 - slot if the subscription has several conjunctions
    start: I64  # |0|3|5|...     conjunction c has the predicates predicate[start[c]:start[c+1]]
    predicate: I32


class NormalForm(NamedTuple):
    """The normal form of one program."""

    lengths: I64  # number of predicates of each conjunction (or clause)
    predicates: I32  # predicates of all conjunctions, one conjunction after the other


class Translator:
    """Translator of programs into conjunctions, which are kept for later builds of the engine's index.

    Parameters
    ----------
    predicates_max
        Most predicates of one conjunction.
    conjunctions
        Conjunctions that were translated and saved earlier.
    goal
        ACCEPT translates into conjunctions, REJECT into clauses.
    """

    def __init__(self, predicates_max: int, conjunctions: Conjunctions | None = None, goal: int = ACCEPT) -> None:
        self.predicates_max, self.goal = predicates_max, goal
        self.conjunctions_max = MAX_CONJUNCTIONS  # of one program
        self.seconds = 0.0  # spent on normal forms so far
        self._slot, self._start, self._predicate = Growing(np.int32), Growing(np.int64, [0]), Growing(np.int32)
        if conjunctions is not None:
            self._replace_conjunctions(conjunctions)
        self._forms: dict[int, NormalForm | None] = {}  # by slot; `find_translatable` computes them, `add` uses them

    @property
    def conjunctions(self) -> Conjunctions:
        return Conjunctions(self._slot.view, self._start.view, self._predicate.view)

    def select_conjunctions(self, slots: I32) -> Conjunctions:
        slot, start, predicate = self.conjunctions
        is_chosen = np.isin(np.where(slot < 0, -1 - slot, slot), slots)
        lengths = np.diff(start)
        return Conjunctions(
            slot[is_chosen],
            np.concatenate([[0], np.cumsum(lengths[is_chosen])]),
            predicate[np.repeat(is_chosen, lengths)],
        )

    def find_translatable(self, subscriptions: Subscriptions, slots: I32) -> NDArray[np.bool_]:
        """Return for each slot whether its normal form is within the budget."""
        lengths = subscriptions.start[slots + 1] - subscriptions.start[slots]
        is_within: NDArray[np.bool_] = (subscriptions.kind[slots] != CONJUNCTION) | (lengths <= self.predicates_max)
        programs = np.flatnonzero(subscriptions.kind[slots] == PROGRAM)
        self._forms = {slot: self._translate(subscriptions, slot) for slot in slots[programs].tolist()}
        is_within[programs] = [form is not None for form in self._forms.values()]
        return is_within

    def add(self, subscriptions: Subscriptions, slots: I32) -> None:
        """Add the conjunctions of the programs among the slots. All programs must be within the budget."""
        for slot in slots[subscriptions.kind[slots] == PROGRAM].tolist():
            form = self._forms.get(slot) or self._translate(subscriptions, slot)
            assert form is not None
            has_several = len(form.lengths) != 1
            self._slot.extend(np.full(len(form.lengths), -1 - slot if has_several else slot, dtype=np.int32))
            self._start.extend(np.cumsum(form.lengths) + self._predicate.count)
            self._predicate.extend(form.predicates)
        self._forms = {}

    def _translate(self, subscriptions: Subscriptions, slot: int) -> NormalForm | None:
        """Return the normal form of a program, or None if it is over budget."""
        begin = time.perf_counter()
        code = subscriptions.code[subscriptions.start[slot] : subscriptions.start[slot + 1]]
        form = find_normal_form(code, self.goal, self.conjunctions_max)
        self.seconds += time.perf_counter() - begin
        if form is not None and len(form.lengths) and form.lengths.max() > self.predicates_max:
            return None
        return form

    def drop_removed(self, died: I64, version: int) -> None:
        """Drop the conjunctions of removed subscriptions."""
        self._replace_conjunctions(self.select_conjunctions(np.flatnonzero(died > version).astype(np.int32)))

    def _replace_conjunctions(self, conjunctions: Conjunctions) -> None:
        self._slot = Growing(np.int32, conjunctions.slot)
        self._start = Growing(np.int64, conjunctions.start)
        self._predicate = Growing(np.int32, conjunctions.predicate)


BIT_NUMBERS = np.arange(MASK_BITS)


def find_normal_form(code: I32, goal: int, conjunctions_max: int) -> NormalForm | None:
    """Return the normal form of a program, or None if it has too many predicates, states or conjunctions.

    Parameters
    ----------
    code
        The code of the program.
    goal
        ACCEPT for the disjunctive normal form, REJECT for the conjunctive one.
    conjunctions_max
        Most conjunctions, or clauses, of the normal form.
    """
    tests = np.empty(MASK_BITS, dtype=np.int32)
    local, needed, first_state = np.empty((3, len(code) // 3), dtype=np.int64)
    width = list_distinct_tests(code, tests, local)
    if width < 0:
        return None
    states = np.empty((MAX_STATES, STATE_WORDS), dtype=np.int64)
    count = unfold(code, needed, first_state, states)
    if count < 0:
        return None
    forms = np.empty((count, conjunctions_max + 1), dtype=np.int64)
    count = build_normal_form(code, local, goal, first_state, states, forms)
    if count < 0:
        return None
    bits = forms[0, :count, None] >> BIT_NUMBERS[:width] & 1 != 0
    return NormalForm(bits.sum(axis=1), np.broadcast_to(tests[:width], bits.shape)[bits])
