"""The arrays of `pstbloom`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U64, Stabbing


class PSTBloomIndex(NamedTuple):
    """Conjunctions in the lists of the spaces of their access predicate, and in the signatures of other spaces.

    Records of conjunctions (see kernels/pstrows.py) stand in the order of their first lists. After those in lists come those
    that wait for a domain, domain by domain, then those without predicates.
    """

    stabbing: Stabbing  # whose members are predicates
    cut_start: I64  # |0|3|3|       cuts of domain L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64  # space L + k of domain L is what lies before cut k and not before cut k - 1
    list_start: I64  # |0|4|4|9|     list of space s is conjunctions[list_start[s]:list_start[s+1]]
    conjunctions: I64  # where their records begin
    waiting: I64  # |90|90|120|   records that wait for domain L are waiting[L]:waiting[L+1]; the last are always true
    records: I32  # |slot n p p domain domain|...    -1 - domain where the predicate is in no signature
    sign_start: I64  # |0|2|2|5|     signature of space s is sign[sign_start[s]:sign_start[s+1]]
    sign: U64
