"""`propagation`: the choice of access predicates, and the check of its structure."""

import numpy as np
import pytest

import tellwhen as tw

pytestmark = pytest.mark.late

SUBSCRIPTIONS = {
    "rare": "a = 1 AND b = 2",
    "often": "a = 1 AND c > 3",
    "set": "a IN (1, 2) AND c > 3",
    "range": "c > 3 AND d < 5",
    "always": "c <> 3 OR d = 1",
}


def build_engine():
    index = tw.Index("propagation").add_many(SUBSCRIPTIONS).rebuild()
    return index._shard.engine


def test_access_predicates():
    """Of two equalities the one on the rarer attribute is chosen, and IN rather than a range."""
    engine = build_engine()
    engine.verify()
    index = engine._index
    predicates = engine.source.snapshot().predicates
    clusters = {}
    for p, (begin, end) in enumerate(zip(index.cluster[:-2], index.cluster[1:-1], strict=True)):
        if begin < end:
            points = predicates.low[predicates.start[p] : predicates.start[p + 1]]
            clusters[frozenset(index.slot[begin:end].tolist())] = points.tolist()
    assert clusters == {frozenset([0]): [4], frozenset([1]): [2], frozenset([2]): [2, 4], frozenset([-5]): [2]}
    assert sorted(index.slot[index.cluster[-2] :].tolist()) == [-5, 3]


CHANGES = {
    "cluster": lambda i: i._replace(cluster=np.append(i.cluster[1:], i.cluster[-1])),
    "slot": lambda i: i._replace(slot=i.slot[::-1].copy()),
    "code": lambda i: i._replace(code=np.zeros_like(i.code)),
    "lost": lambda i: i._replace(cluster=np.maximum(i.cluster, 1)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_verify_finds_a_change(change):
    engine = build_engine()
    engine._index = CHANGES[change](engine._index)
    with pytest.raises(AssertionError):
        engine.verify()
