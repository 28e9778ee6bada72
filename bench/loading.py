"""Conversion of workloads to what engines read: subscriptions to a store, events to arrays."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.store import COMPILE_BATCH, Store
from tellwhen.containers.batches import EncodedSample
from tellwhen.encode.events import encode
from tellwhen.kernels.arrays import I32, Events
from tellwhen.language.parser import parse
from tellwhen.language.schema import Schema
from tellwhen.workloads.base import BLOCK, ArrayWorkload, Workload, concatenate_blocks, take_events, take_subscriptions


def store_subscriptions(work: Workload, count: int) -> tuple[Store, I32]:
    """Store the first `count` subscriptions in a new store, and return it with their slots.

    Workloads that generate arrays are stored without parsing.
    """
    store = Store()
    if not isinstance(work, ArrayWorkload):
        texts = take_subscriptions(work, count)
        for first in range(0, count, COMPILE_BATCH):
            store.append(store.compile(parse(text) for text in texts[first : first + COMPILE_BATCH]))
        return store, np.arange(count, dtype=np.int32)
    conjunctions = concatenate_blocks([work.generate_conjunctions(block) for block in range(-(-count // BLOCK))], count)
    for name in work.names:
        store.attributes.get_or_create_domain(store.attributes.get_or_create(name), "int")
    code = np.arange(len(conjunctions.attribute), dtype=np.int32)
    predicates, start = conjunctions.to_predicates(), conjunctions.start.copy()
    return store, store.append_arrays(predicates, np.zeros(count, np.uint8), start, code)


def encode_events(work: Workload, count: int, store: Store) -> Events:
    """Encode the first `count` events with the attributes of the store."""
    return encode(take_events(work, count), store.attributes, Schema())[0]


HISTORY_BLOCK = 1_000
"""The block of historical events: of the same distribution as the events to match, but drawn independently."""


def set_historical_events(work: Workload, count: int, store: Store) -> None:
    """Give the store the first `count` events of a block that is not matched, as its typical events."""
    if count:
        events = work.generate_events(HISTORY_BLOCK)[:count]
        store.set_typical(EncodedSample(encode(events, store.attributes, Schema())[0]))
