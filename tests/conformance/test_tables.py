"""Do events mean the same in every representation: dicts, Arrow, pandas, polars, wide or as a map?"""

import datetime as dt
import decimal
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellwhen as tw
from tellwhen.testing.engine_checks import CONSTANTS, random_expression

NULLS = st.none()
COLUMNS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 2, 3, 2**53 + 1, 2**62 - 1]),
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1) | st.sampled_from([1, 2**62, 2**63]),
    pa.float64(): st.floats() | st.sampled_from([0.5, 1.0, 2.0, 2.5, -0.0]),
    pa.float32(): st.floats(width=32) | st.sampled_from([0.5, 1.0, 2.0]),
    pa.bool_(): st.booleans(),
    pa.string(): st.sampled_from(CONSTANTS["string"]) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    pa.large_string(): st.sampled_from(CONSTANTS["string"]),
    pa.string_view(): st.sampled_from(CONSTANTS["string"]),
    pa.dictionary(pa.int8(), pa.string()): st.sampled_from(CONSTANTS["string"]),
    pa.dictionary(pa.int32(), pa.int64()): st.integers(0, 3),
    pa.date32(): st.dates() | st.just(dt.date(2026, 1, 1)),
    pa.date64(): st.dates(),
    pa.timestamp("us"): st.datetimes() | st.just(dt.datetime(2026, 1, 1)),
    pa.timestamp("ms"): st.datetimes().map(lambda t: t.replace(microsecond=0)),
    pa.timestamp("s", "UTC"): st.datetimes(timezones=st.just(dt.UTC)).map(lambda t: t.replace(microsecond=0)),
    pa.decimal128(10, 2): st.decimals(-1000, 1000, places=2) | st.just(decimal.Decimal("2.00")),
    pa.binary(): st.binary(max_size=3),
    pa.null(): st.none(),
    pa.list_(pa.int64()): st.lists(st.integers(0, 3) | NULLS, max_size=3),
    pa.list_(pa.string()): st.lists(st.sampled_from(CONSTANTS["string"]) | NULLS, max_size=3),
    pa.large_list(pa.float64()): st.lists(st.sampled_from([0.5, 1.0, float("nan")]), max_size=3),
    pa.struct([("x", pa.int64()), ("y", pa.string())]): st.fixed_dictionaries(
        {"x": st.integers(0, 3) | NULLS, "y": st.sampled_from(["a", "b"])}
    ),
    pa.map_(pa.string(), pa.int64()): st.dictionaries(st.sampled_from("xyz"), st.integers(0, 3) | NULLS),
    pa.map_(pa.string(), pa.struct([("x", pa.list_(pa.int8()))])): st.dictionaries(
        st.sampled_from(["x", "d", "y"]), st.fixed_dictionaries({"x": st.lists(st.integers(0, 3))}) | NULLS
    ),
    pa.struct([("m", pa.map_(pa.large_string(), pa.string()))]): st.fixed_dictionaries(
        {"m": st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["a", "b"]) | NULLS) | NULLS}
    ),
}
NAMES = ["a", "b", "c.d", "e f", "ünï", "sold", "unknown"]


def pairs(table):
    """Matches as a set, and each only once."""
    rows = list(zip(*table.to_pydict().values(), strict=True))
    assert len(rows) == len(set(rows))
    return set(rows)


def match_each(index, events):
    return {(e, id_) for e, event in enumerate(events) for id_ in index.match(event)}


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 5))
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4))
    columns = {}
    for name in names:
        kind = draw(st.sampled_from(list(COLUMNS)))
        values = draw(st.lists(COLUMNS[kind] | NULLS, min_size=rows, max_size=rows))
        columns[name] = pa.array(values, kind)
    if len(columns) == 1 and pa.types.is_map(kind):
        columns["other"] = pa.nulls(rows)  # a map that is alone is another matter
    return pa.table(columns)


@settings(max_examples=100)
@given(tables(), st.integers(0, 10**6), st.booleans())
def test_wide_tables(table, seed, chunked):
    rng = random.Random(seed)
    index = tw.Index().add_many((i, random_expression(rng, depth=2)) for i in range(25))
    index.add("struct", "a.x = 1 OR b.y = 'a' OR a.x IS NULL").add("deeper", "a.d.x >= 2 OR b.x.x = 1 OR b.m.x = 'a'")
    events = table.to_pylist(maps_as_pydicts="strict")
    if chunked and table.num_rows > 1:
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert pairs(index.match_many(table)) == match_each(index, events) == pairs(index.match_many(events))
    assert pairs(index.match_many(table.slice(1))) == match_each(index, events[1:])


