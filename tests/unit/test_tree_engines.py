"""Engines that keep a tree of each expression: `dewey`, `intervalid`, `bop`. The example of A-Tree, and odd trees."""

import itertools
import random

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.compile.store import Store
from tellwhen.encode.events import encode
from tellwhen.engines import create
from tellwhen.language.ast import And, Not, Or, Xnor, Xor
from tellwhen.language.limits import DEPTH
from tellwhen.language.parser import parse
from tellwhen.language.schema import Schema
from tellwhen.papers.a_tree.bop.encoding import encode_trees
from tellwhen.papers.a_tree.bop.verify import read_numbers
from tellwhen.papers.a_tree.dewey.annotation import annotate_trees as annotate_ids
from tellwhen.papers.a_tree.dewey.arrays import STAR
from tellwhen.papers.a_tree.intervalid.annotation import annotate_trees as annotate_intervals
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT, END_MASK
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, expand_trees
from tellwhen.testing.engine_checks import check_engine, check_matches

pytestmark = pytest.mark.late

ENGINES = ["dewey", "intervalid", "bop"]
EXAMPLE = "(p1 = 1 OR p2 = 1 OR p3 = 1) AND p4 = 1 AND (p5 = 1 OR p6 = 1)"
FIRST = " AND ".join(f"p{k} = 1" for k in range(7))
"""Stored before others, it makes p1 = 1 the predicate number 1, and so on."""


def trees_of(*texts, leaves_max=LEAVES_MAX):
    """The trees of some expressions over p1 = 1 to p6 = 1."""
    store = Store()
    slots, _ = store.append(store.compile(parse(text) for text in (FIRST, *texts)))
    return expand_trees(store.snapshot(), slots[1:], leaves_max)


def readable(trees):
    """Every tree: predicates, and groups with their number of children."""
    found = []
    for begin, end in itertools.pairwise(trees.start.tolist()):
        words = trees.node[begin:end].tolist()
        found.append(" ".join(str(w) if w >= 0 else f"{('AND', 'OR')[-1 - w & 1]}{(-1 - w) // 2}" for w in words))
    return found


def event_of(*numbers):
    return {f"p{k}": 1 for k in numbers}


def intervals_of(text):
    packed, end = annotate_intervals(trees_of(text))
    return [(int(i) >> BEGIN_SHIFT, int(i) & END_MASK) for i in packed], int(end[0])


def ids_of(text):
    _, annotation, ids = annotate_ids(trees_of(text))
    found = []
    for at in annotation.tolist():
        words = ids[at + 1 : at + 1 + int(ids[at])].tolist()
        found.append(".".join(f"{word // 2}{'*' if word & STAR else ''}" for word in words))
    return found


# trees


def test_trees_are_in_preorder():
    assert readable(trees_of(EXAMPLE)) == ["AND3 OR3 1 2 3 4 OR2 5 6"]
    assert readable(trees_of("p2 = 1", "p1 = 1 AND p2 = 1", "p1 = 1 OR p2 = 1")) == ["2", "AND2 1 2", "OR2 1 2"]
    deep = "p1 = 1 AND (p2 = 1 OR (p3 = 1 AND p4 = 1) OR p5 = 1)"
    assert readable(trees_of(deep)) == ["AND2 1 OR3 2 AND2 3 4 5"]


def test_registers_are_written_out_and_groups_of_one_kind_merged():
    either = readable(trees_of("(p1 = 1 AND p2 = 1) XOR (p3 = 1 AND p4 = 1)"))[0].split()
    assert either[:5] == ["OR2", "AND3", "1", "2", "OR2"]  # the AND of an operand is merged into the one around it
    assert sum(not word.startswith(("AND", "OR")) for word in either) == 8


def test_what_has_no_tree_is_told_apart():
    trees = trees_of("TRUE", "FALSE", "p1 = 1 AND p2 = 1 AND p3 = 1", "p1 = 1 AND p2 = 1", EXAMPLE, leaves_max=2)
    assert readable(trees) == ["AND2 1 2"]
    assert (trees.slot.tolist(), trees.by_code.tolist(), trees.always.tolist()) == ([4], [3, 5], [1])


def test_the_budget_is_of_leaves_written_out():
    chain = " XOR ".join(f"p{k} = 1" for k in (1, 2, 3, 4, 5, 6))
    leaves = int((trees_of(chain).node >= 0).sum())
    assert len(trees_of(chain, leaves_max=leaves).slot) == 1
    assert len(trees_of(chain, leaves_max=leaves - 1).slot) == 0


# the paper's example


