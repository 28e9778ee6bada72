"""Check of an engine: random changes and events are replayed on it, and its matches compared with the oracle's.

The check ships with the package, so that engines made elsewhere can be checked in the same way:

>>> check_engine("scan", seed=1, rounds=1)

A *script* holds the steps of changes and events, with the oracle's matches. It depends on the seed alone, so it is
generated once and replayed on every engine.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tellwhen.compile.store import Store
from tellwhen.containers.array_names import flatten
from tellwhen.engines import create_with_fallback
from tellwhen.engines.shared import calls
from tellwhen.errors import EventError
from tellwhen.index import Index
from tellwhen.index.ids import Id
from tellwhen.language.ast import And, Expr, Not, Or, Truth, Xnor, Xor
from tellwhen.language.comparisons import build_call, build_comparison
from tellwhen.language.predicates import build_has, build_predicate
from tellwhen.language.terms import AnyMember, Literal, Name, Term, get_attribute_name
from tellwhen.language.values import Bounds, Interval

Event = dict[str, Any]

# Random expressions and events

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
"""Special cases, and so few that subscriptions and events often share one."""

ODD_VALUES = [
    None, math.nan, math.inf, -math.inf, 2**62, 2**70, -(2**64), 10**400, b"bytes", "\ud800", object(), [], [None],
    {"nested": 1}, 0.3, 1.0, 2**53 + 0.0, "zzz", "A", "ab\0", dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
]  # fmt: skip
"""Values of events that are missing, of no family, out of range, or never a constant."""

PATTERNS = ["a", "b$", "^a", "a.c", "[0-9]", "", "𝒳", "(?i)A"]
LIKES = [("a%", None), ("%b", None), ("%", None), ("", None), ("%a%", None), ("a_c", None), ("_%", None), ("a!%", "!")]


FUNCTIONS = {
    "+": 2, "-": 2, "*": 2, "/": 2, "%": 2, "||": 2, "coalesce": 2,
    "abs": 1, "length": 1, "lower": 1, "round": 1, "upper": 1,
}  # fmt: skip


def random_term(rng: random.Random, depth: int = 2) -> Term:
    """Return an attribute, a constant, or a function of them."""
    choice = rng.random()
    if depth == 0 or choice < 0.3:
        return Literal(_constant(rng)) if rng.random() < 0.3 else Name(rng.choice(ATTRIBUTES))
    if choice < 0.35:
        return AnyMember(rng.choice(ATTRIBUTES), build_predicate("nested", rng.choice(["=", "<>"]), 1))
    if choice < 0.4:
        return build_call("date_part", Literal(rng.choice(["year", "day", "dow"])), random_term(rng, depth - 1))
    if choice < 0.5:
        kind = Literal(rng.choice(["int", "float", "string", "bool", "date", "timestamp"]))
        return build_call("cast", random_term(rng, depth - 1), kind)
    function, count = rng.choice([*FUNCTIONS.items()])
    return build_call(function, *(random_term(rng, depth - 1) for _ in range(count)))


def _random_attribute(rng: random.Random) -> str:
    if rng.random() < 0.1:
        term = random_term(rng)
        if not isinstance(term, Literal):
            return get_attribute_name(term)
    return rng.choice(ATTRIBUTES)


def _random_comparison(rng: random.Random) -> Expr:
    """Return a comparison of two terms, or of an attribute with a list."""
    attribute, family = rng.choice(ATTRIBUTES), rng.choice([*CONSTANTS])
    if rng.random() < 0.5:
        return build_has(
            attribute, rng.choice(["ANY", "ALL", "NONE"]), _make_compatible(rng.choices(CONSTANTS[family], k=2))
        )
    left, right = (random_term(rng, 1) for _ in range(2))
    return build_comparison(left, rng.choice(["=", "<>", "<", "<=", ">", ">="]), right)


def random_predicate(rng: random.Random) -> Expr:
    """Return a predicate with any operator, on an attribute or a computed value, with constants of any family."""
    if rng.random() < 0.08:
        return _random_comparison(rng)
    attribute = _random_attribute(rng)
    if rng.random() < 0.08:
        return build_predicate(attribute, rng.choice(["IS NULL", "IS NOT NULL"]), None)
    family = rng.choice(["number", "number", "string", "string", "bool", "time"])
    constants = CONSTANTS[family]
    if family == "string" and rng.random() < 0.4:
        operator = rng.choice(["LIKE", "NOT LIKE", "STARTS WITH", "ENDS WITH", "CONTAINS", "MATCHES"])
        if operator.endswith("LIKE"):
            return build_predicate(attribute, operator, rng.choice(LIKES))
        return build_predicate(attribute, operator, rng.choice(PATTERNS if operator == "MATCHES" else constants))
    operator = rng.choice(["=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN"])
    if operator.endswith("IN"):
        return build_predicate(attribute, operator, _make_compatible(rng.choices(constants, k=rng.randint(1, 4))))
    if operator.endswith("BETWEEN"):
        return build_predicate(attribute, operator, (_make_compatible(rng.choices(constants, k=2)) * 2)[:2])
    return build_predicate(attribute, operator, rng.choice(constants))


def _make_compatible(constants: list[Any]) -> list[Any]:
    """Remove constants: a predicate may not mix fractions with integers beyond 2**52."""
    if all(isinstance(c, int | float) for c in constants):
        whole = [c for c in constants if float(c).is_integer() and abs(c) < 2**62]
        return whole or [c for c in constants if not float(c).is_integer()] or constants[:1]
    return constants


def random_expression(rng: random.Random, depth: int = 4) -> Expr:
    """Return a tree of at most `depth`. A third are conjunctions, the most common form in practice."""
    if depth == 4 and rng.random() < 0.35:
        return And.create(*(random_predicate(rng) for _ in range(rng.randint(2, 6))))
    choice = rng.random()
    if depth == 0 or choice < 0.25:
        return random_predicate(rng) if rng.random() < 0.98 else Truth(rng.choice([True, False, None]))
    if choice < 0.4:
        return Not(random_expression(rng, depth - 1))
    connective = rng.choice([And, And, Or, Or, Xor, Xnor])
    return connective.create(*(random_expression(rng, depth - 1) for _ in range(rng.randint(2, 3))))


def random_value(rng: random.Random) -> Any:
    """Return a value for an attribute of an event: valid, odd, a list of values, or an interval."""
    choice = rng.random()
    if choice < 0.12:
        return rng.choice(ODD_VALUES)
    if choice < 0.24:
        return [random_value(rng) if rng.random() < 0.3 else _constant(rng) for _ in range(rng.randint(0, 3))]
    if choice < 0.3:
        return _random_gaps(rng) if rng.random() < 0.3 else _random_interval(rng)
    return _constant(rng)


def _random_interval(rng: random.Random) -> Any:
    """Return an interval of numbers, times or strings; a value if no value lies between the ends."""
    family = rng.choice(["number", "string", "time"])
    ends = rng.choices(CONSTANTS[family] + ["ab\0", "aa"] * (family == "string"), k=2)
    low, high = sorted(ends, key=lambda end: str(end) if family == "time" else end)
    bounds: Bounds = rng.choice(["[]", "[)", "(]", "()"])
    limit = rng.random()
    try:
        return Interval(None if limit < 0.2 else low, None if limit > 0.8 else high, bounds)
    except EventError:
        return low


def _random_gaps(rng: random.Random) -> Any:
    """Return all numbers, strings or times but one or two."""
    constants = _make_compatible(rng.choices(CONSTANTS[rng.choice(["number", "string", "time"])], k=2))
    return build_predicate("x", "NOT IN", constants).to_event()["x"]


def _constant(rng: random.Random) -> Any:
    return rng.choice(CONSTANTS[rng.choice(["number", "string", "bool", "time"])])


def random_event(rng: random.Random) -> Event:
    """Return an event with some of the attributes, and one that no subscription uses."""
    names = [*ATTRIBUTES, "unknown"]
    return {name: random_value(rng) for name in names if rng.random() < 0.7}


# Scripts


class Step(NamedTuple):
    """A change, and the matches of events after it. Expressions are positions in `Script.expressions`."""

    removed: list[Id]
    added: dict[Id, int]  # after the removals; ids that exist are replaced
    rebuild: bool
    is_optimized: bool  # whether the index is optimized for the events
    subscriptions: dict[Id, int]  # all of them after the change
    events: list[Event]
    matches: list[set[Id]]  # of the oracle, by event


class Script(NamedTuple):
    """Steps to replay on an engine; each round starts with an empty index."""

    expressions: list[Expr]
    rounds: list[list[Step]]


@lru_cache(maxsize=16)
def random_script(seed: int, rounds: int) -> Script:
    """Return the script of a seed, the same for every engine."""
    rng = random.Random(seed)
    expressions: list[Expr] = []
    return Script(expressions, [_random_round(rng, expressions) for _ in range(rounds)])


def _random_round(rng: random.Random, expressions: list[Expr]) -> list[Step]:
    known: dict[Id, int] = {}
    steps = []
    for _ in range(rng.randint(1, 12)):
        removed: list[Id] = []
        if known and rng.random() < 0.3:
            removed = rng.sample(sorted(known, key=str), k=rng.randint(1, min(3, len(known))))
        added: dict[Id, int] = {}
        for _ in range(rng.randint(1, 12)):
            number = rng.randint(0, 60)
            added[f"s{number}" if rng.random() < 0.5 else number] = len(expressions)
            expressions.append(random_expression(rng))
        known = {id_: n for id_, n in known.items() if id_ not in removed} | added
        events = [random_event(rng) for _ in range(rng.randint(1, 6))]
        by_id = {id_: expressions[n] for id_, n in known.items()}
        matches = [evaluate_all(by_id, event) for event in events]
        steps.append(Step(removed, added, rng.random() < 0.5, rng.random() < 0.2, known, events, matches))
    return steps


# Checks


def evaluate_all(subscriptions: Mapping[Id, Expr], event: Event) -> set[Id]:
    """Return the ids of the subscriptions that the oracle finds true for an event."""
    return {id_ for id_, expression in subscriptions.items() if expression.evaluate(event) is True}


def find_supported(engine: str, expressions: Iterable[Expr]) -> list[bool]:
    """Return, by expression, whether the engine can index it; the others are over its budget."""
    store = Store()
    slots, _ = store.append(store.compile(expressions))
    return create_with_fallback(engine, store).can_index(slots).tolist()


def check_engine(engine: str, seed: int = 0, rounds: int = 20) -> None:
    """Add, remove, replace, rebuild and match at random, and compare all matches with the oracle's.

    Expressions that the engine cannot index are left out. Between matches, scratch arrays are renewed at random, since
    no array may depend on the history of another, and filled with garbage, unless the kernel keeps them.

    Parameters
    ----------
    engine : str
        The name of an engine, with options as in `betree:max_cap=5`.
    seed : int, default 0
        The seed of all random choices.
    rounds : int, default 20
        How many times to start with an empty index.

    Raises
    ------
    AssertionError
        At the first wrong match, with the event and the expressions.
    """
    script = random_script(seed, rounds)
    is_supported = find_supported(engine, script.expressions)
    rng = random.Random(seed)
    calls.drain_pools()  # arrays of earlier calls may be large and slow to renew
    with fill_scratch(rng):
        _replay(engine, script, is_supported, f"engine {engine}, seed {seed}", rng)


def _replay(engine: str, script: Script, is_supported: list[bool], where: str, rng: random.Random) -> None:
    for steps in script.rounds:
        index = Index(engine)
        for number, step in enumerate(steps):
            supported = {id_: n for id_, n in step.subscriptions.items() if is_supported[n]}
            known = {id_: script.expressions[n] for id_, n in supported.items()}
            for id_ in list(index):
                if id_ in step.removed or id_ not in supported:
                    index.remove(id_)
            index.add_many({id_: known[id_] for id_ in step.added if id_ in supported}, replace=True)
            if step.rebuild:
                index.rebuild()
            if step.is_optimized:
                index.optimize_for(step.events)
            with index._contents.lock_shard() as shard:
                shard.engines.verify()
            expected = [ids & supported.keys() for ids in step.matches]
            check_matches(index, known, step.events, f"{where}, step {number}", expected, rng)


def check_matches(
    index: Index,
    known: Mapping[Id, Expr],
    events: list[Event],
    where: str = "",
    expected: list[set[Id]] | None = None,
    rng: random.Random | None = None,
) -> None:
    """Compare the matches of an index with the oracle's, event by event and as a batch; each id must occur once.

    `expected` has the oracle's matches, if the caller knows them. `rng` renews scratch arrays before some matches.
    """
    assert len(index) == len(known), f"{where}: {len(index)} subscriptions, expected {len(known)}"
    expected = [evaluate_all(known, event) for event in events] if expected is None else expected
    for event, ids in zip(events, expected, strict=True):
        if rng is not None and rng.random() < 0.3:
            renew_scratch(rng)
        _compare(index.match(event), ids, event, known, where)
    batch: list[list[Id]] = [[] for _ in events]
    for number, id_ in to_pairs(index.match_many(events)):
        batch[number].append(id_)
    for got, event, ids in zip(batch, events, expected, strict=True):
        _compare(got, ids, event, known, where + ", as a batch")


def to_pairs(matches: pa.Table) -> list[tuple[int, Id]]:
    """Return the rows of a table of matches: pairs of the position of an event and the id of a subscription."""
    return list(zip(*(column.to_pylist() for column in matches.columns), strict=True))


def renew_scratch(rng: random.Random) -> None:
    """Drop some of the pooled scratch sets, and replace some arrays of the others by longer ones of zeros."""
    for scratch in calls.drain_pools():
        if rng.random() < 0.1:
            continue
        for name, array in flatten(scratch.arrays).items():
            if rng.random() < 0.3:
                scratch.renew(name, len(array) + rng.randint(0, 9))
        calls.release_memory(scratch)


@contextmanager
def fill_scratch(rng: random.Random) -> Iterator[None]:
    """Fill scratch arrays with garbage whenever a kernel takes them, except for those that the kernel keeps."""
    garbage = np.random.default_rng(rng.randrange(1 << 32))

    def poison(scratch: calls.Scratch) -> None:
        for array in _iter_unkept_arrays(scratch.arrays):
            array.view(np.uint8)[:] = garbage.integers(0, 256, array.nbytes, dtype=np.uint8)

    before, calls.poison = calls.poison, poison
    try:
        yield
    finally:
        calls.poison = before


def _iter_unkept_arrays(arrays: Any) -> Iterator[np.ndarray]:
    kept: frozenset[str] = getattr(arrays, "kept", frozenset())
    for name, array in arrays._asdict().items():
        if name not in kept:
            if hasattr(array, "_fields"):
                yield from _iter_unkept_arrays(array)
            else:
                yield array


def _compare(got: list[Id], expected: set[Id], event: Event, known: Mapping[Id, Expr], where: str) -> None:
    if len(got) == len(expected) and set(got) == expected:
        return
    lines = [f"{where}: wrong matches for {event!r}"]
    for id_ in sorted(set(got) ^ expected, key=str):
        lines.append(
            f"  {'missing' if id_ in expected else 'wrong'}: {id_!r}: {known.get(id_, 'a removed subscription')}"
        )
    if len(got) != len(set(got)):
        lines.append("  some ids occur twice")
    raise AssertionError("\n".join(lines))
