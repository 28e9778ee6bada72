"""Are PS-Trees what their intervals make of them, and is every conjunction in the lists that it should be in?

All functions raise AssertionError at the first difference.
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
from tellwhen.papers.ps_tree.tree import PSTree, intervals_of, members


def verify_tree(tree: PSTreeArrays, domain: I32, low: I64, high: I64, times: I64) -> None:
    """The trees are what these intervals make, no more and no less."""
    block, room, used, keys, ids, ends, _, spare = tree
    order = np.argsort(block)
    assert np.all((block + room)[order][:-1] <= block[order][1:]), "blocks overlap"
    assert np.all((used >= 1) & (used <= room)), "a block is empty, or larger than its room"
    live = members(block, used)
    assert np.all(keys[block] == LOWEST), "a domain begins before its first space"
    inner = np.ones(len(live), dtype=bool)
    inner[np.cumsum(used) - used] = False
    assert np.all(keys[live[inner]] > keys[live[inner] - 1]), "a block is not sorted"
    left = len(spare) - len(live)
    assert np.array_equal(np.sort(np.concatenate([ids[live], spare[:left]])), np.arange(len(spare))), (
        "an id is in use twice, or lost"
    )
    assert np.all(ends[ids[live[inner]]] > 0), "a cut that no interval needs"
    for k, mine in enumerate(np.split(live, np.cumsum(used)[:-1])):
        here = domain == k
        _verify_counters(tree, mine, low[here], high[here], times[here])


def _verify_counters(tree: PSTreeArrays, mine: I64, low: I64, high: I64, times: I64) -> None:
    """One domain, whose block has the indices `mine`."""
    begins, ids = tree.keys[mine], tree.ids[mine]
    bounded = high != HIGHEST
    cut = np.concatenate([low, high[bounded] + 1])
    at, weight = np.searchsorted(begins, cut), np.concatenate([times, times[bounded]])
    assert np.array_equal(begins[at], cut), "a cut is missing"
    assert np.array_equal(tree.ends[ids], np.bincount(at, weight, len(mine))), "ends are miscounted"
    since, upto = np.split(at, [len(low)])
    step = np.bincount(since, times, len(mine)) - np.bincount(upto, times[bounded], len(mine))
    assert np.array_equal(tree.covers[ids], np.cumsum(step)), "covering intervals are miscounted"


def verify_state(state: TreeState, common: CommonIndex, predicates: Predicates, predicate: I32) -> Spaces:
    """The trees have these predicates, with repetition, and the index has the spaces of the trees; returns them."""
    times = np.bincount(predicate, minlength=len(state.times))
    assert np.array_equal(times, state.times), "the trees have other predicates than the conjunctions"
    verify_tree(state.trees, *intervals_of(predicates, times))
    spaces = PSTree(state.trees).spaces(predicates, np.flatnonzero(times))
    assert np.array_equal(spaces.cut_start, common.cut_start), "the index has other spaces than the trees"
    assert np.array_equal(spaces.cuts, common.cuts), "the index has other spaces than the trees"
    return spaces


class Record(NamedTuple):
    """What stands together about a conjunction."""

    slot: int
    tested: list[int]
    domain: list[int]


def read_records(common: CommonIndex) -> dict[int, Record]:
    """All records, by their offset."""
    words, at = common.records.tolist(), 0
    found = {}
    while at < len(words):
        middle = at + HEAD_WORDS + words[at + 1]
        end = middle + words[at + 1] * (common.predicate_words - 1)
        found[at] = Record(words[at], words[at + HEAD_WORDS : middle], words[middle:end])
        at = end
    return found


class Expected(NamedTuple):
    """How a conjunction should be found."""

    known: list[int]  # its predicates that need no test then
    where: tuple[Hashable, ...] | int  # the names of its lists; or the domain it waits for, the last + 1 without any


def verify_lists(
    common: CommonIndex, conjunctions: Conjunctions, names: Sequence[Any], expect: Callable[[list[int]], Expected]
) -> None:
    """Every conjunction is where it should be, and its record has the predicates that are to be tested.

    names[k] says what list k is for. `expect` tells how a conjunction of these predicates should be found.
    """
    _, start, predicate = conjunctions
    expected: Counter[tuple[int, tuple[int, ...], Any]] = Counter()
    for c, slot in enumerate(conjunctions.slot.tolist()):
        mine = predicate[start[c] : start[c + 1]].tolist()
        known, where = expect(mine)
        tested = Counter(mine) - Counter(known)
        expected[slot, tuple(sorted(tested.elements())), where] += 1
    records = read_records(common)
    assert {*records, len(common.records)}.issuperset(common.waiting.tolist()), "a record is cut in two"
    lists: dict[int, list[Any]] = {}
    bounds = common.list_start.tolist()
    for name, begin, end in zip(names, bounds[:-1], bounds[1:], strict=True):
        for at in common.postings[begin:end].tolist():
            lists.setdefault(at, []).append(name)
    found: Counter[tuple[int, tuple[int, ...], Any]] = Counter()
    for at, record in records.items():
        domain = int(np.searchsorted(common.waiting, at, side="right")) - 1
        found[record.slot, tuple(sorted(record.tested)), tuple(sorted(lists[at])) if domain < 0 else domain] += 1
    assert found == expected, f"found {found - expected}, expected {expected - found}"
    assert len(lists) == sum(at < common.waiting[0] for at in records), "a posting is not the offset of a listed record"


def covered(spaces: Spaces, predicates: Predicates, p: int) -> list[int]:
    """The spaces that a predicate covers."""
    begin, end = predicates.start[p], predicates.start[p + 1]
    return [s for i in range(begin, end) for s in range(spaces.first[i], spaces.last[i] + 1)]
