"""How is a profile shown on a terminal?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tellwhen.profile.profile import Profile

ATTRIBUTES_SHOWN = 10
"""Attributes listed, the most frequent first."""


def show(profile: Profile) -> str:
    lines = [*_subscriptions(profile), *_events(profile), *_levels(profile), *_attributes(profile)]
    return "\n".join(lines) or "nothing yet"


def _subscriptions(profile: Profile) -> list[str]:
    if not profile.subscriptions:
        return []
    mean = sum(size * count for size, count in profile.sizes.items()) / profile.subscriptions
    operators = sorted(profile.operators.items(), key=lambda t: (-t[1], t[0]))
    return [
        f"{profile.subscriptions:,} subscriptions: {mean:.1f} predicates on average, "
        f"{max(profile.sizes):,} at most; nested {max(profile.depths)} deep at most",
        "operators: " + ", ".join(f"{operator} {count:,}" for operator, count in operators),
    ]


def _events(profile: Profile) -> list[str]:
    if not profile.events:
        return []
    mean = math.fsum(profile.event_frequency.values())
    malformed = f"; {profile.malformed:,} are no object" if profile.malformed else ""
    return [f"{profile.events:,} events: {mean:.1f} attributes on average{malformed}"]


def _levels(profile: Profile) -> list[str]:
    rows = [(str(s.level), f"{s.total:,}", f"{s.distinct:,}", f"{s.ratio:.2f}") for s in profile.sharing()]
    return _table(("level", "sub-expressions", "distinct", "sharing"), rows, ">>>>")


def _attributes(profile: Profile) -> list[str]:
    asked, seen = profile.subscription_frequency, profile.event_frequency
    names = sorted(profile.attributes, key=lambda name: (-asked.get(name, 0) - seen.get(name, 0), name))
    rows = []
    for name in names[:ATTRIBUTES_SHOWN]:
        families = sorted({*profile.families(name), *profile.families(name, "subscriptions")})
        hits = ", ".join(f"{value!r:.30} ({count:,})" for value, count in profile.heavy_hitters(name, top=3))
        rows.append((name, _percent(asked.get(name, 0)), _percent(seen.get(name, 0)), ", ".join(families), hits))
    lines = _table(("attribute", "in subscriptions", "in events", "families", "most frequent in events"), rows, "<>><<")
    more = len(names) - len(rows)
    return [*lines, f"and {more:,} more attributes"] if more else lines


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], align: str) -> list[str]:
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
