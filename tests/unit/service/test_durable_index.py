"""No acknowledged change is lost by a kill, and no change is applied in part."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tellwhen as tw
from tellwhen.errors import FormatError
from tellwhen.index.listing import iter_listing
from tellwhen.service.changes import make_addition, make_removal, make_score_change
from tellwhen.service.durable_index import DurableIndex
from tellwhen.service.errors import StorageError
from tellwhen.service.journal import MAGIC, Journal

WRITER = Path(__file__).parent / "killed_writer.py"


def apply(durable, change):
    """Submit a change and return its result."""
    import queue

    answers = queue.SimpleQueue()
    durable.submit(change, answers.put)
    result = answers.get(timeout=30)
    if isinstance(result, Exception):
        raise result
    return result


def simulate_kill(durable):
    """Stop an index as a kill would: without a snapshot."""
    durable._queue.put(None)
    durable._thread.join()
    durable._journal.close()


def read_contents(index):
    return {id_: (text, index.get_subscription(id_).score, index.get_payload(id_)) for id_, text in index.iter_texts()}


def test_changes_are_there_after_a_kill(tmp_path):
    durable = DurableIndex(tmp_path)
    apply(durable, make_addition([["a", "x > 1", 2.0, None, {"s": 1}], [7, "x > 2", None, {"x": 0.5}, None]]))
    apply(durable, make_score_change([[7, 5.0]]))
    apply(durable, make_addition([["a", "x > 3", None, None, None]], replace=True))
    apply(durable, make_addition([["b", "x = 1", None, None, None]]))
    apply(durable, make_removal(["b"]))
    known = read_contents(durable.index)
    simulate_kill(durable)
    durable = DurableIndex(tmp_path)
    assert read_contents(durable.index) == known == {7: ("x > 2", 5.0, {}), "a": ("x > 3", 0.0, {})}
    assert durable.index.get_subscription(7).weights == {"x": 0.5}
    durable.close()
    durable = DurableIndex(tmp_path)
    assert durable.replayed == 0  # `close` saved a snapshot
    assert read_contents(durable.index) == known
    durable.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_any_changes_with_kills_and_snapshots_between(tmp_path, seed):
    rng = random.Random(seed)
    durable, known = DurableIndex(tmp_path, snapshot_after=15), {}
    for _ in range(60):
        ids = rng.sample(range(12), rng.randint(1, 3))
        match rng.randrange(6):
            case 0 | 1 | 2:
                replace = rng.random() < 0.5
                rows = [[id_, f"x > {rng.randrange(9)}", float(rng.randrange(5)), None, {"n": id_}] for id_ in ids]
                if replace or not known.keys() & set(ids):
                    apply(durable, make_addition(rows, replace))
                    known |= {id_: (text, score, payload) for id_, text, score, _, payload in rows}
                else:
                    with pytest.raises(tw.DuplicateId):
                        apply(durable, make_addition(rows))
            case 3:
                rows = [[id_, rng.choice(["x >", f"x = {id_}"]), None, None, None] for id_ in ids]
                rejected = apply(durable, make_addition(rows, True, "quarantine"))["rejected"]
                assert len(rejected) == sum(row[1] == "x >" for row in rows)
                known |= {id_: (text, 0.0, {}) for id_, text, *_ in rows if text != "x >"}
            case 4:
                apply(durable, make_removal(ids, "ignore"))
                known = {id_: one for id_, one in known.items() if id_ not in ids}
            case 5:
                simulate_kill(durable)
                durable = DurableIndex(tmp_path, snapshot_after=15)
        assert read_contents(durable.index) == known
    durable.close()
    reopened = DurableIndex(tmp_path, snapshot_after=15)
    assert read_contents(reopened.index) == known
    for value in range(10):
        wanted = {id_ for id_, (text, *_) in known.items() if tw.parse(text).evaluate({"x": value}) is True}
        assert set(reopened.index.match({"x": value})) == wanted
    reopened.close()


def test_positions_in_listings_survive_kills_restarts_and_another_schema(tmp_path):
    durable = DurableIndex(tmp_path)
    apply(durable, make_addition([[number, "x > 1", None, None, None] for number in range(50)]))
    for number in (3, 10, 30):
        apply(durable, make_addition([[number, "x > 2", None, None, None]], replace=True))
    with pytest.raises(tw.ParseError):  # uses no position, although it is in the log
        apply(durable, make_addition([["new", "x > 1", None, None, None], ["bad", "x >", None, None, None]]))
    apply(durable, make_removal([9, 49]))
    apply(durable, make_addition([["last", "x > 1", None, None, None]]))
    positions = [(listed.ordinal, listed.id) for listed in iter_listing(durable.index)]
    assert positions == [(number, number) for number in range(50) if number not in (9, 49)] + [(50, "last")]
    simulate_kill(durable)
    for schema in (None, tw.Schema({"x": "int"}), None):
        durable = DurableIndex(tmp_path, schema=schema)
        assert [(listed.ordinal, listed.id) for listed in iter_listing(durable.index)] == positions
        assert durable.index.match({"x": 5})[-4:] == [3, 10, 30, "last"]  # replaced ones count as added last
        durable.close()


def test_a_change_is_synced_before_it_is_seen_and_answered(tmp_path, monkeypatch):
    durable, seen = DurableIndex(tmp_path), []
    real = os.fdatasync

    def sync(descriptor):
        seen.append(("synced", "a" in durable.index))
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", sync)
    apply(durable, make_addition([["a", "x > 1", None, None, None]]))
    assert seen == [("synced", False)]
    durable.close()


def test_changes_that_wait_are_synced_together(tmp_path, monkeypatch):
    durable, syncs, answers = DurableIndex(tmp_path), [], []
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: (time.sleep(0.05), syncs.append(1), real(descriptor)))
    for number in range(200):
        durable.submit(make_addition([[number, "x > 1", None, None, None]]), answers.append)
    durable.close()
    assert len(answers) == 200
    assert len(durable.index) == 200
    assert len(syncs) < 10


def test_what_was_refused_stays_refused(tmp_path, monkeypatch):
    durable = DurableIndex(tmp_path)
    apply(durable, make_addition([["a", "x > 1", None, None, None]]))
    for change, error in (
        (make_addition([["b", "x > 1", None, None, None], ["c", "x >", None, None, None]]), tw.ParseError),
        (make_addition([["b", "x > 1", None, None, None], ["a", "x > 2", None, None, None]]), tw.DuplicateId),
        (make_removal(["a", "zzz"]), tw.UnknownId),
        (make_score_change([["a", 3.0], ["zzz", 1.0]]), tw.UnknownId),
    ):
        with pytest.raises(error):
            apply(durable, change)
    # Killed before the journal lists the refusal: changes joined with it are not lost, and it is not applied in part.
    monkeypatch.setattr(durable, "_write_refused_numbers", lambda: None)
    apply(durable, make_addition([["d", "x > 4", None, None, None]]))
    with pytest.raises(tw.ParseError):
        apply(durable, make_addition([["e", "x > 1", None, None, None], ["f", "x >", None, None, None]]))
    simulate_kill(durable)
    durable = DurableIndex(tmp_path)
    assert read_contents(durable.index) == {"a": ("x > 1", 0.0, {}), "d": ("x > 4", 0.0, {})}
    durable.close()


def test_what_is_refused_again_is_named_before_others_follow(tmp_path, monkeypatch):
    durable = DurableIndex(tmp_path)
    monkeypatch.setattr(durable, "_write_refused_numbers", lambda: None)
    with pytest.raises(tw.ParseError):
        apply(durable, make_addition([["a", "x >", None, None, None]]))
    simulate_kill(durable)
    for name in ("b", "c"):
        durable = DurableIndex(tmp_path)
        apply(durable, make_addition([[name, "x > 1", None, None, None]]))
        simulate_kill(durable)
    durable = DurableIndex(tmp_path)
    assert sorted(durable.index) == ["b", "c"]
    durable.close()


def test_what_may_replace_is_not_joined_with_what_may_not(tmp_path, monkeypatch):
    durable = DurableIndex(tmp_path)
    monkeypatch.setattr(durable, "_write_refused_numbers", lambda: None)
    apply(durable, make_addition([["a", "x > 1", None, None, None]], replace=True))
    with pytest.raises(tw.DuplicateId):
        apply(durable, make_addition([["a", "x > 2", None, None, None]]))
    simulate_kill(durable)
    durable = DurableIndex(tmp_path)
    assert read_contents(durable.index) == {"a": ("x > 1", 0.0, {})}
    durable.close()


def test_what_was_refused_for_want_of_memory_stays_refused_when_there_is_more(tmp_path):
    durable = DurableIndex(tmp_path, memory_limit=500_000)
    with pytest.raises(tw.TellwhenError, match="memory"):
        apply(
            durable,
            make_addition([[number, f"x = {number} AND y > {number}", None, None, None] for number in range(5_000)]),
        )
    apply(durable, make_addition([["a", "x > 1", None, None, None]]))
    simulate_kill(durable)
    durable = DurableIndex(tmp_path)
    assert list(durable.index) == ["a"]
    durable.close()


def test_a_lower_memory_limit_refuses_to_open_and_loses_nothing(tmp_path):
    durable = DurableIndex(tmp_path)
    for part in range(20):
        rows = [[f"{part}-{n}", f"x = {n} AND y > {part}", None, None, None] for n in range(50)]
        apply(durable, make_addition(rows))
    taken = sum(durable.index.inspect.get_stats()["bytes"].values())
    simulate_kill(durable)
    with pytest.raises(tw.TellwhenError, match="more than its memory_limit"):
        DurableIndex(tmp_path, memory_limit=taken // 2)
    durable = DurableIndex(tmp_path, memory_limit=2 * taken)
    assert len(durable.index) == 1_000
    assert durable.index.memory_limit == 2 * taken
    durable.close()


def test_files_that_are_missing_are_noticed(tmp_path):
    durable = DurableIndex(tmp_path)
    apply(durable, make_addition([["a", "x > 1", None, None, None]]))
    durable.close()
    durable = DurableIndex(tmp_path)
    apply(durable, make_addition([["b", "x > 1", None, None, None]]))
    simulate_kill(durable)
    manifest = tmp_path / "index" / "manifest.json"
    whole, files = manifest.read_bytes(), set(tmp_path.rglob("*"))
    manifest.unlink()
    with pytest.raises(FormatError, match="changes are missing"):
        DurableIndex(tmp_path)
    manifest.write_bytes(whole)
    assert set(tmp_path.rglob("*")) == files  # nothing is deleted
    durable = DurableIndex(tmp_path)
    assert sorted(durable.index) == ["a", "b"]
    durable.close()


def add_thirty(folder):
    durable = DurableIndex(folder)
    for number in range(30):
        apply(durable, make_addition([[number, "x > 1", None, None, None]]))
    return durable


@pytest.mark.parametrize("has_snapshot", [False, True])
@pytest.mark.parametrize("keep", ["nothing", "no bytes", "half a frame less", "a frame less"])
def test_a_lost_log_is_noticed(tmp_path, keep, has_snapshot):
    if has_snapshot:
        DurableIndex(tmp_path).close()
        durable = DurableIndex(tmp_path, snapshot_after=10)
        apply(durable, make_addition([[number, "x > 1", None, None, None] for number in range(-20, 0)]))
        simulate_kill(durable)
    simulate_kill(add_thirty(tmp_path))
    (file,) = tmp_path.glob("log-*")
    whole = file.read_bytes()
    if keep == "nothing":
        file.unlink()
    else:
        starts = [found.start() for found in re.finditer(re.escape(MAGIC), whole)]
        file.write_bytes(
            whole[: {"no bytes": 0, "half a frame less": starts[-1] + 9, "a frame less": starts[-1]}[keep]]
        )
    with pytest.raises(FormatError, match=r"acknowledged.*tellwhen serve --accept-loss"):
        DurableIndex(tmp_path)
    durable = DurableIndex(tmp_path, accept_loss=True)
    assert len(durable.index) == (20 if has_snapshot else 0) + (29 if "less" in keep else 0)
    apply(durable, make_addition([["new", "x > 1", None, None, None]]))
    count = len(durable.index)
    simulate_kill(durable)
    durable = DurableIndex(tmp_path)  # once accepted, the loss is not reported again
    assert len(durable.index) == count
    durable.close()


def test_a_log_of_an_older_version_without_the_number_is_opened_unless_it_is_missing(tmp_path):
    simulate_kill(add_thirty(tmp_path))
    (tmp_path / "acknowledged").unlink()
    durable = DurableIndex(tmp_path)
    assert len(durable.index) == 30
    simulate_kill(durable)
    (tmp_path / "acknowledged").write_bytes(b"damaged")
    (file,) = tmp_path.glob("log-*")
    file.unlink()
    with pytest.raises(FormatError, match="has a snapshot and no log"):
        DurableIndex(tmp_path)


def test_a_missing_log_without_changes_is_no_loss(tmp_path):
    add_thirty(tmp_path).close()
    (file,) = tmp_path.glob("log-*")
    file.unlink()
    durable = DurableIndex(tmp_path)
    assert len(durable.index) == 30
    durable.close()


@pytest.mark.parametrize("writes_again", [False, True])
def test_a_log_that_is_deleted_while_it_is_open_is_saved_from_memory(tmp_path, writes_again):
    durable = add_thirty(tmp_path)
    (file,) = tmp_path.glob("log-*")
    file.unlink()
    if writes_again:
        with pytest.raises(StorageError, match="deleted"):
            apply(durable, make_addition([["new", "x > 1", None, None, None]]))
    durable.close()
    durable = DurableIndex(tmp_path)
    assert sorted(durable.index) == list(range(30))
    durable.close()


def test_a_folder_that_is_deleted_while_it_is_open_is_not_made_again(tmp_path):
    durable = add_thirty(tmp_path / "tenant")
    shutil.rmtree(tmp_path / "tenant")
    durable.close()
    assert not (tmp_path / "tenant").exists()


@pytest.mark.parametrize("body", [b'{"do":"rename"}', b"[]", b'{"x":1}', b"no JSON", b"[" * 100_000])
def test_changes_of_another_version_are_not_left_out(tmp_path, body):
    durable = DurableIndex(tmp_path)
    durable._journal.append([body])
    simulate_kill(durable)
    with pytest.raises(FormatError, match="change 1 in the log of .* has an unknown form"):
        DurableIndex(tmp_path)


def test_a_change_that_cannot_be_made_again_is_an_error(tmp_path, monkeypatch):
    durable = DurableIndex(tmp_path)
    monkeypatch.setattr(durable, "_write_refused_numbers", lambda: None)
    with pytest.raises(tw.ParseError):
        apply(durable, make_addition([["a", "x >", None, None, None]]))
    durable._unlisted_refused_numbers = []  # as if it had been good when it was made, and a parser of today refused it
    apply(durable, make_addition([["b", "x > 1", None, None, None]]))
    simulate_kill(durable)
    with pytest.raises(FormatError, match="cannot be applied again"):
        DurableIndex(tmp_path)


def test_a_refusal_that_cannot_be_written_is_written_later(tmp_path, monkeypatch):
    durable = DurableIndex(tmp_path)
    real, count = Journal.append, []

    def append(self, bodies):
        count.append(bodies)
        if len(count) == 2:
            raise OSError(28, "No space left on device")
        return real(self, bodies)

    monkeypatch.setattr(Journal, "append", append)
    with pytest.raises(tw.ParseError):
        apply(durable, make_addition([["a", "x >", None, None, None]]))
    apply(durable, make_addition([["b", "x > 1", None, None, None]]))
    apply(durable, make_addition([["c", "x > 1", None, None, None]]))
    simulate_kill(durable)
    durable = DurableIndex(tmp_path)
    assert sorted(durable.index) == ["b", "c"]
    durable.close()


def test_a_snapshot_begins_a_new_journal(tmp_path):
    durable = DurableIndex(tmp_path, snapshot_after=10)
    for number in range(25):
        apply(durable, make_addition([[number, "x > 1", None, None, None]]))
    simulate_kill(durable)
    assert [file.name for file in tmp_path.glob("log-*")] == [f"log-{21:020d}"]
    durable = DurableIndex(tmp_path, snapshot_after=10)
    assert (durable.replayed, len(durable.index)) == (5, 25)
    durable.close()


def test_a_full_disk_refuses_changes_and_nothing_else(tmp_path, monkeypatch):
    durable = DurableIndex(tmp_path)
    apply(durable, make_addition([["a", "x > 1", None, None, None]]))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(StorageError, match="No space left"):
            apply(durable, make_addition([["b", "x > 1", None, None, None]]))
        assert durable.index.match({"x": 5}) == ["a"]
    apply(durable, make_addition([["b", "x > 2", None, None, None]]))
    simulate_kill(durable)
    durable = DurableIndex(tmp_path)
    assert read_contents(durable.index) == {"a": ("x > 1", 0.0, {}), "b": ("x > 2", 0.0, {})}
    durable.close()


def test_a_file_that_may_not_grow(tmp_path):
    """A real refusal of the kernel's, not a patched one."""
    durable = DurableIndex(tmp_path)
    apply(durable, make_addition([["a", "x > 1", None, None, None]]))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (durable.journal_bytes + 30, before[1]))
        with pytest.raises(StorageError):
            apply(durable, make_addition([["b", "x > 1", None, None, None]]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    apply(durable, make_addition([["c", "x > 1", None, None, None]]))
    simulate_kill(durable)
    durable = DurableIndex(tmp_path)
    assert sorted(durable.index) == ["a", "c"]
    durable.close()


def test_a_snapshot_that_fails_loses_nothing(tmp_path, monkeypatch):
    durable = DurableIndex(tmp_path, snapshot_after=2)
    with monkeypatch.context() as patch:
        patch.setattr(tw.Index, "save", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        for number in range(5):
            apply(durable, make_addition([[number, "x > 1", None, None, None]]))
    simulate_kill(durable)
    durable = DurableIndex(tmp_path, snapshot_after=2)
    assert (durable.replayed, sorted(durable.index)) == (5, [0, 1, 2, 3, 4])
    durable.close()


def test_a_kill_between_a_snapshot_and_the_new_journal(tmp_path, monkeypatch):
    durable = DurableIndex(tmp_path)
    apply(durable, make_addition([["a", "x > 1", None, None, None]]))
    monkeypatch.setattr(Journal, "rotate", lambda self: None)
    durable._try_snapshot()
    apply(durable, make_removal(["a"]))
    simulate_kill(durable)
    monkeypatch.undo()
    durable = DurableIndex(tmp_path)
    assert (durable.replayed, len(durable.index)) == (1, 0)
    durable.close()


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost_by_kills(tmp_path, kills):
    """A process makes changes and reports which were acknowledged; it is killed at random moments, and restarted."""
    rng = random.Random(kills)
    parent = subprocess.Popen(
        [sys.executable, str(WRITER), str(tmp_path / "data")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    acknowledged = 0
    for _ in range(kills):
        print(rng.randrange(0, 150), file=parent.stdin, flush=True)  # milliseconds after the first acknowledged change
        told = json.loads(parent.stdout.readline())
        assert told["wrong"] == []
        acknowledged += told["acknowledged"]
    parent.stdin.close()
    assert parent.wait(timeout=30) == 0
    assert acknowledged > kills
