"""Errors of a schema, and the values of events that it converts."""

import datetime as dt
import re

import pyarrow as pa
import pytest

import tellwhen as tw

pytestmark = pytest.mark.late


def test_a_date_that_is_a_subtraction():
    with pytest.raises(tw.SchemaError, match=r"write a date as DATE '2026-01-31'"):
        tw.Index(schema={"day": "date"}).add(1, "day > 2026-01-01")


def test_of_is_a_deprecated_alias_of_coerce():
    with pytest.warns(DeprecationWarning, match=r"use Schema\.coerce\(\) instead"):
        schema = tw.Schema.of({"day": "date"})
    assert schema == tw.Schema.coerce({"day": "date"}) == tw.Schema.coerce(schema)
    assert tw.Schema.coerce(None).types == {}


MEMBER_TIMES = tw.Schema({"labs.at": "timestamp", "labs.deep.day": "date", "due": "date"})


@pytest.mark.parametrize("as_table", [False, True])
def test_declared_times_of_members_are_read(as_table):
    index = tw.Index(schema=MEMBER_TIMES).add_many({
        "after": "labs[at > DATE '2026-01-09']", "not after": "NOT labs[at > DATE '2026-01-09']",
        "deep": "labs[deep.day = DATE '2026-02-07' AND v > 1]", "due": "due > DATE '2026-01-09'",
    })  # fmt: skip
    events = [
        {"labs": [{"at": "2026-02-07"}], "due": "2026-02-07"},
        {"labs": [{"at": "2025-02-07"}, {"at": "x"}]},
        {"labs": [{"deep": {"day": "2026-02-07"}, "v": 2}]},
        {"labs": [{"at": dt.datetime(2026, 2, 7)}]},
    ]
    if as_table:
        events = pa.Table.from_pylist(events[:3])
    else:
        for event in events:
            assert index.match(event) == [i for i in index if index.explain(i, event).value is True]
    found = index.match_many(events).to_pydict()
    matches = list(zip(found["event_id"], found["subscription_id"], strict=True))
    assert matches[:4] == [(0, "after"), (0, "due"), (1, "not after"), (2, "deep")]
    assert matches[4:] == ([] if as_table else [(3, "after")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("labs[at > 5]", "labs.at is declared timestamp, but 5 is a number"),
        ("labs[v = 1 AND deep.day <> 'x']", "labs.deep.day is declared date, but 'x' is a string"),
        ("NOT labs[inner[a = 1] OR at > '2026-01-01']", "labs.at is declared timestamp"),
    ],
)
def test_constants_of_members_must_fit_the_schema(text, message):
    with pytest.raises(tw.SchemaError, match=re.escape(message)):
        tw.Index(schema=MEMBER_TIMES).add("a", text)


def test_a_path_of_an_object_in_an_object_is_declared_too():
    index = tw.Index(schema={"a.b.c": "date"}).add("x", "a[b[c = DATE '2026-01-01']]")
    assert index.match({"a": [{"b": [{"c": "2025-01-01"}, {"c": "2026-01-01"}]}]}) == ["x"]
    with pytest.raises(tw.SchemaError, match="a.b.c is declared date"):
        index.add("y", "a[b[c = 1]]")
