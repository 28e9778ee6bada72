"""The arrays of `kindex`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, keeps


class KIndexIndex(NamedTuple):
    """Conjunctions by size, in a posting list for every segment of every domain.

    A domain is cut wherever an interval begins or has ended: no predicate tells two values of one segment apart. The
    last list has all conjunctions of size 0, which match unless something excludes them.
    """

    size_start: I64  # |0|2|9|         conjunctions of size n are size_start[n]:size_start[n+1]
    slot: I32  # |1|-6|-6|       by conjunction; -1 - slot for one of several
    cut_start: I64  # |0|3|3|         cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64  # segment d + k of domain d is what lies before cut k and not before cut k - 1
    list_start: I64  # |0|4|4|9|       list of segment s is postings[list_start[s]:list_start[s+1]]
    postings: I32  # ascending: 2 * conjunction + 1, or 2 * conjunction where it excludes the segment
    unindexed: I32  # slots with a predicate over too many segments: always pending


class Coverage(NamedTuple):
    """Predicates as runs of segments, for building the lists."""

    domain: I32
    excluded: U8  # 1 where the segments are those that the predicate excludes
    start: I64  # |0|1|3|    intervals of p are start[p]:start[p+1]
    first: I64  # by interval: its first and its last segment
    last: I64


class Cursors(NamedTuple):
    """The lists that an event walks together, and where it is in each. By list: there is at most one per domain."""

    begin: I64
    end: I64
    at: I64  # in the part of the list that has conjunctions of the current size
    stop: I64
    key: I64  # the posting at `at`; HIGHEST at the end
    order: I64  # lists by ascending key


@keeps("stamps", "effort")
class KIndexScratch(NamedTuple):
    """Working arrays of a match."""

    cursors: Cursors
    stamps: I64
    effort: I64
