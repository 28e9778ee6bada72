"""What do the subscriptions ask for, and what do the events carry? Statistics: small, mergeable, however split.

Everything is a count, or one of two sketches of bounded size:

| sketch | of what | how true |
|---|---|---|
| `Sample`, one per level | its sub-expressions | their number exact below 2,048, then within about 2 % |
| `Sample`, one per attribute | its distinct values | counts exact; all values while they are few |
| `Heavy`, one per side | the heaviest pairs of attribute and value | too low by at most `error`, 1/32,769 of all |

Counts and samples do not depend on the order of the input or on how it was divided: what is kept is what has the
smallest hashes. Nor do the heavy pairs while there are at most 32,768; beyond that only their bound holds.
"""

from __future__ import annotations

from tellwhen.profile.histogram import Bucket
from tellwhen.profile.profile import Profile, Side
from tellwhen.profile.sharing import Level

__all__ = ["Bucket", "Level", "Profile", "Side"]