def test_figure_1_dewey_ids():
    assert ids_of(EXAMPLE) == ["1.1", "1.2", "1.3", "2", "3*.1", "3*.2"]
    assert ids_of("p1 = 1") == ["1*"]
    assert ids_of("p1 = 1 OR p2 = 1") == ["1*.1", "1*.2"]  # below an AND of one child


def test_figure_1_intervals():
    assert intervals_of(EXAMPLE) == ([(1, 4), (1, 4), (1, 4), (5, 5), (6, 10), (6, 10)], 10)
    assert intervals_of("p1 = 1") == ([(1, 2)], 2)


def test_figure_2_encoding():
    minimum, start, encoding = encode_trees(trees_of(EXAMPLE))
    assert list(read_numbers(encoding)) == [1, 3, 2, 3, 4, 1, 4, 2, 4, 3, 4, 4, 2, 2, 4, 5, 4, 6]
    assert (len(encoding), minimum.tolist(), start.tolist()) == (18, [3], [0, 18])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_example_is_matched(engine):
    index = tw.Index(engine).add_many({0: FIRST, 1: EXAMPLE}).rebuild()
    for size in range(7):
        for true in itertools.combinations(range(1, 7), size):
            want = [1] if 4 in true and {1, 2, 3} & {*true} and {5, 6} & {*true} else []
            assert index.match(event_of(*true)) == want, true


def built(engine, *expressions):
    """An engine with these expressions in its index."""
    store = Store()
    slots, _ = store.append(store.compile(parse(e) if isinstance(e, str) else e for e in expressions))
    made = create(engine, store)
    made.insert(slots)
    made.rebuild()
    made.verify()
    return store, made


def candidates(store, made, *true):
    return made.reader().candidates(encode([event_of(*true)], store.attributes, Schema())[0])


def test_enough_satisfied_predicates_make_a_candidate_but_no_match():
    store, made = built("bop", EXAMPLE)
    assert [candidates(store, made, *true) for true in ((1, 2), (1, 2, 3), (1, 4, 5))] == [0, 1, 1]
    assert tw.Index("bop").add(1, EXAMPLE).rebuild().match(event_of(1, 2, 3)) == []


@pytest.mark.parametrize("engine", ["dewey", "intervalid"])
def test_only_expressions_with_a_satisfied_leaf_are_looked_at(engine):
    store, made = built(engine, EXAMPLE, "p1 = 1", "TRUE", "p7 = 1 OR p8 = 1")
    assert [candidates(store, made, *true) for true in ((), (1,), (6,), (1, 8))] == [0, 2, 1, 3]


# trees that are easily evaluated wrongly


def test_ands_below_an_or_are_cut_at_different_points():
    found, end = intervals_of("(p1 = 1 AND p2 = 1) OR (p3 = 1 AND p4 = 1)")
    assert (found, end) == ([(1, 1), (2, 8), (1, 4), (5, 8)], 8)
    index = tw.Index("intervalid").add(1, "(p1 = 1 AND p2 = 1) OR (p3 = 1 AND p4 = 1)").rebuild()
    assert [index.match(event_of(*true)) for true in ((1, 4), (3, 2), (1, 2), (3, 4))] == [[], [], [1], [1]]


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
    return Not(parts[0]) if group is Not else group.of(*parts)


@pytest.mark.parametrize("engine", [*ENGINES, *(f"{engine}:leaves=6" for engine in ENGINES)])
def test_all_truth_values_of_many_trees(engine):
    rng = random.Random(1)
    known = dict(enumerate([parse(text) for text in PARTS_TWICE] + [random_tree(rng, 4) for _ in range(150)]))
    index = tw.Index(engine).add_many(known).rebuild()
    with index._contents.whole() as shard:
        shard.engines.verify()
    # Absent and 2 differ: an absent attribute leaves negated predicates undefined.
    events = [event_of(*true) for n in range(7) for true in itertools.combinations(range(1, 7), n)]
    events += [{f"p{k}": 1 if k in event else 2 for k in range(1, 7)} for event in ({}, {1}, {2, 4}, {1, 3, 5, 6})]
    check_matches(index, known, events, engine)


@pytest.mark.parametrize("engine", [f"{engine}:leaves=5" for engine in ENGINES])
def test_expressions_over_budget_are_exact(engine):
    check_engine(engine, seed=7, rounds=4)


