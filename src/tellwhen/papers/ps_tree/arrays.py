"""The arrays of PS-Trees, and the arrays that `pstbloom` and `psthash` have in common, drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, U64, Runs, Stabbing, keeps


class PSTreeArrays(NamedTuple):
    """PS-Trees: the predicate spaces of each domain in a sorted block, with free places behind the spaces.

    A space keeps its id while other spaces come and go. The id finds the counters of the space.
    """

    block: I64  # |0|4|7|          first place of the block of domain d, in keys and ids
    room: I64  # |4|3|8|          places of the block
    used: I64  # |3|1|5|          places in use: the spaces of the domain
    keys: I64  # |LOWEST 20 61 .|LOWEST . .|...    first point of a space; its last point is just before the next key
    ids: I32  # |7 1 4 .|...
    ends: I32  # by id: intervals that begin at the key of the space, or end just before the key
    covers: I64  # by id: intervals that cover the space, the paper's predicate counter
    spare: I32  # the first len(spare) - used.sum() elements are the ids that are not in use


class Intervals(NamedTuple):
    """Intervals to insert into PS-Trees, or to delete from them."""

    domain: I32
    low: I64
    high: I64
    times: I64  # how often the interval is inserted; negative if it is deleted


class CounterChanges(NamedTuple):
    """Inserted and deleted intervals as changes of the counters at cuts, the points where spaces begin."""

    start: I64  # |0|2|2|    changes on domain d are start[d]:start[d+1]
    cut: I64  # |20 61|    ascending within a domain
    ends: I64  # |1 1|      difference of `ends` at the cut
    covers: I64  # |1 -1|     difference of `covers` of all spaces from the cut on


class TreeState(NamedTuple):
    """State that an engine saves beside its index."""

    trees: PSTreeArrays
    times: I32  # by predicate: the number of times that it was inserted into the trees
    rank: I32  # by predicate: its rank by selectivity when the index was built
    waiting: int  # conjunctions that wait for a domain


class ListRanges(NamedTuple):
    """The posting lists of each conjunction, as ranges of consecutive list numbers."""

    begin: I64  # |0|2|5|    conjunction c is in the lists of the ranges begin[c]:end[c]
    end: I64  # |2|2|6|    begin[c] == end[c] for a conjunction that is in no list
    first: I64 | I32  # by range: its first list
    last: I64 | I32  # by range: its last list


class Assignment(NamedTuple):
    """The posting lists of each conjunction, or the domain that the conjunction waits for."""

    access: I64  # by conjunction: its most selective predicate, or -1 without predicates
    is_known: U8  # by predicate of a conjunction: 1 if the posting lists of the conjunction imply it
    ranges: ListRanges
    lists: int


class Records(NamedTuple):
    """Records of conjunctions, as CommonIndex has them."""

    begin: I64  # |0|5|9|    record r is words[begin[r]:begin[r+1]]
    words: I32


class PostingLists(NamedTuple):
    """Posting lists, as CommonIndex has them."""

    start: I64  # |0|4|4|9|    list k is postings[start[k]:start[k+1]]
    postings: I64


class CommonIndex(NamedTuple):
    """Conjunctions as records, in posting lists or waiting for a domain.

    Records are in the order of their first posting lists. Behind them are the records that wait for a domain, in the
    order of the domains, and last the records without predicates.

        records  | slot  n  p p p (domain domain domain) (known known) | slot  n  ...

    A record has the n predicates that are still to be tested, the most selective first. Records of `pstbloom` also have
    the domains of these predicates. Records of `psthash` also have the predicates that their posting lists imply.
    """

    stabbing: Stabbing  # its members are predicates
    cut_start: I64  # |0|3|3|       cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64  # space k of domain d begins at cut k - 1 and ends before cut k; its number is cut_start[d] + d + k
    list_start: I64  # |0|4|4|9|     list k is postings[list_start[k]:list_start[k+1]]
    postings: I64  # |0 8 12 20|...    offsets of records
    waiting: I64  # |90|90|120|   records that wait for domain d are waiting[d]:waiting[d+1]; the last ones always match
    records: I32  # |slot n p p domain domain|...
    predicate_words: int  # words of a predicate in a record: 2 with its domain, else 1
    known_words: int  # words of a record for the predicates that its lists imply; -1 behind the last one


@keeps("truth", "stamps")
class CommonScratch(NamedTuple):
    """Working arrays that both engines need for a match."""

    runs: Runs
    truth: U64  # zero between events
    satisfied: I32
    stamps: I64
    prefetched: I64  # one sum, which nothing reads: storing it keeps the prefetch loads alive


class EngineFunctions(NamedTuple):
    """The steps in which the matching of `pstbloom` and of `psthash` differs, as compiled functions."""

    find_lists: Callable[..., Any]  # find the posting lists of an event; returns how many, and their postings
    emit_listed: Callable[..., Any]  # write the matches in these lists
    clear_marks: Callable[..., Any]  # clear the marks that find_lists has left
