"""The arrays of `scan`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, U8, U64, Runs, Stabbing, keeps


class ScanIndex(NamedTuple):
    """All slots, and a stabbing index of the predicates numbered below `stabbed`."""

    conjunctions: I32  # |0|1|4|    slots of conjunctions with at least one predicate
    head: I32  # |5|2|9|    a predicate of each, tested first
    others: I32  # slots of all else
    stabbing: Stabbing  # whose members are predicates
    stabbed: int


@keeps("first_entry", "truth")
class ScanScratch(NamedTuple):
    """Working arrays of a match."""

    runs: Runs
    first_entry: I32  # zero between events
    truth: U64  # zero between events
    satisfied: I32  # true predicates
    candidates: I32
    registers: U8
