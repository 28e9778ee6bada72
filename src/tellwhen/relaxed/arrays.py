"""The arrays of relaxed matching, drawn.

    event ──> true predicates ──> their parts ──> sums of the weights of slots

A sum of floats depends on the order of addition. So predicates are taken in the order of their attributes' names: the
weights of a slot are always added in the same order, wherever the event and the index come from.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.engines.shared.kernels.true_predicates import Satisfied
from tellwhen.kernels.arrays import F64, I32, I64, U8, U64, Stabbing, keeps

AND, OR, STORE, LOAD, OPERATIONS = range(5)
"""Operations of a part's code, which is in postfix form.

- AND and OR take the last n values, and push the result.
- STORE takes the last value, and writes it to register n. LOAD pushes the value of register n.

An operation is the word -1 - (OPERATIONS * n + operation). A word from 0 on is a predicate, whose value is pushed.
"""


class Parts(NamedTuple):
    """The parts of some slots. The rank of an attribute is its position among all names, sorted."""

    slot: I32  # |4 4 4|9|        by part, ascending
    attribute: I32  # |0 2 3|2|        by part: the rank of its attribute
    start: I64  # |0 0 5|5|        code of part p is start[p]:start[p+1]; empty if the part is a single predicate
    code: I32
    pair_part: I32  # by pair of a part and a predicate in it; the pairs have no order
    pair_predicate: I32


class RelaxedIndex(NamedTuple):
    """Postings by predicate: slots of which the predicate is a part by itself, and parts of several predicates."""

    stabbing: Stabbing  # whose members are predicates
    attribute: I32  # |2|2|0|             by domain: the rank of its attribute
    start: I64  # |0|2|2|5|           postings of predicate p are start[p]:start[p+1]
    posting: I32  # |0 4|-1 3 -2|       the position of a slot in `slot`, or -1 - the number of a part
    weight: F64  # by posting of a slot: the weight of the attribute
    slot: I32  # |7|8|12|            ascending
    part_owner: I32  # by part: the position of its slot in `slot`
    part_weight: F64
    code_start: I64  # |0|3|8|            code of part p is code[code_start[p]:code_start[p+1]]
    code: I32


STAMP, SUM, TALLY_COLUMNS = range(3)
"""Columns of a tally: the clock when its slot last had a true part, and the sum of the weights of its true parts."""


@keeps("tally", "part_stamp")
class RelaxedScratch(NamedTuple):
    """Working arrays of a match. The clock of an array is its last element, and grows with every event."""

    satisfied: Satisfied
    runs: I64  # by attribute: its rank, and the begin and the end of its true predicates
    tally: F64  # by position of a slot: TALLY_COLUMNS each; then the clock
    part_stamp: I64  # by part: the clock when it was last evaluated; then the clock
    candidates: I32  # positions of the slots with a true part
    stack: U8
    registers: U8


class MatchIndex(NamedTuple):
    """Parts by slot, to add up the weights of the true parts of matches. Slots are first, first + 1, ..."""

    first: int
    start: I64  # |0|3|3|5|           parts of slot first + i are start[i]:start[i+1], by the rank of their attribute
    attribute: I32  # |0 2 3|1 2|     by part: the rank of its attribute
    weight: F64
    code_start: I64  # |0|1|4|...       code of part p is code[code_start[p]:code_start[p+1]]
    code: I32


@keeps("first_entry")
class MatchScratch(NamedTuple):
    """Working arrays for the parts of matches."""

    first_entry: I32  # zero between events
    truth: U64  # only the bits of a part's own predicates are written, then read
    stack: U8
    registers: U8
