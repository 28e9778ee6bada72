"""The arrays of `kindex`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, keeps


class KIndexIndex(NamedTuple):
    """Conjunctions by size, in a posting list for every space of every domain.

    A domain is cut where an interval begins, and behind the end of an interval: each predicate has one result for
    all values of a space. The last list has all conjunctions of size 0, which match unless a predicate excludes them.
    """

    size_start: I64  # |0|2|9|         conjunctions of size n are size_start[n]:size_start[n+1]
    slot: I32  # |1|-6|-6|       by conjunction; -1 - slot for one of several
    cut_start: I64  # |0|3|3|         cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64  # space k of domain d begins at cut k - 1 and ends before cut k; its number is cut_start[d] + d + k
    list_start: I64  # |0|4|4|9|       list of space s is postings[list_start[s]:list_start[s+1]]
    postings: I32  # ascending: 2 * conjunction + 1, or 2 * conjunction where it excludes the space
    # An event matches conjunction c only if it has the domains excluded_domain[excluded_start[c]:excluded_start[c+1]].
    excluded_start: I64  # |0|0|2|
    excluded_domain: I32  # |1|2|      domains of inequalities whose excluded spaces are in the lists
    unindexed: I32  # slots with a predicate over too many spaces; they are tested on every event


class Coverage(NamedTuple):
    """The spaces that each predicate covers, in runs."""

    domain: I32
    excluded: U8  # 1 if the runs are the spaces that the predicate excludes
    start: I64  # |0|1|3|    runs of predicate p are start[p]:start[p+1]
    first: I64  # by run: its first space
    last: I64  # by run: its last space


class PostingLists(NamedTuple):
    """The lists of all spaces, as KIndexIndex has them."""

    start: I64  # |0|4|4|9|         list of space s is postings[start[s]:start[s+1]]
    postings: I32


class Cursors(NamedTuple):
    """A cursor for each list that an event walks: at most one list per domain, and the list of size 0."""

    at: I64  # by list: the current posting
    end: I64  # by list
    order: I64  # ascending: posting << 32 | list, the posting being the one at `at`


@keeps("first_entry", "stamps", "effort")
class KIndexScratch(NamedTuple):
    """Working arrays of a match."""

    cursors: Cursors
    first_entry: I32  # zero between events
    stamps: I64
    effort: I64
