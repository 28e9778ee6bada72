"""`gryphon`: the tails of paths, tests of several intervals, and the check of its structure."""

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.testing.engine_checks import evaluate_all

pytestmark = pytest.mark.late

SUBSCRIPTIONS = {
    "alone": "a = 1 AND b NOT IN (2, 5) AND c > 1",
    "shared": "a = 2 AND b IN (1, 3) AND c = 1",
    "prefix": "a = 2 AND b IN (1, 3)",
    "fork": "a = 2 AND b IN (1, 3) AND c BETWEEN 2 AND 4 AND d <> 1",
    "same": "a = 2 AND b IN (1, 3) AND c BETWEEN 2 AND 4 AND d <> 1",
    "twice": "a > 3 AND a < 9 AND a <> 5",
    "either": "a = 7 AND d = 3 OR c = 2 AND d = 4",
}
"""Three subscriptions end inside the paths of others or beside them; two are equal; `alone` shares nothing."""


def build_index():
    return tw.Index("gryphon").add_many(SUBSCRIPTIONS).rebuild()


def test_paths_and_tails_are_tested():
    index = build_index()
    index._shard.engine.verify()
    parsed = {id_: tw.parse(text) for id_, text in SUBSCRIPTIONS.items()}
    rng = np.random.default_rng(1)
    events = [{}, {"a": 2, "b": [1, 3]}, {"a": [1, 5], "b": [2, 3], "c": 4}]
    events.append({"a": tw.Interval(1, 8), "b": 1, "c": 3, "d": 2})
    for _ in range(300):
        event = dict(zip("abcd", rng.integers(0, 10, 4).tolist(), strict=True))
        if rng.random() < 0.5:
            del event[rng.choice([*"abcd"])]
        events.append(event)
    # Values for which long paths are true: random ones rarely are.
    events += [{"a": a, "b": b, "c": c, "d": d} for a in (1, 2) for b in range(7) for c in range(6) for d in (1, 2)]
    found = {id_ for event in events for id_ in index.match(event)}
    assert found == set(SUBSCRIPTIONS)
    for event in events:
        assert sorted(index.match(event)) == sorted(evaluate_all(parsed, event)), event


def test_only_shared_branches_have_nodes():
    tree = build_index()._shard.engine._index
    tails = np.diff(tree.slots[:, 1])
    assert len(tree.nodes) - 1 < sum(text.count("AND") + 1 for text in SUBSCRIPTIONS.values())
    assert tails.max() == 4  # of `alone`: two intervals of c, without the first test, and three of b
    assert tails.min() == 0  # of `prefix`


CHANGES = {
    "test": lambda i: i._replace(tails=i.tails + np.array([0, 0, 2])),
    "slot": lambda i: i._replace(slots=i.slots[::-1].copy()),
    "tail": lambda i: i._replace(slots=i.slots * [[1, 0]]),
    "value": lambda i: i._replace(points=i.points + np.array([2, 0])),
    "child": lambda i: i._replace(points=i.points[:, [0, 0]]),
    "order": lambda i: i._replace(points=i.points[::-1].copy()),
    "lost": lambda i: i._replace(nodes=i.nodes * [[1, 0]]),
    "branch": lambda i: i._replace(other=i.other._replace(low=i.other.low + 2)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_verify_finds_a_change(change):
    engine = build_index()._shard.engine
    engine._index = CHANGES[change](engine._index)
    with pytest.raises(AssertionError):
        engine.verify()
