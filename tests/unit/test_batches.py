"""Are many subscriptions taken in every form, faulty ones told from the others, and events seen that do not fit?"""

import random
import time

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tellwhen as tw
from support import first_seeds

ROWS = {"id": ["a", "b", "c"], "expression": ["x > 1", "x > 2", "x > 3"], "score": [1.0, None, 5.0], "more": [1, 2, 3]}
WEIGHTS = pa.array([[("x", 2.0)], None, []], pa.map_(pa.string(), pa.float64()))


@pytest.mark.parametrize(
    "make",
    [
        pa.table,
        lambda rows: pa.RecordBatch.from_pydict(rows),
        lambda rows: pa.table(rows).to_reader(),
        pd.DataFrame,
        pl.DataFrame,
        pl.LazyFrame,
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "lazy"],
)
def test_a_table_of_subscriptions(make):
    index = tw.Index().add_many(make(ROWS))
    assert index.top_k({"x": 9}) == [("c", 5.0), ("a", 1.0), ("b", 0.0)]
    assert index.match({"x": 3}) == ["a", "b"]


def test_weights_in_a_table():
    table = pa.table(ROWS).append_column("weights", WEIGHTS)
    assert tw.Index().add_many(table).get_subscription("a").weights == {"x": 2.0}
    structs = pa.table(ROWS).append_column("weights", pa.array([{"x": 2.0}, None, {"x": None}]))
    assert tw.Index().add_many(structs).get_subscription("a").weights == {"x": 2.0}


@pytest.mark.parametrize(
    "frame", [pa.table({"id": [1]}), pd.DataFrame({"key": [1], "expression": ["x = 1"]}), pa.table({})]
)
def test_a_table_without_its_columns(frame):
    with pytest.raises(tw.ExpressionError, match="columns id and expression"):
        tw.Index().add_many(frame)


def test_a_frame_of_values_of_several_types():
    frame = pd.DataFrame({"id": ["a", 2], "expression": ["x > 1", {"attribute": "x", "operator": ">", "value": 2}]})
    assert tw.Index().add_many(frame).match({"x": 3}) == ["a", 2]


FAULTY = [
    ("good", "x > 1"),
    ("broken", "x > 'one"),
    ("good", "x > 5"),
    ("typed", "x = 'one'"),
    (1.5, "x > 1"),
    ("scored", "x > 1", "high"),
    ("weighed", "x > 1", 1, {"y": 1}),
    ("json", '{"and": []}'),
    ("missing", None),
    "nothing",
    ("old", "x > 2"),
    ("fine", "x > 3"),
]


def test_faulty_rows_are_returned_and_the_others_added():
    index = tw.Index(schema={"x": "int"}).add("old", "x = 0")
    rejected = index.add_valid(FAULTY)
    assert index.match({"x": 9}) == ["good", "fine"]
    assert index.match({"x": 0}) == ["old"]
    reasons = {str(one.id): one.reason for one in rejected}
    assert [one.id for one in rejected] == [
        "broken", "good", "typed", 1.5, "scored", "weighed", "json", "missing", None, "old"
    ]  # fmt: skip
    assert rejected[0][:4] == ("broken", "x > 'one", 4, "this string is never closed; a quote inside is written ''")
    assert (rejected[4].score, rejected[5].score, rejected[5].weights) == ("high", 1, {"y": 1})
    assert repr(rejected[0]).endswith("written ''\")")  # what it did not have is not shown
    assert "score='high'" in repr(rejected[4])
    assert "given twice" in reasons["good"]
    assert "declared int" in reasons["typed"]
    assert "a score is a number" in reasons["scored"]
    assert "no attribute y to weigh" in reasons["weighed"]
    assert "there is a subscription 'old' already" in reasons["old"]
    assert not any(one.reason.startswith("subscription ") for one in rejected)
    again = index.add_valid(FAULTY, replace=True)
    assert len(again) == len(rejected) - 2
    assert index.match({"x": 9}) == ["good", "old", "fine"]


def test_what_is_too_complex_for_a_strict_engine():
    wide = " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(9))
    index = tw.Index("betree", strict=1).add("kept", "a0 = 1")
    rejected = index.add_valid({"wide": wide, "kept": wide, "new": "a1 = 1"}, replace=True)
    assert [one.id for one in rejected] == ["wide", "kept"]
    assert "too complex for betree" in rejected[0].reason
    assert index.match({"a0": 1, "a1": 1}) == ["kept", "new"]
    assert len(index) == 2


def test_an_id_that_comes_twice_in_a_strict_engine():
    wide = " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(9))
    for rows in ([("x", "y = 1"), ("x", wide)], [("x", wide), ("x", "y = 1")]):
        index = tw.Index("betree", strict=1)
        assert len(index.add_valid(rows, replace=True)) == 1
        assert dict(index.iter_texts()) == {"x": "y = 1"}


