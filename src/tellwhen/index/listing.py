"""Subscriptions in the order in which their ids were first added, from any position on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tellwhen.index.index import Index
from tellwhen.index.shard import Shard
from tellwhen.index.subscriptions import Subscription


class Listed(NamedTuple):
    """A subscription in a listing."""

    shard: Shard
    slot: int
    ordinal: int

    @property
    def id(self) -> str | int:
        return self.shard.ids[self.slot]

    @property
    def text(self) -> str:
        return self.shard.texts[self.slot]

    def read(self) -> Subscription:
        return self.shard.get_subscription(self.slot)


def iter_listing(index: Index, after: int = -1) -> Iterator[Listed]:
    """Yield the subscriptions with ordinals above `after`, in the order of their ordinals."""
    state = index._contents.state
    for slots in state.iter_listing(after):
        for slot, ordinal in zip(slots.tolist(), state.ids.ordinals.of(slots).tolist(), strict=True):
            yield Listed(state.shard, slot, ordinal)


def find_ordinal(index: Index, id_: str | int) -> int:
    """Return the ordinal of an id; raise `UnknownId` if there is no such subscription."""
    shard, slot = index._contents.located(id_)
    return shard.ids.ordinals[slot]


def copy_ordinals(source: Index, target: Index) -> None:
    """Give the subscriptions of `target`, which were just copied from `source` in order, the same ordinals."""
    ordinals = source._shard.ids.ordinals
    with target._contents.whole() as shard:
        shard.ids.ordinals.overwrite(0, ordinals.of(source._shard.store.find_alive()), ordinals.next)
