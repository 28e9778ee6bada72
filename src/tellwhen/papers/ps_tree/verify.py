"""Checks of PS-Trees and of the posting lists that `pstbloom` and `psthash` build on PS-Trees.

The trees must be what their intervals make, and every conjunction must be in the lists that it belongs to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates
from tellwhen.papers.ps_tree.arrays import CommonIndex, PSTreeArrays, TreeState
from tellwhen.papers.ps_tree.kernels.records import HEAD_WORDS
from tellwhen.papers.ps_tree.tree import PSTree, collect_intervals, concatenate_ranges


def check_trees(tree: PSTreeArrays, domain: I32, low: I64, high: I64, times: I64) -> None:
    """Raise AssertionError unless the trees are exactly what these intervals make."""
    block, room, used, keys, ids, spare = tree.block, tree.room, tree.used, tree.keys, tree.ids, tree.spare
    order = np.argsort(block)
    assert np.all((block + room)[order][:-1] <= block[order][1:]), "two blocks overlap"
    assert np.all((used >= 1) & (used <= room)), "a block has no space, or more spaces than places"
    live = concatenate_ranges(block, used)
    assert np.all(keys[block] == LOWEST), "the first space of a domain does not begin at LOWEST"
    inner = np.ones(len(live), dtype=bool)
    inner[np.cumsum(used) - used] = False
    assert np.all(keys[live[inner]] > keys[live[inner] - 1]), "a block is not sorted"
    left = len(spare) - len(live)
    assert np.array_equal(np.sort(np.concatenate([ids[live], spare[:left]])), np.arange(len(spare))), (
        "an id is in use twice, or neither in use nor spare"
    )
    assert np.all(tree.ends[ids[live[inner]]] > 0), "no interval begins or ends at a cut"
    for k, places in enumerate(np.split(live, np.cumsum(used)[:-1])):
        is_here = domain == k
        _check_counters(tree, places, low[is_here], high[is_here], times[is_here])


def _check_counters(tree: PSTreeArrays, places: I64, low: I64, high: I64, times: I64) -> None:
    """Check the counters of one domain, whose block has these places."""
    begins, ids = tree.keys[places], tree.ids[places]
    bounded = high != HIGHEST
    cut = np.concatenate([low, high[bounded] + 1])
    at, weight = np.searchsorted(begins, cut), np.concatenate([times, times[bounded]])
    assert np.array_equal(begins[at], cut), "an interval begins or ends where there is no cut"
    assert np.array_equal(tree.ends[ids], np.bincount(at, weight, len(places))), "`ends` has a wrong count"
    since, upto = np.split(at, [len(low)])
    step = np.bincount(since, times, len(places)) - np.bincount(upto, times[bounded], len(places))
    assert np.array_equal(tree.covers[ids], np.cumsum(step)), "`covers` has a wrong count"


def check_state(state: TreeState, common: CommonIndex, predicates: Predicates, predicate: I32) -> Spaces:
    """Check that the trees have these predicates, with repetition, and the index their spaces; return the spaces."""
    times = np.bincount(predicate, minlength=len(state.times))
    assert np.array_equal(times, state.times), "the trees have other predicates than the conjunctions"
    check_trees(state.trees, *collect_intervals(predicates, times))
    spaces = PSTree(state.trees).number_spaces(predicates, np.flatnonzero(times))
    assert np.array_equal(spaces.cut_start, common.cut_start), "the index has other spaces than the trees"
    assert np.array_equal(spaces.cuts, common.cuts), "the index has other spaces than the trees"
    return spaces


class Record(NamedTuple):
    """One record of a `CommonIndex`."""

    slot: int
    tested: list[int]  # predicates
    domain: list[int]  # of these predicates, if records have domains
    known: list[int]  # predicates that its lists imply, if records have them


def read_records_by_offset(common: CommonIndex) -> dict[int, Record]:
    words, at = common.records.tolist(), 0
    records = {}
    while at < len(words):
        middle = at + HEAD_WORDS + words[at + 1]
        end = middle + words[at + 1] * (common.predicate_words - 1)
        known = [p for p in words[end : end + common.known_words] if p >= 0]
        records[at] = Record(words[at], words[at + HEAD_WORDS : middle], words[middle:end], known)
        at = end + common.known_words
    return records


class Place(NamedTuple):
    """The posting lists that a conjunction belongs to, or the domain that the conjunction waits for."""

    known: list[int]  # its predicates that the lists imply
    where: tuple[Hashable, ...] | int  # the names of its lists, or the domain it waits for: the last + 1 without any


def check_lists(
    common: CommonIndex, conjunctions: Conjunctions, names: Sequence[Any], place: Callable[[list[int]], Place]
) -> None:
    """Check that every conjunction is where it belongs, and that its record has the predicates to be tested.

    names[k] is the name of list k. `place` tells where a conjunction of some predicates belongs.
    """
    start, predicate = conjunctions.start, conjunctions.predicate
    expected: Counter[tuple[int, tuple[int, ...], tuple[int, ...], Any]] = Counter()
    for c, slot in enumerate(conjunctions.slot.tolist()):
        members = predicate[start[c] : start[c + 1]].tolist()
        known, where = place(members)
        tested = Counter(members) - Counter(known)
        expected[slot, tuple(sorted(tested.elements())), tuple(sorted(known) if common.known_words else ()), where] += 1
    records = read_records_by_offset(common)
    assert {*records, len(common.records)}.issuperset(common.waiting.tolist()), "`waiting` points into a record"
    lists: dict[int, list[Any]] = {}
    bounds = common.list_start.tolist()
    for name, begin, end in zip(names, bounds[:-1], bounds[1:], strict=True):
        for at in common.postings[begin:end].tolist():
            lists.setdefault(at, []).append(name)
    actual: Counter[tuple[int, tuple[int, ...], tuple[int, ...], Any]] = Counter()
    for at, record in records.items():
        domain = int(np.searchsorted(common.waiting, at, side="right")) - 1
        where = tuple(sorted(lists[at])) if domain < 0 else domain
        actual[record.slot, tuple(sorted(record.tested)), tuple(sorted(record.known)), where] += 1
    assert actual == expected, f"the index has {actual - expected} instead of {expected - actual}"
    assert len(lists) == sum(at < common.waiting[0] for at in records), "a posting is not the offset of a listed record"


def list_covered_spaces(spaces: Spaces, predicates: Predicates, p: int) -> list[int]:
    begin, end = predicates.start[p], predicates.start[p + 1]
    return [s for i in range(begin, end) for s in range(spaces.first[i], spaces.last[i] + 1)]
