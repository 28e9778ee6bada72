"""What is done for a shard in the background, while others match with it and change it?

Work on its engine, after which the shard is still the same one; or a compaction (`compaction.py`), after which another
shard takes its place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from tellwhen.engines.base import Upkeep
from tellwhen.index.shard import Shard


class ShardUpkeep(ABC):
    """Work on a shard, in rounds of `run` and `finish`."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.result: Shard | None = None
        """The shard to go on with once the work is finished; None if a change has made it useless."""

    @abstractmethod
    def run(self) -> None:
        """The long part, in any thread: it reads only what never changes."""

    @abstractmethod
    def finish(self) -> bool:
        """The short part, while nobody changes the shard. False if there is more to run first."""


class EngineUpkeep(ShardUpkeep):
    """Work on the engine of a shard."""

    def __init__(self, shard: Shard, work: Upkeep) -> None:
        super().__init__(shard)
        self._work = work

    def run(self) -> None:
        self._work.run()

    def finish(self) -> bool:
        if self._work.finish():
            self.result = self.shard
        return True


def engine_upkeep(shard: Shard) -> EngineUpkeep | None:
    """What there is to do for the engine of a shard, if anything."""
    work = shard.engines.upkeep()
    return None if work is None else EngineUpkeep(shard, work)
