"""Is an engine right? Random changes and events are replayed on it, and the oracle's answers compared with its own.

Ships with the package, so that an engine made elsewhere can be checked in the same way:

>>> check_engine("scan", seed=1, rounds=1)

A *script* is what is replayed: steps of changes and events, with the oracle's answers. It depends on the seed alone, so
it is made once and replayed on every engine.
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
from tellwhen.containers.named import flatten
from tellwhen.engines import complete
from tellwhen.engines.shared import calls
from tellwhen.index import Index
from tellwhen.index.ids import Id
from tellwhen.language.ast import And, Expr, Not, Or, Truth, Xnor, Xor
from tellwhen.language.build import has, predicate
from tellwhen.language.comparisons import call, compared
from tellwhen.language.terms import Each, Literal, Name, Term, name_of
from tellwhen.language.values import Interval

Event = dict[str, Any]

# random expressions and events

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
"""Few enough that subscriptions and events often have one in common. Each is a special case."""

ODD_VALUES = [
    None, math.nan, math.inf, -math.inf, 2**62, 2**70, -(2**64), 10**400, b"bytes", "\ud800", object(), [], [None],
    {"nested": 1}, 0.3, 1.0, 2**53 + 0.0, "zzz", "A", "ab\0", dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
]  # fmt: skip
"""Values that are missing, of no family, out of range, or never a constant."""

PATTERNS = ["a", "b$", "^a", "a.c", "[0-9]", "", "𝒳", "(?i)A"]
LIKES = [("a%", None), ("%b", None), ("%", None), ("", None), ("%a%", None), ("a_c", None), ("_%", None), ("a!%", "!")]


FUNCTIONS = {
    "+": 2, "-": 2, "*": 2, "/": 2, "%": 2, "||": 2, "coalesce": 2,
    "abs": 1, "length": 1, "lower": 1, "round": 1, "upper": 1,
}  # fmt: skip


def random_term(rng: random.Random, depth: int = 2) -> Term:
    """An attribute, a constant, or something computed from them."""
    choice = rng.random()
    if depth == 0 or choice < 0.3:
        return Literal(_constant(rng)) if rng.random() < 0.3 else Name(rng.choice(ATTRIBUTES))
    if choice < 0.35:
        return Each(rng.choice(ATTRIBUTES), predicate("nested", rng.choice(["=", "<>"]), 1))
    if choice < 0.4:
        return call("date_part", Literal(rng.choice(["year", "day", "dow"])), random_term(rng, depth - 1))
    if choice < 0.5:
        kind = Literal(rng.choice(["int", "float", "string", "bool", "date", "timestamp"]))
        return call("cast", random_term(rng, depth - 1), kind)
    function, count = rng.choice([*FUNCTIONS.items()])
    return call(function, *(random_term(rng, depth - 1) for _ in range(count)))


def _random_attribute(rng: random.Random) -> str:
    if rng.random() < 0.1:
        term = random_term(rng)
        if not isinstance(term, Literal):
            return name_of(term)
    return rng.choice(ATTRIBUTES)


def _random_relation(rng: random.Random) -> Expr:
    """Two terms compared, or a list."""
    attribute, family = rng.choice(ATTRIBUTES), rng.choice([*CONSTANTS])
    if rng.random() < 0.5:
        return has(attribute, rng.choice(["ANY", "ALL", "NONE"]), _compatible(rng.choices(CONSTANTS[family], k=2)))
    left, right = (random_term(rng, 1) for _ in range(2))
    return compared(left, rng.choice(["=", "<>", "<", "<=", ">", ">="]), right)


def random_predicate(rng: random.Random) -> Expr:
    """Any operator on any attribute, or what is computed of some, with constants of any family."""
    if rng.random() < 0.08:
        return _random_relation(rng)
    attribute = _random_attribute(rng)
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
    """A tree of at most that depth. A third are conjunctions, the most common form in practice."""
    if depth == 4 and rng.random() < 0.35:
        return And.of(*(random_predicate(rng) for _ in range(rng.randint(2, 6))))
    choice = rng.random()
    if depth == 0 or choice < 0.25:
        return random_predicate(rng) if rng.random() < 0.98 else Truth(rng.choice([True, False, None]))
    if choice < 0.4:
        return Not(random_expression(rng, depth - 1))
    connective = rng.choice([And, And, Or, Or, Xor, Xnor])
    return connective.of(*(random_expression(rng, depth - 1) for _ in range(rng.randint(2, 3))))


def random_value(rng: random.Random) -> Any:
    """A value that an event may have for an attribute: valid, odd, several at once, or an interval."""
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


def random_event(rng: random.Random) -> Event:
    """Values for some of the attributes, and for one that no subscription has."""
    names = [*ATTRIBUTES, "unknown"]
    return {name: random_value(rng) for name in names if rng.random() < 0.7}


# scripts


class Step(NamedTuple):
    """A change, and what events match after it. Expressions are numbers into `Script.expressions`."""

    removed: list[Id]
    added: dict[Id, int]  # after the removals; ids that exist are replaced
    rebuild: bool
    observe: bool  # are the events shown to the index as typical ones?
    known: dict[Id, int]  # all subscriptions after the changes
    events: list[Event]
    matches: list[set[Id]]  # by event, as the oracle says


class Script(NamedTuple):
    """What is replayed on an engine: each round starts from an empty index."""

    expressions: list[Expr]
    rounds: list[list[Step]]


@lru_cache(maxsize=16)
def random_script(seed: int, rounds: int) -> Script:
    """The script of a seed, the same for every engine."""
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
        matches = [expected(by_id, event) for event in events]
        steps.append(Step(removed, added, rng.random() < 0.5, rng.random() < 0.2, known, events, matches))
    return steps


# checks


def expected(subscriptions: Mapping[Id, Expr], event: Event) -> set[Id]:
    """The ids that match, as the oracle says."""
    return {id_ for id_, expression in subscriptions.items() if expression.evaluate(event) is True}


def accepted(engine: str, expressions: Iterable[Expr]) -> list[bool]:
    """Which expressions does the engine take? Others are over its budget, and an index would refuse them."""
    store = Store()
    slots, _ = store.append(store.compile(expressions))
    return complete(engine, store).can_index(slots).tolist()


def check_engine(engine: str, seed: int = 0, rounds: int = 20) -> None:
    """Add, remove, replace, rebuild and match at random; raises AssertionError at the first wrong answer.

    `engine` is a name or a spec such as `betree:max_cap=5`. Expressions that the engine does not take are left out.
    Working arrays are renewed at random between matches: none of them may depend on what another one has seen. And they
    are full of garbage, save those that a kernel says it keeps.
    """
    script = random_script(seed, rounds)
    is_taken = accepted(engine, script.expressions)
    rng = random.Random(seed)
    calls.drain_pools()  # arrays of earlier work may be large, and renewing them slow
    with poisoned(rng):
        _replay(engine, script, is_taken, f"engine {engine}, seed {seed}", rng)


def _replay(engine: str, script: Script, is_taken: list[bool], where: str, rng: random.Random) -> None:
    for steps in script.rounds:
        index = Index(engine)
        for number, step in enumerate(steps):
            taken = {id_: n for id_, n in step.known.items() if is_taken[n]}
            known = {id_: script.expressions[n] for id_, n in taken.items()}
            for id_ in list(index):
                if id_ in step.removed or id_ not in taken:
                    index.remove(id_)
            index.add_many({id_: known[id_] for id_ in step.added if id_ in taken}, replace=True)
            if step.rebuild:
                index.rebuild()
            if step.observe:
                index.optimize_for(step.events)
            with index._contents.whole() as shard:
                shard.engines.verify()
            wanted = [ids & taken.keys() for ids in step.matches]
            check_matches(index, known, step.events, f"{where}, step {number}", wanted, rng)


def check_matches(
    index: Index,
    known: Mapping[Id, Expr],
    events: list[Event],
    where: str = "",
    wanted: list[set[Id]] | None = None,
    rng: random.Random | None = None,
) -> None:
    """Compare an index with the oracle on some events, one by one and as a batch; each id must come once.

    `wanted` is the oracle's answer, if it is known already. `rng` renews working arrays before some of the matches.
    """
    assert len(index) == len(known), f"{where}: {len(index)} subscriptions, expected {len(known)}"
    wanted = [expected(known, event) for event in events] if wanted is None else wanted
    for event, want in zip(events, wanted, strict=True):
        if rng is not None and rng.random() < 0.3:
            renew_scratch(rng)
        _compare(index.match(event), want, event, known, where)
    batch: list[list[Id]] = [[] for _ in events]
    for number, id_ in matched_pairs(index.match_many(events)):
        batch[number].append(id_)
    for got, event, want in zip(batch, events, wanted, strict=True):
        _compare(got, want, event, known, where + ", as a batch")


def matched_pairs(matches: pa.Table) -> list[tuple[int, Id]]:
    """The rows of a table of matches: the position of an event, and the id of a subscription."""
    return list(zip(*(column.to_pylist() for column in matches.columns), strict=True))


def renew_scratch(rng: random.Random) -> None:
    """Drop some of the pooled sets of working arrays, and replace some arrays of the others by longer ones of zeros."""
    for scratch in calls.drain_pools():
        if rng.random() < 0.1:
            continue
        for name, array in flatten(scratch.arrays).items():
            if rng.random() < 0.3:
                scratch.renew(name, len(array) + rng.randint(0, 9))
        calls.give_back(scratch)


@contextmanager
def poisoned(rng: random.Random) -> Iterator[None]:
    """Every set of working arrays that is handed out meanwhile is full of garbage, save what its kernel keeps."""
    garbage = np.random.default_rng(rng.randrange(1 << 32))

    def poison(scratch: calls.Scratch) -> None:
        for array in _not_kept(scratch.arrays):
            array.view(np.uint8)[:] = garbage.integers(0, 256, array.nbytes, dtype=np.uint8)

    before, calls.poison = calls.poison, poison
    try:
        yield
    finally:
        calls.poison = before


def _not_kept(arrays: Any) -> Iterator[np.ndarray]:
    kept: frozenset[str] = getattr(arrays, "kept", frozenset())
    for name, array in arrays._asdict().items():
        if name not in kept:
            if hasattr(array, "_fields"):
                yield from _not_kept(array)
            else:
                yield array


def _compare(got: list[Id], want: set[Id], event: Event, known: Mapping[Id, Expr], where: str) -> None:
    if len(got) == len(want) and set(got) == want:
        return
    lines = [f"{where}: wrong matches for {event!r}"]
    for id_ in sorted(set(got) ^ want, key=str):
        lines.append(f"  {'missing' if id_ in want else 'wrong'}: {id_!r}: {known.get(id_, 'a removed one')}")
    if len(got) != len(set(got)):
        lines.append("  some ids came twice")
    raise AssertionError("\n".join(lines))
