"""Does a query see one version, also where it cannot write, and does a version in use stay?"""

import errno
import io
from pathlib import Path

import pytest

import tellwhen as tw
from tellwhen.warehouse.leases import find_versions_in_use, pin_version, renew_lease
from tellwhen.warehouse.versions import Head, write_head


def make_current(root, version):
    root.mkdir(exist_ok=True)
    write_head(root, Head(version, version))


def make_read_only(monkeypatch, error):
    """Refuse whatever writes: root, as which tests may run, ignores permissions."""

    def refuse(*given, **more):
        raise OSError(error, "refused")

    def open_to_read(file, mode="r", *given, **more):
        return refuse() if set(mode) & set("wax+") else read(file, mode, *given, **more)

    read = io.open
    monkeypatch.setattr(io, "open", open_to_read)
    monkeypatch.setattr(Path, "touch", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)


@pytest.mark.parametrize("error", [errno.EACCES, errno.EPERM, errno.EROFS])
@pytest.mark.parametrize("has_pins", [False, True])
def test_a_reader_needs_no_write_permission(tmp_path, monkeypatch, error, has_pins):
    root = tmp_path / "index"
    make_current(root, 3)
    if has_pins:
        pin_version(root, "query", 0)
        make_current(root, 4)
    make_read_only(monkeypatch, error)
    renew_lease(root, 3)
    assert pin_version(root, "query", 0) == 3
    assert pin_version(root, "query", 1) == (4 if has_pins else 3)


def test_a_pin_that_cannot_be_written_for_another_reason_is_an_error(tmp_path, monkeypatch):
    make_current(tmp_path, 3)
    make_read_only(monkeypatch, errno.ENOSPC)
    with pytest.raises(OSError, match="refused"):
        pin_version(tmp_path, "query", 0)


def test_a_pinned_version_stays_pinned(tmp_path):
    make_current(tmp_path, 1)
    assert pin_version(tmp_path, "stream", 0) == 1
    make_current(tmp_path, 2)
    assert (pin_version(tmp_path, "stream", 0), pin_version(tmp_path, "stream", 1)) == (1, 2)
    renew_lease(tmp_path, 7)
    assert find_versions_in_use(tmp_path) == {2, 7}  # of a stream, only the last batch may be run again


def test_there_are_no_pins_without_an_index(tmp_path):
    with pytest.raises(tw.FormatError, match="there is no index"):
        pin_version(tmp_path / "none", "query", 0)
    assert list(tmp_path.iterdir()) == []
