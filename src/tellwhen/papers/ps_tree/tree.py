"""In which predicate space does a value lie, while predicates come and go? (PS-Tree, section 4.)

There is a tree for each domain: disjoint spaces from LOWEST to HIGHEST, cut wherever an interval begins or has ended. A
space counts the intervals that cover it, and its cut counts the ends of intervals there. Inserting splits spaces.
Deleting merges spaces that no predicate tells apart any more.

Deviations: instead of a trie of digits with links to leaves, the spaces of a domain stand in one sorted block. Locating
a value is a binary search, in at most 64 steps, and the next space is the neighbour. A batch of predicates is sorted
once and merged into the blocks that it touches. A cut is dropped when no interval ends there, not only when no
predicate covers its space: the example of section 4.4 does so, too. Spaces do not count historical events: selectivity
is estimated from typical events (`engines/shared/selectivity.py`).
"""

from __future__ import annotations

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.engines.shared.stabbing import numbered
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates
from tellwhen.papers.ps_tree.arrays import Changes, PSTreeArrays
from tellwhen.papers.ps_tree.kernels.tree import apply_changes, cover, locate


class PSTree:
    """The trees of all domains, in one set of flat arrays."""

    def __init__(self, arrays: PSTreeArrays | None = None) -> None:
        wide, narrow = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.arrays = arrays or PSTreeArrays(
            block=wide, room=wide, used=wide, keys=wide, ids=narrow, ends=narrow, covers=wide, spare=narrow
        )

    def __len__(self) -> int:
        """Spaces of all domains."""
        return int(self.arrays.used.sum())

    @property
    def domains(self) -> int:
        return len(self.arrays.block)

    def insert(self, domain: I32, low: I64, high: I64, times: I64 | None = None) -> None:
        """Insert interval i times[i] times, or once without `times`. A negative number deletes."""
        if not len(domain):
            return
        times = np.ones(len(domain), dtype=np.int64) if times is None else times
        self.ensure_domains(int(domain.max()) + 1)
        bounded = high != HIGHEST
        start, cut, number = numbered(
            np.concatenate([domain, domain[bounded]]), np.concatenate([low, high[bounded] + 1]), self.domains
        )
        begun = np.bincount(number[: len(low)], times, len(cut)).astype(np.int64)
        ended = np.bincount(number[len(low) :], times[bounded], len(cut)).astype(np.int64)
        self._ensure_room(np.diff(start))
        spare = self._ensure_spare(len(cut))
        apply_changes(self.arrays, Changes(start, cut, begun + ended, begun - ended), spare)

    def delete(self, domain: I32, low: I64, high: I64) -> None:
        """Delete intervals that were inserted."""
        self.insert(domain, low, high, np.full(len(domain), -1, dtype=np.int64))

    def ensure_domains(self, domains: int) -> None:
        """Add trees until there is one for each domain. A new one has a single space, and room for no other."""
        added = domains - self.domains
        if added <= 0:
            return
        spare = self._ensure_spare(added)
        block, room, used, keys, ids, *_ = self.arrays
        one = np.ones(added, dtype=np.int64)
        self.arrays = self.arrays._replace(
            block=np.concatenate([block, len(keys) + np.arange(added)]),
            room=np.concatenate([room, one]),
            used=np.concatenate([used, one]),
            keys=np.concatenate([keys, np.full(added, LOWEST)]),
            ids=np.concatenate([ids, self.arrays.spare[spare - added : spare]]),
        )

    def _ensure_spare(self, wanted: int) -> int:
        """Make new ids unless the wanted number is spare; returns how many are spare."""
        known, used = len(self.arrays.spare), len(self)
        left = known - used
        if left < wanted:
            more = max(wanted - left, known // 2)
            ends, covers, spare = (
                np.concatenate([array, np.zeros(more, dtype=array.dtype)])
                for array in (self.arrays.ends, self.arrays.covers, self.arrays.spare)
            )
            spare[left : left + more] = np.arange(known + more - 1, known - 1, -1)
            self.arrays = self.arrays._replace(ends=ends, covers=covers, spare=spare)
        return len(self.arrays.spare) - used

    def _ensure_room(self, added: I64) -> None:
        """Move the blocks that have no room for the added cuts to the end, and double their room."""
        block, room, used, keys, ids, *_ = self.arrays
        need = used + added
        full = np.flatnonzero(need > room)
        if not len(full):
            return
        wider = room.copy()
        wider[full] = np.where(used[full] > 1, 2, 1) * need[full]
        end = int((block + room).max())
        moved = block.copy()
        if end + int(wider[full].sum()) <= len(keys):
            moved[full] = end + np.cumsum(wider[full]) - wider[full]
        else:  # all blocks into new arrays, so that no holes are left
            full = np.arange(self.domains)
            moved = np.cumsum(wider) - wider
            size = int(wider.sum())
            size += size // 2 if len(self) > self.domains else 0
            keys, ids = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int32)
        old, new = members(block[full], used[full]), members(moved[full], used[full])
        keys[new], ids[new] = self.arrays.keys[old], self.arrays.ids[old]
        self.arrays = self.arrays._replace(block=moved, room=wider, keys=keys, ids=ids)

    def locate(self, domain: I32, point: I64) -> I32:
        """The ids of the spaces that points lie in."""
        found = np.empty(len(point), dtype=np.int32)
        locate(self.arrays, domain, point, found)
        return found

    def spaces(self, predicates: Predicates, used: I32 | I64) -> Spaces:
        """All spaces as they are now, numbered, and which of them the predicates in use cover."""
        count = self.arrays.used
        found = Spaces(
            cut_start=np.concatenate([[0], np.cumsum(count - 1)]),
            cuts=self.arrays.keys[members(self.arrays.block + 1, count - 1)],
            first=np.ones(len(predicates.low), dtype=np.int64),
            last=np.zeros(len(predicates.low), dtype=np.int64),
        )
        cover(found, predicates, used)
        return found

    def show(self, domain: int) -> list[tuple[int, int]]:
        """The spaces of a domain: where each begins, and how many intervals cover it."""
        block, _, used, keys, ids, _, covers, _ = self.arrays
        mine = slice(block[domain], block[domain] + used[domain])
        return list(zip(keys[mine].tolist(), covers[ids[mine]].tolist(), strict=True))


def members(start: I64, count: I64) -> I64:
    """The indices start[k], start[k] + 1, ... of all blocks, count[k] of each."""
    return np.arange(int(count.sum())) + np.repeat(start - (np.cumsum(count) - count), count)


def intervals_of(predicates: Predicates, times: I64) -> tuple[I32, I64, I64, I64]:
    """The intervals of all predicates p with times[p] other than 0: domains, low ends, high ends, and the times."""
    some = np.flatnonzero(times)
    begin, which = gather(predicates.start, some)
    owner = np.repeat(some, np.diff(begin))
    return predicates.domain[owner], predicates.low[which], predicates.high[which], times[owner]
