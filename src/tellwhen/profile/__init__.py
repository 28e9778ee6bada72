"""Profiles: mergeable statistics of bounded size about subscriptions and events.

Everything is a count or one of two sketches:

| sketch | of what | accuracy |
|---|---|---|
| `DistinctSample`, one per level | sub-expressions | their number is exact below 2,048, then within about 2 % |
| `DistinctSample`, one per attribute | distinct values | exact counts; all values if there are few |
| `DistinctSample`, one | distinct events | exact counts; all events if there are few |
| `HeavyPairs`, one per side | the most frequent pairs of attribute and value | too low by at most `error` (1/32,769) |

Counts and samples do not depend on the order or the partitioning of the input, because a sample keeps the items with
the smallest hashes. Up to 32,768 heavy pairs do not depend on them either; with more, only their error bound holds.

`typical.py` translates a profile to the points of a store, from which engines choose pivots and access predicates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tellwhen.deprecation import alias_module_names
from tellwhen.profile.histogram import HistogramBucket
from tellwhen.profile.profile import Profile, Side
from tellwhen.profile.sharing import SharingLevel
from tellwhen.profile.typical import TypicalEvents

__all__ = ["HistogramBucket", "Profile", "SharingLevel", "Side", "TypicalEvents"]

if not TYPE_CHECKING:  # a type checker should report the old names
    __getattr__ = alias_module_names(__name__, {"Bucket": "tellwhen.HistogramBucket", "Level": "tellwhen.SharingLevel"})
