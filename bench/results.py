"""Files of results: one JSON file per experiment, saved after every point, so that a run can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.claims import Row


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
        return Results(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file} does not contain results of an experiment: {error}") from None


def load_all(folder: Path) -> Iterator[Results]:
    for file in sorted(folder.glob("*.json")):
        results = load(folder, file.stem)
        if results is not None:
            yield results


def save(folder: Path, results: Results) -> None:
    """Replace the file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f".{results.experiment}.new"
    new.write_text(json.dumps(vars(results), indent=1) + "\n")
    os.replace(new, folder / f"{results.experiment}.json")
