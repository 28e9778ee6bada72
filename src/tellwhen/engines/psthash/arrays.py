"""The arrays of `psthash`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, Stabbing


class PSTHashIndex(NamedTuple):
    """Conjunctions in the lists of combinations of spaces, one space of each access predicate; lists are found by hashing.

    Records stand in the same order as in PSTBloomIndex.
    """

    stabbing: Stabbing  # whose members are predicates
    cut_start: I64  # |0|3|3|       cuts of domain L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64  # space L + k of domain L is what lies before cut k and not before cut k - 1
    sizes: U8  # by space: bit n - 1 is set if it is in some key of n spaces
    table: I32  # key number + 1, or 0; open addressing
    keys: I32  # [keys, access]     spaces, ascending; -1 behind the last of fewer
    list_start: I64  # |0|4|4|9|     list of key k is conjunctions[list_start[k]:list_start[k+1]]
    conjunctions: I64  # where their records begin
    waiting: I64  # |90|90|120|   records that wait for domain L are waiting[L]:waiting[L+1]; the last are always true
    records: I32  # |slot n p p|...
