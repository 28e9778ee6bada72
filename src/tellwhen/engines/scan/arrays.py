"""The arrays of `scan`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.engines.shared.kernels.true_predicates import Satisfied
from tellwhen.kernels.arrays import I32, U8, Stabbing


class ScanIndex(NamedTuple):
    """All slots, and a stabbing index of the first `stabbed` predicates; later predicates are tested one by one."""

    conjunctions: I32  # |0|1|4|    slots of conjunctions with at least one predicate
    head: I32  # |5|2|9|    a predicate of each, tested first
    others: I32  # all other slots
    stabbing: Stabbing  # its members are predicates
    stabbed: int


class ScanScratch(NamedTuple):
    """Working arrays of a match."""

    found: Satisfied
    candidates: I32
    registers: U8
