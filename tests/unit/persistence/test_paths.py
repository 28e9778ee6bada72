"""Is a URL that names no local folder refused wherever an index is read or written, and is a local one accepted?"""

from pathlib import Path

import pytest

import tellwhen as tw
from tellwhen.persistence.paths import resolve_path
from tellwhen.service.tenants import resolve_data_folder
from tellwhen.warehouse.opening import open_version
from tellwhen.warehouse.versions import list_versions

REMOTE = ["s3a://lake/x", "hdfs:/lake/x", Path("s3a://lake/x"), "file://host/p", "file://host", Path("file:///tmp/p")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("file:///tmp/my%20index", "/tmp/my index"),
        ("file:/tmp/x", "/tmp/x"),
        ("FILE://localhost/tmp/x?y#z", "/tmp/x?y#z"),
        ("tenant:acme/x", "tenant:acme/x"),
        ("./s3a:/x", Path("s3a:/x").absolute()),
        ("C:/x", "C:/x"),
        (Path("/tmp/x"), "/tmp/x"),
    ],
)
def test_local_paths(given, expected):
    assert resolve_path(given) == Path(expected)


@pytest.mark.parametrize("path", REMOTE)
@pytest.mark.parametrize(
    "use",
    [
        resolve_path,
        tw.Index().save,
        tw.Index.load,
        tw.read_note,
        tw.Index().add("a", "x = 1").to_parquet,
        open_version,
        list_versions,
        resolve_data_folder,
    ],
)
def test_urls_of_other_file_systems_are_refused(use, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tw.FormatError, match="expected"):
        use(path)
    assert list(tmp_path.iterdir()) == []


def test_the_host_of_a_file_url_is_named():
    with pytest.raises(tw.FormatError, match="found the host 'nas'"):
        resolve_path("file://nas/data")


def test_a_file_url_is_saved_to_its_folder(tmp_path):
    address = (tmp_path / "my index").as_uri()
    tw.Index().add("a", "x = 1").save(address)
    assert tw.Index.load(address).match({"x": 1}) == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["my index"]
