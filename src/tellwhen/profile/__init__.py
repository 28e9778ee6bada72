"""What do the subscriptions ask for, and what do the events carry? Mergeable statistics of bounded size.

Everything is a count or one of two sketches:

| sketch | of what | accuracy |
|---|---|---|
| `Sample`, one per level | sub-expressions | their number is exact below 2,048, then within about 2 % |
| `Sample`, one per attribute | distinct values | exact counts; all values if there are few |
| `Sample`, one | distinct events | exact counts; all events if there are few |
| `Heavy`, one per side | the most frequent pairs of attribute and value | too low by at most `error`, 1/32,769 of all |

Counts and samples do not depend on the order of the input or on how it was partitioned, because a sample keeps the
items with the smallest hashes. The heavy pairs do not either while there are at most 32,768; beyond that only their
bound holds.

`typical.py` translates a profile to the points of a store: that is what engines choose pivots and access predicates by.
"""

from __future__ import annotations

from tellwhen.profile.histogram import HistogramBucket
from tellwhen.profile.profile import Profile, Side
from tellwhen.profile.sharing import SharingLevel
from tellwhen.profile.typical import TypicalEvents

__all__ = ["HistogramBucket", "Profile", "SharingLevel", "Side", "TypicalEvents"]
