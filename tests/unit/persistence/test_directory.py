"""A saved index is loaded complete or not at all, whatever happens to its files."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.persistence import directory, files
from tellwhen.testing.engine_checks import check_matches, random_event, random_expression

pytestmark = pytest.mark.late


def make_index(engine, seed=1, count=120):
    rng = random.Random(seed)
    index, known = tw.Index(engine), {}
    while len(known) < count:
        id_ = rng.choice([f"s{len(known)}", len(known)])
        expression = random_expression(rng)
        try:
            index.add(id_, expression)
            known[id_] = expression
        except tw.BudgetError:
            pass
    for id_ in rng.sample(sorted(known, key=str), k=20):
        index.remove(id_)
        del known[id_]
    return index, known, [random_event(rng) for _ in range(10)]


@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_a_loaded_index_equals_the_saved_one_and_can_change(tmp_path, engine, is_rebuilt):
    index, known, events = make_index(engine)
    if is_rebuilt:
        index.rebuild()
    index.save(tmp_path / "idx")
    loaded = tw.Index.load(tmp_path / "idx")
    check_matches(loaded, known, events, "loaded")
    assert set(loaded) == set(known)
    assert all(loaded[id_] == expression for id_, expression in known.items())
    rng = random.Random(9)
    for i in range(150):
        expression = tw.col("a") == f"new constant {rng.random()}" if i % 3 else random_expression(rng, depth=1)
        loaded.add(f"new{i}", expression)
        known[f"new{i}"] = expression
    gone = rng.choice(sorted(known, key=str))
    loaded.remove(gone)
    del known[gone]
    check_matches(loaded, known, events, "loaded and changed")
    loaded.save(tmp_path / "idx")
    check_matches(tw.Index.load(tmp_path / "idx", verify=False), known, events, "saved again")
    assert len(list((tmp_path / "idx").iterdir())) == 2


def test_arrays_are_mapped(tmp_path):
    tw.Index().add_many((i, f"x = {i}") for i in range(1000)).save(tmp_path / "idx")
    parts, _ = directory.load(tmp_path / "idx")
    arrays = [array for part in parts.values() for array in part.values()]
    assert all(isinstance(array.base, np.memmap) or array.size == 0 for array in arrays)
    assert all(type(array) is np.ndarray for array in arrays)


def test_an_empty_index(tmp_path, engine):
    tw.Index(engine, schema={"a": "date"}).save(tmp_path / "idx")
    loaded = tw.Index.load(tmp_path / "idx")
    assert len(loaded) == 0
    assert loaded.match({"a": 1}) == []
    assert loaded.schema == tw.Schema({"a": "date"})
    loaded.add("x", "a = DATE '2026-01-01'")
    assert loaded.match({"a": "2026-01-01"}) == ["x"]


@pytest.fixture
def saved(tmp_path):
    index, known, events = make_index("auto", count=40)
    index.rebuild().save(tmp_path / "idx")
    return tmp_path / "idx", known, events


def test_every_flipped_byte_is_noticed(saved):
    path, _, _ = saved
    rng = random.Random(2)
    for file in sorted(p for p in path.rglob("*") if p.is_file() and p.stat().st_size):
        whole = file.read_bytes()
        for _ in range(6):
            at = rng.randrange(len(whole))
            damaged = bytearray(whole)
            damaged[at] ^= 1 << rng.randrange(8)
            file.write_bytes(damaged)
            try:
                tw.Index.load(path)
            except tw.FormatError as error:
                assert str(path) in str(error)
            else:
                # A flip in white space of the manifest leaves the JSON the same.
                assert file.name == "manifest.json"
                assert json.loads(damaged) == json.loads(whole)
        file.write_bytes(whole)
    tw.Index.load(path)


def test_missing_and_short_files_are_noticed(saved):
    path, known, events = saved
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        whole = file.read_bytes()
        for cut in {whole[:-1], whole[: len(whole) // 2], b""} - {whole}:
            file.write_bytes(cut)
            with pytest.raises(tw.FormatError):
                tw.Index.load(path)
        file.write_bytes(whole + b"x")
        if file.name == "manifest.json":
            with pytest.raises(tw.FormatError):
                tw.Index.load(path)
        else:  # as if a save was killed while it appended
            check_matches(tw.Index.load(path), known, events)
        file.unlink()
        with pytest.raises(tw.FormatError, match="missing"):
            tw.Index.load(path)
        file.write_bytes(whole)
    check_matches(tw.Index.load(path), known, events)


def test_other_versions_and_other_places(saved, tmp_path):
    path, _, _ = saved
    manifest = json.loads((path / "manifest.json").read_text())
    for format_, words in ((directory.FORMAT + 1, "upgrade"), (directory.FORMAT - 1, "older tellwhen")):
        (path / "manifest.json").write_text(json.dumps(manifest | {"format": format_}))
        with pytest.raises(tw.FormatError, match=words):
            tw.Index.load(path)
    with pytest.raises(tw.FormatError, match="there is no directory"):
        tw.Index.load(tmp_path / "nowhere")
    with pytest.raises(tw.FormatError, match="is a file; pass the directory of an index"):
        tw.Index.load(path / "manifest.json")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious.txt").write_text("keep")
    with pytest.raises(tw.FormatError, match="not a saved index"):
        tw.Index().save(tmp_path / "other")
    with pytest.raises(tw.FormatError):
        tw.Index().save(tmp_path / "other" / "precious.txt")
    assert (tmp_path / "other" / "precious.txt").read_text() == "keep"


def _save_for_ever(path, ready):
    index = tw.Index("scan").add_many((i, f"x >= {i}") for i in range(300))
    ready.set()
    while True:
        index.save(path)


def _grow_for_ever(path, ready):
    index = tw.Index.load(path)
    for i in range(len(index), 1_000_000):
        index.add(i, f"x >= {i} AND s <> 'word {i}'")
        if i % 7 == 0:
            index.save(path)
            ready.set()


def load_after_kills(target, path, seconds):
    """Four times: kill a process that saves to the path after up to `seconds`, and yield the loaded index."""
    context = multiprocessing.get_context("spawn")
    rng = random.Random(4)
    for _ in range(4):
        ready = context.Event()
        process = context.Process(target=target, args=(path, ready))
        process.start()
        assert ready.wait(60)
        time.sleep(rng.uniform(0.02, seconds))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        yield tw.Index.load(path)


@pytest.mark.slow
def test_a_kill_while_merging_and_saving_leaves_a_whole_index(tmp_path):
    path = tmp_path / "idx"
    tw.Index("auto", pending=5).add_many((i, f"x >= {i} AND s <> 'word {i}'") for i in range(200)).save(path)
    for loaded in load_after_kills(_grow_for_ever, path, 0.3):
        assert loaded.match({"x": 10**7, "s": "other"}) == list(range(len(loaded)))
        assert loaded.match({"x": 250, "s": "word 3"}) == [i for i in range(min(251, len(loaded))) if i != 3]
    assert len(loaded) > 200


def test_a_kill_leaves_a_whole_index(tmp_path):
    path = tmp_path / "idx"
    tw.Index("scan").add_many((i, f"x >= {i}") for i in range(200)).save(path)
    lengths = set()
    for loaded in load_after_kills(_save_for_ever, path, 0.2):
        lengths.add(len(loaded))
        assert len(loaded.match({"x": 1000})) == len(loaded)
    assert lengths <= {200, 300}
    tw.Index("scan").add(1, "x = 1").save(path)
    assert sorted(p.name.split("-")[0] for p in path.iterdir()) == ["data", "manifest.json"]


def _save_often(path, numbers):
    for number in numbers:
        arrays = {"a": np.full(100 + number, number), "b": np.full(5000, number)}
        directory.save(path, {"part": arrays}, {"number": number})


def _load_often(path, is_over, found):
    while not is_over():
        try:
            parts, meta = directory.load(path)
        except tw.FormatError as error:
            assert "no index" in str(error)  # before the first save
        else:
            number = meta["number"]
            assert len(parts["part"]["a"]) == 100 + number
            assert all((array == number).all() for array in parts["part"].values())
            found.add(number)


@pytest.mark.parametrize("has_locks", [True, False])
def test_threads_save_and_load_at_the_same_time(tmp_path, monkeypatch, has_locks):
    if not has_locks:  # as on some network file systems
        monkeypatch.setattr(directory.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError("no locks")))
    path, numbers, found = tmp_path / "idx", [range(100 * k, 100 * k + 15) for k in range(4)], set()
    with ThreadPoolExecutor(6) as pool:
        savers = [pool.submit(_save_often, path, own) for own in numbers]
        loaders = [pool.submit(_load_often, path, lambda: all(s.done() for s in savers), found) for _ in range(2)]
        for future in savers + loaders:
            future.result()
    assert found <= {number for own in numbers for number in own}
    assert directory.load(path)[1]["number"] in [own[-1] for own in numbers]
    if has_locks:
        assert len(list(path.iterdir())) == 2


@pytest.mark.slow
def test_processes_save_and_load_at_the_same_time(tmp_path):
    path, numbers, found = tmp_path / "idx", [range(100 * k, 100 * k + 15) for k in range(3)], set()
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_save_often, args=(path, own)) for own in numbers]
    for process in processes:
        process.start()
    _load_often(path, lambda: not any(process.is_alive() for process in processes), found)
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    assert found <= {number for own in numbers for number in own}
    assert directory.load(path)[1]["number"] in [own[-1] for own in numbers]
    assert len(list(path.iterdir())) == 2


def test_a_failed_save_keeps_the_previous_index(tmp_path, monkeypatch):
    path = tmp_path / "idx"
    tw.Index().add(1, "x = 1").save(path)
    monkeypatch.setattr(files, "write_array", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tw.Index().add(2, "x = 1").save(path)
    monkeypatch.undo()
    assert tw.Index.load(path).match({"x": 1}) == [1]
    assert len(list(path.iterdir())) == 2


def count_written_bytes(monkeypatch):
    """Return a dict that counts the bytes written to each file from now on."""
    counts = {}
    write_bytes = files._write_bytes

    def write_and_count(descriptor, data, durable):
        name = os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))
        if len(data):
            counts[name] = counts.get(name, 0) + len(data)
        write_bytes(descriptor, data, durable)

    monkeypatch.setattr(files, "_write_bytes", write_and_count)
    return counts


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs the names of open files")
def test_saving_after_a_small_change_writes_little(tmp_path, monkeypatch):
    index, known = tw.Index("auto", pending=200), {i: tw.parse(f"x = {i} AND s = 'word {i % 50}'") for i in range(3000)}
    index.add_many(known).rebuild().save(tmp_path / "idx")
    whole = sum(file.stat().st_size for file in tmp_path.rglob("data-*/*"))
    for step in range(3):
        index = (
            tw.Index.load(tmp_path / "idx") if step == 1 else index
        )  # which does not know what the saved index wrote
        known[f"new {step}"] = tw.parse(f"x = {step} AND s = 'word 7'")
        index.add(f"new {step}", known[f"new {step}"]).remove(step)
        del known[step]
        written = count_written_bytes(monkeypatch)
        index.save(tmp_path / "idx")
        monkeypatch.undo()
        assert "store.subscriptions.died" in written  # removals are written into it
        assert not any(name.startswith("engine.segment-") for name in written)
        assert "texts.blocks" not in written
        assert written["texts.last"] < 128 * 40
        assert sum(written.values()) < whole / 5
        assert len(list((tmp_path / "idx").iterdir())) == 2
        events = [{"x": i, "s": f"word {i % 50}"} for i in (0, 1, 2, 7, 57, 2999)]
        check_matches(tw.Index.load(tmp_path / "idx"), known, events)


def test_two_indexes_loaded_from_one_directory_save_in_turn(tmp_path):
    """Both could append to the same files."""
    tw.Index().add_many((i, f"x = {i}") for i in range(100)).save(tmp_path / "idx")
    first, second = (tw.Index.load(tmp_path / "idx") for _ in range(2))
    for step in range(4):
        for name, index in ("first", first), ("second", second):
            index.add(f"{name} {step}", f"x = {step} OR y = '{name}'").save(tmp_path / "idx")
            again = tw.Index.load(tmp_path / "idx")
            assert again.match({"y": name}) == [f"{name} {k}" for k in range(step + 1)]
            assert again.match({"x": 50}) == [50]
    assert first.match({"y": "first"}) == [f"first {k}" for k in range(4)]


def test_without_links_all_files_are_written(tmp_path, monkeypatch):
    index = tw.Index().add_many((i, f"x = {i}") for i in range(100))
    index.save(tmp_path / "idx")
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError("no links")))
    index.add("new", "x = 5").save(tmp_path / "idx")
    assert tw.Index.load(tmp_path / "idx").match({"x": 5}) == [5, "new"]


def test_bytes_that_a_killed_save_appended_are_ignored(tmp_path):
    index = tw.Index().add_many((i, f"x = {i}") for i in range(100))
    index.save(tmp_path / "idx")
    for file in tmp_path.glob("idx/data-*/*"):
        file.write_bytes(file.read_bytes() + b"torn")
    index.add("new", "x = 5").save(tmp_path / "idx")
    assert tw.Index.load(tmp_path / "idx").match({"x": 5}) == [5, "new"]


@pytest.mark.parametrize("limit", [1000, 5000, 20_000])
def test_a_full_disk_keeps_the_previous_index(tmp_path, monkeypatch, limit):
    index = tw.Index().add_many((i, f"a = {i} AND b < {i % 77}") for i in range(3000))
    index.save(tmp_path / "idx")
    reader = tw.Index.load(tmp_path / "idx")
    index.add_many((i + 10_000, f"a = {i} AND b < {i % 77}") for i in range(1500))
    write = os.write

    def write_up_to_limit(descriptor, data):
        room = limit - os.fstat(descriptor).st_size
        if room <= 0:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:room])

    monkeypatch.setattr(os, "write", write_up_to_limit)
    with pytest.raises(tw.FormatError, match="idx cannot be written: No space left"):
        index.save(tmp_path / "idx")
    monkeypatch.undo()
    assert len(tw.Index.load(tmp_path / "idx")) == 3000
    assert reader.match({"a": 2900, "b": 1}) == [2900]
    index.save(tmp_path / "idx")
    assert len(tw.Index.load(tmp_path / "idx")) == 4500


def test_a_copy_by_links_does_not_change(tmp_path):
    index = tw.Index().add_many((i, f"a = {i} AND b < {i % 77}") for i in range(300))
    index.save(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b", copy_function=os.link)
    index.add_many((i + 1000, f"a = {i}") for i in range(50)).save(tmp_path / "a")
    tw.Index.load(tmp_path / "b").add("x", "q = 1").save(tmp_path / "b")
    assert len(tw.Index.load(tmp_path / "a")) == 350
    assert len(tw.Index.load(tmp_path / "b")) == 301


def test_a_first_save_that_was_killed_can_be_repeated(tmp_path):
    path = tmp_path / "idx"
    tw.Index().add(1, "x = 1").save(path)
    (path / "manifest.json").rename(path / f"manifest.json.{'0' * 32}")
    with pytest.raises(tw.FormatError):
        tw.Index.load(path)
    tw.Index().add(2, "x = 1").save(path)
    assert tw.Index.load(path).match({"x": 1}) == [2]
    assert len(list(path.iterdir())) == 2


def test_a_loaded_index_outlives_its_files(tmp_path):
    tw.Index().add_many((i, f"x = {i % 10}") for i in range(500)).save(tmp_path / "idx")
    loaded = tw.Index.load(tmp_path / "idx")
    shutil.rmtree(tmp_path / "idx")
    assert len(loaded.match({"x": 3})) == 50


def test_other_files_stay(tmp_path):
    """A manifest of another program, and a folder whose name only resembles a data directory."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text('{"name": "an app"}')
    with pytest.raises(tw.FormatError, match="not a saved index"):
        tw.Index().save(tmp_path / "web")
    (tmp_path / "idx").mkdir()
    tw.Index().save(tmp_path / "idx")
    (tmp_path / "idx" / "data-of-mine").mkdir()
    tw.Index().add(1, "x = 1").save(tmp_path / "idx")
    assert (tmp_path / "idx" / "data-of-mine").exists()
    (tmp_path / "idx" / "manifest.json").write_text("{")
    tw.Index().add(1, "x = 1").save(tmp_path / "idx")
    assert len(tw.Index.load(tmp_path / "idx")) == 1


def test_a_directory_that_cannot_be_created():
    with pytest.raises(tw.FormatError, match="/proc/x cannot be written: No such file or directory"):
        tw.Index().save("/proc/x")
