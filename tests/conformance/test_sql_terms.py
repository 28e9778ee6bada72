"""Does what is computed mean what SQL computes? DuckDB and SQLite are asked again, with random terms on both sides.

A condition is made as text, in our words and in those of either database. Not asked, because they differ in it:
- integers beyond 2**53, and doubles beyond 1e9: overflow is an error in DuckDB, a double in SQLite, undefined here;
- remainders of doubles, which SQLite makes integers first;
- casts of fractions to integers, which DuckDB rounds;
- letters beyond ASCII in lower() and upper(), which SQLite leaves alone.
"""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from functools import cache
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

import tellwhen
from support import make_seed_params, parametrize_engines_and_seeds
from tellwhen.testing.engine_checks import find_supported, to_pairs

SEEDS = range(3)
ROWS, CONDITIONS = 150, 150
COLUMNS = {
    "i": (pa.int64(), [*range(-4, 5)]),
    "j": (pa.int64(), [*range(-4, 5), 1000]),
    "f": (pa.float64(), [0.0, 0.5, -0.5, 1.0, 2.5, -2.75, 3.0, 1e-3]),
    "g": (pa.float64(), [0.0, 1.5, -1.5, 2.0, 4.0, 123.25]),
    "s": (pa.string(), ["", "a", "ab", "aba", "A", "Ab", "b", "it's"]),
    "t": (pa.string(), ["", "a", "AB", "b", "ba"]),
    "yes": (pa.bool_(), [True, False]),
}

Rng = random.Random


class SqlTexts(NamedTuple):
    """The same in three languages."""

    ours: str
    duckdb: str
    sqlite: str


def repeat_text(text: str) -> SqlTexts:
    return SqlTexts(text, text, text)


def fill_form(form: str, *parts: SqlTexts, sqlite: str | None = None) -> SqlTexts:
    """A form with its parts in place, which SQLite may need otherwise."""
    forms = form, form, sqlite or form
    return SqlTexts(*(form.format(*(part[n] for part in parts)) for n, form in enumerate(forms)))


def integer(rng: Rng, depth: int) -> SqlTexts:
    choice = rng.random()
    if depth == 0 or choice < 0.3:
        return repeat_text(rng.choice(["i", "j", "i", "j", str(rng.randint(0, 5))]))
    one, other = integer(rng, depth - 1), integer(rng, depth - 1)
    if choice < 0.4:
        return fill_form(rng.choice(["(-{})", "abs({})"]), one)
    if choice < 0.5:
        return fill_form("length({})", string(rng, depth - 1))
    if choice < 0.6:
        return fill_form("coalesce({}, {})", one, other)
    return fill_form(f"({{}} {rng.choice('+-*%')} {{}})", one, other)


def number(rng: Rng, depth: int) -> SqlTexts:
    choice = rng.random()
    if choice < 0.3:
        return integer(rng, depth)
    if depth == 0 or choice < 0.5:
        return repeat_text(rng.choice(["f", "g", "f", "g", "0.5", "2.25"]))
    one, other = number(rng, depth - 1), number(rng, depth - 1)
    if choice < 0.65:
        return fill_form("({} / {})", one, other, sqlite="({} * 1.0 / {})")
    if choice < 0.75:
        return fill_form(rng.choice(["(-{})", "abs({})", "round({})", "(+{})"]), one)
    return fill_form(f"({{}} {rng.choice('+-*')} {{}})", one, other)


def string(rng: Rng, depth: int) -> SqlTexts:
    choice = rng.random()
    if depth == 0 or choice < 0.4:
        return repeat_text(rng.choice(["s", "t", "s", "t", "'a'", "'Ab'", "''"]))
    one = string(rng, depth - 1)
    if choice < 0.6:
        return fill_form(rng.choice(["lower({})", "upper({})"]), one)
    if choice < 0.8:
        first, count = rng.choice([1, 2, -1, -2]), rng.choice(["", ", 1", ", 2"])
        return fill_form(f"substr({{}}, {first}{count})", one)
    return fill_form("({} || {})", one, string(rng, depth - 1))


def condition(rng: Rng, depth: int) -> SqlTexts:
    if depth and rng.random() < 0.5:
        one, other = condition(rng, depth - 1), condition(rng, depth - 1)
        return fill_form(rng.choice(["({} AND {})", "({} OR {})", "(NOT {})"]), one, other)
    kind = rng.choice([number, integer, string])
    one, other, third = (kind(rng, rng.randint(0, 2)) for _ in range(3))
    if rng.random() < 0.08:
        other = repeat_text("NULL")
    negation = rng.choice(["", "NOT "])
    choice = rng.random()
    if choice < 0.6:
        return fill_form(f"{{}} {rng.choice(['=', '<>', '<', '<=', '>', '>='])} {{}}", one, other)
    if choice < 0.75:
        return fill_form(f"{{}} {negation}IN ({{}}, {{}})", one, other, third)
    if choice < 0.9:
        return fill_form(f"{{}} {negation}BETWEEN {{}} AND {{}}", one, other, third)
    if choice < 0.95:
        return fill_form(f"{{}} IS {negation}NULL", one)
    return repeat_text(rng.choice(["yes", "1 = 1", "coalesce(yes, FALSE)", "2 BETWEEN i AND j", "3 > 2 + 5"]))


class Workload(NamedTuple):
    table: pa.Table
    conditions: list[SqlTexts]
    answers: list[list[bool | None]]  # DuckDB's


@cache
def workload(seed: int) -> Workload:
    rng = random.Random(seed)
    rows = [
        {name: rng.choice(values) for name, (_, values) in COLUMNS.items() if rng.random() > 0.1} for _ in range(ROWS)
    ]
    table = pa.Table.from_pylist(rows, pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()]))
    conditions = [condition(rng, number % 3) for number in range(CONDITIONS)]
    return Workload(table, conditions, duckdb_answers(table, [said.duckdb for said in conditions]))


