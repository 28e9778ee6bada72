"""Which tests are slow, on which engines does a test run, and how does hypothesis draw?"""

import pytest
from hypothesis import HealthCheck, settings

import tellwhen as tw

# No database of examples; no deadline, since the first call of a kernel compiles it.
settings.register_profile("tellwhen", database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tellwhen")

USUAL_ENGINES = {"auto", "counting", "scan"}
"""Engines that every test of engines runs on. On the others it is slow, unless it is marked `every_engine`."""


OF_ONE_ENGINE = ("test_betree.py", "test_cover.py", "test_pst_engines.py")
"""They come last: by then the conformance suite, which runs at the same time, has compiled the kernels."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name in OF_ONE_ENGINE)
    for item in items:
        engine = item.callspec.params.get("engine", "auto") if hasattr(item, "callspec") else "auto"
        if engine not in USUAL_ENGINES and not item.get_closest_marker("every_engine"):
            item.add_marker(pytest.mark.slow)


# Importing these would register their engines, and every test of engines would run on them.
collect_ignore = ["broken_engines.py", "toy"]


@pytest.fixture(params=[info.name for info in tw.list_engines()])
def engine(request):
    """Every registered engine; a new one is found without being named here."""
    return request.param
