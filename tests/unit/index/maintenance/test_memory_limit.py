"""A change beyond the memory limit is refused, except for removals."""

import pytest

import tellwhen as tw

pytestmark = pytest.mark.late


@pytest.mark.slow
def test_a_memory_limit_is_kept(tmp_path):
    texts = [(i, f"x = {i} AND y = 'word {i}'") for i in range(12_000)]
    size = tw.Index().add_many(texts).inspect.get_stats()["bytes"]
    limit = (size["store"] + size["ids and texts"]) // 2
    index = tw.Index(memory_limit=limit).add_many(texts[:3000])  # stays pending: there is no room to merge it
    with pytest.raises(tw.LimitError, match="more than its memory_limit of .*; nothing was changed. texts=False saves"):
        index.add_many(texts[3000:])
    assert len(index) == 3000
    assert index.match({"x": 2999, "y": "word 2999"}) == [2999]
    assert index.match({"x": 3000, "y": "word 3000"}) == []
    index.remove(5).add_many(texts[3000:3100])
    for i in range(3100, 12_000):  # one by one, until it is full
        try:
            index.add(*texts[i])
        except tw.LimitError:
            break
    assert 3500 < len(index) < 9000
    assert index.match({"x": i - 1, "y": f"word {i - 1}"}) == [i - 1]
    assert index.match({"x": i, "y": f"word {i}"}) == []
    assert sum(index.inspect.get_stats()["bytes"].values()) <= limit
    index.remove(7)  # a removal is never refused
    index.save(tmp_path / "i")
    with pytest.raises(tw.LimitError):
        tw.Index.load(tmp_path / "i", memory_limit=limit).add_many(texts[i:])
    with pytest.raises(tw.LimitError, match="more than its memory_limit of 1,000"):
        tw.Index.load(tmp_path / "i", memory_limit=1000)
    for wrong in "2 GB", 1.5, True, 0, -1:
        with pytest.raises(tw.ArgumentError, match="memory_limit must be a number of bytes"):
            tw.Index(memory_limit=wrong)


def test_only_removals_may_exceed_the_limit_and_make_room():
    def size(index):
        return sum(index.inspect.get_stats()["bytes"].values())

    limit = 150_000
    index = tw.Index("auto", pending=10, memory_limit=limit)
    count = 0
    with pytest.raises(tw.LimitError):
        while True:
            index.add(count, f"u = {count} AND c = 'DE{count}'")
            count += 1
    with pytest.raises(tw.LimitError, match="nothing was changed"):
        index.rebuild()
    with pytest.raises(tw.LimitError):
        index.optimize_for([{"u": k} for k in range(50)])
    assert size(index) <= limit
    assert index.profile.events == 0
    index.remove_many(range(count // 4))
    index.add("more", "u = 1")
    assert size(index) <= limit
    assert index.match({"u": 1}) == ["more"]
    assert index.match({"u": count - 1, "c": f"DE{count - 1}"}) == [count - 1]


def test_scores_respect_the_memory_limit():
    index = tw.Index(texts=False).add_many((i, "x > 1") for i in range(3000))
    limited = tw.Index(texts=False, memory_limit=sum(index.inspect.get_stats()["bytes"].values()) + 5_000)
    limited.add_many((i, "x > 1") for i in range(3000))
    with pytest.raises(tw.LimitError, match="the scores would take 24,000 bytes"):
        limited.set_score(1, 5)
    assert limited.top_k({"x": 2}, 1) == [(0, 0.0)]
