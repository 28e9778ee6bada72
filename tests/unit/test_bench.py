"""Does the harness measure what it says, notice what is wrong, go on where it stopped, and tell noise from change?"""

import json

import pytest
from bench import results
from bench.claims import Finding, Grows, Leads, judged
from bench.commands import app
from bench.compare import compare
from bench.registry import EXPERIMENTS
from bench.report import report
from bench.results import Results
from bench.runner import Settings, run
from typer.testing import CliRunner

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
        assert one.rows or {claim.engine for claim in one.claims} <= set(one.engines), name
        assert {rival for c in one.claims if isinstance(c, Leads) for rival in c.over} <= set(one.engines), name
        assert not any(engine.startswith("test-") for engine in one.engines)


QUICK = Settings(scale=0.001, repeat=2, seconds=20, megabytes=1_500, load=("tests.broken_engines",))
BROKEN = ["test-forgetful", "test-repeating", "test-raising", "test-dying", "test-greedy"]


def test_engines_that_fail_are_told_of_and_the_others_measured(tmp_path):
    one = EXPERIMENTS["betree-fig13"]
    told = []
    found = run(one, tmp_path, QUICK, told.append, ["scan", *BROKEN, "counting"])
    rows = {row["engine"]: row for row in found.rows}
    assert list(rows) == ["scan", *BROKEN, "counting"]
    assert rows["scan"]["status"] == rows["counting"]["status"] == "ok"
    assert rows["test-forgetful"]["status"] == rows["test-repeating"]["status"] == "wrong"
    assert "1 matches are missing" in rows["test-forgetful"]["detail"]
    assert "twice" in rows["test-repeating"]["detail"]
    assert rows["test-raising"] | {"variant": "", "x": 1000} == rows["test-raising"]
    assert (rows["test-raising"]["status"], rows["test-raising"]["detail"]) == ("failed", "RuntimeError: no")
    assert rows["test-dying"]["status"] == "failed"
    assert rows["test-greedy"]["status"] == "over memory"
    assert not any("match" in rows[name] for name in BROKEN)
    for name in ("scan", "counting"):
        row = rows[name]
        assert row["match"] > 0
        assert row["batch"] > 0
        assert 0 <= row["match_noise"] < 5
        assert row["build"] > 0
        assert row["bytes"] > 10
        assert 5 < row["matches"] <= row["candidates"] <= 1000
    assert rows["scan"]["candidates"] == 1000 > rows["counting"]["candidates"]
    assert rows["scan"]["matches"] == rows["counting"]["matches"]
    assert found.machine["cores"]
    # What is there is not measured again; another scale is.
    assert len(told) == 1
    run(one, tmp_path, QUICK, told.append, ["scan", "counting"])
    assert len(told) == 1
    run(one, tmp_path, Settings(scale=0.02, repeat=2), told.append, ["scan"])
    assert len(told) == 2


def test_an_engine_without_end_is_stopped(tmp_path):
    settings = Settings(scale=0.001, repeat=2, seconds=2, load=("tests.broken_engines",))
    found = run(EXPERIMENTS["betree-fig13"], tmp_path, settings, print, ["test-endless"])
    assert [(row["status"], row["detail"]) for row in found.rows] == [("over time", "build: more than 2 s")]


def made(folder, name, rows, scale=0.1):
    results.save(folder, Results(name, scale, 5, {"day": "2026-01-01"}, rows))


def row(engine, match, x=1, noise=0.02, variant="a: uniform", **more):
    return {"variant": variant, "x": x, "engine": engine, "status": "ok", "match": match, "match_noise": noise, **more}


