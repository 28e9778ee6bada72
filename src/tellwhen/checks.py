"""Is an engine right? Random subscriptions and events, and the oracle's word on every pair of them.

Ships with the package so that an engine made elsewhere can be checked the same way:

>>> check_engine("scan", seed=1, rounds=1)
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from typing import Any

from tellwhen.errors import BudgetError
from tellwhen.ids import Id
from tellwhen.index import Index
from tellwhen.lang.ast import And, Expr, Not, Or, Truth, Xnor, Xor
from tellwhen.lang.build import predicate
from tellwhen.lang.values import Interval

ATTRIBUTES = ("a", "b", "c.d", "e f", "ünï", "sold")

CONSTANTS: dict[str, list[Any]] = {
    "number": [
        0, 1, 2, 3, -1, 0.5, -0.5, 2.5, -0.0, 1e-320, 1e300, 5e18, -5e18, 2**53, 2**53 + 1, 2**60 + 1, 2**62 - 1,
        -(2**62) + 1, 0.1, 1.5,
    ],
    "string": ["", "a", "ab", "abc", "b", "ba", "a%", "_", "é", "𝒳", "𝒳y", "\U0010ffff", "\ud7ff", "aaaa", "0"],
    "bool": [True, False],
    "time": [
        dt.date(2026, 1, 1), dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, 0, 0, 0, 1), dt.date(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1969, 12, 31, 23, 59, 59),
    ],
}  # fmt: skip
"""Few enough that subscriptions and events meet often, and each there for a reason."""

ODD_VALUES = [
    None, math.nan, math.inf, -math.inf, 2**62, 2**70, -(2**64), 10**400, b"bytes", "\ud800", object(), [], [None],
    {"nested": 1}, 0.3, 1.0, 2**53 + 0.0, "zzz", "A", "ab\0", dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
]  # fmt: skip
"""Values that are missing, of no family, out of range, or never a constant."""

PATTERNS = ["a", "b$", "^a", "a.c", "[0-9]", "", "𝒳", "(?i)A"]
LIKES = [("a%", None), ("%b", None), ("%", None), ("", None), ("%a%", None), ("a_c", None), ("_%", None), ("a!%", "!")]


def random_predicate(rng: random.Random) -> Expr:
    """Any operator on any attribute, with constants of any family."""
    attribute = rng.choice(ATTRIBUTES)
    if rng.random() < 0.08:
        return predicate(attribute, rng.choice(["IS NULL", "IS NOT NULL"]), None)
    family = rng.choice(["number", "number", "string", "string", "bool", "time"])
    constants = CONSTANTS[family]
    if family == "string" and rng.random() < 0.4:
        operator = rng.choice(["LIKE", "NOT LIKE", "STARTS WITH", "ENDS WITH", "CONTAINS", "MATCHES"])
        if operator.endswith("LIKE"):
            return predicate(attribute, operator, rng.choice(LIKES))
        return predicate(attribute, operator, rng.choice(PATTERNS if operator == "MATCHES" else constants))
    operator = rng.choice(["=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN"])
    if operator.endswith("IN"):
        return predicate(attribute, operator, _compatible(rng.choices(constants, k=rng.randint(1, 4))))
    if operator.endswith("BETWEEN"):
        return predicate(attribute, operator, (_compatible(rng.choices(constants, k=2)) * 2)[:2])
    return predicate(attribute, operator, rng.choice(constants))


def _compatible(constants: list[Any]) -> list[Any]:
    """One predicate may not mix fractions with integers beyond 2**52."""
    if all(isinstance(c, int | float) for c in constants):
        whole = [c for c in constants if float(c).is_integer() and abs(c) < 2**62]
        return whole or [c for c in constants if not float(c).is_integer()] or constants[:1]
    return constants


def random_expression(rng: random.Random, depth: int = 4) -> Expr:
    """A tree of that depth at most; a third are plain conjunctions, as most are in life."""
    if depth == 4 and rng.random() < 0.35:
        return And.of(*(random_predicate(rng) for _ in range(rng.randint(2, 6))))
    choice = rng.random()
    if depth == 0 or choice < 0.25:
        return random_predicate(rng) if rng.random() < 0.98 else Truth(rng.random() < 0.5)
    if choice < 0.4:
        return Not(random_expression(rng, depth - 1))
    connective = rng.choice([And, And, Or, Or, Xor, Xnor])
    return connective.of(*(random_expression(rng, depth - 1) for _ in range(rng.randint(2, 3))))


def random_value(rng: random.Random) -> Any:
    """What an event may carry for an attribute, sensible or not."""
    choice = rng.random()
    if choice < 0.12:
        return rng.choice(ODD_VALUES)
    if choice < 0.24:
        return [random_value(rng) if rng.random() < 0.3 else _constant(rng) for _ in range(rng.randint(0, 3))]
    if choice < 0.3:
        family = rng.choice(["number", "time"])
        ends = rng.choices(CONSTANTS[family], k=2)
        low, high = sorted(ends, key=lambda end: end if family == "number" else str(end))
        try:
            return Interval(low if rng.random() < 0.8 else None, high)
        except ValueError:
            return low
    return _constant(rng)


def _constant(rng: random.Random) -> Any:
    return rng.choice(CONSTANTS[rng.choice(["number", "string", "bool", "time"])])


def random_event(rng: random.Random) -> dict[str, Any]:
    """Some of the attributes, and some that no subscription knows."""
    names = [*ATTRIBUTES, "unknown"]
    return {name: random_value(rng) for name in names if rng.random() < 0.7}


def expected(subscriptions: dict[Any, Expr], event: dict[str, Any]) -> set[Any]:
    """What the oracle says."""
    return {id_ for id_, expression in subscriptions.items() if expression.evaluate(event) is True}


def check_engine(engine: str, seed: int = 0, rounds: int = 20, make: Callable[[str], Index] = Index) -> None:
    """Add, remove, replace and match at random; raises AssertionError at the first difference from the oracle."""
    rng = random.Random(seed)
    for _ in range(rounds):
        index = make(engine)
        known: dict[Any, Expr] = {}
        for step in range(rng.randint(1, 12)):
            if known and rng.random() < 0.3:
                for gone in rng.sample(sorted(known, key=str), k=rng.randint(1, min(3, len(known)))):
                    index.remove(gone)
                    del known[gone]
            added: dict[Any, Expr] = {}
            for _ in range(rng.randint(1, 12)):
                number = rng.randint(0, 60)
                id_: Id = f"s{number}" if rng.random() < 0.5 else number
                expression = random_expression(rng)
                try:
                    Index(engine).add(id_, expression)
                except BudgetError:
                    continue
                added[id_] = expression
            index.add_many(added, replace=True)
            known |= added
            if rng.random() < 0.5:
                index.rebuild()
            events = [random_event(rng) for _ in range(rng.randint(1, 6))]
            if rng.random() < 0.2:
                index.observe(events)
            index._shard.engine.verify()
            check_matches(index, known, events, f"engine {engine}, seed {seed}, step {step}")


def check_matches(index: Index, known: dict[Any, Expr], events: list[dict[str, Any]], where: str = "") -> None:
    """One by one and as a batch, the index must say what the oracle says, each id once."""
    assert len(index) == len(known), f"{where}: {len(index)} subscriptions, expected {len(known)}"
    wanted = [expected(known, event) for event in events]
    for event, want in zip(events, wanted, strict=True):
        _compare(index.match(event), want, event, known, where)
    batch: list[list[Any]] = [[] for _ in events]
    for row in index.match_many(events).to_pylist():
        batch[row["event_id"]].append(row["subscription_id"])
    for got, event, want in zip(batch, events, wanted, strict=True):
        _compare(got, want, event, known, where + ", as a batch")


def _compare(got: list[Any], want: set[Any], event: dict[str, Any], known: dict[Any, Expr], where: str) -> None:
    if len(got) == len(want) and set(got) == want:
        return
    lines = [f"{where}: wrong matches for {event!r}"]
    for id_ in sorted(set(got) ^ want, key=str):
        lines.append(f"  {'missing' if id_ in want else 'wrong'}: {id_!r}: {known.get(id_, 'a removed one')}")
    if len(got) != len(set(got)):
        lines.append("  and some ids came twice")
    raise AssertionError("\n".join(lines))
