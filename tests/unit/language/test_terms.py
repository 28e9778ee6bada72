"""Terms: the same in text, Python and JSON, for dicts and tables; each is computed once."""

import datetime as dt
import json
import random
import time

import pyarrow as pa
import pytest

import tellwhen as tw
from support import wait_for_upkeep
from tellwhen.language.functions import FUNCTIONS
from tellwhen.language.limits import COMBINATIONS_MAX
from tellwhen.language.parser import parse_term
from tellwhen.testing.engine_checks import check_matches, random_event, random_expression, random_term, to_pairs

A, B, S = tw.col("a"), tw.col("b"), tw.col("s")


FORMS = {
    "a + b * 2 > 10": A + B * 2 > 10,
    "(a + b) * 2 > 10": (A + B) * 2 > 10,
    "a - (b - 1) = 3": A - (B - 1) == 3,
    "1 - a <> 3": 1 - A != 3,
    "2 * a / 3 >= b": 2 * A / 3 >= B,
    "a % 2 = 0": A % 2 == 0,
    "-a < 3": -A < 3,
    "abs(a) <= 3": abs(A) <= 3,
    "round(a, 1) = 0.5": A.round(1) == 0.5,
    "a < b": A < B,
    "lower(s) = 'x'": S.lower() == "x",
    "upper(s) LIKE 'X%'": S.upper().like("X%"),
    "length(s) BETWEEN 1 AND 3": S.length().between(1, 3),
    "s || 'y' IN ('xy', 'zy')": S.concat("y").isin(["xy", "zy"]),
    "substr(s, 2, 1) = 'y'": S.substr(2, 1) == "y",
    "date_part('year', s) = 2026": S.date_part("year") == 2026,
    "CAST(s AS int) > 5": S.cast("integer") > 5,
    "coalesce(a, b, 3) > 2": tw.coalesce(A, B, 3) > 2,
    "s HAS ANY ('x', 'y')": S.has_any(["x", "y"]),
    "s HAS ALL (1, 2)": S.has_all([1, 2]),
    "NOT s HAS NONE ('x')": ~S.has_none(["x"]),
    "s[a > 1 AND b = 2]": S.any((A > 1) & (B == 2)),
    "a IN (1, 2) OR a = b": A.isin([1, 2, B]),
    "a >= b AND a <= 5": A.between(B, 5),
    "a + b IS NULL": (A + B).is_null(),
    'a = ("two words")': tw.col("a") == tw.col("two words"),
    "FALSE": A.isin([]),
    "TRUE": A.not_in([]),
}  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_three_forms_of_one_expression(text):
    expression = tw.parse(text)
    assert expression == FORMS[text]
    assert str(expression) == text
    assert tw.from_json(json.loads(json.dumps(expression.to_json()))) == expression


def test_random_ones_read_back():
    rng = random.Random(1)
    for _ in range(2_000):
        expression = random_expression(rng)
        assert tw.parse(str(expression)) == expression
        assert tw.from_json(json.loads(json.dumps(expression.to_json()))) == expression
        term = random_term(rng, 4)
        assert parse_term(term.text) == term


def test_what_is_the_same_is_one_attribute_computed_once(monkeypatch):
    index = tw.Index().add_many((n, f"a+b > {n} AND (a + b) < {n + 5}") for n in range(1_000))
    index.add_many((f"c{n}", f"LOWER( s ) = 'x{n}'") for n in range(1_000))
    assert set(index.inspect.get_types()) == {"a + b", "lower(s)"}
    calls = []
    for name in ("+", "lower"):
        known = FUNCTIONS[name]

        def run(*values, known=known):
            calls.append(values)
            return known.run(*values)

        monkeypatch.setitem(FUNCTIONS, name, known._replace(run=run))
    assert index.match({"a": 2, "b": 3, "s": "X7"}) == [1, 2, 3, 4, "c7"]
    assert len(calls) == 2
    index.match({"a": 2})
    assert len(calls) == 2
    index.match_many([{"a": 2, "b": 3}] * 10)
    assert len(calls) == 12


def test_no_event_can_bring_a_computed_value_itself():
    index = tw.Index().add(1, "a < b")
    event = {"\0a < b": True, "a < b": True}
    assert index.match(event) == []
    assert index.match_many([event]).num_rows == 0
    assert index.match_many(pa.Table.from_pylist([event])).num_rows == 0
    entries = pa.array([[*event.items()]], pa.map_(pa.string(), pa.bool_()))
    assert index.match_many(pa.table({"m": entries})).num_rows == 0
    for wrong in ("\0a < b", "a\0"):
        with pytest.raises(tw.ExpressionError):
            tw.col(wrong)
        with pytest.raises(tw.ExpressionError):
            tw.from_json({"attribute": wrong, "operator": "=", "value": True})


