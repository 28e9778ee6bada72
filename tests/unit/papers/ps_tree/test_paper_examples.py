"""The worked examples of the PS-Tree paper."""

import numpy as np

import tellwhen as tw
from tellwhen.encode.events import encode


def count_candidates(index, event):
    arrays, _ = encode([event], index._shard.store.attributes, tw.Schema())
    return index._shard.engine.reader().count_candidates(arrays)


def find_space(index, name, value):
    """The number of the space that an integer lies in."""
    domain = [one.attribute for one in index._shard.store.attributes.domains].index(name)
    found = index._shard.engine._index.common
    begin, end = found.cut_start[domain], found.cut_start[domain + 1]
    return int(np.searchsorted(found.cuts[begin:end], 2 * value, side="right")) + int(begin) + domain


def list_subscriptions(index, k):
    """The subscriptions in list k."""
    found = index._shard.engine._index.common
    postings = found.postings[found.list_start[k] : found.list_start[k + 1]]
    return {index._shard.ids[int(found.records[at])] for at in postings}


def test_pstbloom_figure_3():
    index = tw.Index("pstbloom:bits=64").add_many(
        {
            "S1": "attr1 < -5 AND attr2 BETWEEN 1 AND 5",
            "S2": "attr1 BETWEEN -5 AND -1 AND attr2 < 1",
            "S3": "attr1 BETWEEN -5 AND -1 AND attr2 > 5",
        }
    )
    index.rebuild()
    found = index._shard.engine._index
    each = {}
    for k in range(len(found.common.list_start) - 1):
        for id_ in list_subscriptions(index, k):
            each.setdefault(id_, []).append(k)
    assert each == {
        "S1": [find_space(index, "attr2", 1)],
        "S2": [find_space(index, "attr1", -5)],
        "S3": [find_space(index, "attr1", -1)],
    }
    assert find_space(index, "attr1", -5) == find_space(index, "attr1", -1)
    words = np.diff(found.signature_start)
    assert [bool(words[find_space(index, "attr1", v)]) for v in (-6, -5, 0)] == [True, False, False]
    assert [bool(words[find_space(index, "attr2", v)]) for v in (0, 1, 5, 6)] == [True, False, False, True]
    assert index.match({"attr1": -3, "attr2": 9}) == ["S3"]
    assert count_candidates(index, {"attr1": -3, "attr2": 9}) == 2
    assert index.match({"attr1": -9, "attr2": 3}) == ["S1"]
    assert index.match({"attr1": -3, "attr2": 3}) == []


def test_psthash_figure_4():
    index = tw.Index("psthash").add_many(
        {
            "S1": "attr1 = 1 AND attr2 = -1 AND attr3 < 0",
            "S2": "attr1 = 1 AND attr2 = -1 AND attr3 > 0",
            "S3": "attr1 = 1 AND attr2 < -1 AND attr3 = 0",
            "S4": "attr1 < 1 AND attr2 = -1 AND attr3 = 0",
        }
    )
    index.rebuild()
    one, two, three = find_space(index, "attr1", 1), find_space(index, "attr2", -1), find_space(index, "attr3", 0)
    keys = [tuple(key) for key in index._shard.engine._index.keys.tolist()]
    assert {key: list_subscriptions(index, k) for k, key in enumerate(keys)} == {
        (one, two): {"S1", "S2"}, (one, three): {"S3"}, (two, three): {"S4"},
    }  # fmt: skip
    # Only access predicates are in the trees: attr1 has [.., 1), [1, 1] and (1, ..]
    assert len(index._shard.engine._trees) == 9
    event = {"attr1": 1, "attr2": -1, "attr3": 2}
    assert index.match(event) == ["S2"]
    assert count_candidates(index, event) == 2


def test_psthash_footnote_2():
    """Conjunctions with fewer predicates than there are access predicates have shorter keys."""
    index = tw.Index("psthash:access=3").add_many({"one": "a = 1", "two": "a = 1 AND b = 2", "same": "a > 0 AND a < 9"})
    index.rebuild()
    keys = index._shard.engine._index.keys.tolist()
    assert sorted(sum(k >= 0 for k in key) for key in keys)[-1] == 2
    assert set(index.match({"a": 1})) == {"one", "same"}
    assert set(index.match({"a": 1, "b": 2})) == {"one", "two", "same"}
