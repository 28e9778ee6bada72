"""A profile as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tellwhen.errors import pluralize

if TYPE_CHECKING:
    from tellwhen.profile.profile import Profile

ATTRIBUTES_SHOWN = 10
"""Attributes that are listed, the most frequent first."""


def render_profile(profile: Profile) -> str:
    lines = [
        *_describe_subscriptions(profile),
        *_describe_events(profile),
        *_describe_levels(profile),
        *_describe_attributes(profile),
    ]
    return "\n".join(lines) or "nothing yet"


def _describe_subscriptions(profile: Profile) -> list[str]:
    if not profile.subscriptions:
        return []
    mean = sum(size * count for size, count in profile.sizes.items()) / profile.subscriptions
    operators = sorted(profile.operators.items(), key=lambda t: (-t[1], t[0]))
    return [
        f"{pluralize(profile.subscriptions, 'subscription')}: {mean:.1f} predicates on average, "
        f"{max(profile.sizes):,} at most; nested {max(profile.depths)} deep at most",
        "operators: " + ", ".join(f"{operator} {count:,}" for operator, count in operators),
    ]


def _describe_events(profile: Profile) -> list[str]:
    if not profile.events:
        return []
    mean = math.fsum(profile.event_frequency.values())
    malformed = f"; {profile.malformed:,} are not objects" if profile.malformed else ""
    return [f"{pluralize(profile.events, 'event')}: {mean:.1f} attributes on average{malformed}"]


def _describe_levels(profile: Profile) -> list[str]:
    rows = [(str(s.level), f"{s.total:,}", f"{s.distinct:,}", f"{s.ratio:.2f}") for s in profile.sharing()]
    return _format_table(("level", "sub-expressions", "distinct", "sharing"), rows, ">>>>")


def _describe_attributes(profile: Profile) -> list[str]:
    mentioned, carried = profile.subscription_frequency, profile.event_frequency
    names = sorted(profile.attributes, key=lambda name: (-mentioned.get(name, 0) - carried.get(name, 0), name))
    rows = []
    for name in names[:ATTRIBUTES_SHOWN]:
        families = sorted({*profile.families(name), *profile.families(name, "subscriptions")})
        hits = ", ".join(f"{value!r:.30} ({count:,})" for value, count in profile.heavy_hitters(name, limit=3))
        rows.append(
            (
                name,
                _format_percent(mentioned.get(name, 0)),
                _format_percent(carried.get(name, 0)),
                ", ".join(families),
                hits,
            )
        )
    lines = _format_table(
        ("attribute", "in subscriptions", "in events", "families", "most frequent in events"), rows, "<>><<"
    )
    more = len(names) - len(rows)
    return [*lines, f"and {more:,} more attributes"] if more else lines


def _format_percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _format_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], align: str) -> list[str]:
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
