"""The journal keeps all synced records, whatever happens to unsynced ones."""

import errno
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellwhen.errors import FormatError
from tellwhen.service import acknowledged_number
from tellwhen.service.journal import HEAD, MAGIC, Journal

BODIES = [b'{"a":1}', b'{"b":2}', b'{"c":3}']


def read_bodies(folder, after=0):
    journal = Journal(folder, after)
    found = [(record.number, record.body) for record in journal.iter_records(after)]
    journal.close()
    return found


def find_log(folder):
    (file,) = folder.glob("log-*")
    return file


def test_what_is_appended_is_read_back(tmp_path):
    journal = Journal(tmp_path)
    assert journal.append(BODIES[:2]) == 1
    assert journal.append(BODIES[2:]) == 3
    assert journal.last_number == 3
    journal.close()
    assert read_bodies(tmp_path) == [(1, BODIES[0]), (2, BODIES[1]), (3, BODIES[2])]
    assert read_bodies(tmp_path, after=2) == [(3, BODIES[2])]


def test_numbers_go_on_after_opening_and_rotating(tmp_path):
    journal = Journal(tmp_path)
    journal.append(BODIES)
    journal.close()
    journal = Journal(tmp_path)
    assert journal.append([b"4"]) == 4
    journal.rotate()
    assert journal.size_bytes == 0
    assert journal.append([b"5"]) == 5
    journal.close()
    assert read_bodies(tmp_path, after=4) == [(5, b"5")]
    assert Journal(tmp_path, 4).last_number == 5


def test_an_empty_journal_keeps_its_place(tmp_path):
    journal = Journal(tmp_path)
    journal.append([b"1", b"2"])
    journal.rotate()
    journal.rotate()
    journal.close()
    assert Journal(tmp_path, 2).append([b"3"]) == 3


def test_changes_that_are_missing_are_noticed(tmp_path):
    journal = Journal(tmp_path)
    for number in range(1, 7):
        journal.append([b"%d" % number])
        if number == 3:
            frames = find_log(tmp_path).read_bytes()
            journal.rotate()
    journal.close()
    with pytest.raises(FormatError, match="has change 4 where 3 is expected"):  # the snapshot is older than the log
        Journal(tmp_path, 2)
    with pytest.raises(FormatError, match="has change 4 where 1 is expected"):  # or missing
        Journal(tmp_path)
    Journal(tmp_path, 3).close()
    file = find_log(tmp_path)
    whole, size = file.read_bytes(), len(frames) // 3
    file.write_bytes(whole[:size] + whole[2 * size :])  # a frame is gone
    with pytest.raises(FormatError, match="has change 6 where 5 is expected"):
        Journal(tmp_path, 3)
    Journal(tmp_path, 5).close()  # a snapshot has it
    file.write_bytes(whole + whole[:size])  # a frame twice
    with pytest.raises(FormatError, match="has change 4 where 7 is expected"):
        Journal(tmp_path, 3)
    file.write_bytes(whole[:size])  # the last two frames are gone
    with pytest.raises(FormatError, match="ends at change 4, and 6 changes were acknowledged"):
        Journal(tmp_path, 3)
    file.unlink()
    with pytest.raises(FormatError, match="is missing, and with it the acknowledged changes after change 3"):
        Journal(tmp_path, 3)
    (tmp_path / acknowledged_number.FILE_NAME).unlink()
    with pytest.raises(FormatError, match="has a snapshot and no log"):
        Journal(tmp_path, 3)


def test_numbers_that_a_snapshot_has_are_not_used_again(tmp_path):
    journal = Journal(tmp_path)
    journal.append([b"1"])
    journal.close()
    journal = Journal(tmp_path, 2)  # the second was lost, but a snapshot has it
    assert journal.append([b"3"]) == 3
    journal.close()
    assert read_bodies(tmp_path, after=2) == [(3, b"3")]


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers().map(lambda n: b"%d" % n), min_size=1, max_size=4), max_size=6))
def test_any_frames(tmp_path_factory, frames):
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder)
    for frame in frames:
        journal.append(frame)
    journal.close()
    assert [body for _, body in read_bodies(folder)] == [body for frame in frames for body in frame]


def write_two_frames(folder):
    """Write two frames, of which the first is acknowledged; return the bytes, and where the second begins."""
    journal = Journal(folder)
    journal.append(BODIES[:1])
    first = journal.size_bytes
    state = (folder / acknowledged_number.FILE_NAME).read_bytes()
    journal.append(BODIES[1:])
    journal.close()
    (folder / acknowledged_number.FILE_NAME).write_bytes(state)  # the second frame was not acknowledged
    return find_log(folder).read_bytes(), first


