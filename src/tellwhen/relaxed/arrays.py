"""The arrays of relaxed matching, drawn.

    event ──> satisfied predicates ──> parts that ask for them ──> true parts of every slot ──> sum of their weights

Parts are numbered slot by slot and, within a slot, in the order of their attributes' names: so that the same weights
are always added in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.engines.shared.kernels.satisfied import Satisfied
from tellwhen.kernels.arrays import F64, I32, I64, U8, Stabbing, keeps

ALL, SOME, KEEP, RECALL, OPERATIONS = range(5)
"""Operations of a part's code, which is in postfix form: join the last n values by AND, by OR; keep a value in register
n; recall it. Each is the word -1 - (OPERATIONS * n + operation); other words are predicates."""


class Parts(NamedTuple):
    """The parts of some slots."""

    slot: I32  # |4 4 4|9|        by part, ascending
    attribute: I32  # |0 2 3|2|        by part: the rank of its attribute among all names
    start: I64  # |0 0 5|5|        code of part p is start[p]:start[p+1]; empty if it is a single predicate
    code: I32
    asked_part: I32  # by pair of a part and a predicate that it asks for, the pairs in no particular order
    asked_predicate: I32


class RelaxedIndex(NamedTuple):
    """The parts, and by predicate those that ask for it."""

    stabbing: Stabbing  # whose members are predicates
    posting_start: I64  # |0|2|2|5|       postings of predicate p are posting_start[p]:posting_start[p+1]
    posting: I32  # |0 4|1 3 4|       parts
    part_slot: I32
    part_attribute: I32
    part_weight: F64
    code_start: I64
    code: I32
    first_part: I64  # |0|3|4|         parts of the k-th slot that has any are first_part[k]:first_part[k+1]
    place: I32  # by part: the k of its slot


@keeps("hit")
class RelaxedScratch(NamedTuple):
    """Working arrays of a match."""

    found: Satisfied
    hit: I64  # by part: when it was last asked for; then by slot with parts; the last element is the clock
    holds: U8  # by part that was asked for: is it true?
    touched: I32  # slots with parts that were asked for, as numbered in `first_part`
    stack: U8
    registers: U8
