"""Helpers of several test modules: cases of LANGUAGE.md, values in JSON, seeds, small thresholds, and waiting."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

import tellwhen as tw
from tellwhen.engines import Engine
from tellwhen.index.limits import IndexLimits

ROOT = Path(__file__).parent.parent
TRUTH_VALUES = {"true": True, "false": False, "undefined": None}
SPECIAL_VALUES = {
    "$date": dt.date.fromisoformat,
    "$timestamp": dt.datetime.fromisoformat,
    "$interval": lambda ends: tw.Interval(*ends),
    "$nan": lambda _: math.nan,
    "$event": lambda text: tw.parse(text).to_event(),
}


def parametrize_engines_and_seeds(engines: list[str], seeds: range, quick: int) -> Any:
    """Parametrize a test by all pairs of `engine` and `seed`, ordered by seed.

    Each engine has `quick` seeds that are not marked slow. These seeds differ from engine to engine.
    """
    pairs = [(number, engine, seed) for seed in seeds for number, engine in enumerate(engines)]
    is_slow = {(engine, seed): (seed - number) % len(seeds) >= quick for number, engine, seed in pairs}
    marks = {True: [pytest.mark.slow], False: []}
    parameters = [pytest.param(engine, seed, marks=marks[is_slow[engine, seed]]) for _, engine, seed in pairs]
    return pytest.mark.parametrize(("engine", "seed"), parameters)


def make_seed_params(quick: int, total: int) -> list[Any]:
    """Return the seeds from 0 to `total` - 1 as parameters; all but the first `quick` are marked slow."""
    return [*range(quick), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(quick, total))]


def decode_special_value(value: dict[str, Any]) -> Any:
    """Decode an object such as {"$date": "2026-01-31"}; used as `object_hook` of `json.loads`."""
    (key, *_) = value or {"": None}
    return SPECIAL_VALUES[key](value[key]) if key in SPECIAL_VALUES else value


def read_language_examples() -> list[tuple[str, str, str, str]]:
    """Return the examples of LANGUAGE.md as (heading, expression, event, value)."""
    examples = []
    heading, is_in_example = "", False
    for line in (ROOT / "LANGUAGE.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("```"):
            is_in_example = line == "```example"
        elif is_in_example:
            expression, event, value = re.split(r" \| ", line)
            examples.append((heading, expression, event, value))
    return examples


def read_cases() -> list[dict[str, str]]:
    """Return all cases in tests/cases."""
    files = sorted((ROOT / "tests" / "cases").glob("*.json"))
    return [case for file in files for case in json.loads(file.read_text())]


THRESHOLDS = {
    "batch": ["tellwhen.index.shard.COMPILE_BATCH"],
    "pending": [
        "tellwhen.engines.shared.bulk.BulkEngine.pending_min",
        "tellwhen.engines.scan.engine.PENDING_MIN",
        "tellwhen.engines.auto.engine.PENDING_MAX",
        "tellwhen.engines.auto.engine.UNCOMPILED_PENDING_MAX",
    ],
    "stride": ["tellwhen.compile.dictionary.STRIDE"],
}
"""Constants that decide when an index merges or moves labels. With small values, a small index does it."""


def set_thresholds(monkeypatch: Any, **values: int) -> None:
    """Set some of the thresholds for the duration of a test."""
    for threshold, value in values.items():
        for constant in THRESHOLDS[threshold]:
            monkeypatch.setattr(constant, value)


def limit_index(**limits: Any) -> type[tw.Index]:
    """Return a subclass of `Index` with other limits: the fields of `tellwhen.index.limits.IndexLimits`."""
    return type("LimitedIndex", (tw.Index,), {"_limits": IndexLimits(**limits)})


def register_variant(engine: type[Engine], **attributes: Any) -> str:
    """Register a subclass of an engine with other attributes, such as lower limits; return the name of the subclass.

    The test must use the fixture `registry`, which forgets the subclass.
    """
    return type(engine.__name__, (engine,), {"name": f"test-{engine.name}", **attributes}).name


def expire_leases(path: Path) -> None:
    """Set back the times of the leases and of the pins of queries, as if no version had been used for years."""
    for file in (*path.glob("leases/*"), *path.glob("pins/query-*")):
        os.utime(file, (0, 0))


def wait_for_upkeep(index: tw.Index) -> tw.Index:
    """Wait until an index has no more work to do in the background; return the index."""
    thread = index._contents.upkeep_thread
    if thread is not None:
        thread.join(600)
        assert not thread.is_alive()
    assert index._contents.upkeep_thread is None
    return index


def verify_index(index: tw.Index) -> None:
    """Check the arrays of an index's engine under the lock, so that background work does not change them meanwhile."""
    with index._contents.lock_shard() as shard:
        shard.engines.verify()


class Known:
    """Expressions, scores and order of the subscriptions that an index should have."""

    def __init__(self):
        self.expressions, self.scores, self.order = {}, {}, {}

    def add(self, id_, expression, score=0.0):
        self.expressions[id_], self.scores[id_] = expression, float(score)
        self.order[id_] = max(self.order.values(), default=-1) + 1

    def remove(self, id_):
        for known in (self.expressions, self.scores, self.order):
            del known[id_]

    def best(self, event, k):
        true = [i for i, expression in self.expressions.items() if expression.evaluate(event) is True]
        return [(i, self.scores[i]) for i in sorted(true, key=lambda i: (-self.scores[i], self.order[i]))[:k]]
