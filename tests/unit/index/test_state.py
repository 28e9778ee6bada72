"""Every match sees one consistent state, while another thread changes the index."""

import threading

import pytest

import tellwhen as tw
from support import limit_index, set_thresholds
from tellwhen.index.limits import CompactionLimits

pytestmark = pytest.mark.late


class Watch(threading.Thread):
    """Matches over and over, and keeps the first error."""

    def __init__(self, look, stop):
        super().__init__(daemon=True)
        self.look, self.stop, self.error, self.looks = look, stop, None, 0

    def run(self):
        try:
            while not self.stop.is_set():
                self.look()
                self.looks += 1
        except BaseException as error:
            self.error = error


def watched(look, change, threads=3):
    """Run `change` while several threads `look`; raises what they saw."""
    stop = threading.Event()
    watches = [Watch(look, stop) for _ in range(threads)]
    for watch in watches:
        watch.start()
    try:
        change()
    finally:
        stop.set()
        for watch in watches:
            watch.join(60)
    for watch in watches:
        assert not watch.is_alive()
        if watch.error:
            raise watch.error
        assert watch.looks > 0


@pytest.mark.parametrize("threshold", [0, 64])
def test_a_replacement_is_never_half_done(engine, monkeypatch, threshold):
    """Ten subscriptions are replaced together, so an event matches all of one generation and none of another."""
    set_thresholds(monkeypatch, pending=threshold)
    index = limit_index(compaction=CompactionLimits(removed_slots_min=40))(engine).add_many(
        (i, "name = 'g0'") for i in range(10)
    )
    events = [{"name": f"g{g}"} for g in range(150)] * 2

    def look():
        table = index.match_many(events).to_pydict()
        seen = set(table["event_id"])
        assert len(seen) == 2, seen
        low, high = sorted(seen)
        assert high == low + 150
        assert len(table["event_id"]) == 20
        single = [event for event in events[:150:10] if index.match(event)]
        assert len(single) <= 2

    def change():
        for generation in range(1, 150):
            # New string constants every time, so that the dictionary changes too.
            index.add_many(((i, f"name = 'g{generation}'") for i in range(10)), replace=True)

    watched(look, change)
    assert index.match({"name": "g149"}) == list(range(10))


def test_adds_and_removes_appear_in_order(engine):
    """Subscription n is added before n+1 and removed before n+1: what is visible is always a run of neighbours."""
    index = tw.Index(engine)

    def look():
        ids = index.match({"x": 5})
        assert ids == list(range(ids[0], ids[0] + len(ids))) if ids else True
        batch = index.match_many([{"x": 5}] * 3).to_pydict()
        each = [sorted(s for e, s in zip(*batch.values(), strict=True) if e == k) for k in range(3)]
        assert each[0] == each[1] == each[2]

    def change():
        for i in range(600):
            index.add(i, f"x = 5 AND y{i % 7} IS NULL" if i % 2 else "x BETWEEN 1 AND 9")
            if i >= 30:
                index.remove(i - 30)

    watched(look, change)
    assert index.match({"x": 5}) == list(range(570, 600))


def test_many_writers(engine):
    index = tw.Index(engine)

    def write(start):
        for i in range(start, start + 60):
            index.add(i, f"x >= {i}")
        for i in range(start, start + 30):
            index.remove(i)

    threads = [threading.Thread(target=write, args=(k * 1000,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(index.match({"x": 10**6})) == [k * 1000 + i for k in range(4) for i in range(30, 60)]


def test_the_interpreter_lock_is_released():
    """While one thread is inside a long match, another thread runs Python."""
    index = tw.Index("scan").add_many((i, f"a{i % 50} >= 1 OR b = {i}") for i in range(20_000)).rebuild()
    events = [{f"a{k}": 1 for k in range(50)} for _ in range(300)]
    reader = index._contents.state.reader
    from tellwhen.encode.events import encode

    encoded, _ = encode(events, index._contents.state.attributes, index.schema)
    reader.match(encoded)
    ticks, inside = [], threading.Event()

    def match():
        inside.set()
        reader.match(encoded)
        inside.clear()

    thread = threading.Thread(target=match)
    thread.start()
    inside.wait()
    while inside.is_set():
        ticks.append(1)
    thread.join()
    # With the lock held, the loop would get a turn every 5 ms at best.
    assert len(ticks) > 1000


def test_patterns_added_while_matching(engine):
    """A new pattern is compiled into one set with the old ones. Meanwhile matches see each old one, once."""
    index = tw.Index(engine).add_many({"first": "s CONTAINS 'needle'", "not": "NOT s CONTAINS 'absent'"})

    def look():
        ids = index.match({"s": "a needle in a haystack of 149"})
        assert ids[:2] == ["first", "not"]
        assert set(ids[2:]) <= {1, 4, 9, 14, 49, 149}

    def change():
        for i in range(150):
            index.add(i, f"s CONTAINS '{i}' AND NOT s CONTAINS 'zz{i}'")

    watched(look, change)
    assert index.match({"s": "a needle in a haystack of 149"}) == ["first", "not", 1, 4, 9, 14, 49, 149]


@pytest.mark.slow
def test_looking_while_the_index_is_compacted(engine):
    index = limit_index(compaction=CompactionLimits(removed_slots_min=5))(engine).add("stays", "x = 1")

    def look():
        assert "stays" in index
        assert str(index["stays"]) == "x = 1"
        assert index.match({"x": 1})[0] == "stays"
        assert "stays" in list(index)

    def change():
        for i in range(150):
            index.add(i, f"x = {i}").remove(i)

    watched(look, change)


def test_failing_changes_while_matching(engine, monkeypatch):
    """A change that is undone takes its domains with it, while other threads match."""
    set_thresholds(monkeypatch, batch=2)  # the first batches are stored before the fault is found
    index = tw.Index(engine).add("n", "x = 1 AND y IS NULL")

    def look():
        assert index.match({"x": 1, "s": "abc", "t": 2.5, "u": True}) == ["n"]
        assert index.match_many([{"x": 1, "s": "abc", "t": 2.5, "u": True}]).num_rows == 1

    def change():
        for _ in range(500):
            with pytest.raises(tw.ParseError):
                index.add_many(
                    [("a", "s = 'abc' AND s ENDS WITH 'c' AND t = 2.5"), ("b", "NOT s CONTAINS 'b' AND x = 'a' AND u")]
                    + [(i, "z IS NULL") for i in range(3)]
                    + [("c", "x =")]
                )

    watched(look, change)
