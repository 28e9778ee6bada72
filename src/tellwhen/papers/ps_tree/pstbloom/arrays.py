"""The arrays of `pstbloom`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I64, U64, keeps
from tellwhen.papers.ps_tree.arrays import CommonIndex, CommonScratch

MAX_SIGNED_SPACES = 32
"""Spaces that a predicate in signatures may cover."""


class PSTBloomIndex(NamedTuple):
    """List s has the conjunctions whose access predicate covers space s.

    The signature of a space has the conjunctions that have a tested predicate which covers the space. In a record,
    the domain of a predicate that is in no signature is -1 - domain.
    """

    common: CommonIndex
    signature_start: I64  # |0|2|2|5|    signature of space s is signatures[signature_start[s]:signature_start[s+1]]
    signatures: U64


@keeps("space", "effort")
class PSTBloomScratch(NamedTuple):
    """Working arrays of a match."""

    common: CommonScratch
    space: I64  # by domain: the event's space + 1, or 0; zero between events
    effort: I64
