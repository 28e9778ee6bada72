"""Does the harness measure correctly, notice faults, resume where it stopped, and tell a change from noise?"""

import json
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from bench import results
from bench.changes import compare, describe_processor_difference
from bench.checkout_process import EngineTimer
from bench.checkouts import Comparison
from bench.claims import (
    Grows,
    GrowsLess,
    GrowsLinearly,
    IncludesShare,
    Leads,
    StaysBelow,
    claim_ranking,
    claim_similar,
    compute_lead,
    judge_all,
)
from bench.commands import app
from bench.engines import ENTRIES, list_engines_of_paper, list_overview_engines, make, parse_engine_names
from bench.registry import EXPERIMENTS
from bench.report import judge_experiment, write_report
from bench.results import Results
from bench.runner import Settings, SettingsMismatch, run
from typer.testing import CliRunner

import tellwhen as tw
from support import ROOT
from tellwhen.compile.store import Store
from tellwhen.encode.events import encode
from tellwhen.testing.engine_checks import random_event, random_expression
from tellwhen.workloads import BEGen

pytestmark = pytest.mark.late

LISTED = [
    *(f"betree-fig{n}" for n in range(4, 14)), "betree-table5",
    *(f"atree-fig{n}" for n in range(7, 14)), "atree-table4",
    "opindex-fig1", *(f"opindex-fig{n}" for n in range(7, 15)),
    *(f"pstree-fig{n}" for n in range(5, 16)), "pstree-table2", "pstree-table3",
    "ranked-table2", *(f"ranked-fig{n}" for n in range(6, 10)),
]  # fmt: skip


def test_every_figure_and_table_is_an_experiment():
    assert sorted(EXPERIMENTS) == sorted(LISTED)
    for name, one in EXPERIMENTS.items():
        points = one.points(0.1)
        assert bool(points) != bool(one.rows), name
        assert len({point.key for point in points}) == len(points), name
        assert all(point.count >= 1000 for point in points)
        assert one.rows or {engine for claim in one.claims for engine in claim.engines} <= set(one.engines), name
        assert not any(engine.startswith("test-") for engine in one.engines)


def test_every_engine_has_a_bench_entry():
    """One line in bench/engines.py. auto is a choice among the others."""
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    assert {info.name for info in tw.list_engines()} - {"auto"} <= set(names)
    assert {"scan", "counting"} <= set(list_overview_engines())
    assert parse_engine_names("scan, counting,") == ["scan", "counting"]
    with pytest.raises(ValueError, match="there is no engine fast; there are .*auto"):
        parse_engine_names("scan,fast")


QUICK = Settings(scale=0.001, repeat=2, seconds=60, megabytes=1_500, engine_modules=("tests.broken_engines",))
WRONG = {
    "test-forgetful": "1 matches are missing and 0 are wrong",
    "test-inventive": "0 matches are missing and 1 are wrong",
    "test-repeating": "twice",
    "test-only-batches": "0 are wrong",
}
FAILED = {"test-raising": "RuntimeError: no", "test-late": "RuntimeError: not now", "test-dying": "build: "}