@pytest.mark.parametrize("engine", ENGINES)
def test_deep_and_long_expressions(engine):
    stairs = tw.col("p1") == 1
    for step in range(DEPTH - 2):
        stairs = (And, Or)[step % 2].of(tw.col(f"q{step}") == 1, stairs)
    long = [tw.col(f"q{k}") == 1 for k in range(10_000)]
    many = [Or.of(tw.col("p1") == k, tw.col("p2") == k) for k in range(1, LEAVES_MAX // 2 + 1)]
    known = {
        "stairs": stairs,
        "short stairs": Or.of(And.of(tw.col("p1") == 1, Or.of(*long[:40])), *long[:200]),
        "all": And.of(*long),
        "any": Or.of(*long),
        "at budget": Or.of(*(And.of(*part.args) for part in many)),
        "xor": Xor.of(*long[:300]),
    }
    index = tw.Index(engine).add_many(known).rebuild()
    with index._contents.whole() as shard:
        shard.engines.verify()
        assert shard.engine._index.posted.trees >= 2
    everything = {f"q{k}": 1 for k in range(10_000)}
    odd = {f"q{k}": 1 + k % 2 for k in range(10_000)}
    check_matches(index, known, [{}, everything, everything | {"p1": 1}, odd, {"p1": 5, "p2": 5}, {"q0": 1}], engine)


def test_all_leaves_of_a_large_tree_are_sorted():
    """More satisfied leaves than an insertion sort is for, gathered in an order that is not theirs."""
    rng = random.Random(2)
    parts = [
        Or.of(And.of(tw.col(f"p{rng.randint(1, 6)}") == 1, tw.col(f"q{k}") == 1), tw.col("r") == k) for k in range(90)
    ]
    for engine in ENGINES:
        known = {"all": And.of(*parts), "but one": And.of(*parts[1:])}
        index = tw.Index(engine).add_many(known).rebuild()
        every = event_of(1, 2, 3, 4, 5, 6) | {f"q{k}": 1 for k in range(90)}
        check_matches(index, known, [every, every | {"q0": 2}, every | {"q0": 2, "r": 0}, every | {"q50": 2}], engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_more_matches_than_the_output_has_room_for(engine):
    index = tw.Index(engine).add_many({k: f"a >= 0 AND (b = 1 OR c = {k})" for k in range(3_000)}).rebuild()
    index.add_many({"always": "TRUE", "pending": "b = 1"}).remove(7)
    found = index.match_many([{"a": k, "b": 1} for k in range(40)] + [{"a": 1, "c": 5}, {}])
    assert np.bincount(found.columns[0].to_numpy()).tolist() == [3_001] * 40 + [2, 1]


# what verify notices


def damaged(engine, alter):
    _, made = built(engine, EXAMPLE, "p1 = 1", "(p1 = 1 AND p2 = 1) OR (p3 = 1 AND p4 = 1)", "TRUE")
    made._index = alter(made._index)
    return made


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def of_index(name, alter):
    """Alters an array of the index."""
    return lambda index: index._replace(**{name: alter(getattr(index, name))})


def posted(name, alter):
    """Alters an array of `posted`."""
    return of_index("posted", of_index(name, alter))


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_postings_are_noticed(engine):
    for alter in (
        posted("slot", lambda a: changed(a, 0, a[1])),
        posted("always", lambda a: a[:0]),
        posted("expression", lambda a: changed(a, 0, 2)),
        posted("expression", lambda a: a[:-1]),
        posted("start", lambda a: changed(a, 1, a[1] + 1)),
        posted("stabbing", of_index("members", lambda a: changed(a, 0, a[1]))),
    ):
        with pytest.raises(AssertionError):
            damaged(engine, alter).verify()


@pytest.mark.parametrize("by", [1, 1 << BEGIN_SHIFT])
def test_damaged_intervals_are_noticed(by):
    for at in range(11):
        with pytest.raises(AssertionError):
            damaged("intervalid", posted("annotation", lambda a, at=at: changed(a, at, a[at] + by))).verify()
    with pytest.raises(AssertionError):
        damaged("intervalid", of_index("end", lambda a: changed(a, 0, 9))).verify()


def test_damaged_ids_are_noticed():
    for at in range(11):
        with pytest.raises(AssertionError):
            damaged("dewey", posted("annotation", lambda a, at=at: changed(a, at, a[at] + 1))).verify()
    for at, by in itertools.product(range(30), (STAR, 2)):
        with pytest.raises(AssertionError):
            damaged("dewey", of_index("ids", lambda a, at=at, by=by: changed(a, at, a[at] ^ by))).verify()


def test_damaged_encodings_are_noticed():
    for at, by in itertools.product(range(34), (1, 3, 128)):
        with pytest.raises(AssertionError):
            damaged("bop", of_index("encoding", lambda a, at=at, by=by: changed(a, at, a[at] ^ by))).verify()
    for name, alter in (("minimum", lambda a: changed(a, 0, 2)), ("encoding", lambda a: a[:-1])):
        with pytest.raises(AssertionError):
            damaged("bop", of_index(name, alter)).verify()
