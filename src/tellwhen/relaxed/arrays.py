"""The arrays of relaxed matching, drawn.

    event ──> satisfied predicates ──> parts that ask for them ──> sums of the weights of slots

Sums of floats depend on their order, so predicates are taken in the order of their attributes' names: the weights of a
slot are always added in the same order, wherever the event and the index come from.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.engines.shared.kernels.true_predicates import Satisfied
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
    """By predicate, who asks for it: slots of which it is a part by itself, and parts of several predicates."""

    stabbing: Stabbing  # whose members are predicates
    attribute: I32  # |2|2|0|             by domain: the rank of its attribute among all names
    start: I64  # |0|2|2|5|           postings of predicate p are start[p]:start[p+1]
    posting: I32  # |0 4|-1 3 -2|       the number of a slot, or -1 - that of a part
    weight: F64  # by posting of a slot: that of the attribute
    slot: I32  # |7|8|12|            by number: ascending
    part_number: I32  # by part: the number of its slot
    part_weight: F64
    code_start: I64  # |0|3|8|            code of part p is code[code_start[p]:code_start[p+1]]
    code: I32


STAMP, SUM, TALLY_COLUMNS = range(3)
"""Columns of a tally: when its slot was last met, and the sum of the weights of its true parts."""


@keeps("tally", "seen")
class RelaxedScratch(NamedTuple):
    """Working arrays of a match."""

    found: Satisfied
    runs: I64  # attributes, and where the satisfied predicates on them begin and end
    tally: F64  # by slot, TALLY_COLUMNS each; the last element is the clock
    seen: I64  # by part: when it was last asked for; the last element is the clock
    touched: I32  # numbers of slots with a true part
    stack: U8
    registers: U8
