"""The attribute names that events have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tellwhen.encode.columns import columns, map_columns, only_map, single_values
from tellwhen.language.values import flatten, is_present


def attribute_names(events: pa.Table | Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the attributes that have a value: once for each event in dicts, once for a table."""
    if isinstance(events, pa.Table):
        entries = only_map(events)
        found = columns(events) if entries is None else map_columns(entries, None)
        yield from (column.name for column in found if len(single_values(column).rows))
    else:
        for event in events:
            yield from (name for name, value in flatten(event).items() if is_present(value))
