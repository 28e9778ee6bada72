"""One hypothesis profile for all tests: no database, no deadline (the first call of a kernel compiles it)."""

import pytest
from hypothesis import HealthCheck, settings

import tellwhen as tw

settings.register_profile("tellwhen", database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tellwhen")

# Importing it would register its engines, and every test of engines would find them.
collect_ignore = ["broken_engines.py"]


@pytest.fixture(params=[info.name for info in tw.engines()])
def engine(request):
    """Every registered engine; a new one is found by itself."""
    return request.param