@pytest.fixture
def shop():
    """An index on typed attributes, and rows for it."""
    rng = random.Random(1)
    index = tw.Index()
    for i in range(200):
        parts = [
            f"price {rng.choice(['<', '>=', '='])} {rng.choice([5, 7.5, 12])}",
            f"genre {rng.choice(['=', '<>'])} '{rng.choice('abc')}'",
            f"title {rng.choice(['CONTAINS', 'STARTS WITH', 'ENDS WITH'])} '{rng.choice(['a', 'b', 'ab'])}'",
            rng.choice(["sold", "NOT sold", "sold IS NULL"]),
            f"day <= DATE '2026-01-{rng.randint(1, 28):02d}'",
        ]
        index.add(i, rng.choice([" AND ", " OR "]).join(rng.sample(parts, k=rng.randint(1, 3))))
    rows = [
        {
            "price": rng.choice([5, 7.5, 12, 13.25, None]),
            "genre": rng.choice(["a", "b", "zzz", None]),
            "title": "".join(rng.choices("abc", k=rng.randint(0, 4))),
            "sold": rng.choice([True, False, None]),
            "day": rng.choice([dt.date(2026, 1, 5), dt.date(2027, 1, 1), None]),
        }
        for _ in range(100)
    ]
    return index, rows


def test_frames(shop):
    index, rows = shop
    want = match_each(index, rows)
    assert len(want) > 1000
    assert pairs(index.match_many(rows)) == want
    assert pairs(index.match_many(iter(rows))) == want
    table = pa.Table.from_pylist(rows)
    assert pairs(index.match_many(table)) == want
    assert pairs(index.match_many(table.to_batches()[0])) == want
    assert pairs(index.match_many(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(7)))) == want
    assert pairs(index.match_many(pl.DataFrame(rows))) == want
    frame = pd.DataFrame(rows)
    assert pairs(index.match_many(frame)) == want
    assert pairs(index.match_many(frame.set_index("title", drop=False))) == want
    assert pairs(index.match_many(frame.astype({"genre": "category"}))) == want


def test_a_pandas_column_of_mixed_types(shop):
    index, rows = shop
    rows = [row | {"genre": 5 if i % 2 else row["genre"]} for i, row in enumerate(rows)]
    assert pairs(index.match_many(pd.DataFrame(rows))) == match_each(index, rows)


def test_maps_of_text(shop):
    """Text is read as what its attribute is compared with."""
    index, rows = shop
    as_text = [
        {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in row.items() if v is not None} for row in rows
    ]
    column = pa.array([list(row.items()) for row in as_text], pa.map_(pa.string(), pa.string()))
    assert pairs(index.match_many(pa.table({"attributes": column}))) == match_each(index, rows)
    bad = [row | {"price": "cheap", "day": "soon", "sold": "maybe"} for row in as_text]
    column = pa.array([list(row.items()) for row in bad], pa.map_(pa.string(), pa.string()))
    without = [{k: v for k, v in row.items() if k in ("genre", "title")} | {"sold": b"maybe"} for row in rows]
    assert pairs(index.match_many(pa.table({"attributes": column}))) == match_each(index, without)
    assert index.inspect.get_stats()["mismatches"]["price"] == 100


def test_maps_of_other_values(shop):
    index, rows = shop
    for names, kind in ((["price"], pa.float64()), (["genre", "title"], pa.large_string()), (["day"], pa.date32())):
        events = [{name: row[name] for name in names} for row in rows]
        column = pa.array([list(event.items()) for event in events], pa.map_(pa.string(), kind))
        assert pairs(index.match_many(pa.table({"m": column}))) == match_each(index, events)
        masked = [None if i % 3 == 0 else list(event.items()) for i, event in enumerate(events)]
        column = pa.array(masked, pa.map_(pa.string(), kind))
        kept = [{} if i % 3 == 0 else event for i, event in enumerate(events)]
        assert pairs(index.match_many(pa.table({"m": column}).slice(1))) == match_each(index, kept[1:])


