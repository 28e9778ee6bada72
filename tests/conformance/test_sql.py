"""Does the language mean what SQL means? Two databases are asked, which share no code with us or with each other.

Random expressions become SQL, and DuckDB and SQLite say TRUE, FALSE or NULL of every one of some random rows. The
oracle must say the same, and every engine must find the rows where it is TRUE.

Not asked, because SQL has no such thing or means something else:
- a value and a constant of different families: SQL casts one of them, or fails;
- names that differ in case only: one name in SQL;
- lists, intervals and nested objects: not what a plain column holds;
- MATCHES: SQLite has none, and DuckDB's is RE2, which is ours too;
- NaN: a number in DuckDB, NULL in SQLite, missing here;
- integers beyond 2**62, which are doubles here; DuckDB: those beyond 2**53 next to a double (see `fair`);
- time zones and nanoseconds: SQLite has no times at all, DuckDB has other types for these;
- NUL, U+FFFE and U+FFFF in strings: SQLite stops at the first, and LIKE takes the others for U+FFFD;
- an ESCAPE that precedes an ordinary character is refused here, one beyond ASCII by DuckDB.
"""

from __future__ import annotations

import datetime as dt
import math
import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache, reduce
from typing import Any, ClassVar, NamedTuple

import duckdb
import pyarrow as pa
import pytest

import tellwhen
from support import make_seed_params, parametrize_engines_and_seeds
from tellwhen.language.ast import And, Connective, Expr, Not, Or, Predicate, Truth, Xnor, Xor
from tellwhen.language.predicates import build_predicate
from tellwhen.testing.engine_checks import find_supported, to_pairs

pytestmark = pytest.mark.every_engine

SEEDS = range(3)
ROWS = 1_500
JUDGED = slice(None, None, 6)  # the rows that the oracle sees: it is slow
EXPRESSIONS = 150

Rng = random.Random
Truths = list[bool | None]  # one for each row


# What rows hold, and what they are compared with

FRACTIONS = [0.0, -0.0, 0.1, 0.5, -0.5, 1.0, 2.5, -2.75, 3.0, 1e-300, 1e15 + 0.5, -1e300]
HUGE = [sign * size for sign in (1, -1) for size in (2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1, 2**62 - 2, 2**62 - 1)]
LETTERS = "aaaabbbAB%_!'\\ \nßéÉ\u0301\ud7ff\uffee😀𝒳\U0010ffff"
WORDS = ["", "a", "ab", "aba", "A", "a%b", "a_", "it's", "e\u0301", "é", "𝒳y", "\U0010ffff"]


def word(rng: Rng) -> str:
    return rng.choice(WORDS) if rng.random() < 0.5 else "".join(rng.choices(LETTERS, k=rng.randint(0, 4)))


def day(rng: Rng) -> dt.date:
    return rng.choice([dt.date(2026, 1, rng.randint(1, 5)), dt.date(1969, 12, 31), dt.date(1, 1, 1), dt.date.max])


def moment(rng: Rng) -> dt.datetime:
    time = dt.time(rng.choice([0, 0, 23]), 0, rng.choice([0, 0, 59]), rng.choice([0, 0, 1, 999_999]))
    return dt.datetime.combine(day(rng), time)


def one_of(values: list[Any]) -> Callable[[Rng], Any]:
    return lambda rng: rng.choice(values)


class Column(NamedTuple):
    type: pa.DataType
    value: Callable[[Rng], Any]
    constants: list[Callable[[Rng], Any]]  # one of these makes all constants of a predicate


DIGITS = one_of([*range(-4, 5)])
COLUMNS = {
    "small": Column(pa.int64(), DIGITS, [DIGITS, one_of(FRACTIONS)]),
    "big": Column(
        pa.int64(), one_of([*HUGE, *range(-2, 3)]), [one_of(HUGE), one_of([2.0**53, *HUGE]), one_of(FRACTIONS)]
    ),
    "ratio": Column(
        pa.float64(),
        one_of([*FRACTIONS, 2.0**53, 2.0**60, 2.0**62, math.inf, -math.inf]),
        [one_of(FRACTIONS), one_of(FRACTIONS), DIGITS, one_of([2.0**53, *HUGE])],
    ),
    "sold": Column(pa.bool_(), one_of([True, False]), [one_of([True, False])]),
    "title": Column(pa.string(), word, [word]),
    "day": Column(pa.date32(), day, [day, moment]),
    "last seen": Column(pa.timestamp("us"), moment, [day, moment, lambda rng: rng.choice([day, moment])(rng)]),
}
SCHEMA = pa.schema([(name, column.type) for name, column in COLUMNS.items()])


