"""A change is whole or undone, wherever an interrupt, an error or a fork comes; a shard may store no texts."""

import copy
import linecache
import os
import pickle
import random
import signal
import sys
import threading
from contextlib import contextmanager

import pytest

import tellwhen as tw
from support import limit_index, set_thresholds
from tellwhen.index.limits import CompactionLimits
from tellwhen.index.shard import Shard

pytestmark = pytest.mark.late


class Interrupt(KeyboardInterrupt):
    """Raised where a user might press Ctrl-C."""


class Steps:
    """Counts the lines of tellwhen that a call runs; raises at one of them, if asked to."""

    def __init__(self, stop=None):
        self.stop, self.count = stop, 0

    def __call__(self, change):
        sys.settrace(self.trace)
        try:
            change()
        except Interrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    def trace(self, frame, event, _):
        if "tellwhen" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.count += 1
            if self.count == self.stop:
                line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
                if line.strip() in ("self._is_changing = False", "with self._lock:", "try:"):
                    return None  # no signal is handled between this line and the one before: there is no call
                sys.settrace(None)
                raise Interrupt
        return self.trace


def choose_thresholds(monkeypatch, rng):
    """Set small thresholds, so that small indexes compact, merge and move labels; return a class of indexes."""
    index_class = limit_index(compaction=CompactionLimits(removed_slots_min=rng.choice([0, 3, 4096])))
    set_thresholds(
        monkeypatch,
        batch=rng.choice([1, 2, 1024]),
        pending=rng.choice([0, 1, 64]),
        stride=rng.choice([8, 1 << 40]),
    )
    return index_class


def word(rng):
    return "".join(rng.choices("abc", k=rng.randint(0, 5)))


def expression(rng):
    return rng.choice([
        f"x = '{word(rng)}'", f"x <> '{word(rng)}'", f"x < '{word(rng)}' OR y = '{word(rng)}'",
        f"NOT x STARTS WITH '{word(rng)}'", f"x CONTAINS '{word(rng)}'", f"n = {rng.randint(0, 3)}", "q IS NULL",
    ])  # fmt: skip


def seen(known, events):
    """What an index of these subscriptions shows."""
    parsed = {id_: tw.parse(text) for id_, text in known.items()}
    return set(known), [{i for i, e in parsed.items() if e.evaluate(event) is True} for event in events]


def looks(index, events):
    assert len(index) == len(list(index))
    return set(index), [set(index.match(event)) for event in events]


@pytest.mark.parametrize("seed", range(60))
def test_a_change_is_whole_or_undone(engine, monkeypatch, seed):
    rng = random.Random(seed)
    index_class = choose_thresholds(monkeypatch, rng)
    base = {f"i{rng.randint(0, 9)}": expression(rng) for _ in range(rng.randint(1, 10))}
    new = {f"i{rng.randint(5, 14)}": expression(rng) for _ in range(rng.randint(1, 4))}
    gone = rng.sample(sorted(base), rng.randint(1, len(base)))
    name, after = rng.choice([("add", base | new), ("remove", {i: base[i] for i in base if i not in gone})])

    def change(index):
        return lambda: index.add_many(new, replace=True) if name == "add" else index.remove_many(gone)

    steps = Steps()
    steps(change(index_class(engine).add_many(base)))
    events = [{"x": word(rng), "y": word(rng), "n": rng.randint(0, 3)} for _ in range(3)]
    for _ in range(4):
        index = index_class(engine).add_many(base)
        stopped = Steps(rng.randint(1, steps.count))(change(index))
        shown = looks(index, events)
        assert shown in ([seen(base, events)] if stopped else []) + [seen(after, events)]
        known = after if shown == seen(after, events) else base
        index.add_many({"z": "x <> 'zzz'", "i3": "n = 1"}, replace=True)
        known = known | {"z": "x <> 'zzz'", "i3": "n = 1"}
        assert looks(index, events) == seen(known, events)
        assert all(index[id_] == tw.parse(text) for id_, text in known.items())
        index.remove("z")
        del known["z"]
        assert looks(index, events) == seen(known, events)


@pytest.mark.parametrize("part", ["store.compact", "engine.reader", "texts.select", "ids.select"])
def test_a_lack_of_memory_undoes_a_change(engine, monkeypatch, part):
    index = limit_index(compaction=CompactionLimits(removed_slots_min=3))(engine).add_many(
        (i, f"x = {i}") for i in range(10)
    )
    owner, name = part.split(".")
    with monkeypatch.context() as patch:
        original = getattr(type(getattr(index._shard, owner)), name)
        calls = []

        def fails(*args):
            calls.append(1)
            if len(calls) == 1:
                raise MemoryError
            return original(*args)

        patch.setattr(type(getattr(index._shard, owner)), name, fails)
        with pytest.raises(MemoryError):
            index.remove_many(range(6))
    assert list(index) == list(range(10))
    assert index.match({"x": 2}) == [2]
    index.remove_many(range(6))
    assert list(index) == [6, 7, 8, 9]
    assert index.match({"x": [2, 7]}) == [7]