def test_maps_beside_other_columns():
    """Those are nested objects, and text in them is text."""
    index = tw.Index().add("n", "m.k = 1").add("s", "m.k = '1'").add("c", "id = 3 AND m.j IS NULL")
    numbers = pa.array([[("k", 1)], None, [("k", 2), ("k", 1)], [("j", 1)]], pa.map_(pa.string(), pa.int64()))
    table = pa.table({"id": [1, 2, 3, 3], "m": numbers})
    assert pairs(index.match_many(table)) == {(0, "n"), (2, "n"), (2, "c")}
    assert pairs(index.match_many(table.slice(2))) == {(0, "n"), (0, "c")}
    texts = pa.array([[("k", "1")]], pa.map_(pa.large_string(), pa.string()))
    assert pairs(index.match_many(pa.table({"id": [1], "m": texts}))) == {(0, "s")}
    by_number = pa.array([[(5, 1)]], pa.map_(pa.int64(), pa.int64()))
    for table in (pa.table({"id": [2], "m": by_number}), pa.table({"m": by_number})):
        with pytest.raises(tw.EventError, match="keys of maps in .* are int64"):
            index.match_many(table)


def test_maps_inside_maps_and_null_structs():
    index = tw.Index().add("deep", "m.a.b = 1").add("two", "m.a.b = 2").add("held", "s.m.k = 1")
    index.add("none", "s.m.k IS NULL")
    inner = pa.map_(pa.string(), pa.int64())
    maps = [None, [("c", [("b", 1)])], [("a", [("x", 0), ("b", 1)]), ("c", None)], [("a", [("b", 2)])], [("a", None)]]
    events = [{"m": {key: dict(value or []) for key, value in one or []}} for one in maps]
    table = pa.table({"id": range(5), "m": pa.array(maps, pa.map_(pa.string(), inner))})
    assert pairs(index.match_many(table)) == match_each(index, events) != set()
    assert pairs(index.match_many(table.slice(2))) == match_each(index, events[2:])
    # The maps below a null struct are still in the arrays, and do not count.
    hidden = pa.StructArray.from_arrays(
        [pa.array([[("k", 1)], [("k", 1)]], inner)], ["m"], mask=pa.array([True, False])
    )
    assert pairs(index.match_many(pa.table({"id": [1, 2], "s": hidden}))) == {(0, "none"), (1, "held")}


def test_maps_of_values_in_odd_encodings():
    index = tw.Index().add("x", "m.a = 'x'").add("bare", "a = 'x'").add("one", "m.a = 1").add("bare one", "a = 1")
    for kind, value in ((pa.string_view(), "x"), (pa.binary_view(), b"x"), (pa.int64(), 1)):
        for key in (pa.string(), pa.large_string(), pa.string_view()):
            column = pa.array([[], [("b", value), ("a", value)], None], pa.map_(key, kind))
            events = [{"m": {}}, {"m": {"b": value, "a": value}}, {}]
            table = pa.table({"m": column, "k": [1, 2, 3]})
            assert pairs(index.match_many(table)) == match_each(index, events)
            assert pairs(index.match_many(pa.table({"m": column}))) == match_each(
                index, [e.get("m", {}) for e in events]
            )
            index.optimize_for(table)
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["x", "y"]))
    column = pa.MapArray.from_arrays([0, 1, 3], pa.array(["a", "a", "b"]), runs)
    assert pairs(index.match_many(pa.table({"m": column, "k": [1, 2]}))) == {(0, "x"), (1, "x")}
    keys = pa.array(["a", "b"]).dictionary_encode()
    column = pa.MapArray.from_arrays([0, 1, 2], keys, pa.array(["x", "x"]))
    assert pairs(index.match_many(pa.table({"m": column, "k": [1, 2]}))) == {(0, "x")}


def test_a_map_of_maps_alone():
    index = tw.Index().add("b", "a.b = 1").add("null", "a.b IS NULL")
    maps = [[("a", [("b", 1)])], [("a", [])], None]
    table = pa.table({"m": pa.array(maps, pa.map_(pa.string(), pa.map_(pa.string(), pa.int64())))})
    assert pairs(index.match_many(table)) == {(0, "b"), (1, "null"), (2, "null")}
    assert tw.Profile.from_events(table).event_frequency == {"a.b": 1 / 3}


def test_names_that_come_from_several_maps():
    index = tw.Index().add("one", "a.b.c = 1")
    kind = pa.map_(pa.string(), pa.int64())
    table = pa.table({
        "a": pa.array([[("b.c", 1)], [], [("b.c", 2)]], kind), "a.b": pa.array([[], [("c", 1)], [("c", 1)]], kind),
    })  # fmt: skip
    assert pairs(index.match_many(table)) == match_each(index, table.to_pylist(maps_as_pydicts="strict")) != set()
    assert tw.Profile.from_events(table).event_frequency == {"a.b.c": 1.0}


