"""Are the files of an export read in all their forms?"""

import json

import pytest

pytestmark = pytest.mark.late


def write_export(folder, properties, *lines, index="alerts"):
    """A folder as an export has it."""
    (folder / "mapping.json").write_text(json.dumps({index: {"mappings": {"properties": properties}}}))
    (folder / "queries.ndjson").write_text("".join(f"{line}\n" for line in lines))


ROME = {"_id": "a", "_source": {"query": {"term": {"city": "Rome"}}}}


def test_pages_and_blank_lines_are_read(percolator, tmp_path, capsys):
    page = json.dumps({"hits": {"hits": [ROME, ROME | {"_id": "b"}]}})
    write_export(tmp_path, percolator.PROPERTIES, page, "", json.dumps(ROME | {"_id": "c"}))
    percolator.main(["convert", str(tmp_path)])
    assert "3 converted, 0 in quarantine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "message"), [("{", "queries.ndjson, line 2: "), ('{"_id": "a"}', "should have _id and")]
)
def test_a_bad_line_is_told_by_its_number(percolator, tmp_path, line, message):
    write_export(tmp_path, percolator.PROPERTIES, json.dumps(ROME), line)
    with pytest.raises(SystemExit, match=message):
        percolator.main(["convert", str(tmp_path)])


def test_mappings_of_other_forms(percolator, tmp_path, capsys):
    make_query = {"type": "percolator"}
    properties = {
        "city": {"type": "keyword", "normalizer": "low"},
        "any": {"type": "object"},
        "day": {"type": "date", "format": "dd.MM.yyyy"},
        "search": {"properties": {"query": make_query, "note": {"type": "text"}}},
    }
    source = {"search": {"query": {"term": {"city": "Rome"}}, "note": "n"}, "owner": "ann"}
    dated = {"search": {"query": {"term": {"day": "01.02.2026"}}}}
    write_export(tmp_path, properties, *(json.dumps({"_id": "a", "_source": one}) for one in (source, dated)))
    percolator.main(["convert", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "1 converted, 1 in quarantine" in printed
    assert "look at the field city, which has normalizer low" in printed
    row = json.loads((tmp_path / "subscriptions.jsonl").read_text())
    assert row["payload"] == {"search": {"note": "n"}, "owner": "ann"}

    write_export(tmp_path, properties | {"query": make_query}, json.dumps(ROME))
    with pytest.raises(SystemExit, match=r"choose the percolator field by --field: search.query, query"):
        percolator.main(["convert", str(tmp_path)])
    percolator.main(["convert", str(tmp_path), "--field", "query"])
    assert "1 converted" in capsys.readouterr().out

    two = {name: {"mappings": {"properties": {"query": make_query, "city": {"type": kind}}}}
           for name, kind in (("one", "keyword"), ("two", "text"))}  # fmt: skip
    (tmp_path / "mapping.json").write_text(json.dumps(two))
    with pytest.raises(SystemExit, match="city of two is another field than in one"):
        percolator.main(["convert", str(tmp_path)])
