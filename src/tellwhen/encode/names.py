"""Attribute names of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tellwhen.encode.columns import extract_values, flatten_columns, get_only_map, split_map
from tellwhen.language.values import flatten, is_present


def iterate_attribute_names(events: pa.Table | Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the attributes that have a value: once per event if events are dicts, once per table."""
    if isinstance(events, pa.Table):
        entries = get_only_map(events)
        found = flatten_columns(events) if entries is None else split_map(entries, None)
        yield from (column.name for column in found if len(extract_values(column).rows))
    else:
        for event in events:
            yield from (name for name, value in flatten(event).items() if is_present(value))
