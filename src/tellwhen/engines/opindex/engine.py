"""`opindex`: subscriptions by pivot attribute, their predicates in sorted lists by operator (OpIndex, VLDB 2014).

The pivot of a conjunction is, of the domains it needs, the one that fewest events carry (section 4.1). An event concerns only the
conjunctions whose pivot it carries; their predicates lie in three lists (=, >=, <=), each sorted by attribute and operand and
cut into segments with a signature (4.2); matching counts down (5).

Operators are written in terms of the three, as in section 4.2, and further. IN is several entries of =, of which one
is true. Any other set of k disjoint intervals has an entry >= for each low end and <= for each high end: a value in one
of the intervals makes k+1 of these true, one outside k. Ends at infinity are always true, and left out.

Deviations: domains take the place of attributes (an attribute has one for each family of values). A list has as many
segments as its length is worth, up to one for each domain, where the paper has 32: then most of them need no search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tellwhen.compile.store import Store
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Option, Reader, Sizes, prefixed, unprefixed
from tellwhen.engines.opindex.arrays import OpIndexIndex, PredicateLists
from tellwhen.engines.opindex.kernels import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    match_pivots,
    segment_of,
    share_of,
    sign,
    signature_bit,
    sort_entries,
)
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.selectivity import frequency, least, points
from tellwhen.engines.shared.stabbing import numbered
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates

FULL = 4
"""Entries that a segment should have, at least."""

MOST = 1 << 20


Entry = tuple[int, ...]
"""Operator, domain and operand."""


class Entries(NamedTuple):
    """What predicates look like in the lists of the three operators: those of p are rank[start[p]:start[p+1]]."""

    start: I64
    rank: I32
    key_start: I64  # as in PredicateLists
    keys: I64


class OpIndex(ConjunctionEngine):
    """Counts down only the conjunctions whose pivot the event carries."""

    name = "opindex"
    summary = "pivot attributes, and sorted predicate lists with signatures (OpIndex)"
    options: ClassVar[Mapping[str, Option]] = {
        "segments": Option(MOST, 1, MOST, "segments of a predicate list, at most; as many as are of use by default")
    }
    longest = 1 << 12
    kind: ClassVar[type[Any]] = OpIndexIndex
    _index: Any

    def _build(self) -> None:
        snapshot = self.store.snapshot()
        slot, start, predicate = self.conjunctions()
        pivot = self._pivots(start, predicate)
        order = np.argsort(pivot, kind="stable")
        start, which = gather(start, order)
        pivot, predicate = pivot[order], predicate[which]
        pivot_start = np.searchsorted(pivot, np.arange(snapshot.domains + 1))
        entries, need = _entries(snapshot.predicates, snapshot.domains)
        lists, owner = self._lists(entries, snapshot.domains, start, predicate, pivot)
        sums = np.concatenate([[0], np.cumsum(need[predicate])])
        self._index = OpIndexIndex(
            lists._replace(conjunctions=(owner - pivot_start[pivot[owner]]).astype(np.int32)),
            pivot_start,
            conjunction_slot=slot[order],
            need=(sums[start[1:]] - sums[start[:-1]]).astype(np.int32),
        )

    def _pivots(self, start: I64, predicate: I32) -> I64:
        """The pivot of every conjunction, of equals the one asked for first; the number of domains for a conjunction without any."""
        snapshot = self.store.snapshot()
        found = np.full(len(start) - 1, snapshot.domains, dtype=np.int64)
        if len(predicate):
            _, rank = np.unique(rarity(self.store, predicate), return_inverse=True)
            domain = snapshot.predicates.domain[predicate]
            place = least(rank[domain], start)
            found[place >= 0] = domain[place[place >= 0]]
        return found

    def _lists(
        self, entries: Entries, domains: int, start: I64, predicate: I32, pivot: I64
    ) -> tuple[PredicateLists, I32]:
        """The lists of all pivots, and whose each entry is: owner o has the predicates of start[o]:start[o+1]."""
        key_start, keys = entries.key_start, entries.keys
        key_domain = np.repeat(np.tile(np.arange(domains, dtype=np.int32), 3), np.diff(key_start))
        list_start, ranks, owner = sort_entries(
            start, predicate, pivot, entries.start, entries.rank, key_start, domains
        )
        size = np.diff(list_start)
        count = np.minimum(np.maximum(1, size // FULL), min(self._most_segments, max(1, domains)))
        segment_start = np.concatenate([[0], np.cumsum(np.where(size > 0, count + 1, 0))])
        segments = np.zeros((segment_start[-1], 2), dtype=np.int64)
        sign(list_start, ranks, key_domain, segment_start, domains, segments)
        self._sign(segments)
        return PredicateLists(key_start, keys, key_domain, segment_start, segments, ranks, owner), owner

    @property
    def _most_segments(self) -> int:
        return self.option["segments"]

    def _sign(self, segments: I64) -> None:
        """Signatures stay as they are."""

    def reader(self) -> Reader:
        lists, *conjunctions = self._index
        return ConjunctionReader(self, match_pivots, (*lists, *conjunctions), self._sizes(np.int32))

    def _sizes(self, counter: Any) -> Sizes:
        count = len(self._index.conjunction_slot)
        domains = len(self._index.pivot_start) - 1
        return ("remaining", count, counter), ("done", count + 1, np.int32), ("first", domains, np.int32)

    def verify(self) -> None:
        predicates = self.store.snapshot().predicates
        slot, start, predicate = self.conjunctions(self._built)
        wanted: Counter[Any] = Counter()
        for of, begin, end in zip(slot.tolist(), start[:-1].tolist(), start[1:].tolist(), strict=True):
            conjunction = predicate[begin:end].tolist()
            entries = sorted(entry for p in conjunction for entry in _written(predicates, p))
            wanted[of, tuple(entries), sum(_true(predicates, p) for p in conjunction)] += 1
        found: Counter[Any] = Counter()
        for conjunction, (pivot, entries) in enumerate(self._by_conjunction()):
            domains = {domain for _, domain, *_ in entries}
            assert pivot in domains or not entries, "the pivot is a domain of the conjunction"
            found[
                int(self._index.conjunction_slot[conjunction]),
                tuple(sorted(entries)),
                int(self._index.need[conjunction]),
            ] += 1
        assert found == wanted, "every conjunction is there once, with all its entries"

    def _by_conjunction(self) -> list[tuple[int, list[Entry]]]:
        """The pivot and the entries of every conjunction, as the lists have them. All that they promise is looked at."""
        index, lists = self._index, self._index.lists
        domains, conjunctions = len(index.pivot_start) - 1, len(index.conjunction_slot)
        pivot = np.repeat(np.arange(domains + 1), np.diff(np.append(index.pivot_start, conjunctions))).tolist()
        assert len(pivot) == conjunctions
        assert index.pivot_start[0] == 0
        found: list[tuple[int, list[Entry]]] = [(domain, []) for domain in pivot]
        at = 0
        for number, (begin, end) in enumerate(pairwise(lists.segment_start.tolist())):
            operator, owner = divmod(number, domains)
            for part in range(end - begin - 1):
                first, last = lists.segments[begin + part : begin + part + 2, 0].tolist()
                assert first == at <= last, "segments and lists follow on one another"
                for k, rank in enumerate(lists.ranks[first:last].tolist(), first):
                    assert k == lists.segments[begin, 0] or lists.ranks[k - 1] <= rank, "lists are sorted"
                    domain = int(lists.key_domain[rank])
                    group = lists.key_start[operator * domains + domain : operator * domains + domain + 2]
                    assert group[0] <= rank < group[1]
                    assert segment_of(share_of(domain, domains), end - begin - 1) == part
                    assert lists.segments[begin + part, 1] & signature_bit(operator, domain, rank), (
                        "signatures cover all"
                    )
                    conjunction = int(index.pivot_start[owner] + lists.conjunctions[k])
                    assert pivot[conjunction] == owner
                    found[conjunction][1].append(self._entry(operator, domain, rank, k))
                at = last
        assert at == len(lists.ranks)
        for begin, end in pairwise(lists.key_start.tolist()):
            assert lists.keys[begin:end].tolist() == sorted(lists.keys[begin:end].tolist())
        # What matching leaves behind.
        assert not any(arrays["first"].any() for arrays in self.scratch._pool)
        return found

    def _entry(self, operator: int, domain: int, rank: int, k: int) -> Entry:
        """What entry k says."""
        return operator, domain, int(self._index.lists.keys[rank])

    def _index_arrays(self) -> dict[str, np.ndarray]:
        lists, *_ = self._index
        named = {name: array for name, array in self._index._asdict().items() if name != "lists"}
        return named | prefixed("lists", lists)

    def _restore_index(self, arrays: Mapping[str, np.ndarray]) -> None:
        lists = unprefixed("lists", PredicateLists, arrays)
        self._index = self.kind(lists, *(arrays[name] for name in self.kind._fields[1:]))


class OpIndexPlain(OpIndex):
    """The unoptimised variant of the paper (OpIndex-BS): one segment, and no signature."""

    name = "opindex-plain"
    summary = "OpIndex without segments and signatures (OpIndex-BS)"
    options: ClassVar[Mapping[str, Option]] = {}

    @property
    def _most_segments(self) -> int:
        return 1

    def _sign(self, segments: I64) -> None:
        segments[:, 1] = -1


def rarity(store: Store, predicate: I32) -> np.ndarray:
    """By domain: how many events carry it. Whether an attribute is there can be told of every event: the last choice."""
    domains = store.attributes.domains[: store.snapshot().domains]
    told = np.array([domain.kind == "presence" for domain in domains], dtype=bool)
    return np.where(told, 2.0, frequency(store, predicate))


def _entries(predicates: Predicates, domains: int) -> tuple[Entries, I64]:
    """The entries of all predicates, and how many of a predicate's must be true."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    owner = np.repeat(np.arange(len(many)), many)
    single = points(predicates) > 0
    is_point = single[owner]
    # A predicate that any value satisfies keeps its low end: the domain must be carried all the same.
    below = ~is_point & ((low != LOWEST) | ((high == HIGHEST) & (many[owner] == 1)))
    above = ~is_point & (high != HIGHEST)
    chosen = [np.flatnonzero(mask) for mask in (is_point, below, above)]
    operator = np.repeat(np.arange(3), [len(which) for which in chosen])
    owner = owner[np.concatenate(chosen)]
    operand = np.concatenate([low[chosen[0]], low[chosen[1]], high[chosen[2]]])
    key_start, keys, rank = numbered(operator * domains + predicates.domain[owner], operand, 3 * domains)
    count = np.bincount(owner, minlength=len(many))
    # Of 2k ends k+1 are true inside; those at infinity are not there, and would be.
    whole = np.bincount(owner[operand == LOWEST], minlength=len(many)) > 0
    need = np.where(single | whole, 1, count - many + 1)
    order = np.argsort(owner, kind="stable")
    start = np.concatenate([[0], np.cumsum(count)])
    return Entries(start, rank[order].astype(np.int32), key_start, keys), need


