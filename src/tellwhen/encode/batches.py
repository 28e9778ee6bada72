"""Encoding of many events, in any form, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from tellwhen.compile.attributes import Attributes
from tellwhen.encode.events import encode
from tellwhen.encode.frames import to_table_or_dicts
from tellwhen.encode.tables import encode_table
from tellwhen.kernels.arrays import Events
from tellwhen.language.schema import Schema

EVENTS_PER_BATCH = 16_384
"""Events per encoded batch, which bounds the memory."""


class EventBlock(NamedTuple):
    """Successive events of a table or of dicts, and the position of the first one."""

    first: int
    size: int
    events: pa.Table | list[Mapping[str, Any]]


def iter_blocks(
    events: pa.Table | Iterable[Mapping[str, Any]], events_per_block: int = EVENTS_PER_BATCH
) -> Iterator[EventBlock]:
    """Cut the events of a table or of dicts into blocks."""
    if isinstance(events, pa.Table):
        for first in range(0, events.num_rows, events_per_block):
            # The size is passed too, since a slice of a table without columns does not know its length.
            size = min(events_per_block, events.num_rows - first)
            yield EventBlock(first, size, events.slice(first, size))
    else:
        remaining = iter(events)
        first = 0
        while block := list(islice(remaining, events_per_block)):
            yield EventBlock(first, len(block), block)
            first += len(block)


def encode_block(block: EventBlock, attributes: Attributes, schema: Schema) -> tuple[Events, Mapping[str, int]]:
    """Encode a block. Return the events, and by attribute how many of its values are of a wrong type."""
    if isinstance(block.events, pa.Table):
        return encode_table(block.events, block.size, attributes, schema)
    return encode(block.events, attributes, schema, block.first)


def encode_batches(
    events: pa.Table | Iterable[Mapping[str, Any]], attributes: Attributes, schema: Schema
) -> Iterator[tuple[Events, Mapping[str, int]]]:
    """Encode events in batches.

    Yield each batch, and by attribute how many of its values are of a wrong type.
    """
    for block in iter_blocks(to_table_or_dicts(events)):
        yield encode_block(block, attributes, schema)
