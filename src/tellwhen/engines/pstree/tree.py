"""In which predicate space does a value lie, while predicates come and go? (PS-Tree, section 4.)

A tree per domain: disjoint spaces from LOWEST to HIGHEST, cut wherever an interval begins or has ended. A space counts
the predicates that cover it and the historical events in it; its cut, the ends of intervals there. Inserting splits
spaces, deleting merges those that no predicate tells apart any more.

Deviations: instead of a trie of digits with links to leaves, the spaces of a domain stand in one sorted block. To locate
a value is a binary search, of at most as many steps as a point has bits, and the next space is the neighbour. A batch
of predicates is sorted once and merged into the blocks it touches. A cut goes when no interval ends there, not only
when its space is covered by nothing: so the example of section 4.4 has it, too.
"""

from __future__ import annotations

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.pstree import kernels
from tellwhen.engines.pstree.arrays import PSTreeArrays
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.engines.shared.stabbing import numbered
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Events, Predicates


class PSTree:
    """The trees of all domains, in one set of flat arrays."""

    def __init__(self, arrays: PSTreeArrays | None = None) -> None:
        wide, narrow = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.arrays = arrays or PSTreeArrays(wide, wide, wide, wide, narrow, narrow, wide, wide, narrow)

    def __len__(self) -> int:
        """Spaces of all domains."""
        return int(self.arrays.used.sum())

    @property
    def domains(self) -> int:
        return len(self.arrays.block)

    def insert(self, domain: I32, low: I64, high: I64, times: I64 | None = None) -> None:
        """Insert intervals, each as often as `times` says; deleting is a negative number of times."""
        if not len(domain):
            return
        times = np.ones(len(domain), dtype=np.int64) if times is None else times
        self.know(int(domain.max()) + 1)
        bounded = high != HIGHEST
        start, cut, number = numbered(
            np.concatenate([domain, domain[bounded]]), np.concatenate([low, high[bounded] + 1]), self.domains
        )
        begun = np.bincount(number[: len(low)], times, len(cut)).astype(np.int64)
        ended = np.bincount(number[len(low) :], times[bounded], len(cut)).astype(np.int64)
        self._make_room(np.diff(start))
        left = self._spare(len(cut))
        block, _, count, *rest = self.arrays
        kernels.change(start, cut, begun + ended, begun - ended, block, count, *rest, left)

    def delete(self, domain: I32, low: I64, high: I64) -> None:
        """Delete intervals that were inserted."""
        self.insert(domain, low, high, np.full(len(domain), -1, dtype=np.int64))

    def know(self, domains: int) -> None:
        """There are so many domains. A new one is one space, and has room for no other."""
        fresh = domains - self.domains
        if fresh <= 0:
            return
        left = self._spare(fresh) - fresh
        block, room, used, keys, ids, _, _, _, spare = self.arrays
        one = np.ones(fresh, dtype=np.int64)
        self.arrays = self.arrays._replace(
            block=np.concatenate([block, len(keys) + np.arange(fresh)]),
            room=np.concatenate([room, one]),
            used=np.concatenate([used, one]),
            keys=np.concatenate([keys, np.full(fresh, LOWEST)]),
            ids=np.concatenate([ids, spare[left : left + fresh]]),
        )

    def _spare(self, wanted: int) -> int:
        """How many ids are spare, at least as many as wanted."""
        arrays = self.arrays
        known, used = len(arrays.spare), len(self)
        if known - used < wanted:
            more = max(wanted - (known - used), known // 2)
            ends, covers, events, spare = (
                np.concatenate([array, np.zeros(more, dtype=array.dtype)]) for array in arrays[5:]
            )
            spare[known - used : known - used + more] = np.arange(known + more - 1, known - 1, -1)
            self.arrays = arrays._replace(ends=ends, covers=covers, events=events, spare=spare)
        return len(self.arrays.spare) - used

    def _make_room(self, added: I64) -> None:
        """Blocks that so many cuts may not fit into go to the end of the pool, with doubled room."""
        block, room, count, keys, ids, *_ = self.arrays
        need = count + added
        full = np.flatnonzero(need > room)
        if not len(full):
            return
        wider = room.copy()
        wider[full] = np.where(count[full] > 1, 2, 1) * need[full]
        end = int((block + room).max())
        moved = block.copy()
        if end + int(wider[full].sum()) <= len(keys):
            moved[full] = end + np.cumsum(wider[full]) - wider[full]
        else:  # all blocks into a new pool, so that no holes are left
            full = np.arange(self.domains)
            moved = np.cumsum(wider) - wider
            size = int(wider.sum())
            size += size // 2 if len(self) > self.domains else 0
            keys, ids = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int32)
        old, new = _members(block[full], count[full]), _members(moved[full], count[full])
        keys[new], ids[new] = self.arrays.keys[old], self.arrays.ids[old]
        self.arrays = self.arrays._replace(block=moved, room=wider, keys=keys, ids=ids)

    def locate(self, domain: I32, point: I64) -> I32:
        """The ids of the spaces that points lie in."""
        return self.arrays.ids[self._place(domain, point)]

    def _place(self, domain: I32, point: I64) -> I64:
        """Where in the blocks these are."""
        place = np.empty(len(point), dtype=np.int64)
        kernels.locate(self.arrays.block, self.arrays.used, self.arrays.keys, domain, point, place)
        return place

    def observe(self, events: Events) -> None:
        """Count events in their spaces; they become history."""
        block, _, count, keys, ids, _, _, counters, _ = self.arrays
        kernels.count_events(block, count, keys, ids, counters, events.domain, events.low, events.high)

    def matching(self, domain: I32, low: I64, high: I64) -> I64:
        """For every interval that was inserted: the historical events in it."""
        live = _members(self.arrays.block, self.arrays.used)
        upto = np.zeros(len(self.arrays.keys) + 1, dtype=np.int64)
        upto[live + 1] = self.arrays.events[self.arrays.ids[live]]
        np.cumsum(upto, out=upto)
        return upto[self._place(domain, high) + 1] - upto[self._place(domain, low)]

    def spaces(self, predicates: Predicates, used: I32 | I64) -> Spaces:
        """All spaces as they are now, numbered through, and which of them the predicates in use cover."""
        block, _, count, keys, *_ = self.arrays
        cut_start = np.concatenate([[0], np.cumsum(count - 1)])
        cuts = keys[_members(block + 1, count - 1)]
        domain, _, start, low, high = predicates
        first, last = np.ones(len(low), dtype=np.int64), np.zeros(len(low), dtype=np.int64)
        kernels.cover(cut_start, cuts, used, domain, start, low, high, first, last)
        return Spaces(cut_start, cuts, first, last)

    def shown(self, domain: int) -> list[tuple[int, int, int]]:
        """The spaces of a domain: where each begins, how many predicates cover it, and how many events lie in it."""
        block, _, count, keys, ids, _, covers, events, _ = self.arrays
        mine = slice(block[domain], block[domain] + count[domain])
        return list(zip(keys[mine].tolist(), covers[ids[mine]].tolist(), events[ids[mine]].tolist(), strict=True))

    def verify(self, domain: I32, low: I64, high: I64, times: I64) -> None:
        """Raises AssertionError unless the trees are what these intervals make, no more and no less."""
        block, room, count, keys, ids, ends, covers, _, spare = self.arrays
        order = np.argsort(block)
        assert np.all((block + room)[order][:-1] <= block[order][1:]), "blocks overlap"
        assert np.all((count >= 1) & (count <= room)), "a block is empty, or larger than its room"
        live = _members(block, count)
        assert np.all(keys[block] == LOWEST), "a domain begins before its first space"
        inner = np.ones(len(live), dtype=bool)
        inner[np.cumsum(count) - count] = False
        assert np.all(keys[live[inner]] > keys[live[inner] - 1]), "a block is not sorted"
        left = len(spare) - len(live)
        assert np.array_equal(np.sort(np.concatenate([ids[live], spare[:left]])), np.arange(len(spare))), (
            "an id is in use twice, or lost"
        )
        assert np.all(ends[ids[live[inner]]] > 0), "a cut that no interval needs"
        for k, mine in enumerate(np.split(live, np.cumsum(count)[:-1])):
            begins, on = keys[mine], domain == k
            since = np.searchsorted(begins, low[on])
            bounded = high[on] != HIGHEST
            upto = np.searchsorted(begins, high[on][bounded] + 1)
            cut_at, weight = np.concatenate([since, upto]), np.concatenate([times[on], times[on][bounded]])
            assert np.array_equal(begins[cut_at], np.concatenate([low[on], high[on][bounded] + 1])), "a cut is missing"
            assert np.array_equal(ends[ids[mine]], np.bincount(cut_at, weight, len(mine))), "ends are miscounted"
            step = np.bincount(since, times[on], len(mine)) - np.bincount(upto, times[on][bounded], len(mine))
            assert np.array_equal(covers[ids[mine]], np.cumsum(step)), "predicates are miscounted"


def _members(start: I64, count: I64) -> I64:
    """The places of all blocks, one after the other."""
    return np.arange(int(count.sum())) + np.repeat(start - (np.cumsum(count) - count), count)


def intervals_of(predicates: Predicates, times: I64) -> tuple[I32, I64, I64, I64]:
    """The intervals of all predicates that have a number of times: their domains and ends, and that number."""
    domain, _, start, low, high = predicates
    some = np.flatnonzero(times)
    begin, which = gather(start, some)
    owner = np.repeat(some, np.diff(begin))
    return domain[owner], low[which], high[which], times[owner]