def test_odd_columns_are_told_row_by_row():
    for weights in (["q"], [5], [True], [[1]], [["ab"]]):
        table = pa.table({"id": ["a"], "expression": ["x = 1"], "weights": weights})
        (rejected,) = tw.Index().add_valid(table)
        assert rejected.id == "a"
    for ids in (pa.array([2**62], pa.timestamp("s")), pa.array([0], pa.timestamp("s", "Nope/Zone"))):
        assert len(tw.Index().add_valid(pa.table({"id": ids, "expression": ["x = 1"]}))) == 1
    (rejected,) = tw.Index().add_valid([("a: b", "x >")])
    assert rejected.reason.startswith("expected a constant")
    mixed = pd.DataFrame({"id": ["a", 2], "expression": ["x > 1", "x > 2"], "score": [1.0, None]})
    assert tw.Index().add_many(mixed).top_k({"x": 3}) == [("a", 1.0), (2, 0.0)]
    with pytest.raises(tw.ExpressionError, match="there is no expression"):
        tw.Index().add_many(mixed.drop(columns="expression"))


def test_nothing_else_is_an_answer_to_errors():
    with pytest.raises(tw.ArgumentError, match="'raise' or 'quarantine'"):
        tw.Index().add_many({}, errors="ignore")


def test_attributes_that_no_event_has_are_seen():
    index = tw.Index().add_many(
        {1: "userId = 5 AND country = 'DE'", 2: "price * qty > 10", 3: "user.age > 3", 4: "plan IS NULL"}
    )
    events = [
        {"user_id": 5, "country": 7, "price": 3, "zip": None, "user": None, "other": None},
        {"user": {"age": "x"}, "other": [1]},
    ]
    for given in (events, pa.Table.from_pylist(events)):
        fit = index.inspect.check_attributes(given)
        assert fit.missing == {"userId": "user_id", "qty": None, "plan": None}
        assert sorted(fit.unused) == ["other", "user_id"]
        assert fit.mismatches == {"country": 1, "user.age": 1}
        assert fit
        assert "no event has userId; did you mean user_id?" in str(fit)
    assert index.inspect.get_stats()["mismatches"] == {}
    fine = tw.Index().add(1, "a + b > 3").inspect.check_attributes([{"a": 1}, {"b": 2}])
    assert not fine
    assert "every attribute" in str(fine)
    many = tw.Index().add_many((n, f"a{n} = 1") for n in range(50)).inspect.check_attributes([{"x": 1}])
    assert "... and 40 more" in str(many)


def test_validate_tells_what_is_wrong_and_what_is_not_meant():
    texts = {
        "never": "x BETWEEN 5 AND 1",
        "empty": "x > 5 AND y = 1 AND x < 3",
        "or": "(x = 1 AND x = 2) OR (y > 5 AND NOT y > 4)",
        "always": "x = 1 OR TRUE",
        "fine": "x > 5 AND x < 7 OR y = 1",
        "same": "y = 1 OR (x < 7 AND x > 5)",
        "list": "x IN (1, 2)",
        "turned": "x IN (2, 1)",
        "trap": "a = 1 AND NOT (tag = 't' OR b > 1)",
        "bool": "NOT sold",
        "typed": "z = 'one'",
        "null": "x = 1 OR x = NULL",
        "folded": "DATE '2026-01-01' + 1 > 5 OR y = 1",
        "covered": "x > 5 OR y = 2 OR x > 3",
        "absorbed": "x > 5 AND y = 2 OR y IN (2, 3) AND z = 1 OR y IN (1, 2)",
        "twice": "x = 7 OR y = 8 AND x < 0 OR x = 7",
        "apart": "x > 5 OR x < 3 OR y = 2 OR y = '2'",
        "prefix": "a STARTS WITH 'ab' OR a STARTS WITH 'a' OR a = 'b'",
        "family": "lower(x) = 5 OR y > 2",
        "case": "lower(city) IN ('Rome', 'OSLO') AND upper(city) = 'ROME'",
        "text": "day > '2026-01-31'",
        "digits": "price < '5'",
        "cased": "lower(city) <> 'Rome' AND length(x) > 2 AND day > 'monday'",
    }
    report = tw.validate([*texts.items(), ("fine", "x = 1"), ("broken", "x = "), "zz"], schema={"z": "int"})
    assert report.subscriptions == 26
    assert [one.id for one in report.of("error")] == ["typed", "fine", "broken", None]
    assert report.of("error")[2].position == 4
    assert {one.id: one.reason for one in report.of("warning")} == {
        "never": "it is never true",
        "empty": "no single value of x makes it true",
        "or": "no single values make it true",
        "always": "it is always true",
        "same": "it says the same as 'fine'",
        "turned": "it says the same as 'list'",
        "null": "a part of it is undefined, whatever the event: NULL, or constants that have no result",
        "folded": "a part of it is undefined, whatever the event: NULL, or constants that have no result",
        "covered": "x > 5 adds nothing, since x > 3 covers it",
        "absorbed": "x > 5 AND y = 2 adds nothing, since y IN (1, 2) covers it",
        "twice": "x = 7 adds nothing, since x = 7 covers it",
        "prefix": "a STARTS WITH 'ab' adds nothing, since a STARTS WITH 'a' covers it",
        "family": "lower(x) is a string, and 5 a number: it is never true",
        "case": "lower(city) is never 'Rome', but may be 'rome'",
        "text": "day > '2026-01-31' compares text by the alphabet; for a time, write DATE '2026-01-31'",
        "digits": "price < '5' compares text by the alphabet; for a number, write 5",
    }
    assert len(report.of("warning")) == 16  # of two branches that are the same, one is told
    assert [(one.id, one.reason) for one in report.of("hint")] == [
        ("trap", "NOT tag = 't' is undefined without tag; tag HAS NONE ('t') is true then")
    ]
    assert tw.validate(texts, lint=False).findings == []
    assert str(report).startswith("26 subscriptions: 4 errors, ")
    index = tw.Index(schema={"z": "int"}).add_many({"old": "x IN (2, 1)", "list": "y = 1"})
    known = tw.validate({"list": "y = 1", "new": "x IN (1, 2)", "typed": "z = 'one'"}, against=index)
    assert [(one.kind, one.id, one.reason) for one in known.findings][1:] == [
        ("warning", "new", "it says the same as 'old'")
    ]
    assert known.findings[0].kind == "error"
    with pytest.raises(tw.ArgumentError, match="against is an Index"):
        tw.validate({}, against={})
    many = tw.validate((n, "x >") for n in range(100))
    assert "... and 80 more" in str(many)


