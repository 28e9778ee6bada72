"""The arrays of `psthash`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, I32Matrix, keeps
from tellwhen.papers.ps_tree.arrays import CommonIndex, CommonScratch

MAX_COMBINATIONS = 64
"""Posting lists that a conjunction of several access predicates may be in. More lists cost memory, and prune little.
One access predicate alone may have up to MAX_LISTS."""


class PSTHashIndex(NamedTuple):
    """List k has the conjunctions with key k: a combination of one space of each of their access predicates."""

    common: CommonIndex
    key_sizes: U8  # by space: bit n - 1 is set if it is in a key of n spaces
    table: I32  # |0|3|0|1|...    key number + 1, or 0; open addressing; the length is a power of two
    keys: I32Matrix  # [keys, access]    spaces, ascending; -1 behind the last one of a shorter key


@keeps("is_present", "effort")
class PSTHashScratch(NamedTuple):
    """Working arrays of a match."""

    common: CommonScratch
    spaces: I32  # the event's spaces that are in some key, ascending
    usable: I32  # those that are in a key of the size that is looked up
    is_present: U8  # by space: is it one of the event's? Zero between events
    key: I32  # the combination that is looked up
    chosen: I64  # the indices in `usable` of its spaces
    hits: I32  # numbers of the keys found
    effort: I64


class KeyTable(NamedTuple):
    """Distinct keys, and the hash table that finds them. At most half of the table is used."""

    table: I32  # as in PSTHashIndex, twice as long as there is room for keys
    keys: I32Matrix
    used: I64  # one number: the keys so far


class Cursor(NamedTuple):
    """Where an enumeration of the keys of one conjunction is, by access predicate, in the order of their domains."""

    predicate: I64
    interval: I64  # the interval of that predicate
    space: I64  # the space of that interval
    key: I32  # these spaces; -1 behind the last one
