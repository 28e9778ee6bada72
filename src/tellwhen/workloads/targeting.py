"""Targeting rules as advertisers write them: lists, ranges, exclusions and alternatives.

    country IN ('c3', 'c7') AND age BETWEEN 25 AND 40 AND NOT segments IN ('s8') AND segments IN ('s2', 's51')
        AND (device = 'd1' OR os IN ('o2', 'o4') OR interests IN ('s7', 's80'))

An event is a visitor: one country, age, device, operating system and price, but some 20 segments and 5 interests.
Countries and segments are skewed. Chosen here, not published anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import Draws, compute_zipf_weights

COUNTRIES_MAX, EXCLUDED_MAX, WANTED_MAX, GROUPS_MAX = 4, 9, 11, 3
"""Most countries of a rule, segments that it excludes, segments of which it requires one, and alternatives."""

DEVICES, SYSTEMS, CENTS = 6, 5, 500


@dataclass(frozen=True)
class Targeting(Workload):
    """Generator of targeting rules and visitors.

    `segments` is the number of distinct segments; `carried` of them are drawn for a visitor, with repetition.
    """

    countries: int = 50
    segments: int = 1_000
    carried: int = 20
    seed: int = 1

    def __post_init__(self) -> None:
        if min(self.countries, self.segments, self.carried) < 1:
            raise ValueError("countries, segments and carried are at least 1")

    def generate_subscriptions(self, block: int) -> list[str]:
        draws = Draws(self.seed, "rules", block)
        countries = draws.draw_indices(compute_zipf_weights(self.countries, 0.7), BLOCK, COUNTRIES_MAX).tolist()
        segments = draws.draw_indices(
            compute_zipf_weights(self.segments, 0.5), BLOCK, EXCLUDED_MAX + WANTED_MAX + 2 * GROUPS_MAX
        ).tolist()
        bounds = ((1, COUNTRIES_MAX), (2, EXCLUDED_MAX), (3, WANTED_MAX), (0, GROUPS_MAX))
        many = np.stack([draws.integers(low, high + 1, BLOCK) for low, high in bounds]).T.tolist()
        share = draws.uniform(BLOCK, 3).tolist()
        age = np.stack([draws.integers(13, 60, BLOCK), draws.integers(3, 25, BLOCK), draws.integers(0, CENTS, BLOCK)])
        other = draws.integers(0, DEVICES * SYSTEMS * SYSTEMS, BLOCK, GROUPS_MAX).tolist()
        return [
            self._format_rule(*row) for row in zip(countries, segments, many, share, age.T.tolist(), other, strict=True)
        ]

    def _format_rule(
        self,
        countries: list[int],
        segments: list[int],
        many: list[int],
        share: list[float],
        age: list[int],
        other: list[int],
    ) -> str:
        excluded, wanted, rest = np.split(np.array(segments), [EXCLUDED_MAX, EXCLUDED_MAX + WANTED_MAX])
        parts = [
            f"country IN ({_format_list('c', countries[: many[0]])})",
            f"age BETWEEN {age[0]} AND {age[0] + age[1]}",
        ]
        if share[0] < 0.6:
            parts.append(f"NOT segments IN ({_format_list('s', excluded[: many[1]].tolist())})")
        if share[1] < 0.7:
            parts.append(f"segments IN ({_format_list('s', wanted[: many[2]].tolist())})")
        for group in range(many[3]):
            device, systems = divmod(other[group], SYSTEMS * SYSTEMS)
            interests = _format_list("s", rest[2 * group : 2 * group + 2].tolist())
            os = _format_list("o", list(divmod(systems, SYSTEMS)))
            parts.append(f"(device = 'd{device}' OR os IN ({os}) OR interests IN ({interests}))")
        if share[2] < 0.3:
            parts.append(f"price >= {age[2] / 100}")
        return " AND ".join(parts)

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        draws = Draws(self.seed, "visitors", block)
        country = draws.draw_indices(compute_zipf_weights(self.countries, 0.7), BLOCK).tolist()
        segments = draws.draw_indices(compute_zipf_weights(self.segments, 0.5), BLOCK, self.carried + 5).tolist()
        age, device, os, cents = (draws.integers(0, most, BLOCK).tolist() for most in (67, DEVICES, SYSTEMS, CENTS))
        return [
            {
                "country": f"c{country[i]}",
                "age": 13 + age[i],
                "segments": [f"s{s}" for s in dict.fromkeys(segments[i][: self.carried])],
                "interests": [f"s{s}" for s in dict.fromkeys(segments[i][self.carried :])],
                "device": f"d{device[i]}",
                "os": f"o{os[i]}",
                "price": cents[i] / 100,
            }
            for i in range(BLOCK)
        ]


def _format_list(letter: str, numbers: list[int]) -> str:
    return ", ".join(f"'{letter}{number}'" for number in dict.fromkeys(numbers))