def random_table(rng: Rng) -> pa.Table:
    rows = [{name: c.value(rng) for name, c in COLUMNS.items() if rng.random() > 0.12} for _ in range(ROWS)]
    return pa.Table.from_pylist(rows, SCHEMA)


def random_predicate(rng: Rng) -> Predicate:
    name, column = rng.choice([*COLUMNS.items(), ("title", COLUMNS["title"])])
    constant = rng.choice(column.constants)
    operators = ["=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN", "IS NULL", "IS NOT NULL"]
    if name == "title":
        operators += 2 * ["LIKE", "NOT LIKE", "STARTS WITH", "ENDS WITH", "CONTAINS"]
    operator = rng.choice(operators)
    if operator.endswith("LIKE"):
        return build_predicate(name, operator, random_pattern(rng))
    if operator.endswith("IN"):
        return build_predicate(name, operator, [constant(rng) for _ in range(rng.randint(1, 5))])
    if operator.endswith("BETWEEN"):
        return build_predicate(name, operator, (constant(rng), constant(rng)))
    return build_predicate(name, operator, None if operator.endswith("NULL") else constant(rng))


def random_pattern(rng: Rng) -> tuple[str, str | None]:
    escape = rng.choice([None, None, "!", "!", "%", "_"])
    parts = [rng.choice(["%", "_", word(rng), word(rng)]) for _ in range(rng.randint(0, 4))]
    if escape is not None:
        wild = {"%", "_"} - {escape}
        parts = [part if part in wild else re.sub(f"([%_{escape}])", rf"{escape}\1", part) for part in parts]
    return "".join(parts), escape


def random_expression(rng: Rng, depth: int) -> Expr:
    choice = rng.random()
    if depth == 0 or choice < 0.2:
        return random_predicate(rng) if rng.random() < 0.97 else Truth(rng.random() < 0.5)
    if choice < 0.4:
        return Not(random_expression(rng, depth - 1))
    connective = rng.choice([And, And, Or, Or, Xor, Xnor])
    return connective.create(*(random_expression(rng, depth - 1) for _ in range(rng.randint(2, 3))))


# What the databases say


class Database:
    texts: ClassVar[dict[str, str]]

    def constant(self, value: Any) -> str:
        """A literal."""
        return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)

    def fair(self, expr: Expr) -> bool:
        """May the database be asked?"""
        return True

    def ask(self, table: pa.Table, clauses: list[str]) -> list[Truths]:
        """The values of each clause."""
        raise NotImplementedError

    def sql(self, expr: Expr) -> str:
        """The expression as a clause, with all its parentheses."""
        if isinstance(expr, Truth):
            return self.constant(expr.value)
        if isinstance(expr, Not):
            return f"(NOT {self.sql(expr.arg)})"
        if isinstance(expr, Connective):
            operator = {Xor: "<>", Xnor: "="}.get(type(expr), expr.keyword)
            return reduce(lambda left, right: f"({left} {operator} {right})", map(self.sql, expr.args))
        assert isinstance(expr, Predicate)
        name, operator = f'"{expr.attribute}"', expr.operator
        constants = [self.constant(constant) for constant in expr.constants]
        if operator in self.texts:
            return self.texts[operator].format(name, *constants)
        if operator.endswith("IN"):
            return f"({name} {operator} ({', '.join(constants)}))"
        if operator.endswith("LIKE") and expr.operand[1] is not None:
            constants += ["ESCAPE", self.constant(expr.operand[1])]
        return f"({name} {operator} {(' AND ' if operator.endswith('BETWEEN') else ' ').join(constants)})"


class DuckDB(Database):
    texts: ClassVar = {
        "STARTS WITH": "starts_with({}, {})",
        "ENDS WITH": "ends_with({}, {})",
        "CONTAINS": "contains({}, {})",
    }

    def constant(self, value: Any) -> str:
        if isinstance(value, dt.date):
            return f"{'TIMESTAMP' if isinstance(value, dt.datetime) else 'DATE'} '{value}'"
        return f"{value!r}::DOUBLE" if isinstance(value, float) else super().constant(value)

    def fair(self, expr: Expr) -> bool:
        # An integer next to a double becomes a double, beyond 2**53 perhaps that of another integer.
        return not any(
            2**53 <= abs(constant) <= 2**62 and isinstance(constant, float) != (each.attribute == "ratio")
            for each in expr.predicates()
            if each.family == "number"
            for constant in each.constants
        )

    def ask(self, table: pa.Table, clauses: list[str]) -> list[Truths]:
        with duckdb.connect() as connection:
            connection.register("events", table.append_column("nr", pa.array(range(len(table)))))
            found = connection.execute(f"SELECT {', '.join(clauses)} FROM events ORDER BY nr").fetchall()
        return [list(values) for values in zip(*found, strict=True)]


