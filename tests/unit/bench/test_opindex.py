"""Do the points of OpIndex's figures keep the subscriptions of each attribute at any scale?"""

import pytest
from bench.papers.opindex import EXPERIMENTS

pytestmark = pytest.mark.late

ATTRIBUTES = {
    "Products": "dimensions", "Clauses": "dimensions", "Catalogue": "attributes", "Keywords": "vocabulary",
    "Prefixes": "numbers",
}  # fmt: skip


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_an_attribute_has_as_many_subscriptions_as_in_the_paper(experiment):
    whole, tenth = experiment.points(1), experiment.points(0.1)
    assert [point.variant for point in whole] == [point.variant for point in tenth]
    for one, other in zip(whole, tenth, strict=True):
        name = ATTRIBUTES[type(one.work).__name__]
        density, other_density = (point.count / getattr(point.work, name) for point in (one, other))
        assert abs(other_density / density - 1) < 0.01
        assert one.count == 10 * other.count
        assert other.x in (one.x, other.count)
    # Tiny points keep their subscriptions and events possible.
    assert all(point.work.generate_events(0) for point in experiment.points(0.001)[-1:])
