"""Marks, order and fixtures of all tests."""

import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import tellwhen as tw
from tellwhen.engines.auto.upkeep import Merge
from tellwhen.engines.base import REGISTRY
from tellwhen.engines.registry import load_engines
from tellwhen.index.maintenance import background

# No database of examples; no deadline, since the first call of a kernel compiles it.
settings.register_profile("tellwhen", database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tellwhen")

USUAL_ENGINES = {"auto", "counting", "scan"}
"""Engines that every test of engines runs on. On the others it is slow, unless it is marked `every_engine`."""


TREE_PACKAGES = ("tellwhen.engines.atree", "tellwhen.papers.a_tree", "tellwhen.papers.ps_tree")
"""Packages whose engines are tested in the part `trees` of `tests/run.py`: half of the kernels to compile."""

TREE_FOLDERS = [
    Path(__file__).parent / "unit" / name.removeprefix("tellwhen.").replace(".", "/") for name in TREE_PACKAGES
]

RANKED_PACKAGE = Path(__file__).parent.parent / "src/tellwhen/papers/ranked"

ENGINES_COMPILED_BY_SPARK = ("auto", "cover")
"""Engines whose tests come last, because the tests of Spark compile their kernels at the same time."""


def find_engine_name(item):
    """Return the engine that a test is parametrised with, or None."""
    return item.callspec.params.get("engine") if hasattr(item, "callspec") else None


def is_tree_test(item):
    """Return whether a test belongs to the part `trees`: by its engine, or else by its folder."""
    name = find_engine_name(item)
    if name is None:
        return any(folder in item.path.parents for folder in TREE_FOLDERS)
    engine = load_engines().get(name)
    return engine is not None and engine.__module__.startswith(TREE_PACKAGES)


def needs_slow_mark(item):
    """Return whether a test is slow because of its engine, or because it is a doctest that compiles all structures."""
    engine = find_engine_name(item) or "auto"
    is_rare = engine not in USUAL_ENGINES and not item.get_closest_marker("every_engine")
    return is_rare or item.path.parent == RANKED_PACKAGE


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of `trees` and the slow ones; move those to the end whose kernels other parts compile first."""
    items.sort(
        key=lambda item: (
            item.get_closest_marker("late") is not None,
            find_engine_name(item) in ENGINES_COMPILED_BY_SPARK,
        )
    )
    for item in items:
        if is_tree_test(item):
            item.add_marker(pytest.mark.trees)
        if needs_slow_mark(item):
            item.add_marker(pytest.mark.slow)


# Importing these would register their engines, and every test of engines would run on them.
collect_ignore = ["broken_engines.py", "toy"]


@pytest.fixture(params=[info.name for info in tw.list_engines()])
def engine(request):
    """Every registered engine; a new one is found without being named here."""
    return request.param


@pytest.fixture
def registry():
    """Forget the engines that a test registers when it ends."""
    before = load_engines().copy()
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


class MergeGate:
    """Gate that holds background merges before they start until a test opens it."""

    def __init__(self, monkeypatch):
        self.arrivals, self.permits = threading.Semaphore(0), threading.Semaphore(0)
        run = Merge.run

        def run_behind_gate(merge):
            if threading.current_thread() is not threading.main_thread():
                self.arrivals.release()
                assert self.permits.acquire(timeout=60)
            run(merge)

        monkeypatch.setattr(Merge, "run", run_behind_gate)


@pytest.fixture
def merge_gate(monkeypatch):
    """A `MergeGate`, opened for all merges when the test ends."""
    gate = MergeGate(monkeypatch)
    yield gate
    gate.permits.release(1000)
    for thread in list(background._running):
        thread.join(60)