def test_a_name_in_full_wins():
    index = tw.Index().add("full", "a.x = 1").add("nested", "a.x = 2").add("both", "a.x = 1 AND a.x = 2")
    nested = [pa.array([{"x": 2}]), pa.array([[("x", 2)]], pa.map_(pa.string(), pa.int64()))]
    for column in nested:
        assert index.match({"a.x": 1, "a": {"x": 2}}) == ["full"]
        assert pairs(index.match_many(pa.table({"a": column, "a.x": [1]}))) == {(0, "full")}
        assert pairs(index.match_many(pa.table({"a.x": [1], "a": column}))) == {(0, "full")}


def test_declared_types_read_text():
    index = tw.Index(schema={"n": "int", "t": "timestamp", "s": "string"})
    index.add("n", "n = 5").add("t", "t = TIMESTAMP '2026-01-01 10:00:00'").add("s", "s = '5'")
    rows = [{"n": "5", "t": "2026-01-01 10:00:00", "s": "5"}, {"n": "x", "t": "y", "s": "6"}]
    column = pa.array([list(row.items()) for row in rows], pa.map_(pa.string(), pa.string()))
    assert pairs(index.match_many(pa.table({"m": column}))) == {(0, "n"), (0, "t"), (0, "s")}
    assert pairs(index.match_many(pa.Table.from_pylist(rows))) == {(0, "t"), (0, "s")}


def test_nanoseconds():
    index = (
        tw.Index().add("at", "t = TIMESTAMP '2026-01-01 00:00:00'").add("after", "t > TIMESTAMP '2026-01-01 00:00:00'")
    )
    times = np.array(["2026-01-01T00:00:00.000000000", "2026-01-01T00:00:00.000000001"], dtype="datetime64[ns]")
    assert pairs(index.match_many(pa.table({"t": times}))) == {(0, "at"), (1, "after")}
    assert index.match({"t": pd.Timestamp(times[1])}) == ["after"]
    assert index.match({"t": pd.NaT}) == []


def test_extreme_columns():
    index = tw.Index().add("low", "x < 0").add("high", "x > 4611686018427387902").add("t", "t < DATE '2000-01-01'")
    table = pa.table({
        "x": pa.array([2**64 - 1, 2**63], pa.uint64()),
        "t": pa.array([-(2**62), 2**62], pa.timestamp("s")),
    })  # fmt: skip
    assert pairs(index.match_many(table)) == {(0, "high"), (1, "high"), (0, "t")}


def test_lists_of_strings_on_several_domains():
    """Equality, suffix and pattern use a domain each; the values of one domain must stay together."""
    parts = ["= 'ab'", "<> 'ab'", "ENDS WITH 'b'", "CONTAINS 'a'", "LIKE '_b'", "NOT LIKE '%a%'", "STARTS WITH 'b'"]
    index = tw.Index().add_many((f"{sign}{part}", f"{sign} t {part}") for part in parts for sign in ("", "NOT"))
    index.add("null", "t IS NULL").add("both", "t = 'ab' AND NOT t ENDS WITH 'c' AND u = 1")
    rows = [["ab"], ["ab", "c"], ["c", "ab", "b"], ["zb", "ba", None], [], None, ["abc", "ab"], ["", "x"]]
    table = pa.table({"t": pa.array(rows, pa.list_(pa.string())), "u": [1] * len(rows)})
    want = match_each(index, table.to_pylist())
    assert len(want) > 30
    assert pairs(index.match_many(table)) == want
    assert pairs(index.match_many(table.rename_columns(["t", "v"]))) == {pair for pair in want if pair[1] != "both"}
    parsed = {id_: index[id_] for id_ in index}
    assert want == {(e, i) for e, row in enumerate(table.to_pylist()) for i in index if parsed[i].evaluate(row) is True}