def duckdb_answers(table: pa.Table, clauses: list[str]) -> list[list[bool | None]]:
    with duckdb.connect() as connection:
        connection.execute("SET ieee_floating_point_ops = false; SET error_on_division_by_zero = false")
        connection.register("events", table.append_column("nr", pa.array(range(len(table)))))
        found = connection.execute(f"SELECT {', '.join(clauses)} FROM events ORDER BY nr").fetchall()
    return [list(values) for values in zip(*found, strict=True)]


def sqlite_answers(table: pa.Table, clauses: list[str]) -> list[list[bool | None]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE events ({', '.join(table.column_names)})")
        marks = ", ".join("?" * table.num_columns)
        connection.executemany(f"INSERT INTO events VALUES ({marks})", [[*row.values()] for row in table.to_pylist()])
        found = connection.execute(f"SELECT {', '.join(clauses)} FROM events ORDER BY rowid").fetchall()
    return [[None if value is None else bool(value) for value in values] for values in zip(*found, strict=True)]


def check(said: SqlTexts, clause: str, rows: list[dict[str, Any]], theirs: list[bool | None]) -> None:
    expression = tellwhen.parse(said.ours)
    for row, their in zip(rows, theirs, strict=True):
        our = expression.evaluate(row)
        assert our is their, f"{row}\n{said.ours}\nis {our}, but SQL says {their} of\n{clause}"


@pytest.mark.parametrize("seed", make_seed_params(1, len(SEEDS)))
def test_duckdb_agrees_with_the_oracle(seed):
    table, conditions, answers = workload(seed)
    values = [value for truths in answers for value in truths]
    assert min(values.count(value) for value in (True, False, None)) > 0.1 * len(values)
    for said, theirs in zip(conditions, answers, strict=True):
        check(said, said.duckdb, table.to_pylist(), theirs)


@pytest.mark.parametrize("seed", make_seed_params(1, len(SEEDS)))
def test_sqlite_agrees_with_the_oracle(seed):
    table, conditions, _ = workload(seed)
    answers = sqlite_answers(table, [said.sqlite for said in conditions])
    for said, theirs in zip(conditions, answers, strict=True):
        check(said, said.sqlite, table.to_pylist(), theirs)


@parametrize_engines_and_seeds([info.name for info in tellwhen.list_engines()], SEEDS, quick=1)
def test_engines_find_the_rows_where_it_is_true(engine, seed):
    table, conditions, answers = workload(seed)
    expressions = [tellwhen.parse(said.ours) for said in conditions]
    taken = [number for number, is_taken in enumerate(find_supported(engine, expressions)) if is_taken]
    assert len(taken) > 0.5 * CONDITIONS
    wanted = {(row, number) for number in taken for row, value in enumerate(answers[number]) if value}
    index = tellwhen.Index(engine).add_many((number, conditions[number].ours) for number in taken)
    for form in (table.to_pylist(), table, table.to_pandas()):
        pairs = to_pairs(index.match_many(form))
        wrong = [
            f"{table.slice(row, 1).to_pylist()}: {conditions[n].ours}" for row, n in sorted(wanted ^ set(pairs))[:3]
        ]
        assert not wrong
        assert len(pairs) == len(wanted)


BY_HAND = {
    "9007199254740993 + i > 9007199254740992 AND i = 1": True,
    "i / 0 IS NULL": True,
    "i % 0 IS NULL": True,
    "4611686018427387903 + i IS NULL": True,
    "4611686018427387902 + i = 4611686018427387903": True,
    "f * 1e308 * 10 IS NULL": True,
    "round(-2.5) = -3 AND round(2.4999999999999996) = 2 AND round(0.49999999999999994) = 0": True,
    "round(1234, -2) = 1200 AND round(1250, -2) = 1300 AND round(2.675, 1) = 2.7": True,
    "-7 % 3 = -1 AND 7 % -3 = 1 AND -7.5 % 2 = -1.5": True,
    "CAST('12' AS int) = 12 AND CAST(' 1e2 ' AS float) = 100 AND CAST(2.9 AS int) = 2 AND CAST(-2.9 AS int) = -2": True,
    "CAST('0x10' AS int) IS NULL AND CAST('' AS int) IS NULL AND CAST('1_0' AS int) IS NULL": True,
    "CAST('yes' AS bool) AND NOT CAST(0 AS bool) AND CAST(TRUE AS int) = 1": True,
    "CAST('2026-02-03 04:05' AS date) = DATE '2026-02-03'": True,
    "CAST(DATE '2026-02-03' AS string) = '2026-02-03 00:00:00'": True,
    "date_part('dow', DATE '2026-11-15') = 0 AND date_part('isodow', DATE '2026-11-15') = 7": True,
    "date_part('epoch', DATE '1970-01-02') = 86400 AND date_part('week', DATE '2027-01-01') = 53": True,
    "substr('hello', 0, 2) = 'h' AND substr('hello', -9, 7) = 'hel' AND substr('hello', 9) = ''": True,
    "substr('hello', 2, -1) IS NULL": True,
    "abs(-4611686018427387903) = 4611686018427387903": True,
    "lower('ÄÖİ') = 'äöi̇'": True,
    "1 < 'a'": None,
    "i + 'a' > 0": None,
    "i < s": None,
    "NOT i < s": None,
}


@pytest.mark.parametrize("text", BY_HAND)
def test_by_hand(text):
    row = {"i": 1, "f": 2.5, "s": "a"}
    assert tellwhen.parse(text).evaluate(row) is BY_HAND[text]
    assert bool(tellwhen.Index().add(1, text).match(row)) is (BY_HAND[text] is True)
