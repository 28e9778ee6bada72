"""How are results kept? A JSON file per experiment, saved after every point, so that a run can be resumed."""

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

    def of(self, variant: str, x: Any) -> list[Row]:
        return [row for row in self.rows if row["variant"] == variant and row["x"] == x]

    def replace(self, variant: str, x: Any, rows: list[Row]) -> None:
        """Replace the rows of a point."""
        kept = [row for row in self.rows if row["variant"] != variant or row["x"] != x]
        self.rows = kept + [{"variant": variant, "x": x, **row} for row in rows]


def load(folder: Path, name: str) -> Results | None:
    """The results of an experiment; None if there are none."""
    file = folder / f"{name}.json"
    try:
        return Results(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file} does not contain results of an experiment: {error}") from None


def load_all(folder: Path) -> Iterator[Results]:
    for file in sorted(folder.glob("*.json")):
        found = load(folder, file.stem)
        if found is not None:
            yield found


def save(folder: Path, results: Results) -> None:
    """Write the file: all of it, or nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{results.experiment}.new"
    aside.write_text(json.dumps(vars(results), indent=1) + "\n")
    os.replace(aside, folder / f"{results.experiment}.json")
