"""Matches of the engines that keep a tree of each expression: `dewey`, `intervalid` and `bop`."""

import itertools
import random

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.encode.events import encode
from tellwhen.language.ast import And, Not, Or, Xnor, Xor
from tellwhen.language.limits import DEPTH_MAX
from tellwhen.language.parser import parse
from tellwhen.language.schema import Schema
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX
from tellwhen.testing.engine_checks import check_engine, check_matches
from tree_support import EXAMPLE, FIRST, alter_field, assert_verify_notices, build_engine, make_event, replace_item

pytestmark = pytest.mark.late

ENGINES = ["dewey", "intervalid", "bop"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_example_is_matched(engine):
    index = tw.Index(engine).add_many({0: FIRST, 1: EXAMPLE}).rebuild()
    for size in range(7):
        for true in itertools.combinations(range(1, 7), size):
            want = [1] if 4 in true and {1, 2, 3} & {*true} and {5, 6} & {*true} else []
            assert index.match(make_event(*true)) == want, true


def count_candidates(store, engine, *true):
    return engine.reader().count_candidates(encode([make_event(*true)], store.attributes, Schema())[0])


def test_enough_satisfied_predicates_make_a_candidate_but_no_match():
    store, made = build_engine("bop", EXAMPLE)
    assert [count_candidates(store, made, *true) for true in ((1, 2), (1, 2, 3), (1, 4, 5))] == [0, 1, 1]
    assert tw.Index("bop").add(1, EXAMPLE).rebuild().match(make_event(1, 2, 3)) == []


@pytest.mark.parametrize("engine", ["dewey", "intervalid"])
def test_only_expressions_with_a_satisfied_leaf_are_looked_at(engine):
    store, made = build_engine(engine, EXAMPLE, "p1 = 1", "TRUE", "p7 = 1 OR p8 = 1")
    assert [count_candidates(store, made, *true) for true in ((), (1,), (6,), (1, 8))] == [0, 2, 1, 3]


# trees that are easily evaluated wrongly

PARTS_TWICE = [
    "p1 = 1 AND p1 = 1",
    "p1 = 1 OR p1 = 1",
    "(p1 = 1 OR p2 = 1) AND (p1 = 1 OR p3 = 1)",
    "(p1 = 1 AND p2 = 1) OR (p1 = 1 AND p3 = 1)",
    "(p1 = 1 OR p2 = 1) AND (p1 = 1 OR p3 = 1) AND (p1 = 1 OR p4 = 1) AND p1 = 1",
    "(p1 = 1 AND (p2 = 1 OR (p3 = 1 AND p4 = 1))) OR (p5 = 1 AND (p6 = 1 OR (p3 = 1 AND p4 = 1)))",
    "((p1 = 1 OR p2 = 1) AND (p3 = 1 OR p4 = 1)) XOR ((p1 = 1 AND p3 = 1) OR (p2 = 1 AND p5 = 1))",
    "p1 IS NULL AND (p2 IS NULL OR p3 = 1)",
]


def random_tree(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return tw.col(f"p{rng.randint(1, 6)}") == 1
    group = rng.choice([And, And, And, Or, Or, Or, Xor, Xnor, Not])
    parts = [random_tree(rng, depth - 1) for _ in range(1 if group is Not else rng.randint(2, 3))]
    return Not(parts[0]) if group is Not else group.create(*parts)


@pytest.mark.parametrize("engine", [*ENGINES, *(f"{engine}:leaves=6" for engine in ENGINES)])
def test_all_truth_values_of_many_trees(engine):
    rng = random.Random(1)
    known = dict(enumerate([parse(text) for text in PARTS_TWICE] + [random_tree(rng, 4) for _ in range(150)]))
    index = tw.Index(engine).add_many(known).rebuild()
    with index._contents.lock_shard() as shard:
        shard.engines.verify()
    # Absent and 2 differ: an absent attribute leaves negated predicates undefined.
    events = [make_event(*true) for n in range(7) for true in itertools.combinations(range(1, 7), n)]
    events += [{f"p{k}": 1 if k in event else 2 for k in range(1, 7)} for event in ({}, {1}, {2, 4}, {1, 3, 5, 6})]
    check_matches(index, known, events, engine)


@pytest.mark.parametrize("engine", [f"{engine}:leaves=5" for engine in ENGINES])
def test_expressions_over_budget_are_exact(engine):
    check_engine(engine, seed=7, rounds=4)


@pytest.mark.parametrize("engine", ENGINES)
def test_deep_and_long_expressions(engine):
    stairs = tw.col("p1") == 1
    for step in range(DEPTH_MAX - 2):
        stairs = (And, Or)[step % 2].create(tw.col(f"q{step}") == 1, stairs)
    long = [tw.col(f"q{k}") == 1 for k in range(10_000)]
    many = [Or.create(tw.col("p1") == k, tw.col("p2") == k) for k in range(1, LEAVES_MAX // 2 + 1)]
    known = {
        "stairs": stairs,
        "short stairs": Or.create(And.create(tw.col("p1") == 1, Or.create(*long[:40])), *long[:200]),
        "all": And.create(*long),
        "any": Or.create(*long),
        "at budget": Or.create(*(And.create(*part.args) for part in many)),
        "xor": Xor.create(*long[:300]),
    }
    index = tw.Index(engine).add_many(known).rebuild()
    with index._contents.lock_shard() as shard:
        shard.engines.verify()
        assert shard.engine._index.posted.trees >= 2
    everything = {f"q{k}": 1 for k in range(10_000)}
    odd = {f"q{k}": 1 + k % 2 for k in range(10_000)}
    check_matches(index, known, [{}, everything, everything | {"p1": 1}, odd, {"p1": 5, "p2": 5}, {"q0": 1}], engine)


def test_all_leaves_of_a_large_tree_are_sorted():
    """More satisfied leaves than an insertion sort is for, gathered in an order that is not theirs."""
    rng = random.Random(2)
    parts = [
        Or.create(And.create(tw.col(f"p{rng.randint(1, 6)}") == 1, tw.col(f"q{k}") == 1), tw.col("r") == k)
        for k in range(90)
    ]
    for engine in ENGINES:
        known = {"all": And.create(*parts), "but one": And.create(*parts[1:])}
        index = tw.Index(engine).add_many(known).rebuild()
        every = make_event(1, 2, 3, 4, 5, 6) | {f"q{k}": 1 for k in range(90)}
        check_matches(index, known, [every, every | {"q0": 2}, every | {"q0": 2, "r": 0}, every | {"q50": 2}], engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_more_matches_than_the_output_has_room_for(engine):
    index = tw.Index(engine).add_many({k: f"a >= 0 AND (b = 1 OR c = {k})" for k in range(3_000)}).rebuild()
    index.add_many({"always": "TRUE", "pending": "b = 1"}).remove(7)
    found = index.match_many([{"a": k, "b": 1} for k in range(40)] + [{"a": 1, "c": 5}, {}])
    assert np.bincount(found.columns[0].to_numpy()).tolist() == [3_001] * 40 + [2, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_postings_are_noticed(engine):
    for field, alter in (
        ("slot", replace_item(0, lambda array: array[1])),
        ("always", lambda array: array[:0]),
        ("expression", replace_item(0, 2)),
        ("expression", lambda array: array[:-1]),
        ("start", replace_item(1, lambda array: array[1] + 1)),
        ("stabbing.members", replace_item(0, lambda array: array[1])),
    ):
        assert_verify_notices(engine, alter_field(f"posted.{field}", alter))