@pytest.mark.parametrize("seed", first_seeds(1, 8))
def test_what_lint_says_is_so(seed):
    rng = random.Random(seed)
    values = [None, 0, 1, 2, 3, 5, 8, "a", "ab", "b", True, False]
    names = "xyz"

    def predicate():
        name, number = rng.choice(names), rng.randint(0, 6)
        return rng.choice([
            f"{name} > {number}", f"{name} < {number}", f"{name} = {number}", f"{name} IN ({number}, {number + 2})",
            f"{name} BETWEEN {number} AND {rng.randint(0, 6)}", f"{name} <> {number}", f"{name} STARTS WITH 'a'",
            f"{name} = 'ab'", f"NOT {name} = {number}", f"{name} IS NULL", f"{name} NOT IN ({number})", "NULL", name,
            f"{name} LIKE 'a%'", f"{name} >= 'a'", "TRUE",
        ])  # fmt: skip

    def expression(depth):
        if not depth:
            return predicate()
        parts = [expression(depth - 1) for _ in range(rng.randint(1, 3))]
        return "(" + rng.choice([" AND ", " OR ", " OR ", " XOR "]).join(parts) + ")"

    texts = {n: expression(rng.randint(0, 3)) for n in range(300)}
    events = [{name: rng.choice(values) for name in names} for _ in range(150)]
    found = tw.validate(texts).of("warning")
    kinds = set()
    for one in found:
        truths = [tw.parse(texts[one.id]).evaluate(event) for event in events]
        reason = one.reason
        if "never true" in reason or "makes it true" in reason or "make it true" in reason:
            assert True not in truths, texts[one.id]
        elif "always true" in reason:
            assert set(truths) == {True}
        elif "adds nothing" in reason:
            narrow, wide = reason.removesuffix(" covers it").split(" adds nothing, since ")
            for event in events:
                assert tw.parse(narrow).evaluate(event) is not True or tw.parse(wide).evaluate(event) is True, reason
        elif "says the same" in reason:
            other = tw.parse(texts[int(reason.rsplit(" ", 1)[1])])
            assert truths == [other.evaluate(event) for event in events]
        kinds.add(reason.split(" ")[-1])
    assert len(kinds) > 4


