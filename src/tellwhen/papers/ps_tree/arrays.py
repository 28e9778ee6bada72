"""The arrays of PS-Trees, and those that `pstbloom` and `psthash` both have, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U64, Runs, Stabbing, keeps

MAX_LISTS = 256
"""Posting lists that a conjunction may be in. It waits for a domain instead if its access predicate needs more."""


class PSTreeArrays(NamedTuple):
    """PS-Trees: the spaces of each domain in a sorted block, with room behind them.

    A space has an id that stays the same while others come and go. Its counters are found by the id.
    """

    block: I64  # |0|4|7|          where the block of domain d begins in keys and ids
    room: I64  # |4|3|8|          spaces that it has room for
    used: I64  # |3|1|5|          spaces that it has
    keys: I64  # |LOWEST 20 61 .|LOWEST . .|...    where a space begins; it ends just before the next key
    ids: I32  # |7 1 4 .|...
    ends: I32  # by id: intervals that begin at the key of the space, or end just before it
    covers: I64  # by id: intervals that cover the space
    spare: I32  # the ids not in use are the first ones here, len(spare) - used.sum() of them


class Changes(NamedTuple):
    """Intervals to insert and delete, as changes of the counters at cuts."""

    start: I64  # |0|2|2|    changes on domain d are start[d]:start[d+1]
    cut: I64  # |20 61|    ascending
    ends: I64  # |1 1|      added to `ends` at the cut
    covers: I64  # |1 -1|     added to `covers` of all spaces from the cut on


class TreeState(NamedTuple):
    """What an engine knows besides its index, and saves with it."""

    trees: PSTreeArrays
    times: I32  # by predicate: how many times it is in the trees
    rank: I32  # by predicate: its rank by selectivity when the index was built
    waiting: int  # conjunctions that wait for a domain


class CommonIndex(NamedTuple):
    """Conjunctions as records, in posting lists or waiting for a domain.

    Records (see `kernels/records.py`) stand in the order of their first lists. Behind those in lists come those that
    wait for a domain, in the order of the domains, then those without predicates.
    """

    stabbing: Stabbing  # whose members are predicates
    cut_start: I64  # |0|3|3|       cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64  # space k of domain d begins at cut k - 1 and ends before cut k; its number is cut_start[d] + d + k
    list_start: I64  # |0|4|4|9|     list k is postings[list_start[k]:list_start[k+1]]
    postings: I64  # |0 8 12 20|...    offsets of records
    waiting: I64  # |90|90|120|   records that wait for domain d are waiting[d]:waiting[d+1]; the last ones always match
    records: I32  # |slot n p p domain domain|...    `psthash` has no domains
    predicate_words: int  # words that a predicate has in a record: 2 with its domain, else 1


@keeps("truth", "stamps")
class CommonScratch(NamedTuple):
    """Working arrays of a match."""

    runs: Runs
    truth: U64  # zero between events
    satisfied: I32
    stamps: I64
    prefetched: I64  # one sum, never read: it keeps the loads that prefetch alive