def test_an_interrupt_while_a_change_is_taken_back(engine, monkeypatch):
    index = tw.Index(engine).add("a", "x = 1")
    shard = type(index._shard)
    rewind = shard.rewind

    def interrupted(self, mark):
        raise Interrupt

    monkeypatch.setattr(shard, "rewind", interrupted)
    with pytest.raises(Interrupt):
        index.add_many([("b", "x = 1"), ("c", "x =")])
    monkeypatch.setattr(shard, "rewind", rewind)
    assert index.match({"x": 1}) == ["a"]
    index.add("d", "x = 1")
    assert index.match({"x": 1}) == ["a", "d"]
    assert list(index) == ["a", "d"]


@contextmanager
def in_a_change(index):
    """While another thread has added "b", and is about to add "c"."""
    inside, resume = threading.Event(), threading.Event()

    def slowly():
        yield from ((f"b{i}", "x = 1") for i in range(2000))  # more than are compiled together
        inside.set()
        resume.wait(60)
        yield "c", "x = 1"

    thread = threading.Thread(target=index.add_many, args=[slowly()])
    thread.start()
    inside.wait(60)
    yield
    resume.set()
    thread.join(60)


def in_a_fork(function):
    """Does the function return True in a child process?"""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.alarm(60)  # rather than hang
            status = 0 if function() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def is_whole(index, ids, event):
    return (list(index), len(index), index.match(event)) == (ids, len(ids), ids)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_a_fork_in_the_middle_of_a_change(tmp_path):
    """The child has no thread that would let go of the lock: it takes the change back, and goes on."""
    index = tw.Index().add("a", "x = 1")

    def change():
        found = index.match({"x": 1})
        index.add("d", "x = 1").remove("a")
        return found == ["a"] and is_whole(index, ["d"], {"x": 1})

    def save():
        index.save(tmp_path / "i")
        return is_whole(tw.Index.load(tmp_path / "i"), ["a"], {"x": 1})

    with in_a_change(index):
        assert in_a_fork(change)
        assert in_a_fork(save)
        assert in_a_fork(lambda: is_whole(copy.deepcopy(index), ["a"], {"x": 1}))
        assert in_a_fork(lambda: index.inspect.get_stats()["subscriptions"] == 1)
    assert len(index.match({"x": 1})) == 2002


def test_half_a_change_is_never_saved_or_copied(tmp_path):
    index = tw.Index().add("a", "x = 1")

    def pairs(use):
        yield from ((f"b{i}", "x = 1") for i in range(2000))
        use()

    for use in (lambda: index.save(tmp_path / "i"), lambda: pickle.dumps(index), index.inspect.get_stats):
        with pytest.raises(tw.StateError, match="in the middle of a change"):
            index.add_many(pairs(use))
    assert not (tmp_path / "i").exists()
    assert is_whole(index, ["a"], {"x": 1})


def test_a_copy_after_an_interrupt_while_a_change_was_taken_back(engine, monkeypatch):
    index = tw.Index(engine).add("a", "x = 1")
    rewind = Shard.rewind

    def interrupted(shard, mark):
        monkeypatch.setattr(Shard, "rewind", rewind)
        raise KeyboardInterrupt

    monkeypatch.setattr(Shard, "rewind", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.add_many([*((f"b{i}", "x = 1") for i in range(2000)), ("c", "x =")])
    assert is_whole(copy.deepcopy(index), ["a"], {"x": 1})
    assert is_whole(index, ["a"], {"x": 1})


def test_an_index_without_texts_matches_and_does_not_show(tmp_path):
    index = tw.Index(texts=False).add_many((i, f"x = {i % 3}") for i in range(300)).remove(4)
    assert index.match({"x": 1})[:2] == [1, 7]
    for loaded in index, tw.Index.load(_saved(index, tmp_path)):
        assert len(loaded) == 299
        assert 5 in loaded
        assert list(loaded)[:5] == [0, 1, 2, 3, 5]
        for look in (lambda: loaded[5], lambda: list(loaded.iter_texts()), lambda: loaded.explain(5, {"x": 1})):  # noqa: B023
            with pytest.raises(tw.MissingTextsError, match="stores no texts"):
                look()
        assert loaded.add("new", "x = 9").match({"x": 9}) == ["new"]
        loaded.remove("new")
    assert tw.Index().inspect.get_stats().keys() == index.inspect.get_stats().keys()


def _saved(index, path):
    index.save(path / "i")
    return path / "i"


@pytest.mark.parametrize("engine", ["betree", "opindex:strict=1", "atree"])
def test_an_index_of_an_earlier_version_is_built_again(engine, tmp_path, monkeypatch, caplog):
    index = tw.Index(engine).add_many({k: f"a = {k % 5} AND b <= {k}" for k in range(100)}).rebuild()
    index.remove(7)
    event = {"a": 2, "b": 50}
    expected = index.match(event)
    save_arrays = Shard.arrays

    def save_fewer_arrays(shard):
        parts = save_arrays(shard)
        removed = next(name for name in parts["engine"] if "index." in name)
        return parts | {"engine": {name: array for name, array in parts["engine"].items() if name != removed}}

    monkeypatch.setattr(Shard, "arrays", save_fewer_arrays)
    index.save(tmp_path / "saved")
    loaded = tw.Index.load(tmp_path / "saved")
    assert "the saved index is of an earlier version" in caplog.text
    assert loaded.match(event) == expected
    assert loaded.add(7, "a = 2").match(event) == [*expected, 7]
