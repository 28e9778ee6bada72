"""PS-Trees: the predicate spaces of each domain, while predicates are inserted and deleted (PS-Tree, section 4).

Each domain has a tree of disjoint spaces from LOWEST to HIGHEST. A space begins at a *cut*: where an interval begins,
or just behind the end of an interval. Each space counts the intervals that cover it, and each cut counts the ends of
intervals there. Inserting a predicate splits spaces. Deleting a predicate merges spaces that no predicate tells apart
any more.

Deviations:

- The paper has a tree whose inner nodes are the *elements* (digits, characters) of values, with links to leaf nodes;
  `element_tree/` is that structure. Here the spaces of a domain are one sorted block. Locating a value is a binary
  search of at most 64 steps, and the next space is the neighbour in the block.
- A batch of predicates is sorted once, and merged into the blocks of its domains.
- A cut is dropped when no interval ends there. The paper deletes a leaf node when no predicate covers it, but its
  example in section 4.4 drops cuts as this module does.
- Spaces do not count historical events: `engines/shared/selectivity.py` estimates selectivity from typical events.
"""

from __future__ import annotations

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.engines.shared.stabbing import number_keys
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates
from tellwhen.papers.ps_tree.arrays import CounterChanges, Intervals, PSTreeArrays
from tellwhen.papers.ps_tree.kernels.tree import apply_changes, find_covered_spaces, locate_points


class PSTree:
    """The PS-Trees of all domains, in one set of flat arrays."""

    def __init__(self, arrays: PSTreeArrays | None = None) -> None:
        wide, narrow = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.arrays = arrays or PSTreeArrays(
            block=wide, room=wide, used=wide, keys=wide, ids=narrow, ends=narrow, covers=wide, spare=narrow
        )

    def __len__(self) -> int:
        """Return the number of spaces of all domains."""
        return int(self.arrays.used.sum())

    @property
    def domains(self) -> int:
        return len(self.arrays.block)

    def insert(self, domain: I32, low: I64, high: I64, times: I64 | None = None) -> None:
        """Insert interval i times[i] times, or once; a negative number deletes (sections 4.2, 4.4)."""
        if not len(domain):
            return
        times = np.ones(len(domain), dtype=np.int64) if times is None else times
        self.ensure_domains(int(domain.max()) + 1)
        bounded = high != HIGHEST
        start, cut, number = number_keys(
            np.concatenate([domain, domain[bounded]]), np.concatenate([low, high[bounded] + 1]), self.domains
        )
        begun = np.bincount(number[: len(low)], times, len(cut)).astype(np.int64)
        ended = np.bincount(number[len(low) :], times[bounded], len(cut)).astype(np.int64)
        self._reserve_places(np.diff(start))
        spare = self._reserve_ids(len(cut))
        apply_changes(self.arrays, CounterChanges(start, cut, begun + ended, begun - ended), spare)

    def delete(self, domain: I32, low: I64, high: I64) -> None:
        """Delete intervals that were inserted."""
        self.insert(domain, low, high, np.full(len(domain), -1, dtype=np.int64))

    def ensure_domains(self, domains: int) -> None:
        """Add trees until each domain has one. A new tree has a single space, and no place for another."""
        added = domains - self.domains
        if added <= 0:
            return
        spare = self._reserve_ids(added)
        arrays, ones = self.arrays, np.ones(added, dtype=np.int64)
        self.arrays = arrays._replace(
            block=np.concatenate([arrays.block, len(arrays.keys) + np.arange(added)]),
            room=np.concatenate([arrays.room, ones]),
            used=np.concatenate([arrays.used, ones]),
            keys=np.concatenate([arrays.keys, np.full(added, LOWEST)]),
            ids=np.concatenate([arrays.ids, arrays.spare[spare - added : spare]]),
        )

    def _reserve_ids(self, count: int) -> int:
        """Make at least `count` ids spare; return how many are spare."""
        known, used = len(self.arrays.spare), len(self)
        left = known - used
        if left < count:
            more = max(count - left, known // 2)
            ends, covers, spare = (
                np.concatenate([array, np.zeros(more, dtype=array.dtype)])
                for array in (self.arrays.ends, self.arrays.covers, self.arrays.spare)
            )
            spare[left : left + more] = np.arange(known + more - 1, known - 1, -1)
            self.arrays = self.arrays._replace(ends=ends, covers=covers, spare=spare)
        return len(self.arrays.spare) - used

    def _reserve_places(self, added_counts: I64) -> None:
        """Move the blocks that lack room for `added_counts` more cuts to the end, with twice that room."""
        arrays = self.arrays
        block, room, used = arrays.block, arrays.room, arrays.used
        need = used + added_counts
        full = np.flatnonzero(need > room)
        if not len(full):
            return
        wider = room.copy()
        wider[full] = np.where(used[full] > 1, 2, 1) * need[full]
        end = int((block + room).max())
        moved, keys, ids = block.copy(), arrays.keys, arrays.ids
        if end + int(wider[full].sum()) <= len(keys):
            moved[full] = end + np.cumsum(wider[full]) - wider[full]
        else:  # all blocks into new arrays, so that no holes are left
            full = np.arange(self.domains)
            moved = np.cumsum(wider) - wider
            size = int(wider.sum())
            size += size // 2 if len(self) > self.domains else 0
            keys, ids = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int32)
        old, new = concatenate_ranges(block[full], used[full]), concatenate_ranges(moved[full], used[full])
        keys[new], ids[new] = arrays.keys[old], arrays.ids[old]
        self.arrays = arrays._replace(block=moved, room=wider, keys=keys, ids=ids)

    def locate(self, domain: I32, point: I64) -> I32:
        """Return the id of the space of every point (section 4.3)."""
        ids = np.empty(len(point), dtype=np.int32)
        locate_points(self.arrays, domain, point, ids)
        return ids

    def number_spaces(self, predicates: Predicates, used: I32 | I64) -> Spaces:
        """Assign numbers to all spaces, and find the spaces that the intervals of the predicates in use cover."""
        count = self.arrays.used
        spaces = Spaces(
            cut_start=np.concatenate([[0], np.cumsum(count - 1)]),
            cuts=self.arrays.keys[concatenate_ranges(self.arrays.block + 1, count - 1)],
            first=np.ones(len(predicates.low), dtype=np.int64),
            last=np.zeros(len(predicates.low), dtype=np.int64),
        )
        find_covered_spaces(spaces, predicates, used)
        return spaces

    def list_interval_counts(self, domain: int) -> list[tuple[int, int]]:
        """Return (first point, number of covering intervals) of each space of a domain."""
        arrays = self.arrays
        places = slice(arrays.block[domain], arrays.block[domain] + arrays.used[domain])
        covers = arrays.covers[arrays.ids[places]]
        return list(zip(arrays.keys[places].tolist(), covers.tolist(), strict=True))


def concatenate_ranges(start: I64, count: I64) -> I64:
    """Return start[k], start[k] + 1, ..., start[k] + count[k] - 1 of all k, one after the other."""
    return np.arange(int(count.sum())) + np.repeat(start - (np.cumsum(count) - count), count)


def collect_intervals(predicates: Predicates, times: I64) -> Intervals:
    """Return the intervals of every predicate p with times[p] != 0."""
    changed = np.flatnonzero(times)
    begin, which = gather(predicates.start, changed)
    owner = np.repeat(changed, np.diff(begin))
    return Intervals(predicates.domain[owner], predicates.low[which], predicates.high[which], times[owner])
