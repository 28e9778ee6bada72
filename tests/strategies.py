"""Hypothesis strategies for expressions and events, on the same odd values as `tellwhen.testing.engine_checks`."""

from __future__ import annotations

from hypothesis import strategies as st

from tellwhen import Interval
from tellwhen.errors import EventError
from tellwhen.language.ast import And, Not, Or, Truth, Xnor, Xor
from tellwhen.language.limits import INTEGER_MAX
from tellwhen.language.predicates import build_predicate
from tellwhen.testing.engine_checks import ATTRIBUTES, CONSTANTS, LIKES, ODD_VALUES, PATTERNS

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
ANY_CONSTANT = {
    "number": st.integers(-INTEGER_MAX, INTEGER_MAX) | st.floats(allow_nan=False, allow_infinity=False),
    "string": TEXT,
    "bool": st.booleans(),
    "time": st.datetimes() | st.dates(),
}
NAMES = st.sampled_from(ATTRIBUTES)
COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


def constants(family):
    """Constants of a family, mostly from a small pool, so that subscriptions and events often share one."""
    pool = st.sampled_from(CONSTANTS[family])
    return st.one_of(pool, pool, pool, ANY_CONSTANT[family])


def constant_lists(family, minimum, maximum):
    """Constants for one predicate, which must not mix fractions with large integers."""
    return st.lists(constants(family), min_size=minimum, max_size=maximum).map(_drop_large_integers)


def _drop_large_integers(values):
    """Replace numbers of 2^52 and more if there are smaller ones, so that fractions may be among them."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        small_values = [value for value in values if abs(value) < 2**52]
        values = small_values * len(values) if small_values else [values[0]] * len(values)
    return values


@st.composite
def predicates(draw, names=NAMES):
    name = draw(names)
    family = draw(st.sampled_from(["number", "string", "bool", "time"]))
    kind = draw(st.integers(0, 7))
    if kind == 0:
        return build_predicate(name, draw(st.sampled_from(["IS NULL", "IS NOT NULL"])), None)
    if kind <= 3:
        return build_predicate(name, draw(COMPARISONS), draw(constants(family)))
    if kind == 4:
        return build_predicate(name, draw(st.sampled_from(["IN", "NOT IN"])), draw(constant_lists(family, 1, 4)))
    if kind == 5:
        return build_predicate(
            name, draw(st.sampled_from(["BETWEEN", "NOT BETWEEN"])), draw(constant_lists(family, 2, 2))[:2]
        )
    if kind == 6:
        return build_predicate(name, draw(st.sampled_from(["LIKE", "NOT LIKE"])), draw(st.sampled_from(LIKES)))
    operator = draw(st.sampled_from(["STARTS WITH", "ENDS WITH", "CONTAINS", "MATCHES"]))
    return build_predicate(
        name, operator, draw(st.sampled_from(PATTERNS) if operator == "MATCHES" else constants("string"))
    )


def expressions(names=NAMES, leaves=12):
    """Expressions of every shape, with up to `leaves` predicates."""
    leaf = predicates(names) | predicates(names) | predicates(names) | st.booleans().map(Truth)

    def combine(parts):
        argument_lists = st.lists(parts, min_size=2, max_size=3)
        connectives = [
            argument_lists.map(lambda args, c=connective: c.create(*args)) for connective in (And, Or, Xor, Xnor)
        ]
        return st.one_of(parts.map(Not), *connectives)

    return st.recursive(leaf, combine, max_leaves=leaves)


@st.composite
def intervals(draw):
    family = draw(st.sampled_from(["number", "string", "time"]))
    ends = [draw(constants(family)), draw(constants(family) | st.none())]
    try:
        return Interval(*ends, draw(st.sampled_from(["[]", "[)", "(]", "()"])))
    except EventError:
        return Interval(ends[0], None)


SINGLE = st.one_of(*(constants(family) for family in CONSTANTS), st.sampled_from(ODD_VALUES), intervals())
VALUES = SINGLE | st.lists(SINGLE, max_size=3)
EVENTS = st.dictionaries(st.sampled_from([*ATTRIBUTES, "unknown"]), VALUES)