class SQLite(Database):
    texts: ClassVar = {
        "STARTS WITH": "(substr({0}, 1, length({1})) = {1})",
        "ENDS WITH": "(substr({0}, length({0}) - length({1}) + 1) = {1})",
        "CONTAINS": "(instr({}, {}) > 0)",
    }

    def constant(self, value: Any) -> str:
        return super().constant(self.plain(value))

    def plain(self, value: Any) -> Any:
        """A time as text that sorts as times do; any other value as it is."""
        if not isinstance(value, dt.date):
            return value
        midnight = dt.datetime(value.year, value.month, value.day)
        return (value if isinstance(value, dt.datetime) else midnight).isoformat(" ", "microseconds")

    def ask(self, table: pa.Table, clauses: list[str]) -> list[Truths]:
        names = ", ".join(f'"{name}"' for name in table.column_names)
        rows = [[self.plain(value) for value in row.values()] for row in table.to_pylist()]
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("PRAGMA case_sensitive_like = ON")
            connection.execute(f"CREATE TABLE events ({names})")
            connection.executemany(f"INSERT INTO events VALUES ({', '.join('?' * table.num_columns)})", rows)
            found = connection.execute(f"SELECT {', '.join(clauses)} FROM events ORDER BY rowid").fetchall()
        return [[None if value is None else bool(value) for value in values] for values in zip(*found, strict=True)]


DUCKDB, SQLITE = DATABASES = DuckDB(), SQLite()


# What tellwhen says


class Workload(NamedTuple):
    table: pa.Table
    events: list[dict[str, Any]]
    expressions: list[Expr]
    meanings: list[Truths]  # what the oracle says of the judged rows
    answers: list[Truths]  # what SQLite says of all rows


@cache
def workload(seed: int) -> Workload:
    rng = random.Random(seed)
    table = random_table(rng)
    events = [dict_event(row, rng) for row in table.to_pylist()]
    expressions = [random_expression(rng, depth=1 + number % 4) for number in range(EXPRESSIONS)]
    meanings = [meaning(str(expr), events) for expr in expressions]
    return Workload(table, events, expressions, meanings, SQLITE.ask(table, [SQLITE.sql(e) for e in expressions]))


def dict_event(row: dict[str, Any], rng: Rng) -> dict[str, Any]:
    """What is NULL in the table is None, or absent."""
    return {name: value for name, value in row.items() if value is not None or rng.random() < 0.5}


def meaning(text: str, events: list[dict[str, Any]]) -> Truths:
    """What the oracle says."""
    expr = tellwhen.parse(text)
    return [expr.evaluate(event) for event in events[JUDGED]]


def check(text: str, clause: str, events: list[dict[str, Any]], ours: Truths, theirs: Truths) -> None:
    """Fails with the first row they differ on."""
    for event, our, their in zip(events[JUDGED], ours, theirs[JUDGED], strict=True):
        assert our is their, f"{event}\n{text}\nis {our}, but SQL says {their} of\n{clause}"


@pytest.mark.parametrize("seed", make_seed_params(1, len(SEEDS)))
def test_workloads_have_all_three_values(seed):
    """Without all three the tests below would show little."""
    values = [value for truths in workload(seed).answers for value in truths]
    assert min(values.count(value) for value in (True, False, None)) > 0.1 * len(values)


