"""Are engines measured in separate processes, faults reported, and interrupted runs resumed?"""

import pytest
from bench import results
from bench.registry import EXPERIMENTS
from bench.runner import Settings, SettingsMismatch, run
from bench.timing import QUARTILE_DIFFERENCE_MAX

from bench_support import QUICK_SETTINGS

pytestmark = pytest.mark.late

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
    [found] = run([one], tmp_path, QUICK_SETTINGS, progress.append, asked)
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
        assert row["status"] in ("ok", "unsteady")  # a busy machine may disturb every attempt
        if row["status"] == "ok":
            assert row["match"] > 0
            assert 0 <= row["match_noise"] <= QUARTILE_DIFFERENCE_MAX / 2
        assert row["build"] > 0
        assert 2000 > row["bytes"] > row["index"] > 10
        assert 0 < row["matches"] <= row["candidates"] <= 1000
    assert rows["scan"]["candidates"] == 1000 > rows["counting"]["candidates"]
    assert rows["scan"]["matches"] == rows["counting"]["matches"]
    assert found.machine["cores"]
    # Points with results are not measured again; results of another scale are not overwritten.
    run([one], tmp_path, QUICK_SETTINGS, progress.append, ["scan", "counting"])
    assert len(progress) == 1
    with pytest.raises(SettingsMismatch, match="at scale 0.001"):
        run([one], tmp_path, Settings(scale=0.02, repeat=2), progress.append, ["scan"])
    # Times of two machines are not mixed.
    saved = results.load(tmp_path, one.name)
    saved.machine["cores"] = "1000"
    results.save(tmp_path, saved)
    with pytest.raises(SettingsMismatch, match="another machine"):
        run([one], tmp_path, QUICK_SETTINGS, progress.append, ["scan"])


@pytest.mark.slow
def test_trees_are_checked_as_well(tmp_path):
    """Where the truth does not come from arrays: an engine that is right about a sample only is wrong."""
    [found] = run([EXPERIMENTS["atree-table4"]], tmp_path, QUICK_SETTINGS, print, ["test-sampling", "auto"])
    assert [row["status"] for row in found.rows] in (["wrong", "ok"], ["wrong", "unsteady"])


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
        run([one], tmp_path, settings, interrupt, ["scan"])
    assert len(results.load(tmp_path, one.name).rows) == 1
    [found] = run([one], tmp_path, settings, progress.append, ["scan"])
    assert [(row["variant"], row["x"]) for row in found.rows] == [
        ("a: uniform", 1000),
        ("b: Zipf", 1000),
    ]
    assert len(progress) == 2 + 1
    [more] = run([one], tmp_path, settings, progress.append, ["counting"])
    assert len(more.rows) == 4
    assert {row["engine"] for row in more.rows} == {"scan", "counting"}


@pytest.mark.slow
def test_an_endless_engine_is_stopped(tmp_path):
    settings = Settings(scale=0.001, repeat=2, seconds=2, engine_modules=("tests.broken_engines",))
    [found] = run([EXPERIMENTS["opindex-fig7"]], tmp_path, settings, print, ["test-endless"])
    assert [(row["status"], row["detail"]) for row in found.rows] == [("over time", "build: more than 2 s")]
    progress = []
    run([EXPERIMENTS["opindex-fig7"]], tmp_path, settings, progress.append, ["test-endless"])
    assert progress == []
    more = Settings(scale=0.001, repeat=2, seconds=2.5, engine_modules=("tests.broken_engines",))
    run([EXPERIMENTS["opindex-fig7"]], tmp_path, more, progress.append, ["test-endless"])
    assert len(progress) == 1  # the limit is higher now
