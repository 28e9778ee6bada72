"""Do the engines have the leaf capacity, the rivals and the historical events that the papers give them?"""

import numpy as np
import pytest
from bench import point as process
from bench.experiment import Point
from bench.loading import encode_events, set_historical_events, store_subscriptions
from bench.papers.pstree import INSERTION_OPINDEX, _measure_building
from bench.papers.setting import measure_like_betree, measure_like_pstree

from tellwhen.workloads import BEGen, QGrams

pytestmark = pytest.mark.late


@pytest.fixture
def calls(monkeypatch):
    """Calls of the measurement of a point, which measures nothing here."""
    found = []

    def measure(point, engines, repeat, needs_build_times, historical_events=0):
        assert needs_build_times
        found.append((engines, repeat, historical_events))
        yield {"doing": "the workload", "engine": None}
        for name in engines:
            yield {"doing": "build", "engine": name}
            yield {"row": {"engine": name, "status": "ok"}}

    monkeypatch.setattr(process, "measure_engines", measure)
    return found


def measure(function, work, engines):
    messages = list(function(Point("", 1, work, 1_000), engines, 3, True))
    assert messages[0] == {"doing": "the workload", "engine": None}
    steps = [message["engine"] for message in messages if message.get("doing") == "build"]
    return steps, {m["row"]["engine"]: m["row"]["status"] for m in messages if "row" in m}


@pytest.mark.parametrize(("match", "capacity"), [(0.0001, 5), (0.009, 5), (0.01, 20), (0.09, 20), (0.1, 160)])
def test_the_capacity_is_that_of_table_4(calls, match, capacity):
    engines = ["betree", "betree-batch", "naive", "betree:max_cap=7"]
    steps, rows = measure(measure_like_betree, BEGen(match=match), engines)
    made = [f"betree:max_cap={capacity}", f"betree-batch:max_cap={capacity}", "naive", "betree:max_cap=7"]
    assert calls == [(made, 3, 0)]
    assert steps == list(rows) == engines


def test_real_data_has_the_smallest_capacity(calls):
    measure(measure_like_betree, QGrams(), ["betree"])
    assert calls[0][0] == ["betree:max_cap=5"]


def test_engines_without_inequality_are_left_out(calls):
    engines = ["kindex", "betree", "counting", "propagation", "gryphon"]
    _, rows = measure(measure_like_betree, BEGen(operators="high"), engines)
    assert calls[0][0] == ["betree:max_cap=20", "gryphon"]
    assert rows == {name: "ok" if name in ("betree", "gryphon") else "excluded" for name in engines}


def test_only_figure_5b_has_the_opindex_in_order(calls):
    for variant, count in (("a: subscriptions", 1), ("b: dimensions", 2)):
        calls.clear()
        rows = list(_measure_building(Point(variant, 1, BEGen(), 1_000), ["opindex", INSERTION_OPINDEX], 3, True))
        assert len(calls[0][0]) == count
        assert [m["row"]["engine"] for m in rows if "row" in m] == ["opindex", INSERTION_OPINDEX]


def test_ps_tree_has_historical_events(calls):
    measure(measure_like_pstree, BEGen(), ["pstbloom"])
    assert calls == [(["pstbloom"], 3, 1_000)]


def test_historical_events_are_others_of_the_same_distribution():
    work = BEGen(match=0.1)
    store, _ = store_subscriptions(work, 1_000)
    set_historical_events(work, 0, store)
    assert not store.typical().has_sample
    set_historical_events(work, 500, store)
    assert store.typical().has_sample
    known, matched = store.typical().events, encode_events(work, 500, store)
    assert len(known.single_valued) == 500
    assert known.low.tolist() != matched.low.tolist()
    marginals = store.typical().marginals(store.snapshot().domains)
    share = np.bincount(matched.domain, minlength=store.snapshot().domains) / 500
    assert np.abs(marginals.carried - share[: len(marginals.carried)]).max() < 0.15


def test_a_point_is_measured_with_history():
    messages = list(measure_like_pstree(Point("", 1, BEGen(match=0.1), 1_000), ["pstbloom", "betree"], 2, True))
    rows = [message["row"] for message in messages if "row" in message]
    assert [row["engine"] for row in rows] == ["pstbloom", "betree"]
    assert {row["status"] for row in rows} <= {"ok", "unsteady"}  # a busy machine may disturb every attempt
