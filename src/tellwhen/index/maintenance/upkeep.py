"""Upkeep: background work on a shard, while other threads match with the shard and change it.

The work is either on the engine, which stays in the shard, or a compaction (`compaction.py`), which replaces the shard.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from tellwhen.engines.base import Upkeep
from tellwhen.index.shard import Shard


class ShardUpkeep(ABC):
    """A piece of work on a shard, in rounds of `run` and `finish`."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.result: Shard | None = None
        """The shard of the index after the work; None before, and if a change has made the work useless."""

    @abstractmethod
    def run(self) -> None:
        """Do the long part of the work, in any thread; read only arrays that never change."""

    @abstractmethod
    def finish(self) -> bool:
        """Apply the result while no thread changes the shard; return False if another round must `run` first."""


class EngineUpkeep(ShardUpkeep):
    """A piece of work on the engine of a shard."""

    def __init__(self, shard: Shard, work: Upkeep) -> None:
        super().__init__(shard)
        self._work = work

    def run(self) -> None:
        self._work.run()

    def finish(self) -> bool:
        if self._work.finish():
            self.result = self.shard
        return True


def make_engine_upkeep(shard: Shard) -> EngineUpkeep | None:
    """Return the next piece of work on the engine of a shard; None if there is no work."""
    work = shard.engines.upkeep()
    return None if work is None else EngineUpkeep(shard, work)
