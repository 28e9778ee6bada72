"""Compaction: a new shard is built in the background from the live subscriptions, and replaces the old shard.

The old shard can change while the new one is built. These changes are then replayed on the new shard. Each round of
replay runs without a lock and is shorter than the one before. The last few changes are replayed while the index is
locked; then the new shard replaces the old one. Subscriptions are copied as they were compiled; no text is parsed.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.live_slots import is_alive, select_alive
from tellwhen.index.ids import Id
from tellwhen.index.maintenance.upkeep import ShardUpkeep
from tellwhen.index.shard import Shard

REPLAYED_UNDER_LOCK_MAX = 64
"""Replay up to 64 changes while the index is locked, and more in another round."""


class Compaction(ShardUpkeep):
    """Replacement of a shard that has many removed slots."""

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._profile = shard.profile
        self._copied_slots = shard.store.find_alive()  # slots of the old shard whose subscriptions are in the new one
        self._read_slots = len(shard.store)  # number of slots of the old shard that were read
        self._copy = shard.prepare_copy()
        self._new: Shard | None = None
        self._removed_ids: list[Id] = []  # changes to replay
        self._added_slots = np.empty(0, dtype=np.int32)
        self._read_snapshot, self._read_attributes = shard.store.snapshot(), shard.store.attributes
        self._score_changes = shard.store.scores.changes

    def run(self) -> None:
        if self._new is None:
            self._new = self._copy()
        self._replay(self._new)

    def _replay(self, new: Shard) -> None:
        new.remove(self._removed_ids)
        first = len(new.store)
        new.add_compiled(self.shard, self._read_snapshot, self._read_attributes, self._added_slots)
        ordinals = self.shard.ids.ordinals
        new.ids.ordinals.overwrite(first, ordinals.get_many(self._added_slots), ordinals.next)
        self._removed_ids, self._added_slots = [], self._added_slots[:0]

    def finish(self) -> bool:
        old, new = self.shard, self._new
        assert new is not None, "run() comes first"
        if old.profile is not self._profile:
            return True  # the new shard was built for another profile, so it is useless
        snapshot = old.store.snapshot()
        is_kept = is_alive(snapshot, self._copied_slots)
        fresh = select_alive(snapshot, np.arange(self._read_slots, len(old.store), dtype=np.int32))
        self._removed_ids = [old.ids[slot] for slot in self._copied_slots[~is_kept].tolist()]
        self._added_slots, self._read_snapshot, self._read_attributes = fresh, snapshot, old.store.attributes
        self._copied_slots, self._read_slots = np.concatenate([self._copied_slots[is_kept], fresh]), len(old.store)
        if len(self._removed_ids) + len(fresh) > REPLAYED_UNDER_LOCK_MAX:
            return False
        self._replay(new)
        scores = old.store.scores
        if scores.changes != self._score_changes:
            # Both have the same order.
            new.set_scores(new.store.find_alive(), scores.get_scores(self._copied_slots))
        self.result = new
        return True