def test_compare_tells_change_from_noise(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    made(old, "betree-fig5", [row("scan", 100, noise=0.1), row("counting", 100), row("auto", 100), row("kindex", 5)])
    broken = {"variant": "a: uniform", "x": 1, "engine": "auto", "status": "wrong", "detail": "x"}
    made(new, "betree-fig5", [row("scan", 115), row("counting", 90), broken, row("betree", 1)])
    made(new, "betree-fig6", [row("scan", 1)])
    found = {(change.experiment, change.engine): change for change in compare(old, new)}
    assert found["betree-fig5", "scan"].verdict == "same"  # within twice the noise
    assert found["betree-fig5", "scan"].delta == pytest.approx(0.15)
    assert found["betree-fig5", "counting"].verdict == "faster"
    assert found["betree-fig5", "auto"].verdict == "broken"
    assert found["betree-fig5", "kindex"].verdict == "only in A"
    assert found["betree-fig5", "betree"].verdict == "only in B"
    made(new, "betree-fig5", [row("scan", 115)], scale=1.0)
    assert next(iter(compare(old, new))).verdict == "not comparable"


def test_claims_are_judged():
    rows = [row("a", 1, x) for x in (1, 2)] + [row("b", 3, 1), row("b", 1.5, 2)]
    assert Leads("a", ("b",)).judge(rows, "match").verdict == "holds"
    assert Leads("a", ("b",), factor=2).judge(rows, "match").verdict == "does not hold"
    assert Leads("a", ("c",)).judge(rows, "match").verdict == "not comparable"
    over = {"variant": "a: uniform", "x": 1, "engine": "c", "status": "over memory", "detail": ""}
    assert Leads("a", ("c",)).judge([*rows, over], "match").verdict == "holds"
    assert Grows("b", at_most=0.6).judge(rows, "match").verdict == "holds"
    assert Grows("b", at_least=1).judge(rows, "match").verdict == "does not hold"
    assert Grows("z").judge(rows, "match").verdict == "not comparable"
    assert judged((Leads("a", ("b",)), Grows("b", at_least=1)), rows, "match").verdict == "does not hold"
    assert judged((), rows, "match") == Finding(
        "not comparable", "the paper claims nothing of it that could be checked"
    )


def test_the_report_tells_all(tmp_path):
    rest = {"batch": 1, "candidates": 5, "matches": 2, "build": 0.1, "bytes": 100}
    rows = [row(engine, match, x, **rest) for engine, match in (("betree", 10), ("scan", 99)) for x in (100, 200)]
    wrong = {"variant": "a: uniform", "x": 200, "engine": "kindex", "status": "wrong", "detail": "3 are <missing>"}
    made(tmp_path, "betree-fig5", [*rows, wrong])
    text = report(tmp_path, tmp_path / "page.html").read_text()
    assert "<svg" in text
    assert "wrong: 3 are &lt;missing&gt;" in text
    assert EXPERIMENTS["betree-fig5"].says in text
    assert "waits for betree" in text
    assert all(name in text for name in LISTED)


def test_the_command_line(tmp_path):
    runner = CliRunner()
    listed = runner.invoke(app, ["list"], env={"COLUMNS": "200"})
    assert "ranked-table2" in listed.output
    assert "scored-segment-tree" in listed.output
    done = runner.invoke(app, ["run", "betree-fig13", "ranked-fig6", "--scale", "0.001", "--repeat", "2",
                               "--folder", str(tmp_path), "--engines", "scan"])  # fmt: skip
    assert done.exit_code == 0, done.output
    saved = json.loads((tmp_path / "betree-fig13.json").read_text())
    assert saved["rows"][0]["status"] == "ok"
    told = runner.invoke(app, ["report", "--folder", str(tmp_path), "--to", str(tmp_path / "p.html")])
    assert told.exit_code == 0, told.output
    assert "betree-fig13" in told.output
    none = str(tmp_path / "none")
    for wrong in (
        ["run", "betree-fig99"],
        ["run", "betree-fig5", "--engines", "fast"],
        ["report", "--folder", none],
        ["compare", str(tmp_path), none],
    ):
        assert runner.invoke(app, wrong).exit_code == 2
    waiting = runner.invoke(app, ["run", "ranked-fig7", "--folder", str(tmp_path)])
    assert "ranked-fig7: waits for scored-interval-tree" in waiting.output.replace("\n", " ")
