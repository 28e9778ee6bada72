"""Encoding of many events, in any form, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import pyarrow as pa

from tellwhen.compile.attributes import Attributes
from tellwhen.encode.events import encode
from tellwhen.encode.frames import to_table_or_dicts
from tellwhen.encode.tables import encode_table
from tellwhen.kernels.arrays import Events
from tellwhen.language.schema import Schema

EVENTS_PER_BATCH = 16_384
"""Events per encoded batch, which bounds the memory."""


def encode_batches(
    events: pa.Table | Iterable[Mapping[str, Any]], attributes: Attributes, schema: Schema
) -> Iterator[tuple[Events, Mapping[str, int]]]:
    """Encode the events of a table or of dicts in batches.

    Yield each batch, and by attribute how many of its values are of a wrong type.
    """
    events = to_table_or_dicts(events)
    if isinstance(events, pa.Table):
        for start in range(0, events.num_rows, EVENTS_PER_BATCH):
            # The length is passed too, since a slice of a table without columns does not know it.
            rows = min(EVENTS_PER_BATCH, events.num_rows - start)
            yield encode_table(events.slice(start, rows), rows, attributes, schema)
    else:
        remaining = iter(events)
        position = 0
        while block := list(islice(remaining, EVENTS_PER_BATCH)):
            yield encode(block, attributes, schema, position)
            position += len(block)
