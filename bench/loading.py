"""How does a workload become a store that engines can index, and its events become arrays?"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.store import COMPILE_BATCH, Store
from tellwhen.encode.events import encode
from tellwhen.kernels.arrays import I32, Events
from tellwhen.language.parser import parse
from tellwhen.language.schema import Schema
from tellwhen.workloads.base import BLOCK, ArrayWorkload, Workload, concatenate_blocks, take_events, take_subscriptions


def stored(work: Workload, count: int) -> tuple[Store, I32]:
    """The first `count` subscriptions in a new store, and their slots. Arrays are stored without parsing."""
    store = Store()
    if not isinstance(work, ArrayWorkload):
        texts = take_subscriptions(work, count)
        for first in range(0, count, COMPILE_BATCH):
            store.append(store.compile(parse(text) for text in texts[first : first + COMPILE_BATCH]))
        return store, np.arange(count, dtype=np.int32)
    made = concatenate_blocks([work.generate_conjunctions(block) for block in range(-(-count // BLOCK))], count)
    for name in work.names:
        store.attributes.get_or_create_domain(store.attributes.get_or_create(name), "int")
    code = np.arange(len(made.attribute), dtype=np.int32)
    return store, store.append_arrays(made.to_predicates(), np.zeros(count, np.uint8), made.start.copy(), code)


def encoded(work: Workload, count: int, store: Store) -> Events:
    """The first `count` events, encoded with the attributes of the store."""
    return encode(take_events(work, count), store.attributes, Schema())[0]
