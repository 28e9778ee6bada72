"""Does every name of the package mean one thing, and is an engine found by its folder alone?"""

import os
import shutil
import subprocess
import sys

import pytest

from support import ROOT

HIDDEN = """
import types
from importlib import import_module
from pkgutil import iter_modules

def walk(package):
    for found in iter_modules(package.__path__):
        before = vars(package).get(found.name)
        assert before is None or isinstance(before, types.ModuleType), f"{package.__name__}.{found.name} is {before}"
        module = import_module(f"{package.__name__}.{found.name}")
        assert getattr(package, found.name) is module, f"{module.__name__} is hidden by {vars(package)[found.name]}"
        print(module.__name__)
        if found.ispkg:
            walk(module)

walk(import_module("tellwhen"))
"""

TOY = """
import tellwhen as tw
from tellwhen.testing.engine_checks import check_engine
assert "toy" in [info.name for info in tw.list_engines()]
check_engine("toy", seed=1, rounds=2)
index = tw.Index("toy").add("a", "x = 1")
index.save("saved")
print(index, tw.Index.load("saved").match({"x": 1}))
"""


def run(code, **more):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_no_function_hides_a_module():
    """In a process of its own, which has imported nothing: an import puts the module where a function was."""
    names = run(HIDDEN).split()
    assert len(names) > 100
    assert "tellwhen.engines.scan.engine" in names
    assert "tellwhen.spark" in names


@pytest.mark.slow
def test_an_engine_is_one_folder(tmp_path):
    """A copy of the package with one more folder, and nothing else changed."""
    package = tmp_path / "tellwhen"
    shutil.copytree(ROOT / "src" / "tellwhen", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests" / "toy", package / "engines" / "toy", ignore=shutil.ignore_patterns("__pycache__"))
    said = run(TOY, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert said == "<Index of 1 subscriptions, engine toy> ['a']\n"