@pytest.mark.slow
def test_engines_that_fail_are_reported_and_the_others_measured(tmp_path):
    one = EXPERIMENTS["opindex-fig7"]
    progress = []
    asked = ["scan", *WRONG, *FAILED, "test-greedy", "test-printing", "counting"]
    found = run(one, tmp_path, QUICK, progress.append, asked)
    rows = {row["engine"]: row for row in found.rows}
    assert list(rows) == asked
    assert len(found.rows) == len(asked)
    for name, detail in WRONG.items():
        assert rows[name]["status"] == "wrong"
        assert detail in rows[name]["detail"]
    for name, detail in FAILED.items():
        assert rows[name]["status"] == "failed"
        assert detail in rows[name]["detail"]
    assert rows["test-greedy"]["status"] == "over memory"
    good = ("scan", "counting", "test-printing")
    assert not any("match" in rows[name] for name in asked if name not in good)
    for name in good:
        row = rows[name]
        assert row["status"] == "ok"
        assert row["match"] > row["batch"] > 0
        assert 0 <= row["match_noise"] < 5
        assert row["build"] > 0
        assert 2000 > row["bytes"] > row["index"] > 10
        assert 0 < row["matches"] <= row["candidates"] <= 1000
    assert rows["scan"]["candidates"] == 1000 > rows["counting"]["candidates"]
    assert rows["scan"]["matches"] == rows["counting"]["matches"]
    assert found.machine["cores"]
    # Points with results are not measured again; results of another scale are not overwritten.
    run(one, tmp_path, QUICK, progress.append, ["scan", "counting"])
    assert len(progress) == 1
    with pytest.raises(SettingsMismatch, match="at scale 0.001"):
        run(one, tmp_path, Settings(scale=0.02, repeat=2), progress.append, ["scan"])


@pytest.mark.slow
def test_trees_are_checked_as_well(tmp_path):
    """Where the truth does not come from arrays: an engine that is right about a sample only is wrong."""
    found = run(EXPERIMENTS["atree-table4"], tmp_path, QUICK, print, ["test-sampling", "auto"])
    assert [row["status"] for row in found.rows] == ["wrong", "ok"]


@pytest.mark.slow
def test_a_run_goes_on_where_it_was_stopped(tmp_path):
    one = EXPERIMENTS["betree-fig5"]
    progress = []

    def interrupt(what):
        progress.append(what)
        if len(progress) == 2:
            raise KeyboardInterrupt

    settings = Settings(scale=0.01, repeat=2, subscriptions_max=1_000)
    with pytest.raises(KeyboardInterrupt):
        run(one, tmp_path, settings, interrupt, ["scan"])
    assert len(results.load(tmp_path, one.name).rows) == 1
    found = run(one, tmp_path, settings, progress.append, ["scan"])
    assert [(row["variant"], row["x"]) for row in found.rows] == [("a: uniform", 1000), ("b: Zipf", 1000)]
    assert len(progress) == 2 + 1
    more = run(one, tmp_path, settings, progress.append, ["counting"])
    assert len(more.rows) == 4
    assert {row["engine"] for row in more.rows} == {"scan", "counting"}


@pytest.mark.slow
def test_an_endless_engine_is_stopped(tmp_path):
    settings = Settings(scale=0.001, repeat=2, seconds=2, engine_modules=("tests.broken_engines",))
    found = run(EXPERIMENTS["opindex-fig7"], tmp_path, settings, print, ["test-endless"])
    assert [(row["status"], row["detail"]) for row in found.rows] == [("over time", "build: more than 2 s")]
    progress = []
    run(EXPERIMENTS["opindex-fig7"], tmp_path, settings, progress.append, ["test-endless"])
    assert progress == []
    more = Settings(scale=0.001, repeat=2, seconds=2.5, engine_modules=("tests.broken_engines",))
    run(EXPERIMENTS["opindex-fig7"], tmp_path, more, progress.append, ["test-endless"])
    assert len(progress) == 1  # the limit is higher now


def save_results(folder, name, rows, scale=0.1):
    results.save(folder, Results(name, scale, 5, {"day": "2026-01-01"}, rows))


def row(engine, match, x=1, noise=0.02, variant="a: uniform", **more):
    return {"variant": variant, "x": x, "engine": engine, "status": "ok", "match": match, "match_noise": noise, **more}