def test_columns_in_odd_encodings():
    index = tw.Index().add("one", "x = 1").add("two", "x = 2").add("a", "x = 'a'").add("null", "x IS NULL")
    masked = pa.ListArray.from_arrays(pa.array([0, 1, 2]), pa.array([1, 2]), mask=pa.array([True, False]))
    for column in (
        masked,
        pa.FixedSizeListArray.from_arrays(pa.array([1, 2]), 1, mask=pa.array([True, False])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([1, None])),
        pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([None, 1], pa.int64())),
        pa.array([[1, 2], [], None], pa.list_view(pa.int64())),
        pa.array([[[1, 2]], [[]], [[None]], [], None], pa.list_(pa.list_(pa.int64()))),
        pa.array([None, [1, 2], [2], [], [1]], pa.list_view(pa.int64())).slice(1, 3),
        pa.array([[1, 2], None], pa.large_list_view(pa.int64())),
        pa.array([["a"], None, [None, "b"]], pa.list_(pa.string_view())),
        pa.array([b"a", None], pa.binary_view()),
        pa.array(["a", None, "b"], pa.string_view()),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None], pa.string_view())),
        pa.UnionArray.from_dense(
            pa.array([0, 1, 0, 1, 1], pa.int8()),
            pa.array([0, 0, 1, 1, 2], pa.int32()),
            [pa.array([1, None]), pa.array([2.0, None, float("nan")])],
        ),
        pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        pa.array([1.0, None, float("nan")], pa.float16()),
        pa.array([[1.0], None, [None]], pa.large_list(pa.float32())),
    ):
        table = pa.table({"x": column, "other": pa.nulls(len(column))})
        events = table.to_pylist(maps_as_pydicts="strict")
        assert pairs(index.match_many(table)) == match_each(index, events), column.type
        assert pairs(index.match_many(pa.concat_tables([table, table]))) == match_each(index, events * 2), column.type
        assert pairs(index.match_many(table.slice(1))) == match_each(index, events[1:]), column.type
    nested = pa.table({"s": pa.StructArray.from_arrays([pa.array([[1], [2]])], ["x"], mask=pa.array([True, False]))})
    inner = tw.Index().add("one", "s.x = 1").add("two", "s.x = 2").add("null", "s.x IS NULL")
    assert pairs(inner.match_many(nested)) == {(0, "null"), (1, "two")}
    assert inner.match_many(pd.DataFrame(index=range(3))).num_rows == 3


def test_times_of_every_unit_and_reach():
    index = (
        tw.Index()
        .add("early", "t < DATE '2200-01-01'")
        .add("eq", "t = DATE '2150-01-01'")
        .add("old", "t < DATE '1700-01-01'")
    )
    times = [dt.datetime(2150, 1, 1), dt.datetime(1680, 1, 1), dt.datetime(2250, 1, 1)]
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table({"t": pa.array(times, pa.timestamp(unit))})
        assert pairs(index.match_many(table)) == match_each(index, [{"t": time} for time in times])


def test_text_is_read_as_all_that_its_attribute_is_compared_with():
    def matches(*texts):
        rows = [[("x", text)] for text in texts]
        return pairs(index.match_many(pa.table({"m": pa.array(rows, pa.map_(pa.string(), pa.string()))})))

    index = tw.Index().add("n", "x = 16")
    assert matches("16", "0x10", "+16", "1_6") == {(0, "n"), (2, "n")}
    assert matches("16.0", " 16 ") == {(0, "n"), (1, "n")}
    with pytest.raises(tw.ParseError):
        index.add("broken", "x = 'foo' AND x IN (0.5, 9007199254740993)")
    assert matches("16") == {(0, "n")}
    index.add("s", "x = '16'").add("d", "x < DATE '2026-01-01'")
    assert matches("16", "2025-01-01") == {(0, "n"), (0, "s"), (1, "d")}


def test_unions_by_hand():
    """Structs in a map: the field that is not null is the value; several of them are several values."""
    index = tw.Index().add_many(
        {"one": "x = 1", "not": "NOT x = 1", "half": "x = 2.5", "big": "NOT x > 3", "s": "x = 'a'"}
    )
    index.add("null", "x IS NULL")
    rows = [(1, 2.5, None), (9, 1.0, None), (1, None, None), (None, 2.5, None), (None, None, "a"), (None, None, None)]
    kind = pa.map_(pa.string(), pa.struct([("i", pa.int64()), ("d", pa.float64()), ("s", pa.string())]))
    maps = [[("x", dict(zip("ids", row, strict=True)))] for row in rows]
    want = match_each(index, [{"x": [v for v in row if v is not None]} for row in rows])
    assert pairs(index.match_many(pa.table({"m": pa.array(maps, kind)}))) == want
    assert pairs(index.match_many(pa.table({"m": pa.array(maps[2:], kind)}))) == {(e - 2, i) for e, i in want if e >= 2}


def test_a_long_dictionary_is_not_read_for_every_block():
    values = pa.array([f"v{i}" for i in range(60_000)]).dictionary_encode()
    index = tw.Index().add("a", "x = 'v5'").add("b", "x = 'v59999'")
    assert pairs(index.match_many(pa.table({"x": values}))) == {(5, "a"), (59_999, "b")}