def test_names_that_are_no_strings_are_refused():
    for event in ({5: 1, "a": 2}, {("a",): 1}, {None: 1}):
        with pytest.raises(tw.EventError, match="the name of an attribute is a string"):
            tw.Index().add(1, "a < b").match(event)


def test_where_all_parts_are_there_but_no_value_is_counted():
    index = tw.Index().add_many({1: "price + tax > 3", 2: "a / b > 0"})
    for event in ({"price": 1, "tax": "2"}, {"price": 1}, {"a": 1, "b": 0}, {}):
        index.match(event)
    assert index.inspect.get_stats()["mismatches"] == {"tax": 1, "a / b": 1}


def test_many_combinations_are_undefined():
    index = tw.Index().add(1, "a < b")
    side = int(COMBINATIONS_MAX**0.5)
    event = {"a": list(range(side)), "b": [side - 1] * side}
    assert index.match(event) == [1]
    event["b"] *= 2
    assert index.match(event) == []
    assert index.inspect.get_stats()["mismatches"] == {"a < b": 1}


CHOICES = {
    "a": [-3, 0, 1, 2, 3, 5, 2**62 - 1, 2**53 + 1],
    "b": [-2, 0, 1, 2, 3, 4],
    "f": [0.5, 1.5, -1.5, 1e308, 0.0, 2.0],
    "s": ["x", "X", "ab", "5", "é", ""],
    "d": [dt.datetime(2026, month, 1) for month in (1, 2, 3)],
    "l": [[], ["p"], ["p", "q"], ["r", "q", None]],
    "items": [[], [{"p": 3, "q": 1}], [{"p": 3, "q": 2}, {"p": 1, "q": 1}], [{"p": None, "q": 1}], [{"p": 1}]],
    "o": [{"x": 0}, {"x": 4}],
}


TEXTS = [
    "a + b > 3", "a * b = 6", "a - f < -1.5", "a > b",
    "a / b > 0.5", "a % b = 1", "a % f = 0.5", "-a > 2", "abs(a) = 3", "a < b",
    "a <> f", "f * f > 2", "f + a > 1", "a + 1 > 4", "lower(s) = 'x'", "length(s) = 2", "length(l) > 1", "round(f) = 2",
    "l HAS NONE ('p')", "l HAS ALL ('p', 'q')", "NOT l HAS ANY ('q')", "s || 'y' = 'xy'", "coalesce(a, b, 7) > 4",
    "date_part('month', d) = 2", "CAST(a + 0.0 AS string) = '3.0'", "CAST(s AS int) = 5", "items[p > 2 AND q = 1]",
    "NOT items[p > 2]", "a + b IS NULL", "NOT a + b > 3", "l || 'x' = 'px'", "o.x + a > 4", "a IN (b, 2)", "d <= d",
    "f BETWEEN a AND b", "s < 'm' XOR a < b", "a = a", "a - a + b = b",
]  # fmt: skip


@pytest.mark.parametrize("form", ["dicts", "table", "chunks", "pandas", "polars"])
def test_the_same_in_every_form_of_events(form):
    rng = random.Random(7)
    events = [
        {name: rng.choice(values) if rng.random() > 0.15 else None for name, values in CHOICES.items()}
        for _ in range(300)
    ]
    if form == "pandas":  # a column of integers with a missing one has doubles there
        events = [event for event in events if (event["a"] or 0) < 2**53]
    index = tw.Index().add_many(dict(enumerate(TEXTS)))
    wanted = {(row, n) for row, event in enumerate(events) for n in index if index[n].evaluate(event) is True}
    assert {n for _, n in wanted} == set(range(len(TEXTS)))
    table = pa.Table.from_pylist(events)
    if form == "dicts":
        given = events
    elif form == "table":
        given = table
    elif form == "chunks":
        given = pa.concat_tables([table.slice(0, 100), table.slice(100)])
    elif form == "pandas":
        given = table.to_pandas()
    else:
        given = pytest.importorskip("polars").from_arrow(table)
    pairs = to_pairs(index.match_many(given))
    assert len(pairs) == len(set(pairs))
    assert [(events[row], TEXTS[n]) for row, n in sorted(set(pairs) ^ wanted)[:3]] == []


def test_maps_of_text_are_read_as_functions_need_them():
    texts = {1: "a + b > 3", 2: "lower(s) = 'x'", 3: "date_part('year', day) = 2026", 4: "a < b"}
    index = tw.Index(schema={"day": "date"}).add_many(texts).add(5, "date_part('year', t) = 1999")
    first = [("a", "1"), ("b", "2.5"), ("s", "X"), ("day", "2026-01-01")]
    second = [("a", "10"), ("b", "9"), ("t", "1999-01-01")]
    table = pa.table({"m": pa.array([first, second], pa.map_(pa.string(), pa.string()))})
    assert sorted(to_pairs(index.match_many(table))) == [(0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 5)]


