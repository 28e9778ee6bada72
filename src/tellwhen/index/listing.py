"""Listings: subscriptions in the order in which their ids were first added, from any position on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tellwhen.index.index import Index
from tellwhen.index.shard import Shard
from tellwhen.index.subscriptions import Subscription


class ListedSubscription(NamedTuple):
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


def iter_listing(index: Index, after: int = -1) -> Iterator[ListedSubscription]:
    """Yield the subscriptions with ordinals above `after`, in the order of their ordinals."""
    state = index._contents.state
    for slots in state.iter_listing(after):
        for slot, ordinal in zip(slots.tolist(), state.ids.ordinals.get_many(slots).tolist(), strict=True):
            yield ListedSubscription(state.shard, slot, ordinal)


def find_ordinal(index: Index, id_: str | int) -> int:
    """Return the ordinal of an id; raise UnknownId if no subscription has the id."""
    shard, slot = index._contents.locate(id_)
    return shard.ids.ordinals[slot]


def copy_ordinals(source: Index, target: Index) -> None:
    """Copy the ordinals of `source` to `target`, an index to which its subscriptions were just added in order."""
    ordinals = source._shard.ids.ordinals
    with target._contents.lock_shard() as shard:
        shard.ids.ordinals.overwrite(0, ordinals.get_many(source._shard.store.find_alive()), ordinals.next)
