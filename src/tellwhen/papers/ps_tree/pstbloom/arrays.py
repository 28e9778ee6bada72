"""The arrays of `pstbloom`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U64, keeps
from tellwhen.papers.ps_tree.arrays import CommonIndex, CommonScratch

LIST_PART = 64
"""Postings that are tested against the first signature before the first of their records is read."""


class SignatureLimits(NamedTuple):
    """Limits on the posting lists and the signatures of a conjunction."""

    bits: int  # of a signature for each conjunction in it; 0 for no signatures
    lists: int  # posting lists of a conjunction, at most
    signed_spaces: int  # spaces that a predicate in signatures covers, at most


class PSTBloomIndex(NamedTuple):
    """Posting lists and signatures of predicate spaces.

    List s has the conjunctions whose access predicate covers space s. Signature s has the conjunctions with another
    predicate that covers space s. In a record, the domain of a predicate that is in no signature is -1 - domain.
    """

    common: CommonIndex
    first_domain: I32  # by posting: the first domain in the record; -1 - domains if the record has no predicate
    signature_start: I64  # |0|2|2|5|    signature of space s is signatures[signature_start[s]:signature_start[s+1]]
    signatures: U64


@keeps("space", "effort")
class PSTBloomScratch(NamedTuple):
    """Working arrays of a match."""

    common: CommonScratch
    space: I64  # by domain: the event's space + 1, or 0; zero between events; behind the domains, 1 during an event
    passed: I64  # records of a part of a list that its first signatures admit
    effort: I64
