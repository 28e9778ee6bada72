"""Helpers of the tests of `dewey`, `intervalid` and `bop`: trees, engines and damaged indexes."""

import pytest

from tellwhen.compile.store import Store
from tellwhen.engines import create
from tellwhen.language.parser import parse
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, expand_trees

EXAMPLE = "(p1 = 1 OR p2 = 1 OR p3 = 1) AND p4 = 1 AND (p5 = 1 OR p6 = 1)"
"""The expression of figures 1, 2 and 3 of the A-Tree paper."""

FIRST = " AND ".join(f"p{k} = 1" for k in range(7))
"""Stored before others, it makes p1 = 1 the predicate number 1, and so on."""


def expand(*texts, leaves_max=LEAVES_MAX):
    """Return the trees of expressions over p1 = 1 to p6 = 1."""
    store = Store()
    slots, _ = store.append(store.compile(parse(text) for text in (FIRST, *texts)))
    return expand_trees(store.snapshot(), slots[1:], leaves_max)


def make_event(*numbers):
    """Return the event that makes exactly these predicates true."""
    return {f"p{k}": 1 for k in numbers}


def build_engine(name, *expressions):
    """Return a store, and an engine with these expressions in its index."""
    store = Store()
    slots, _ = store.append(store.compile(parse(e) if isinstance(e, str) else e for e in expressions))
    engine = create(name, store)
    engine.insert(slots)
    engine.rebuild()
    engine.verify()
    return store, engine


def replace_item(at, value):
    """Return a function that copies an array and replaces one item, by a value or by a function of the array."""

    def alter(array):
        array = array.copy()
        array[at] = value(array) if callable(value) else value
        return array

    return alter


def alter_field(name, alter):
    """Return a function that alters one array of an index; `a.b` is field b of field a."""
    field, _, rest = name.partition(".")
    inner = alter_field(rest, alter) if rest else alter
    return lambda index: index._replace(**{field: inner(getattr(index, field))})


def assert_verify_notices(name, alter):
    """Assert that `verify` fails once a function has altered the index of an engine."""
    _, engine = build_engine(name, EXAMPLE, "p1 = 1", "(p1 = 1 AND p2 = 1) OR (p3 = 1 AND p4 = 1)", "TRUE")
    engine._index = alter(engine._index)
    with pytest.raises(AssertionError):
        engine.verify()