def test_compare_separates_change_from_noise(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    save_results(old, "betree-fig5", [row("scan", 100), row("counting", 100), row("auto", 100), row("kindex", 5)])
    broken = {"variant": "a: uniform", "x": 1, "engine": "auto", "status": "wrong", "detail": "x"}
    save_results(new, "betree-fig5", [row("scan", 115, noise=0.1), row("counting", 90), broken, row("betree", 1)])
    save_results(new, "betree-fig6", [row("scan", 1)])
    save_results(old, "betree-table5", [row("scan", 1, build=10, build_noise=0.01)])
    save_results(new, "betree-table5", [row("scan", 1, build=30, build_noise=0.01)])
    found = {(change.experiment, change.metric, change.engine): change for change in compare(old, new)}
    assert found["betree-fig5", "match", "scan"].verdict == "same"  # within twice the noise
    assert found["betree-fig5", "match", "scan"].delta == pytest.approx(0.15)
    assert found["betree-fig5", "match", "counting"].verdict == "faster"
    assert found["betree-fig5", "match", "auto"].verdict == "broken"
    assert found["betree-fig5", "match", "kindex"].verdict == "only in A"
    assert found["betree-fig5", "match", "betree"].verdict == "only in B"
    assert found["betree-table5", "build", "scan"].verdict == "slower"
    assert found["betree-table5", "match", "scan"].verdict == "same"
    assert describe_processor_difference(old, new) == ""
    save_results(new, "betree-fig5", [row("scan", 115)], scale=1.0)
    assert next(iter(compare(old, new))).verdict == "not comparable"


def test_who_leads():
    rows = [row("a", 1, x) for x in (1, 2)] + [row("b", 3, 1), row("b", 1.5, 2)]
    over = {"variant": "a: uniform", "x": 1, "engine": "c", "status": "over memory", "detail": ""}
    budget = {**over, "status": "over budget"}

    def verdict(claim, given=rows):
        return claim.judge(given, "match").verdict

    assert verdict(Leads("a", ("b",))) == "holds"
    assert verdict(Leads("a", ("b",), factor=2)) == "does not hold"
    assert verdict(Leads("a", ("b",), factor=2, x_below=2)) == "holds"
    assert verdict(Leads("a", ("b",), where="b:")) == "not comparable"
    assert verdict(Leads("a", ("b", "c"))) == "not comparable"  # one of the rivals was not measured
    assert verdict(Leads("a", ("c",)), [*rows, over]) == "holds"
    assert verdict(Leads("a", ("c",)), [*rows, budget]) == "does not hold"  # it did not take part
    assert verdict(Leads("c", ("a",)), [*rows, over]) == "does not hold"  # it has no value
    lost = [row(name, 1 + (name == "a") * (x == 1), x) for name in "abde" for x in (1, 2)]
    assert verdict(Leads("a", ("b", "d", "e"), share=0.6), lost) == "does not hold"
    assert verdict(Leads("a", ("b",)), [row("a", 1.05, noise=0.1), row("b", 1)]) == "holds"  # a draw
    assert verdict(Leads("a", ("b",)), [row("a", 1.3, noise=0.1), row("b", 1)]) == "does not hold"


def test_what_grows_and_what_stays_below():
    rows = [row("b", value, x) for x, value in ((3, 9), (1, 1), (2, 4))]
    over = {"variant": "a: uniform", "x": 4, "engine": "b", "status": "over time", "detail": ""}

    def verdict(claim, given=rows):
        return claim.judge(given, "match").verdict

    assert verdict(Grows("b", at_least=8, at_most=10)) == "holds"
    assert verdict(Grows("b", at_most=5)) == "does not hold"
    assert verdict(Grows("b", at_most=20), [*rows, over]) == "does not hold"
    assert verdict(Grows("b", at_least=2), [*rows, over]) == "holds"
    assert verdict(Grows("z")) == "not comparable"
    assert verdict(StaysBelow("b", 9)) == "holds"
    assert verdict(StaysBelow("b", 8)) == "does not hold"
    assert verdict(StaysBelow("b", 9), [*rows, over]) == "does not hold"
    assert verdict(StaysBelow("z", 8)) == "not comparable"
    both = [*rows, row("a", 1, 1), row("a", 5, 3)]
    assert verdict(GrowsLess("a", "uniform", "b", "uniform"), both) == "holds"
    assert verdict(GrowsLess("b", "uniform", "a", "uniform"), both) == "does not hold"
    assert verdict(GrowsLess("a", "uniform", "b", "elsewhere"), both) == "not comparable"


def test_claims_about_the_end_of_an_axis_and_about_parts():
    rows = [row("a", 4, 1), row("a", 10, 2), row("b", 2, 1), row("b", 40, 2)]

    def verdict(claim, given=rows):
        return claim.judge(given, "match").verdict

    assert verdict(Leads("a", ("b",))) == "does not hold"
    assert verdict(Leads("a", ("b",), 4, at_end=True)) == "holds"
    assert verdict(GrowsLinearly("a")) == "holds"
    assert verdict(GrowsLinearly("b")) == "does not hold"
    assert verdict(GrowsLinearly("a", x_below=2)) == "not comparable"
    assert [verdict(claim) for claim in claim_ranking("a", "b", "c", at_end=True)] == ["holds", "not comparable"]
    assert {verdict(claim) for claim in claim_similar("a", "b", 4)} == {"holds"}
    assert {verdict(claim) for claim in claim_similar("a", "b", 3)} == {"holds", "does not hold"}
    assert compute_lead(75) == 4
    parted = [row("t", 10, build=4, translate=3)]
    assert verdict(IncludesShare("t", "translate", 0.7, metric="build"), parted) == "holds"
    assert verdict(IncludesShare("t", "translate", 0.8, metric="build"), parted) == "does not hold"
    assert verdict(IncludesShare("a", "translate", 0.8, metric="build"), parted) == "not comparable"
    budget = {"variant": "a: uniform", "x": 3, "engine": "b", "status": "over budget", "detail": ""}
    assert verdict(Grows("b", at_least=50), [*rows, budget]) == "holds"


@pytest.mark.slow
def test_the_naive_scan_is_right():
    """It is no engine of the package, so the conformance suite does not see it."""
    rng = random.Random(1)
    store = Store()
    slots, _ = store.append(store.compile([random_expression(rng) for _ in range(200)]))
    events, _ = encode([random_event(rng) for _ in range(100)], store.attributes, tw.Schema())
    rivals = [make(name, store) for name in ("naive", "scan")]
    for some in (slots[:120], slots[120:]):
        for rival in rivals:
            rival.insert(some)
    store.remove(slots[::7])
    found, wanted = (rival.reader().match(events) for rival in rivals)
    for e in range(100):
        mine, right = (m.slot[m.start[e] : m.start[e + 1]].tolist() for m in (found, wanted))
        assert sorted(mine) == sorted(right)
    assert len(wanted.slot) > 100
    rivals[0].delete(slots[::7])
    assert len(rivals[0]) == 200 - 29
    assert "naive" not in [info.name for info in tw.list_engines()]
    assert parse_engine_names("naive") == ["naive"]


def test_all_claims_together():
    rows = [row("a", 1), row("b", 2)]
    yes, no, unknown = Leads("a", ("b",)), Leads("b", ("a",)), Leads("a", ("z",))
    assert judge_all((yes, no, unknown), rows, "match").verdict == "does not hold"
    assert judge_all((yes, unknown), rows, "match").verdict == "not comparable"
    assert judge_all((yes,), rows, "match").verdict == "holds"
    assert judge_all((), rows, "match").verdict == "not comparable"


def test_the_report_has_everything(tmp_path):
    rest = {"batch": 1, "candidates": 5, "matches": 2, "build": 0.1, "index": 90, "bytes": 100}
    rows = [row(engine, match, x, **rest) for engine, match in (("betree", 10), ("scan", 99)) for x in (100, 200)]
    wrong = {"variant": "a: uniform", "x": 200, "engine": "kindex", "status": "wrong", "detail": "3 are <missing>"}
    save_results(tmp_path, "betree-fig5", [*rows, wrong])
    text = write_report(tmp_path, tmp_path / "page.html").read_text()
    assert "<svg" in text
    assert "wrong: 3 are &lt;missing&gt;" in text
    assert EXPERIMENTS["betree-fig5"].paper_finding in text
    assert all(name in text for name in LISTED)
    assert text.count("not run") == len(LISTED) - 1
    shown = list_engines_of_paper("betree")
    every = [row(engine, 10 + 9 * (engine != "betree"), x, **rest) for engine in shown for x in (100, 200)]
    unbuilt = replace(EXPERIMENTS["ranked-fig6"], engines=("not-yet",), claims=(Leads("betree", ("not-yet",)),))
    assert judge_experiment(unbuilt, Results("ranked-fig6", 1, 2, {}, every)).text == "waits for not-yet"
    assert EXPERIMENTS["atree-fig9"].get_label("atree:share=0") == "no optimization"
    assert EXPERIMENTS["atree-fig9"].get_label("scan") == "scan"
    assert "proves nothing" in judge_experiment(EXPERIMENTS["atree-fig7"], Results("atree-fig7", 1, 2, {}, every)).text


@pytest.mark.slow
def test_structures_of_scored_intervals_are_measured(tmp_path):
    found = run(EXPERIMENTS["ranked-table2"], tmp_path, QUICK, print, ["sopt-r-tree", "scored-segment-tree", "scan"])
    good, other, wrong = found.rows
    assert (good["status"], other["status"], wrong["status"]) == ("ok", "ok", "failed")
    assert 0 < good["match"] < 1000
    assert good["relative"] == 1
    assert good["beyond"] < good["index"] < other["index"] == other["beyond"]
    found = run(EXPERIMENTS["ranked-fig9"], tmp_path, QUICK, print, ["ir-tree"])
    assert [row["x"] for row in found.rows] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    assert all(row["status"] == "ok" and row["matches"] == 20 < row["candidates"] for row in found.rows)


def test_the_command_line(tmp_path, monkeypatch):
    runner = CliRunner()
    listed = runner.invoke(app, ["list"], env={"COLUMNS": "200"})
    assert "ranked-table2" in listed.output
    assert "scored-segment-tree" in listed.output
    done = runner.invoke(app, ["run", "betree-fig13", "--scale", "0.001", "--repeat", "2",
                               "--folder", str(tmp_path), "--engines", "scan"])  # fmt: skip
    assert done.exit_code == 0, done.output
    saved = json.loads((tmp_path / "betree-fig13.json").read_text())
    assert saved["rows"][0]["status"] == "ok"
    page = runner.invoke(app, ["report", "--folder", str(tmp_path), "--to", str(tmp_path / "p.html")])
    assert page.exit_code == 0, page.output
    assert "betree-fig13" in page.output
    none = str(tmp_path / "none")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "betree-fig5.json").write_text("[1]")
    for wrong in (
        ["run", "betree-fig5", "--scale", "0"],
        ["run", "betree-fig5", "--folder", str(tmp_path / "bad")],
        ["report", "--folder", str(tmp_path / "bad")],
        ["run", "betree-fig99"],
        ["run", "betree-fig5", "--engines", "fast"],
        ["report", "--folder", none],
        ["compare", str(tmp_path), none],
    ):
        assert runner.invoke(app, wrong).exit_code == 2
    monkeypatch.setitem(EXPERIMENTS, "ranked-fig7", replace(EXPERIMENTS["ranked-fig7"], engines=("not-yet",)))
    waiting = runner.invoke(app, ["run", "ranked-fig7", "--folder", str(tmp_path)])
    assert "ranked-fig7: waits for not-yet" in waiting.output.replace("\n", " ")


