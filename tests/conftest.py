"""Which tests are slow, on which engines does a test run, how does hypothesis draw, and what is held up?"""

import threading

import pytest
from hypothesis import HealthCheck, settings

import tellwhen as tw
from tellwhen.engines.auto.upkeep import Merge
from tellwhen.index.maintenance import background

# No database of examples; no deadline, since the first call of a kernel compiles it.
settings.register_profile("tellwhen", database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tellwhen")

USUAL_ENGINES = {"auto", "counting", "scan"}
"""Engines that every test of engines runs on. On the others it is slow, unless it is marked `every_engine`."""


LATE = (
    "arrays",
    "atree",
    "bdd",
    "bench",
    "calls",
    "cases",
    "betree",
    "cover",
    "docs",
    "drawing",
    "pst_engines",
    "examples",
    "index",
    "interrupts",
    "layouts",
    "papers",
    "persist",
    "plan",
    "relaxed",
    "scripts",
    "segments",
    "texts",
    "threads",
    "top_k",
    "translation",
    "tree_engines",
    "warm",
    "workloads",
)
"""Files whose tests come last: by then the conformance suite, which runs at the same time, has compiled the kernels."""

LATE_ENGINES = ("auto", "cover")
"""Likewise: the tests of Spark compile these first."""


def given_engine(item):
    """The engine that a test is given; None if it makes its own."""
    return item.callspec.params.get("engine") if hasattr(item, "callspec") else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "ranked":  # an example: it compiles all structures
            item.add_marker(pytest.mark.slow)
    items.sort(
        key=lambda item: (item.path.stem.removeprefix("test_") in LATE, given_engine(item) in LATE_ENGINES),
    )
    for item in items:
        engine = given_engine(item) or "auto"
        if engine not in USUAL_ENGINES and not item.get_closest_marker("every_engine"):
            item.add_marker(pytest.mark.slow)


# Importing these would register their engines, and every test of engines would run on them.
collect_ignore = ["broken_engines.py", "toy"]


@pytest.fixture(params=[info.name for info in tw.list_engines()])
def engine(request):
    """Every registered engine; a new one is found without being named here."""
    return request.param


class Held:
    """Merges that wait before they are made until they are let go."""

    def __init__(self, monkeypatch):
        self.begun, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        run = Merge.run

        def held(merge):
            if threading.current_thread() is not threading.main_thread():
                self.begun.release()
                assert self.go_on.acquire(timeout=60)
            run(merge)

        monkeypatch.setattr(Merge, "run", held)


@pytest.fixture
def held(monkeypatch):
    made = Held(monkeypatch)
    yield made
    made.go_on.release(1000)
    for thread in list(background._running):
        thread.join(60)
