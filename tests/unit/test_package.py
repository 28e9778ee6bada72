"""Every name of the package means one thing, and a new engine is found by its folder alone."""

import os
import shutil
import subprocess
import sys

import pytest

from support import ROOT

WALK_PACKAGE = """
import types
from importlib import import_module
from pkgutil import iter_modules

def walk(package):
    for info in iter_modules(package.__path__):
        before = vars(package).get(info.name)
        assert before is None or isinstance(before, types.ModuleType), f"{package.__name__}.{info.name} is {before}"
        module = import_module(f"{package.__name__}.{info.name}")
        assert getattr(package, info.name) is module, f"{module.__name__} is hidden by {vars(package)[info.name]}"
        print(module.__name__)
        if info.ispkg:
            walk(module)

walk(import_module("tellwhen"))
"""

USE_TOY_ENGINE = """
import tellwhen as tw
from tellwhen.testing.engine_checks import check_engine
assert "toy" in [info.name for info in tw.list_engines()]
check_engine("toy", seed=1, rounds=2)
index = tw.Index("toy").add("a", "x = 1")
index.save("saved")
print(index, tw.Index.load("saved").match({"x": 1}))
"""


def run_code(code, **options):
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, **options)
    assert process.returncode == 0, process.stderr[-2000:]
    return process.stdout


def test_no_function_hides_a_module():
    """Check this in a new process, because an import replaces a function by a module of the same name."""
    names = run_code(WALK_PACKAGE).split()
    assert len(names) > 100
    assert "tellwhen.engines.scan.engine" in names
    assert "tellwhen.spark" in names


@pytest.mark.slow
def test_an_engine_is_one_folder(tmp_path):
    """Add a folder to a copy of the package, and change nothing else."""
    package = tmp_path / "tellwhen"
    shutil.copytree(ROOT / "src" / "tellwhen", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests" / "toy", package / "engines" / "toy", ignore=shutil.ignore_patterns("__pycache__"))
    output = run_code(USE_TOY_ENGINE, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert output == "<Index of 1 subscription, engine toy> ['a']\n"