def test_the_module_runs_from_a_checkout():
    done = subprocess.run([sys.executable, "-m", "bench", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, "python -m bench" in done.stdout) == (0, True), done.stderr


# two checkouts


FAKE = """
import time
import numpy as np

now = 0.0
time.perf_counter = lambda: now  # so that the load of the machine does not matter

def take(seconds):
    global now
    now += seconds

class Reader:
    def match(self, events):
        take({seconds} * len(events))
        return np.arange(len(events) + 1), np.array(events)

class Engine:
    def insert(self, slots):
        print("engines may print")
        take(1)
    def upkeep(self):
        return None

    def reader(self):
        return Reader()

def create(name, store):
    if name != "scan":
        raise ValueError("no such engine")
    return Engine()
"""
MODULES = {
    "older": ("tellwhen/engines/planner.py", "tellwhen/workloads/loading.py", "tellwhen/compile/batch.py"),
    "newer": ("tellwhen/engines/__init__.py", "bench/loading.py", "tellwhen/containers/batches.py"),
}
FUNCTIONS = {
    "older": ("stored", "encoded", "one_by_one"),
    "newer": ("store_subscriptions", "encode_events", "split_events"),
}
"""Names in older checkouts, and those of this checkout."""


def test_a_comparison_finds_the_functions_of_this_checkout():
    timer = EngineTimer()
    timer.load({}, 100, 3)
    assert timer.prepare("scan") == {}
    assert timer.time_build("scan")["seconds"] > 0
    assert timer.time_matching("one by one")["seconds"] > 0


def make_checkout(root, layout, seconds, first=0):
    """A checkout that has what the comparison asks for, and nothing else."""
    engines, loading, batches = MODULES[layout]
    store, encode, split = FUNCTIONS[layout]
    texts = {
        engines: FAKE.format(seconds=seconds),
        loading: f"{store} = lambda work, count: (None, [0] * count)\n"
        f"{encode} = lambda work, count, store: range({first}, {first} + count)",
        batches: f"{split} = lambda events: [[event] for event in events]",
        "tellwhen/workloads/__init__.py": "BEGen = dict",
    }
    for name, text in texts.items():
        file = root / "src" / name
        for folder in file.relative_to(root / "src").parents:
            (root / "src" / folder).mkdir(parents=True, exist_ok=True)
            if folder.name:
                (root / "src" / folder / "__init__.py").touch()
        file.write_text(text)
    return root


def compare_checkouts(a, b, engines=("scan",)):
    table = Comparison(a, None, 2, 4, b).measure_table("t", BEGen(), 1_000, 3, list(engines))
    return list(zip(*(column.cells for column in table.columns), strict=True))


def test_two_checkouts_are_compared_alternately(tmp_path):
    old, new = make_checkout(tmp_path / "a", "older", 0.01), make_checkout(tmp_path / "b", "newer", 0.03)
    build, singly, together = compare_checkouts(old, new)
    assert [row[:2] for row in (build, singly, together)] == [
        ("scan", "build"), ("scan", "one by one"), ("scan", "in a batch"),
    ]  # fmt: skip
    assert build[2:] == ("1 s", "1 s", "1.00", "0%", "same")
    for row in (singly, together):
        assert row[2:] == ("10,000 us", "30,000 us", "3.00", "0%", "slower")
    assert compare_checkouts(new, old)[1][6] == "faster"


@pytest.mark.slow
def test_checkouts_that_cannot_be_compared(tmp_path):
    old, new = make_checkout(tmp_path / "a", "older", 0.01), make_checkout(tmp_path / "b", "newer", 0.01, first=1)
    assert compare_checkouts(old, new) == [("scan", "the matches differ", "", "", "", "", "")]
    assert compare_checkouts(old, old, ["kindex"])[0][1] == "A: ValueError: no such engine"
    (tmp_path / "c").mkdir()
    with pytest.raises(RuntimeError, match="the process of .* ended with 1"):
        compare_checkouts(tmp_path / "c", new)