def test_saved_removed_compacted_and_rewound(tmp_path):
    rng = random.Random(3)
    known = {n: random_expression(rng) for n in range(150)}
    index = tw.Index("auto:pending=20").add_many(known)
    index.optimize_for([random_event(rng) for _ in range(50)])
    with pytest.raises(tw.ParseError):
        index.add_many({"new": "a + b + c > 3", "bad": "a +"})
    assert "a + b + c" not in index.inspect.get_types()
    for n in range(0, 150, 2):
        index.remove(n)
        del known[n]
    wait_for_upkeep(index.rebuild()).save(tmp_path / "index")
    events = [random_event(rng) for _ in range(60)]
    check_matches(index, known, events)
    check_matches(tw.Index.load(tmp_path / "index"), known, events)


def only_map(entries, kind):
    return pa.table({"m": pa.array([entries], pa.map_(pa.string(), kind))})


def test_what_is_lacking_in_a_map():
    text = pa.string()
    for expression, value in (("x HAS NONE ('5')", "5"), ("x HAS NONE (TRUE)", "true"), ("x HAS NONE (5)", "5")):
        assert tw.Index().add(1, expression).match_many(only_map([("x", value)], text)).num_rows == 0
        assert tw.Index().add(1, expression).match_many(only_map([("x", "6")], text)).num_rows == 1
    union = pa.struct([("i", pa.int64()), ("s", text)])
    table = only_map([("a", {"i": 1, "s": None}), ("b", {"i": None, "s": "X"})], union)
    texts = {1: "b HAS NONE ('X')", 2: "a + 1 = 2", 3: "lower(b) = 'x'", 4: "a = a", 5: "b HAS ANY ('X')"}
    assert sorted(tw.Index().add_many(texts).match_many(table)["subscription_id"].to_pylist()) == [2, 3, 4, 5]


def test_tables_of_odd_values():
    infinite = pa.table({"a": [float("inf"), float("-inf"), 5.0]})
    assert tw.Index().add_many({1: "-a < 9", 2: "abs(a) > 3"}).match_many(infinite)["event_id"].to_pylist() == [2, 2]
    zeros = pa.table({"a": [0.0, -0.0]})
    assert tw.Index().add(1, "CAST(a AS string) = '-0.0'").match_many(zeros)["event_id"].to_pylist() == [1]
    items = pa.array([[[("p", 9)]], [[("p", 1)]]], pa.list_(pa.map_(pa.string(), pa.int64())))
    assert tw.Index().add(1, "items[p > 5]").match_many(pa.table({"items": items}))["event_id"].to_pylist() == [0]


def test_addresses_of_two_versions():
    for network, address in (("32.0.0.0/8", "2001:db8::1"), ("0.0.0.0/0", "2001:db8::1"), ("::/0", "1.2.3.4")):
        expression = tw.parse(f"ip IN CIDR '{network}'")
        assert expression.evaluate({"ip": address}) is False
        assert str(expression) == f"ip IN CIDR '{network}'"
        assert expression == tw.col("ip").in_cidr(network)
    assert tw.col("s").ilike("A%") == tw.parse("s ILIKE 'A%'")
    with pytest.raises(tw.ParseError, match="must not be a letter"):
        tw.parse("x ILIKE 'he%' ESCAPE 'E'")


def test_long_strings_are_computed():
    line = {"x": "x" * 70_000 + "Error"}
    assert tw.parse("x ILIKE '%ERROR' AND upper(x) IS NOT NULL AND x || '' = x").evaluate(line) is True


