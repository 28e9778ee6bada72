"""How does an index forget what was removed, without anybody waiting? A new shard is built in the background.

It is built from the live subscriptions. Meanwhile the old shard goes on changing. The new one catches up: it replays
these changes, from the texts of the subscriptions, in rounds that hold no lock and become shorter and shorter. The last
few changes are replayed while the index is locked; then the new shard takes the place of the old one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tellwhen.compile.live_slots import is_alive, select_alive
from tellwhen.index.ids import Id
from tellwhen.index.maintenance.upkeep import ShardUpkeep
from tellwhen.index.shard import Shard
from tellwhen.language.reading import StoredText

FEW = 64
"""The most changes that are replayed while the index is locked."""


class Compaction(ShardUpkeep):
    """Replaces a shard that has many removed slots with a new one."""

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._profile = shard.profile
        self._known = shard.store.find_alive()  # slots of the old shard whose subscriptions are in the new one
        self._seen = len(shard.store)  # slots of the old shard whose changes are known
        self._copy = shard.copying()
        self._new: Shard | None = None
        self._removed: list[Id] = []  # to be replayed
        self._added: list[Any] = []
        self._added_slots = np.empty(0, dtype=np.int32)
        self._score_changes = shard.store.scores.changes

    def run(self) -> None:
        if self._new is None:
            self._new = self._copy()
        self._catch_up(self._new)

    def _catch_up(self, new: Shard) -> None:
        new.remove(self._removed)
        first = len(new.store)
        new.add(iter(self._added), replace=False)
        ordinals = self.shard.ids.ordinals
        new.ids.ordinals.overwrite(first, ordinals.of(self._added_slots), ordinals.next)
        self._removed, self._added, self._added_slots = [], [], self._added_slots[:0]

    def finish(self) -> bool:
        old, new = self.shard, self._new
        assert new is not None, "it was not run"
        if old.profile is not self._profile:
            return True  # the new one was built for other events: it is useless
        snapshot = old.store.snapshot()
        is_kept = is_alive(snapshot, self._known)
        fresh = select_alive(snapshot, np.arange(self._seen, len(old.store), dtype=np.int32))
        self._removed = [old.ids[slot] for slot in self._known[~is_kept].tolist()]
        scores = old.store.scores
        self._added_slots = fresh
        self._added = [
            (
                old.ids[slot],
                StoredText(old.texts[slot]),
                score,
                scores.get_weights(slot),
                old.payloads.text(slot) or None,
            )
            for slot, score in zip(fresh.tolist(), scores.get_scores(fresh).tolist(), strict=True)
        ]
        self._known, self._seen = np.concatenate([self._known[is_kept], fresh]), len(old.store)
        if len(self._removed) + len(self._added) > FEW:
            return False
        self._catch_up(new)
        if scores.changes != self._score_changes:
            kept = new.store.find_alive()  # in the order of the known ones
            new.set_scores(kept, scores.get_scores(self._known))
        self.result = new
        return True
