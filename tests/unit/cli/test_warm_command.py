"""Does `tellwhen warm` compile all that a new process will need?"""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app, warm_command

pytestmark = pytest.mark.late

NOTED = """
import gc, json
from numba.core import event
from numba.core.registry import CPUDispatcher

compiled = []

class Listener(event.Listener):
    def on_start(self, started):
        compiled.append(started.data["dispatcher"].py_func.__name__)

    def on_end(self, ended):
        pass

event.register("numba:compile", Listener())

def report():
    kernels = [one for one in gc.get_objects() if isinstance(one, CPUDispatcher)]
    mine = [one for one in kernels if str(one.py_func.__module__).startswith("tellwhen.")]
    used = sorted(f"{one.py_func.__qualname__}{signature}" for one in mine for signature in one.overloads)
    print(json.dumps([compiled, used]))
"""

USED = """
import datetime as dt, tempfile
import pyarrow as pa
import tellwhen as tw

index = tw.Index("{engine}")
rules = {{i: f"price < {{i}} AND genre = 'g{{i % 9}}' AND stock IN (1, {{i}})" for i in range(500)}}
index.add("one", "title LIKE 'the %' AND (price > 2.5 OR NOT signed)")
assert index.match({{"title": "the sea", "price": 3}}) == ["one"]
index.add_many(rules)
index.add("late", "published >= DATE '2020-01-01' OR title CONTAINS 'sea' OR format <> 'audio'")
index.remove_many(range(0, 500, 2))
book = {{"price": 4.5, "genre": "g5", "stock": 1, "title": "a sea", "format": "audio"}}
assert index.match(book) == [*range(5, 500, 18), "late"]
index.match({{"genre": ["g1", "g2"], "price": tw.Interval(1, 4), "published": dt.date(2021, 1, 1), "signed": True}})
wide = pa.table({{"price": [1, 400], "genre": ["g1", None], "stock": [1.0, 7.0], "signed": [True, None]}})
assert index.match_many([book, book]).num_rows == 2 * len(index.match(book))
assert index.match_many(wide).num_rows > 0
index.set_score("late", 3).set_scores({{5: 2.5}})
assert index.top_k(book, 2) == [("late", 3), (5, 2.5)]
assert index.top_k_many([book, book], 2).num_rows == 4
assert len(index.top_k(book, relaxed=True, weights={{"price": 2}})) == 10
assert len(index.top_k(book, weights={{"price": 2}})) == 10
assert index.top_k_many(wide, relaxed=True).num_rows > 0
maps = pa.array([[("price", "3"), ("genre", "g5"), ("stock", "1")], []], pa.map_(pa.string(), pa.string()))
assert index.match_many(pa.table({{"m": maps}})).num_rows > 0
with tempfile.TemporaryDirectory() as folder:
    index.save(folder + "/i")
    again = tw.Index.load(folder + "/i")
    assert again.match(book) == index.match(book)
    again.add("more", "price < 3").remove(5).rebuild()
    again.match_many(wide)
    again.top_k(book)
    again.top_k(book, relaxed=True)
"""


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", f"{NOTED}\n{code}\nreport()"],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_after_warm_a_new_process_compiles_nothing():
    _, prepared = run("from tellwhen.cli.warm_command import compile_kernels; compile_kernels('auto')")
    compiled, used = run(USED.format(engine="auto"))
    assert compiled == []
    # Even if the cache has kernels that other tests compiled: all that is used comes from `warm`.
    assert used
    assert set(used) <= set(prepared)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [info.name for info in tw.list_engines()])
def test_after_warm_a_new_process_compiles_nothing_whatever_was_in_the_cache(engine, tmp_path):
    compiled, _ = run(
        f"from tellwhen.cli.warm_command import compile_kernels; compile_kernels({engine!r})",
        NUMBA_CACHE_DIR=str(tmp_path),
    )
    assert compiled
    compiled, _ = run(USED.format(engine=engine), NUMBA_CACHE_DIR=str(tmp_path))
    assert compiled == []


def test_warm_says_what_it_did():
    done = CliRunner().invoke(app, ["warm", "scan"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert done.output.startswith("scan: ")
    assert "The cache is in " in done.output
    wrong = CliRunner().invoke(app, ["warm", "fast"])
    assert wrong.exit_code == 1
    assert "there is no engine 'fast'" in wrong.output


def test_without_a_cache_warm_says_so(monkeypatch):
    monkeypatch.setattr("tellwhen.kernels.jit.find_cache_directory", lambda: None)
    done = CliRunner().invoke(app, ["warm"])
    assert done.exit_code == 1
    assert "NUMBA_CACHE_DIR" in done.output


def test_what_is_cached_is_not_counted():
    warm_command.compile_kernels("scan")
    assert warm_command.compile_kernels("scan").compiled == 0