def test_a_frame_that_was_torn_anywhere_is_cut_off(tmp_path):
    data, first = write_two_frames(tmp_path)
    file = find_log(tmp_path)
    state = (tmp_path / acknowledged_number.FILE_NAME).read_bytes()
    for end in range(first, len(data)):
        file.write_bytes(data[:end])
        (tmp_path / acknowledged_number.FILE_NAME).write_bytes(state)
        journal = Journal(tmp_path)
        assert [record.body for record in journal.iter_records(0)] == BODIES[:1]
        journal.append([b"new"])
        journal.close()
        assert [body for _, body in read_bodies(tmp_path)] == [BODIES[0], b"new"]
        torn = list(tmp_path.glob("torn-*"))
        assert [one.read_bytes() for one in torn] == ([data[first:end]] if end > first else [])
        for one in torn:
            one.unlink()


def test_a_page_of_zeros_at_the_end_is_cut_off(tmp_path):
    data, first = write_two_frames(tmp_path)
    find_log(tmp_path).write_bytes(data[:first] + bytes(5_000))
    assert [body for _, body in read_bodies(tmp_path)] == BODIES[:1]


def test_damage_at_the_end_is_cut_off_and_before_it_is_told(tmp_path):
    data, first = write_two_frames(tmp_path)
    file = find_log(tmp_path)
    for place in range(first):  # in the first frame, behind which there is a good one
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(FormatError, match="damaged at byte 0, and intact changes follow"):
            Journal(tmp_path)
    for place in range(first, len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert [body for _, body in read_bodies(tmp_path)] == BODIES[:1]


def test_a_magic_word_inside_of_half_a_frame_is_no_frame(tmp_path):
    journal = Journal(tmp_path)
    journal.append([b"1"])
    state = (tmp_path / acknowledged_number.FILE_NAME).read_bytes()
    journal.append([MAGIC + bytes(HEAD.size) + b"x" * 50])
    journal.close()
    (tmp_path / acknowledged_number.FILE_NAME).write_bytes(state)
    file = find_log(tmp_path)
    file.write_bytes(file.read_bytes()[:-1])
    assert [body for _, body in read_bodies(tmp_path)] == [b"1"]


def make_failing(monkeypatch, name, error, partly=0):
    """Let the next call of a function of `os` fail, after it has written a part."""
    real = getattr(os, name)
    calls = []

    def fail(descriptor, *given):
        if not calls:
            calls.append(name)
            if partly:
                real(descriptor, given[0][:partly])
            raise OSError(error, os.strerror(error))
        return real(descriptor, *given)

    monkeypatch.setattr(os, name, fail)
    return calls


@pytest.mark.parametrize(("name", "partly"), [("write", 0), ("write", 7), ("fdatasync", 0)])
def test_a_full_disk_changes_nothing(tmp_path, monkeypatch, name, partly):
    journal = Journal(tmp_path)
    journal.append(BODIES[:1])
    calls = make_failing(monkeypatch, name, errno.ENOSPC, partly)
    with pytest.raises(OSError, match="No space left"):
        journal.append(BODIES[1:2])
    assert calls
    assert journal.last_number == 1
    journal.append(BODIES[2:])
    journal.close()
    assert read_bodies(tmp_path) == [(1, BODIES[0]), (2, BODIES[2])]


def test_nothing_follows_half_a_frame_that_cannot_be_taken_back(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    journal.append(BODIES[:1])
    make_failing(monkeypatch, "write", errno.EIO, 7)
    make_failing(monkeypatch, "ftruncate", errno.EIO)
    for _ in range(2):
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            journal.append(BODIES[1:2])
    assert "the log cannot be written" in journal.failure
    journal.close()
    assert [body for _, body in read_bodies(tmp_path)] == BODIES[:1]


def test_a_rotation_that_fails_leaves_nothing_in_the_way(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    journal.append([b"1", b"2"])
    files = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch, pytest.raises(OSError, match="Too many"):
        patch.setattr(
            "tellwhen.service.journal.sync_folder", make_raising(OSError(errno.EMFILE, "Too many open files"))
        )
        journal.rotate()
    assert len(os.listdir("/proc/self/fd")) == files
    assert find_log(tmp_path).name == f"log-{1:020d}"
    assert journal.append([b"3"]) == 3
    journal.close()
    assert read_bodies(tmp_path) == [(1, b"1"), (2, b"2"), (3, b"3")]


def make_raising(error):
    def raising(*_):
        raise error

    return raising


@pytest.mark.parametrize("torn", [b"", b"half a frame"])
def test_a_file_that_was_begun_and_not_used_is_no_gap(tmp_path, torn):
    journal = Journal(tmp_path)
    journal.append([b"1", b"2"])
    (tmp_path / f"log-{2:020d}").touch()
    journal.append([b"3"])
    journal.close()
    log = tmp_path / f"log-{1:020d}"
    log.write_bytes(log.read_bytes() + torn)
    assert read_bodies(tmp_path) == [(1, b"1"), (2, b"2"), (3, b"3")]
    assert find_log(tmp_path) == log
    (tmp_path / f"log-{9:020d}").touch()
    with pytest.raises(FormatError, match="has change 9 where 4 is expected"):
        Journal(tmp_path)


def test_a_log_that_was_deleted_takes_nothing_more(tmp_path):
    journal = Journal(tmp_path)
    journal.append([b"1"])
    find_log(tmp_path).unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            journal.append([b"2"])
    assert journal.failure == "the log cannot be written: its file was deleted"