def test_names_that_are_probably_misspelt():
    def hints(*texts, **more):
        return [(one.id, one.reason) for one in tw.validate(dict(enumerate(texts)), **more).of("hint")]

    assert hints("delay > 1", "delay > 2", "dealy > 3") == [
        (2, "no other subscription uses dealy; did you mean delay?")
    ]
    assert hints("delay > 1", "dealy > 3") == [(1, "no other subscription uses dealy; did you mean delay?")]
    assert hints("o.price > 1", "o.price > 2", "O.Price > 3", "o_price > 4") == [
        (2, "no other subscription uses O.Price; did you mean o.price?"),
        (3, "no other subscription uses o_price; did you mean o.price?"),
    ]
    assert hints("item1 = 1", "item2 = 1", "item10 = 1") == []  # all of them are meant
    assert hints("ab = 1", "ac = 1", "delay > 1", "planned > 2") == []
    assert hints("delay > 1", "delay > 2", "delays > 3 OR delays < 1", "delays = 5") == []
    assert hints("station = Basel") == [(0, "Basel is an attribute here; if it is text, write 'Basel'")]
    assert hints("station = Basel", attributes=["Basel"]) == hints("station = Basel", "Basel = 1") == []
    assert hints("at > planned", "lower(name) = other || 'x'") == []
    assert hints("dealy > 1", attributes=["delay"]) == [(0, "no other subscription uses dealy; did you mean delay?")]
    assert hints("dealy > 1", schema={"delay": "int", "dealy": "int"}) == []
    index = tw.Index().add("a", "lower(station) = 'x'")
    assert hints("statoin = 'x'", against=index) == [(0, "no other subscription uses statoin; did you mean station?")]
    assert hints(*(f"{chr(97 + n // 26)}{chr(97 + n % 26)}{'abcdef'} = 1" for n in range(300))) == []  # too many


def test_what_events_lack_is_told_with_what_they_have():
    index = tw.Index().add_many({1: "dealy > 1", 2: "delay > 1", 3: "vehicle IS NOT NULL", 4: "unlike = 1"})
    found = index.inspect.check_attributes([{"delay": 5, "vehicle": {"seats": 3}, "colour": 1}])
    assert found.missing == {"dealy": "delay", "vehicle": "vehicle.seats", "unlike": None}
    assert sorted(found.unused) == ["colour", "vehicle.seats"]


def test_lint_takes_no_longer_than_it_should():
    branches = " OR ".join("(" + " AND ".join([*(f"x <> {m}" for m in range(50)), f"y = {b}"]) + ")" for b in range(64))
    wide = " AND ".join(f"x IN ({', '.join(str(n * m) for n in range(60))})" for m in range(1, 16))
    tw.validate({"a": "x > 1 AND x < 3 OR x > 2 AND y = 1 OR y = 2"})  # which compiles the kernels
    begin = time.process_time()  # whatever else the machine does
    tw.validate({"a": branches, "b": wide})
    assert time.process_time() - begin < 5


def test_what_differs_in_type_is_not_the_same():
    report = tw.validate({"a": "x BETWEEN 0 AND 1", "b": "x BETWEEN FALSE AND TRUE", "c": "x = 1", "d": "x = TRUE"})
    assert report.findings == []


def test_dicts_as_subscriptions():
    rows = [{"id": "a", "expression": "x > 1", "payload": {"n": 1}}, {"id": "b", "expression": "x >"}, {"id": "c"}]
    index = tw.Index()
    found = index.add_valid([*rows, {"id": "d", "expression": None}])
    assert [(one.id, one.expression) for one in found] == [("b", "x >"), ("c", None), ("d", None)]
    assert index.match_with_payloads({"x": 2}) == [("a", {"n": 1})]


def test_a_strict_schema(tmp_path):
    schema = tw.Schema({"price": "float", "items.price": "int", "s": "string"}, strict=True)
    index = tw.Index(schema=schema)
    index.add_many(
        {"a": "price * 2 > 5", "b": "items[price > 5]", "c": "lower(s) = 'x' OR s HAS NONE ('q')", "d": "items IS NULL"}
    )
    for bad, message in {
        "prise > 5": "prise is not declared; did you mean price?",
        "price + qty > 5": "qty is not declared; add it to the schema",
        "items[qty > 5]": "items.qty is not declared",
        "price > 5 OR NOT (s = 'x' AND t IS NULL)": "t is not declared",
        "s HAS ANY ('x') OR tags HAS NONE ('y')": "tags is not declared",
    }.items():
        with pytest.raises(tw.SchemaError, match=message.replace("?", r"\?")):
            index.add("bad", bad)
        (found,) = tw.validate({"bad": bad}, schema=schema).of("error")
        assert message in found.reason
    index.save(tmp_path / "i")
    loaded = tw.Index.load(tmp_path / "i")
    assert (loaded.schema, len(loaded)) == (schema, 4)
    with pytest.raises(tw.SchemaError, match="did you mean price"):
        loaded.add("bad", "prise > 5")
    assert repr(schema).endswith(", strict=True)")
    assert schema != tw.Schema(schema.types)
    with pytest.raises(tw.SchemaError, match="strict is True or False"):
        tw.Schema({}, strict="yes")