@pytest.mark.parametrize("seed", make_seed_params(1, len(SEEDS)))
def test_sqlite_agrees_with_the_oracle(seed):
    _, events, expressions, meanings, answers = workload(seed)
    for expr, ours, theirs in zip(expressions, meanings, answers, strict=True):
        check(str(expr), SQLITE.sql(expr), events, ours, theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_duckdb_agrees_with_the_oracle(seed):
    """A text without operators of our own is given to DuckDB as it is: literals and precedence are SQL's."""
    table, events, expressions, meanings, _ = workload(seed)
    clauses = {}
    for expr, ours in zip(expressions, meanings, strict=True):
        if DUCKDB.fair(expr):
            clauses[DUCKDB.sql(expr)] = str(expr), ours
            if not re.search("XOR|XNOR|WITH|CONTAINS", str(expr)):
                clauses[str(expr)] = str(expr), ours
    assert len(clauses) > 0.9 * EXPRESSIONS
    for (clause, (text, ours)), theirs in zip(clauses.items(), DUCKDB.ask(table, [*clauses]), strict=True):
        check(text, clause, events, ours, theirs)


# No quick seeds: test_sql_terms.py has some.
@parametrize_engines_and_seeds([info.name for info in tellwhen.list_engines()], SEEDS, quick=0)
def test_engines_find_the_rows_where_it_is_true(engine, seed):
    table, events, expressions, _, answers = workload(seed)
    taken = [number for number, is_taken in enumerate(find_supported(engine, expressions)) if is_taken]
    assert len(taken) > 0.5 * EXPRESSIONS
    wanted = {(row, number) for number in taken for row, value in enumerate(answers[number]) if value}
    index = tellwhen.Index(engine).add_many((number, str(expressions[number])) for number in taken)
    for form in (events, table):
        pairs = to_pairs(index.match_many(form))
        wrong = [f"{events[row]}: {expressions[number]}" for row, number in sorted(wanted ^ set(pairs))[:3]]
        assert not wrong
        assert len(pairs) == len(wanted)


# Precedence, literals and spellings that the formatter never writes

SAME = [
    "sold",
    "not sold",
    "NOT NOT sold IS NOT NULL",
    "sold OR small = 1 AND ratio > 0",
    "(sold OR small = 1) AND ratio > 0",
    "NOT sold AND small < 2 OR NOT (ratio < 1 OR sold)",
    "small BETWEEN -1 AND +2 AND sold OR small NOT BETWEEN 2 AND -2",
    "NOT small BETWEEN 0 AND 1 AND NOT small IN (3, -3)",
    "NOT small IN (1) OR small not in (1, 1, 2.5, .5, 5e-1, 2.)",
    "small != 1 AND small<>2 AND small>=-3",
    "ratio < 1e0 AND ratio >= -0.5 OR ratio = 1E+15",
    "title = 'it''s' OR title = '''' OR title < '\\' OR title = ''",
    "title LIKE 'a!%%' ESCAPE '!' OR \"title\" NOT LIKE '%a%' AND TRUE",
    "title LIKE '%' AND NOT title LIKE '' OR FALSE",
    "NOT title LIKE '_' AND title LIKE '%\n%' OR title LIKE '\\%'",
]
TIMES = [
    "day = DATE '2026-01-03' OR day > TIMESTAMP '2026-01-03 23:59:59.999999'",
    "\"last seen\" NOT IN (DATE '2026-01-01', TIMESTAMP '2026-01-02 00:00:00.000001', timestamp '1969-12-31T23:00')",
    "\"last seen\" BETWEEN date '0001-01-01' AND TIMESTAMP '2026-01-02 23:00' AND NOT day < DATE '2026-01-01'",
]
OURS = {
    "sold XOR small > 0 AND ratio > 0": "sold <> (small > 0 AND ratio > 0)",
    "sold OR small > 0 XOR ratio > 0": "sold OR ((small > 0) <> (ratio > 0))",
    "sold XOR small > 0 XNOR ratio > 0": "(sold <> (small > 0)) = (ratio > 0)",
    "sold XNOR small > 0 XNOR ratio > 0": "(sold = (small > 0)) = (ratio > 0)",
    "sold XNOR (small > 0 XOR ratio > 0)": "sold = ((small > 0) <> (ratio > 0))",
    "NOT sold XOR small > 0": "(NOT sold) <> (small > 0)",
    "title STARTS WITH 'a' AND NOT title ENDS WITH 'b'": "title LIKE 'a%' AND title NOT LIKE '%b'",
    "title STARTS WITH '_' OR title CONTAINS '%'": "title LIKE '!_%' ESCAPE '!' OR title LIKE '%!%%' ESCAPE '!'",
    "title STARTS WITH '' XOR title CONTAINS '' AND title ENDS WITH ''": "title <> title",
}


@pytest.mark.parametrize("database", DATABASES, ids=lambda database: type(database).__name__)
def test_texts_by_hand(database):
    table, events, *_ = workload(SEEDS[0])
    clauses = {text: text for text in SAME} | OURS
    if database is DUCKDB:  # SQLite has no literals for times
        clauses |= {text: text for text in TIMES}
    answers = database.ask(table, [*clauses.values()])
    for (text, clause), theirs in zip(clauses.items(), answers, strict=True):
        check(text, clause, events, meaning(text, events), theirs)
