"""Expressions of odd shapes: deep, long, and with the same parts again and again."""

import random

import pytest

import tellwhen as tw
from support import parametrize_engines_and_seeds
from tellwhen.language.ast import And, Not, Or, Xnor, Xor
from tellwhen.language.limits import DEPTH_MAX
from tellwhen.testing.engine_checks import check_matches, find_supported

pytestmark = pytest.mark.every_engine

ENGINES = [info.name for info in tw.list_engines()] + ["auto:pending=1"]
col = tw.col


def leaf(rng):
    name = col(f"a{rng.randrange(4)}")
    value = rng.randrange(3)
    return rng.choice([name == value, name != value, name < value, name.isin([value, value + 1]), name.is_null()])


def staircase(rng, depth):
    """Each step has a predicate, and the rest of the stairs below it."""
    found = leaf(rng)
    for _ in range(depth):
        found = rng.choice([And, Or]).create(leaf(rng), found) if rng.random() < 0.9 else Not(found)
    return found


def of_parts(rng, parts):
    """A tree of parts that many others have, too, and that it may have several times."""
    some = [rng.choice(parts) for _ in range(rng.randint(2, 6))]
    joined = rng.choice([And, Or, Xor, Xnor]).create(*some)
    return Or.create(joined, And.create(rng.choice(some), leaf(rng)), rng.choice(some))


def chain(rng, operator, length):
    """Every operand makes the truth of the whole depend on it."""
    return operator.create(*(leaf(rng) for _ in range(length)))


def contradictions(rng):
    one, other = leaf(rng), leaf(rng)
    return [
        And.create(one, Not(one)),
        Or.create(one, Not(one)),
        Xor.create(one, one),
        Xnor.create(one, one),
        And.create(one, Or.create(Not(one), other)),
    ]


def structures(seed):
    rng = random.Random(seed)
    parts = [of_parts(rng, [leaf(rng) for _ in range(4)]) for _ in range(5)]
    found = [staircase(rng, depth) for depth in (5, 20, DEPTH_MAX // 2, DEPTH_MAX - 2)]
    found += [of_parts(rng, parts) for _ in range(15)]
    found += [chain(rng, operator, length) for operator in (Xor, Xnor) for length in (2, 9)]
    found += [chain(rng, operator, 300) for operator in (And, Or)]
    found += contradictions(rng)
    found += found[:5]  # the same, by other ids
    return dict(enumerate(found))


def events(seed):
    rng = random.Random(seed)
    given = [{f"a{k}": rng.randrange(4) for k in range(4) if rng.random() < 0.8} for _ in range(25)]
    several = [{"a0": [0, 1], "a1": [2], "a2": []}, {"a0": tw.Interval(0, 2), "a3": [0, 1, 2, 3]}]
    return [*given, *several, {}]


@parametrize_engines_and_seeds(ENGINES, range(4), quick=1)
def test_odd_structures(engine, seed):
    known = structures(seed)
    is_taken = find_supported(engine, known.values())
    known = {id_: expression for (id_, expression), taken in zip(known.items(), is_taken, strict=True) if taken}
    index = tw.Index(engine).add_many(known)
    check_matches(index, known, events(seed), engine)
    check_matches(index.rebuild(), known, events(seed), engine)
