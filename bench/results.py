"""Files of results: one JSON file per experiment with a line for every point, saved after every point."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.claims import Row

SIGNIFICANT_DIGITS = 5
"""Digits of saved numbers. All times are noisier than that."""

KEY_FIELDS = ("variant", "x", "engine")
"""Fields that identify a row."""

POINT_FIELDS = ("count", "scale", "commit", "comparable", "seconds", "megabytes")
"""Fields that are the same for all engines of a point. They are saved as shared even if the point has one engine."""


@dataclass
class Results:
    """The rows of one experiment, and how they were measured."""

    experiment: str
    scale: float
    repeat: int
    machine: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def find_rows(self, variant: str, x: Any) -> list[Row]:
        return [row for row in self.rows if row["variant"] == variant and row["x"] == x]

    def replace(self, variant: str, x: Any, rows: list[Row]) -> None:
        """Replace the rows of a point."""
        others = [row for row in self.rows if row["variant"] != variant or row["x"] != x]
        self.rows = others + [{"variant": variant, "x": x, **row} for row in rows]


def load(folder: Path, name: str) -> Results | None:
    """Read the results of an experiment; return None if the folder has none."""
    file = folder / f"{name}.json"
    try:
        saved = json.loads(file.read_text())
        rows = [
            {"variant": point["variant"], "x": point["x"], "engine": engine, **point["shared"], **row}
            for point in saved.pop("points")
            for engine, row in point["engines"].items()
        ]
        return Results(**saved, rows=rows)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file} does not contain results of an experiment: {error}") from None


def load_all(folder: Path) -> Iterator[Results]:
    for file in sorted(folder.glob("*.json")):
        results = load(folder, file.stem)
        if results is not None:
            yield results


def save(folder: Path, results: Results) -> None:
    """Replace the file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {name: value for name, value in vars(results).items() if name != "rows"}
    lines = ",\n".join(json.dumps(point) for point in _group_by_point(results.rows))
    new = folder / f".{results.experiment}.new"
    new.write_text(f'{json.dumps(head)[:-1]}, "points": [\n{lines}\n]}}\n')
    os.replace(new, folder / f"{results.experiment}.json")


def _group_by_point(rows: list[Row]) -> Iterator[dict[str, Any]]:
    """Yield a dict for every point: what its engines share, and what differs by engine."""
    keys = dict.fromkeys((row["variant"], row["x"]) for row in rows)
    for variant, x in keys:
        engines = {
            row["engine"]: {name: _round(value) for name, value in row.items() if name not in KEY_FIELDS}
            for row in rows
            if (row["variant"], row["x"]) == (variant, x)
        }
        first, *others = engines.values()
        shared = {
            name: value
            for name, value in first.items()
            if all(name in row and row[name] == value for row in others) and (others or name in POINT_FIELDS)
        }
        own = {
            engine: {name: value for name, value in row.items() if name not in shared}
            for engine, row in engines.items()
        }
        yield {"variant": variant, "x": x, "shared": shared, "engines": own}


def _round(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