def test_fields_of_null_structs():
    """Some encodings have no bitmap of nulls that could carry those of the struct."""
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([1, 2], pa.int64()))
    union = pa.UnionArray.from_sparse(pa.array([0, 0, 1], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])])
    inner = pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["z"], mask=pa.array([False, True, False]))
    struct = pa.StructArray.from_arrays(
        [runs, union, inner], ["runs", "union", "in"], mask=pa.array([True, False, False])
    )
    index = tw.Index().add_many(
        (f"{name} {rest}", f"s.{name} {rest}")
        for name in ("runs", "union", "in.z")
        for rest in ("IS NULL", "= 1", "= 2", "= 3", "= 'c'")
    )
    table = pa.table({"s": struct})
    assert pairs(index.match_many(table)) == match_each(index, [{}, {"s": {"runs": 1, "union": 2}}, {"s": {
        "runs": 2, "union": "c", "in": {"z": 3}}}])  # fmt: skip


def test_blocks_of_list_views():
    rows = [[i, i + 1] if i % 3 else None for i in range(40_000)]
    index = tw.Index().add("a", "x = 7").add("b", "x = 39000 OR y = 1")
    table = pa.table({"x": pa.array(rows, pa.list_view(pa.int64()))})
    assert pairs(index.match_many(table)) == {(7, "a"), (38_999, "b")}


def test_a_column_of_events():
    index = tw.Index().add("a", "x = 'a'").add("null", "x IS NULL")
    structs = pa.array([{"x": "a"}, None, {"x": None}])
    maps = pa.array([[("x", "a")], None, []], pa.map_(pa.string(), pa.string()))
    want = {(0, "a"), (1, "null"), (2, "null")}
    for events in (structs, maps, pa.chunked_array([structs]), pl.Series([{"x": "a"}, None, {"x": None}])):
        assert pairs(index.match_many(events)) == want
    for wrong in (pa.array([1]), pa.chunked_array([["a"]]), pl.Series([1])):
        with pytest.raises(tw.EventError):
            index.match_many(wrong)


def test_frames_that_arrow_refuses():
    index = tw.Index().add("a", "x = 'a'").add("big", "x > 1e19").add("n", "n = 1").add("null", "x IS NULL")
    for frame, want in [
        (pd.DataFrame({"x": [2**70, 1], "n": [1, 2]}), {(0, "big"), (0, "n")}),
        (pd.DataFrame({"x": ["a", "\ud800"], "n": [1, 2]}), {(0, "a"), (0, "n")}),
        (pd.DataFrame({"x": [1j, 2j], "n": [1, 2]}), {(0, "n")}),
        (pd.DataFrame({"x": pd.arrays.SparseArray([0, 5]), "n": [1, 2]}), {(0, "n")}),
        (pl.DataFrame({"x": pl.Series([2**70, 1], dtype=pl.Int128), "n": [1, 2]}), {(0, "big"), (0, "n")}),
    ]:
        assert pairs(index.match_many(frame)) == want
    twice = pd.DataFrame([[1, 2]], columns=["n", "n"])
    with pytest.raises(tw.EventError, match="'n' occurs twice"):
        index.match_many(twice)
    with pytest.raises(tw.EventError, match="'n' occurs twice"):
        index.match_many(pa.table([[1], [2]], ["n", "n"]))


def test_times_in_an_unknown_zone():
    index = tw.Index().add("t", "t < DATE '2000-01-01'").add("s", "s = 'a'").add("there", "s IS NOT NULL")
    times = pa.array([0], pa.timestamp("us", "Mars/Olympus"))
    assert pairs(index.match_many(pa.table({"t": times, "s": times}))) == {(0, "t"), (0, "there")}


def test_nanoseconds_in_text():
    index = tw.Index(schema={"t": "timestamp"}).add("after", "t > TIMESTAMP '2026-01-01 00:00:00.123456'")
    texts = {
        "2026-01-01T00:00:00.123456001": ["after"], "2026-01-01T00:00:00,123456001Z": ["after"],
        "2026-01-01T00:00:00.123456000": [], "2026-01-01T00:00:00.1234560001": [], "2027-01-01": ["after"],
        "2026-01-01T00:00:00.123456000000": [],
    }  # fmt: skip
    for text, want in texts.items():
        assert index.match({"t": text}) == want, text
        assert index.match_many(pa.table({"t": [text]}))["subscription_id"].to_pylist() == want, text
    assert index.inspect.get_stats()["mismatches"] == {"t": 2}
