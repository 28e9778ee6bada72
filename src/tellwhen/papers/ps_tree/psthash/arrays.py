"""The arrays of `psthash`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, I32Matrix, I64Matrix, keeps
from tellwhen.papers.ps_tree.arrays import CommonIndex, CommonScratch


class KeyLimits(NamedTuple):
    """Limits on the access predicates and the keys of a conjunction."""

    access: int  # access predicates of a conjunction, at most
    lists: int  # posting lists by its first access predicate, at most
    combinations: int  # posting lists by several access predicates together, at most


class PSTHashIndex(NamedTuple):
    """Posting lists by key. A key is a combination of one space of each access predicate of a conjunction.

    A *gap* is a space between two adjacent integers (`number_key_spaces` says which spaces are). It is in no key.
    """

    common: CommonIndex
    key_space: I32  # |0|1|-2|2|...    by space: its number in keys, or -1 - the number before it for a gap
    key_sizes: U8  # by number in keys: bit n - 1 is set if the space is in a key of n spaces
    table: I32  # |0|3|0|1|...    key number + 1, or 0; open addressing; the length is a power of two
    keys: I32Matrix  # [keys, access]    numbers of spaces, ascending; -1 behind the last one of a shorter key


@keeps("is_present", "effort")
class PSTHashScratch(NamedTuple):
    """Working arrays of a match."""

    common: CommonScratch
    spaces: I32  # the event's spaces that are in any key, by their numbers in keys, ascending
    usable: I32  # of these, the spaces that are in keys of the size that is looked up
    is_present: U8  # by space: 1 if it is one of the event's; zero between events
    key: I32  # the combination that is looked up
    chosen: I64  # indexes into `usable`: the spaces of this combination
    hits: I32  # numbers of the keys found
    gaps: I64  # one number: the entries of the event whose first or last space is a gap
    effort: I64


class KeyPredicates(NamedTuple):
    """The access predicates and the pairs of each conjunction. A pair is a conjunction and one key that these make."""

    access: I64Matrix  # [conjunctions, access]    predicates, the most selective first, then -1
    pair_start: I64  # |0|4|4|6|    pairs of conjunction c are pair_start[c]:pair_start[c+1]


class KeyTable(NamedTuple):
    """Distinct keys, and the hash table that finds them. At most half of the table is used."""

    table: I32  # as in PSTHashIndex, twice as long as `keys`
    keys: I32Matrix
    used: I64  # one number: the keys so far


class KeyCursor(NamedTuple):
    """The position of an enumeration of one conjunction's keys, by access predicate, in the order of their domains."""

    predicate: I64
    interval: I64  # the current interval of that predicate
    space: I64  # the current space of that interval
    key: I32  # the current spaces, then -1
