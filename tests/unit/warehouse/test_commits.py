"""Is a version committed whole or not at all, whenever its driver is killed? Needs no Spark."""

import time
from dataclasses import replace

import pytest

import tellwhen as tw
from tellwhen.language.schema import Schema
from tellwhen.warehouse import commits
from tellwhen.warehouse.commits import QUARANTINE, commit, find_base_version, make_folder, open_staging, rollback
from tellwhen.warehouse.versions import (
    CURRENT,
    FORMAT,
    Head,
    ShardInfo,
    Version,
    get_quarantine_folder,
    get_version_file,
    list_versions,
    read_current_number,
    read_head,
    read_version,
    write_json_file,
)


def commit_new(root, keep=3, **facts):
    """Commit a version with a shard, and an empty dictionary and routing."""
    with open_staging(root) as staged:
        dictionary, routing, shard = (make_folder(staged, kind).name for kind in ("dictionary", "routing", "shard"))
        version = Version(0, time.time(), "auto", Schema(), "int", dictionary, routing, [ShardInfo(shard, 1, 1)], None)
        if facts.get("quarantined"):
            (staged / QUARANTINE).mkdir()
            (staged / QUARANTINE / "rows").write_text(str(facts))
        return commit(staged, replace(version, **facts), find_base_version(root), keep)


def kill_commit(root, monkeypatch, **facts):
    """Stop a commit where the version's file is written, and `current.json` is not."""

    def stop(root, head):
        if get_version_file(root, head.version).exists() and head != read_head(root):
            raise KeyboardInterrupt
        write_head(root, head)

    write_head = commits.write_head
    with monkeypatch.context() as patched:
        patched.setattr(commits, "write_head", stop)
        with pytest.raises(KeyboardInterrupt):
            commit_new(root, **facts)


def numbers(root):
    return [version.version for version in list_versions(root)]


def test_a_version_whose_commit_was_killed_does_not_count(tmp_path, monkeypatch):
    root = tmp_path / "index"
    commit_new(root)
    commit_new(root)
    kill_commit(root, monkeypatch)
    assert get_version_file(root, 3).exists()
    assert numbers(root) == [1, 2]
    for refuse in (lambda: rollback(root, 3), lambda: read_version(root, 3)):
        with pytest.raises(tw.FormatError, match="has no version 3; there are 1, 2"):
            refuse()
    assert read_current_number(root) == 2


def test_the_next_commit_replaces_what_a_killed_one_left(tmp_path, monkeypatch):
    root = tmp_path / "index"
    first = commit_new(root)
    kill_commit(root, monkeypatch, quarantined=5)
    second = commit_new(root)
    assert (second.version, second.quarantined) == (2, 0)
    assert not get_quarantine_folder(root, 2).exists()
    assert numbers(root) == [1, 2]
    # What only the killed one needed is gone.
    assert {path.name for path in root.glob("shard-*")} == {first.shards[0].name, second.shards[0].name}
    kill_commit(root, monkeypatch, quarantined=5)
    third = commit_new(root, quarantined=1)
    assert "5" not in (get_quarantine_folder(root, third.version) / "rows").read_text()


def test_after_a_rollback_newer_versions_stay_committed(tmp_path, monkeypatch):
    root = tmp_path / "index"
    for _ in range(3):
        commit_new(root)
    rollback(root, 1)
    kill_commit(root, monkeypatch)
    assert (numbers(root), read_current_number(root)) == ([1, 2, 3], 1)
    assert rollback(root, 3).version == 3
    assert commit_new(root).version == 4
    assert numbers(root) == [1, 2, 3, 4]


def test_a_first_commit_that_was_killed(tmp_path, monkeypatch):
    root = tmp_path / "index"
    with monkeypatch.context() as patched:
        patched.setattr(commits, "write_head", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            commit_new(root)
    assert get_version_file(root, 1).exists()
    for refuse in (lambda: list_versions(root), lambda: rollback(root, 1), lambda: read_version(root, 1)):
        with pytest.raises(tw.FormatError, match="there is no index"):
            refuse()
    assert commit_new(root).version == 1
    assert len(list(root.glob("shard-*"))) == 1


def test_an_index_of_an_older_tellwhen_has_not_noted_the_last_version(tmp_path, monkeypatch):
    root = tmp_path / "index"
    for _ in range(3):
        commit_new(root)
    write_json_file(root / CURRENT, {"version": 2}, FORMAT)  # rolled back by it
    assert (numbers(root), read_head(root)) == ([1, 2, 3], Head(2, 3))
    kill_commit(root, monkeypatch)
    assert (numbers(root), read_head(root)) == ([1, 2, 3], Head(2, 3))
    assert commit_new(root).version == 4


def test_a_damaged_current_file_does_not_stop_the_next_build(tmp_path):
    root = tmp_path / "index"
    commit_new(root)
    (root / CURRENT).write_text("{")
    assert commit_new(root).version == 2
    assert numbers(root) == [1, 2]
