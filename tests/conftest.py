"""One hypothesis profile for all tests: no database, no deadline (the first call of a kernel compiles it)."""

import pytest
from hypothesis import HealthCheck, settings

import tellwhen as tw

settings.register_profile("tellwhen", database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tellwhen")

FEW = {"auto", "counting", "scan"}
"""Engines that every test runs with. The conformance suite, and `make test-all`, take all of them."""

SEEDS = 3
"""Seeds of the conformance suite that the others run with. `make test-all` takes all of them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if given.get("engine", "auto") not in FEW and (
            "conformance" not in item.path.parts or SEEDS <= given.get("seed", 0) < 50
        ):
            item.add_marker(pytest.mark.slow)


# Importing it would register its engines, and every test of engines would find them.
collect_ignore = ["broken_engines.py"]


@pytest.fixture(params=[info.name for info in tw.list_engines()])
def engine(request):
    """Every registered engine; a new one is found by itself."""
    return request.param