@pytest.mark.parametrize(
    "text",
    [
        "lacks(x + 1, 'number')", "lacks(x, 'number')", "lacks(1, 2)",
        "x > CAST('2026-01-01 00:00:00.123456789' AS timestamp)", "x > CAST('9999-12-31 23:59:59-05:00' AS timestamp)",
        "x > CAST('0001-01-01 00:00:00+05:00' AS timestamp)",
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(tw.ParseError):
        tw.parse(text)
    (rejected,) = tw.Index().add_valid({"a": text})
    assert rejected.id == "a"


def random_bracket(rng):
    """A rule about objects in lists."""

    def inner():
        name, number = rng.choice(["p", "q", "r.s"]), rng.randint(0, 4)
        return rng.choice([
            f"{name} > {number}", f"{name} = 'x'", f"{name} IS NULL", f"NOT {name} = {number}", "p < q", "p + q > 3",
            f"{name} IN (1, 2) AND q > 1", "r HAS NONE ('x')", f"sub[u = {number}]", f"{name} LIKE '%x%'",
            "TRUE", "NULL",
        ])  # fmt: skip

    joined = rng.choice([" AND ", " OR "]).join(inner() for _ in range(rng.randint(1, 2)))
    bracket = f"{rng.choice(['items', 'o.items'])}[{joined}]"
    forms = ["{}", "NOT {}", "{} AND z = 1", "NOT ({} OR z = 2)", "{} XOR z = 1", "NOT {} AND NOT z = 1"]
    return rng.choice(forms).format(bracket)


def random_objects(rng):
    some = [
        {"p": rng.choice([0, 1, 2, 3]), "q": rng.choice([0, 1, 2, None]), "r": {"s": rng.randint(0, 3)}},
        {"q": rng.randint(0, 4), "sub": [{"u": rng.randint(0, 2)}]},
        {},
    ]
    return rng.sample(some, rng.randint(0, 3))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("engine", ["auto", "scan"])
def test_objects_in_lists_of_any_kind(engine, seed, tmp_path):
    rng = random.Random(seed)
    index, rules = tw.Index(engine), {}
    for step in range(4):
        fresh = {f"{step}-{i}": random_bracket(rng) for i in range(rng.randint(1, 8))}
        index.add_many(fresh)
        rules |= fresh
        with pytest.raises(tw.ParseError):
            index.add_many({"a": random_bracket(rng), "b": "x >"})
        gone = rng.choice(sorted(rules))
        index.remove(gone)
        del rules[gone]
        if step == 2:
            index.save(tmp_path / "i")
            index = tw.Index.load(tmp_path / "i")
        rows = [
            {"z": rng.randint(0, 2), "items": random_objects(rng), "o": {"items": random_objects(rng)}}
            for _ in range(9)
        ]
        odd = [{"items": [*random_objects(rng), 5, None]}, {"items": [1, 2], "z": 1}, {"items": "x"}, {"z": 1}]
        parsed = {id_: tw.parse(text) for id_, text in rules.items()}
        for event in rows + odd:
            wanted = [id_ for id_ in index if parsed[id_].evaluate(event) is True]
            assert index.match(event) == wanted, event
        for events in (rows, pa.Table.from_pylist(rows)):
            assert sorted(to_pairs(index.match_many(events))) == sorted(
                (number, id_) for number, event in enumerate(rows) for id_ in index.match(event)
            )


def test_thousands_of_brackets_are_asked_at_once():
    rules = {n: f"items[p BETWEEN {n % 50} AND {n % 70 + 40} AND q >= {n % 9} AND s <> 'n{n}']" for n in range(2_000)}
    index = tw.Index().add_many(rules)
    event = {"items": [{"p": 45, "q": n, "s": "x"} for n in range(5)]}
    wanted = [n for n, text in rules.items() if tw.parse(text).evaluate(event) is True]
    assert index.match(event) == wanted
    begin = time.process_time()
    for _ in range(10):
        index.match(event)
    assert time.process_time() - begin < 1  # one by one, they would take more
    assert index.inspect.get_stats()["mismatches"] == {}
    assert index.match({"items": [1, 2]}) == []
    assert index.inspect.get_stats()["mismatches"] == {"items": 1}


def test_an_address_outside_of_several_networks():
    expression = tw.parse("ip NOT IN CIDR ('10.0.0.0/8', '192.168.0.0/16')")
    assert tw.parse(str(expression)) == expression == tw.from_json(expression.to_json())
    for event, wanted in (
        ({"ip": ["10.1.2.3", "192.168.0.1"]}, False), ({"ip": ["10.1.2.3", "1.1.1.1"]}, True), ({"ip": "?"}, None),
        ({"ip": "10.0.0.1"}, False), ({}, None), ({"ip": ["?", "8.8.8.8"]}, True),
    ):  # fmt: skip
        assert expression.evaluate(event) is wanted
        assert tw.Index().add(1, expression).match(event) == ([1] if wanted else [])
        assert tw.Index().add(1, ~expression).match(event) == ([1] if wanted is False else [])
    with pytest.raises(tw.ParseError, match="expected a network of IP addresses"):
        tw.parse("ip NOT IN CIDR ('10.0.0.0/8', 'ten')")


def test_the_example_of_a_wrong_type_is_no_missing_member(caplog):
    tw.Index().add(1, "genre = 'crime'").match({"genre": ["crime", None, 3]})
    assert "genre is 3 (a number)" in caplog.text


def test_the_example_of_a_wrong_type_is_the_wrong_one(caplog):
    index = tw.Index(schema={"due": "date"}).add(1, "due > DATE '2026-01-01'")
    index.match_many([{"due": "2026-05-02"}, {"due": "soon"}])
    assert "due is 'soon' (a string)" in caplog.text
