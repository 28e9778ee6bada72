"""What do several tests share? The cases of LANGUAGE.md, JSON for all values, small thresholds, and waiting."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tellwhen as tw

ROOT = Path(__file__).parent.parent
WORDS = {"true": True, "false": False, "undefined": None}
SPECIAL = {
    "$date": dt.date.fromisoformat,
    "$timestamp": dt.datetime.fromisoformat,
    "$interval": lambda ends: tw.Interval(*ends),
    "$nan": lambda _: math.nan,
}


def every_engine_and_seed(engines: list[str], seeds: range, quick: int) -> Any:
    """Parameters `engine` and `seed`: all pairs, in the order of seeds. They are slow but for `quick` seeds of each
    engine, which differ from engine to engine."""
    pairs = [(number, engine, seed) for seed in seeds for number, engine in enumerate(engines)]
    is_slow = {(engine, seed): (seed - number) % len(seeds) >= quick for number, engine, seed in pairs}
    marks = {True: [pytest.mark.slow], False: []}
    given = [pytest.param(engine, seed, marks=marks[is_slow[engine, seed]]) for _, engine, seed in pairs]
    return pytest.mark.parametrize(("engine", "seed"), given)


def first_seeds(quick: int, total: int) -> list[Any]:
    """Seeds from 0 on, of which all but the first few are slow."""
    return [*range(quick), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(quick, total))]


def special(value: dict[str, Any]) -> Any:
    """`json.loads` hook: {"$date": ...} and the like."""
    (key, *_) = value or {"": None}
    return SPECIAL[key](value[key]) if key in SPECIAL else value


def documented() -> list[tuple[str, str, str, str]]:
    """The examples of LANGUAGE.md: heading, expression, event, value."""
    found = []
    heading, inside = "", False
    for line in (ROOT / "LANGUAGE.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("```"):
            inside = line == "```example"
        elif inside:
            expression, event, value = re.split(r" \| ", line)
            found.append((heading, expression, event, value))
    return found


def cases() -> list[dict[str, str]]:
    """All cases in tests/cases."""
    files = sorted((ROOT / "tests" / "cases").glob("*.json"))
    return [case for file in files for case in json.loads(file.read_text())]


THRESHOLDS = {
    "compact": ["tellwhen.index.shard.COMPACT_MIN"],
    "batch": ["tellwhen.index.shard.COMPILE_BATCH"],
    "pending": [
        "tellwhen.engines.shared.bulk.PENDING_MIN",
        "tellwhen.engines.scan.engine.PENDING_MIN",
        "tellwhen.engines.auto.engine.PENDING_MAX",
        "tellwhen.engines.auto.engine.UNCOMPILED_PENDING_MAX",
    ],
    "stride": ["tellwhen.compile.dictionary.STRIDE"],
}
"""Constants that decide when an index compacts, merges, or moves labels. Small ones let a small index do it too."""


def set_thresholds(monkeypatch: Any, **values: int) -> None:
    """Set some of the thresholds for the duration of a test."""
    for threshold, value in values.items():
        for constant in THRESHOLDS[threshold]:
            module, _, name = constant.rpartition(".")
            monkeypatch.setattr(import_module(module), name, value)


def settled(index: tw.Index) -> tw.Index:
    """The index once nothing is left to do in the background."""
    thread = index._contents.upkeep
    if thread is not None:
        thread.join(600)
        assert not thread.is_alive()
    assert index._contents.upkeep is None
    return index


def verify(index: tw.Index) -> None:
    """Check the arrays of its engine, at a moment when nobody changes them: it may be kept up in the background."""
    with index._contents.whole() as shard:
        shard.engines.verify()
