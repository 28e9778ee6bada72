"""Many events, in any form -> encoded batches, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import pyarrow as pa

from tellwhen.compile.attributes import Attributes
from tellwhen.encode.events import encode
from tellwhen.encode.frames import as_table_or_dicts
from tellwhen.encode.tables import encode_table
from tellwhen.kernels.arrays import Events
from tellwhen.language.schema import Schema

EVENTS_PER_BATCH = 16_384
"""Events encoded at a time: bounds the memory that many of them take."""


def encoded_batches(
    events: pa.Table | Iterable[Mapping[str, Any]], attributes: Attributes, schema: Schema
) -> Iterator[tuple[Events, Mapping[str, int]]]:
    """The events of a table, or dicts, and how many values of each attribute are of a wrong type."""
    events = as_table_or_dicts(events)
    if isinstance(events, pa.Table):
        for start in range(0, events.num_rows, EVENTS_PER_BATCH):
            # Its length too: a slice of a table without columns does not know it.
            rows = min(EVENTS_PER_BATCH, events.num_rows - start)
            yield encode_table(events.slice(start, rows), rows, attributes, schema)
    else:
        remaining = iter(events)
        first = 0
        while block := list(islice(remaining, EVENTS_PER_BATCH)):
            yield encode(block, attributes, schema, first)
            first += len(block)