def _written(predicates: Predicates, p: int) -> list[Entry]:
    """The entries of a predicate, one by one."""
    domain, inner = int(predicates.domain[p]), intervals(predicates, p)
    if all(low == high for low, high in inner):
        return [(EQUAL, domain, low) for low, _ in inner]
    if inner == [(LOWEST, HIGHEST)]:
        return [(AT_LEAST, domain, LOWEST)]
    lows = [(AT_LEAST, domain, low) for low, _ in inner if low != LOWEST]
    return [*lows, *((AT_MOST, domain, high) for _, high in inner if high != HIGHEST)]


def _true(predicates: Predicates, p: int) -> int:
    """How many entries of a predicate a value makes true that satisfies it. All others make fewer true."""
    entries, inner = _written(predicates, p), intervals(predicates, p)

    def true(point: int) -> int:
        compare = {EQUAL: point.__eq__, AT_LEAST: point.__ge__, AT_MOST: point.__le__}
        return sum(compare[operator](operand) for operator, _, operand in entries)

    ends = {end + shift for interval in inner for end in interval for shift in (-1, 0, 1)}
    inside = {point for point in ends if any(low <= point <= high for low, high in inner)}
    (need,) = {true(point) for point in inside}
    assert all(true(point) < need for point in ends - inside if LOWEST <= point <= HIGHEST)
    return need


def intervals(predicates: Predicates, p: int) -> list[tuple[int, int]]:
    mine = slice(predicates.start[p], predicates.start[p + 1])
    return list(zip(predicates.low[mine].tolist(), predicates.high[mine].tolist(), strict=True))
