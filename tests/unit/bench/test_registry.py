"""Is every figure and table of the papers an experiment?"""

import pytest
from bench.registry import EXPERIMENTS

from bench_support import EXPERIMENT_NAMES

pytestmark = pytest.mark.late


def test_every_figure_and_table_is_an_experiment():
    assert sorted(EXPERIMENTS) == sorted(EXPERIMENT_NAMES)
    for name, one in EXPERIMENTS.items():
        points = one.points(0.1)
        assert bool(points) != bool(one.rows), name
        assert len({point.key for point in points}) == len(points), name
        assert all(point.count >= 1000 for point in points)
        assert one.rows or {engine for claim in one.claims for engine in claim.engines} <= set(one.engines), name
        assert not any(engine.startswith("test-") for engine in one.engines)
