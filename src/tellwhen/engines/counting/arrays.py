"""The arrays of `counting`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U64, Runs, Stabbing, keeps


class CountingIndex(NamedTuple):
    """Conjunctions that wait for the intervals of their predicates.

    A subscription that is one conjunction has the number of its slot, so that a match needs no look-up. Translated
    conjunctions are numbered behind the slots.
    """

    stabbing: Stabbing  # its members are conjunctions
    need: U64  # |7 0 3 2 ...|  predicates by conjunction, eight bytes to a word; 0 for a slot that is not built as one
    translated_slot: I32  # |1|-6|-6|     slots of the translated conjunctions; -1 - slot for one of several
    always: I32  # conjunctions without predicates
    conjunctions: int  # the number of them


@keeps("stamps", "effort")
class CountingScratch(NamedTuple):
    """Working arrays of a match."""

    runs: Runs
    remaining: U64  # by conjunction: predicates not satisfied yet, eight bytes to a word
    done: I32  # conjunctions whose predicates are all satisfied
    stamps: I64
    effort: I64
