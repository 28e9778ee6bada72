"""The engine `atree`: the paper's examples, and where implementers usually go wrong."""

import random
import time

import numpy as np
import pytest
from bench import loading

import tellwhen as tw
from support import make_seed_params, verify_index
from tellwhen.compile.kernels.tree import AND_NODE, LEAF
from tellwhen.compile.store import Store
from tellwhen.containers.batches import split_events
from tellwhen.engines import create
from tellwhen.engines.atree.arrays import ATOMS, CHILD, EDGES, FIRST_CHILD, KIND, LEVEL, NEXT_CHILD, NODES, NONE, USES
from tellwhen.engines.atree.forest import ForestBuilder
from tellwhen.engines.atree.kernels.plant import ADJUSTED, ALWAYS, APART, EQUAL_PARTS, IMPOSSIBLE, REORGANIZED
from tellwhen.engines.atree.verify import check_forest
from tellwhen.language.parser import parse
from tellwhen.testing.engine_checks import check_engine, check_matches
from tellwhen.workloads import ABEGen, Ads

pytestmark = pytest.mark.late


class Garden:
    """A store and a forest of its subscriptions. Predicate `P3` is written as such, and true if attribute p3 is 1."""

    def __init__(self, *texts, sharing=ADJUSTED, binary=False):
        self.store = Store()
        self.builder = ForestBuilder(sharing, binary)
        self.slots = np.zeros(0, dtype=np.int32)
        self.roots = np.zeros(0, dtype=np.int32)
        for text in texts:
            self.add(text)

    def add(self, text):
        """The node of the expression."""
        first = len(self.store)
        self.store.append(self.store.compile([parse(text.replace("P", "p").replace("@", " = 1"))]))
        slots = np.arange(first, len(self.store), dtype=np.int32)
        roots = self.builder.add(self.store.snapshot(), slots)
        self.slots, self.roots = np.concatenate([self.slots, slots]), np.concatenate([self.roots, roots])
        self.check()
        return int(roots[0])

    def remove(self, number):
        """Take away the expression that was added as number `number`."""
        at = int(np.flatnonzero(self.slots == number)[0])
        self.builder.remove(self.roots[at : at + 1])
        self.slots, self.roots = np.delete(self.slots, at), np.delete(self.roots, at)
        self.check()

    def check(self):
        check_forest(self.builder, self.slots, self.roots, self.store.snapshot())

    def children(self, n):
        forest, found = self.builder.forest, []
        edge = int(forest.nodes[n, FIRST_CHILD])
        while edge != NONE:
            found.append(int(forest.edges[edge, CHILD]))
            edge = int(forest.edges[edge, NEXT_CHILD])
        return found

    def name(self, n):
        """A predicate as P3, and all else with its children: (P1|P2) or (P1&P2)."""
        forest = self.builder.forest
        if forest.nodes[n, KIND] == LEAF:
            domain = self.store.snapshot().predicates.domain[forest.nodes[n, ATOMS]]
            return self.store.attributes.domains[domain].attribute.upper()
        names = sorted(map(self.name, self.children(n)))
        return "(" + ("&" if forest.nodes[n, KIND] == AND_NODE else "|").join(names) + ")"

    def level(self, n):
        return int(self.builder.forest.nodes[n, LEVEL])

    @property
    def size(self):
        """Nodes and edges."""
        return tuple(int(self.builder.forest.counters[column]) for column in (NODES, EDGES))


FIRST = "(P1@ OR P2@ OR P3@) AND P4@ AND (P5@ OR P6@)"
SECOND = "(P5@ OR P6@) AND (P7@ OR P8@)"


def test_figure_4_two_expressions_share_a_part():
    garden = Garden(FIRST, SECOND)
    assert garden.size == (8 + 5, 3 + 3 + 2 + 2 + 2)
    first, second = garden.roots.tolist()
    assert garden.name(first) == "((P1|P2|P3)&(P5|P6)&P4)"
    assert garden.name(second) == "((P5|P6)&(P7|P8))"
    assert set(garden.children(first)) & set(garden.children(second))
    assert [garden.level(n) for n in (first, second)] == [3, 3]


def test_the_same_expression_in_another_order_is_the_same_node():
    garden = Garden(FIRST, "P4@ AND (P3@ OR P2@ OR P1@) AND (P6@ OR P5@)")
    assert len(set(garden.roots.tolist())) == 1
    assert garden.builder.forest.nodes[garden.roots[0], USES] == 2


def test_section_4_2_2_an_expression_reuses_a_part_of_another():
    garden = Garden(FIRST)
    assert garden.name(garden.add("P1@ OR P2@ OR P3@ OR P4@")) == "((P1|P2|P3)|P4)"
    apart = Garden(FIRST, sharing=EQUAL_PARTS)
    assert apart.name(apart.add("P1@ OR P2@ OR P3@ OR P4@")) == "(P1|P2|P3|P4)"


def test_section_4_2_2_what_is_reused_may_overlap():
    garden = Garden("P1@ AND P2@ AND P3@", "P3@ AND P4@", sharing=REORGANIZED)
    # The second would cover only one more predicate: nothing is saved by it.
    assert garden.name(garden.add("P1@ AND P2@ AND P3@ AND P4@")) == "((P1&P2&P3)&P4)"
    garden = Garden("P1@ AND P2@ AND P3@", "P3@ AND P4@ AND P5@", sharing=REORGANIZED)
    assert garden.name(garden.add("P1@ AND P2@ AND P3@ AND P4@ AND P5@")) == "((P1&P2&P3)&(P3&P4&P5))"


@pytest.mark.parametrize("other", ["P1@ AND P2@ AND P3@", "P1@ OR P9@", "P1@ OR P2@ OR P9@"])
def test_only_the_same_operator_and_a_subset_is_reused(other):
    garden = Garden(other)
    assert garden.name(garden.add("P1@ OR P2@ OR P3@ OR P4@")) == "(P1|P2|P3|P4)"


def test_section_4_2_3_an_expression_reuses_what_comes_later():
    garden = Garden(FIRST)
    new = garden.add("(P1@ OR P2@ OR P3@) AND P4@")
    assert garden.name(garden.roots[0]) == "(((P1|P2|P3)&P4)&(P5|P6))"
    assert new in garden.children(garden.roots[0])
    assert garden.level(new) == 3
    assert garden.level(garden.roots[0]) == 4
    late = Garden(FIRST, sharing=REORGANIZED)
    late.add("(P1@ OR P2@ OR P3@) AND P4@")
    assert late.name(late.roots[0]) == "((P1|P2|P3)&(P5|P6)&P4)"


def test_levels_rise_above_a_splice():
    garden = Garden("(P1@ AND P2@ AND P3@ AND P4@) OR P5@", "((P1@ AND P2@ AND P3@ AND P4@) OR P5@) AND P6@")
    assert [garden.level(n) for n in garden.roots.tolist()] == [3, 4]
    garden.add("P1@ AND P2@")
    assert [garden.level(n) for n in garden.roots.tolist()] == [4, 5, 2]
    garden.remove(2)
    assert [garden.level(n) for n in garden.roots.tolist()] == [3, 4]


def test_parents_adopt_the_children_of_a_node_that_dies():
    garden = Garden("P1@ AND P2@ AND P3@", "P1@ AND P2@")
    assert garden.name(garden.roots[0]) == "((P1&P2)&P3)"
    garden.remove(1)
    assert garden.name(garden.roots[0]) == "(P1&P2&P3)"


def test_a_node_lives_as_long_as_something_uses_it():
    garden = Garden("P1@ AND P2@", "P1@ AND P2@", "(P1@ AND P2@) OR P3@", "P1@")
    garden.remove(0)
    garden.remove(1)
    assert garden.name(garden.roots[0]) == "((P1&P2)|P3)"
    garden.remove(2)
    assert garden.size == (1, 0)
    garden.remove(3)
    assert garden.size == (0, 0)


def test_a_binary_tree_joins_two_parts_at_a_time():
    garden = Garden("P1@ AND P2@ AND P3@ AND P4@", "P1@ AND P2@ AND P5@", sharing=EQUAL_PARTS, binary=True)
    assert [garden.name(n) for n in garden.roots.tolist()] == ["(((P1&P2)&P3)&P4)", "((P1&P2)&P5)"]
    assert garden.size[0] == 5 + 4


def test_identity_is_structure_and_not_arithmetic():
    garden = Garden("P1@ AND P1@", "P1@ OR P1@", "(P1@ AND P2@) OR (P1@ AND P2@)", "P1@ AND P2@")
    names = [garden.name(n) for n in garden.roots.tolist()]
    assert names == ["P1", "P1", "(P1&P2)", "(P1&P2)"]
    every = {garden.add(f"P{i}@ {op} P{j}@") for i in range(9) for j in range(i) for op in ("AND", "OR")}
    assert len(every) == 72


def test_equal_hashes_are_told_apart(monkeypatch):
    garden = Garden()
    forest = garden.builder.forest
    garden.builder._set(equal=np.full(1, NONE, dtype=np.int32), pair=np.full(1, NONE, dtype=np.int32))
    assert len(forest.equal) > 1
    monkeypatch.setattr(garden.builder, "_make_room", lambda more: None)
    triples = [(i, j, k) for i in range(5) for j in range(i) for k in range(j)]
    texts = [f" {operator} ".join(f"P{i}@" for i in triple) for triple in triples for operator in ("AND", "OR")]
    assert len({garden.add(text) for text in texts}) == len(texts)
    for number in range(len(texts)):
        garden.remove(number)
    assert garden.size == (0, 0)


def test_always_and_never_true_have_no_node():
    garden = Garden("TRUE", "FALSE", "P1@ OR TRUE")
    assert garden.roots.tolist() == [ALWAYS, IMPOSSIBLE, ALWAYS]
    assert garden.size == (0, 0)


def test_negated_predicates_are_other_predicates():
    garden = Garden("x = 1", "NOT x = 1", "x != 1")
    assert len(set(garden.roots.tolist())) == 3  # NOT asks all values of a list, and != one of them


def test_xor_shares_both_polarities_and_does_not_explode():
    text = " XOR ".join(f"P{i}@" for i in range(40))
    garden = Garden(text)
    assert garden.size[0] < 40 * 8
    assert garden.add(text) == garden.roots[0]


@pytest.mark.parametrize("spec", ["atree", "atree:zero=0", "atree:demand=0", "atree:zero=0,demand=0", "atree:share=0"])
@pytest.mark.parametrize("event", [{"age": 50, "weight": 90}, {"age": 70, "weight": 90}, {"age": 50}, {}])
def test_section_5_2_1_negation_of_what_may_be_undefined(spec, event):
    known = {"s": parse("NOT (age > 60 OR weight > 100)"), "t": parse("age <= 60 AND weight <= 100")}
    index = tw.Index(spec).add_many(known)
    index.rebuild()
    check_matches(index, known, [event])
    assert sorted(index.match(event)) == (["s", "t"] if event == {"age": 50, "weight": 90} else [])


FIGURE_6 = {
    "S1": "p1 = 1 AND p2 = 1 AND p3 = 1",
    "S2": "(p1 = 1 OR p4 = 1) AND p5 = 1",
    "S3": "p1 = 1 OR p4 = 1 OR (p5 = 1 AND p6 = 1)",
    "S4": "p5 = 1 AND p6 = 1",
    "S5": "(p1 = 1 OR p4 = 1) AND (p7 = 1 OR p8 = 1) AND p2 = 1",
    "S6": "NOT (p7 = 1 OR p8 = 1)",
}


@pytest.mark.parametrize("spec", ["atree", "atree:access=1", "atree:zero=0", "atree:demand=0", "atree:binary=1"])
def test_section_5_3_p1_p9_and_p10_are_true(spec):
    index = tw.Index(spec).add_many(FIGURE_6)
    index.rebuild()
    event = {"p1": 1, "p7": 0, "p8": 0}
    assert sorted(index.match(event)) == ["S3", "S6"]
    check_matches(index, {id_: parse(text) for id_, text in FIGURE_6.items()}, [event, {"p7": 0}, {"p5": 1, "p6": 1}])


@pytest.mark.parametrize("spec", ["atree", "atree:share=0", "atree:zero=0"])
def test_a_result_of_an_earlier_event_counts_for_nothing(spec):
    index = tw.Index(spec).add_many({"s": "(a = 1 OR b = 1) AND (c = 1 OR d = 1)", "t": "(c = 1 OR d = 1) AND e = 1"})
    index.rebuild()
    assert sorted(index.match({"a": 1, "c": 1, "e": 1})) == ["s", "t"]
    assert index.match({"a": 1}) == []
    assert index.match({"e": 1, "a": 1}) == []
    assert index.match({"c": 1}) == []


def test_contradictions_tautologies_and_what_is_missing():
    known = {
        "never": parse("x = 1 AND NOT x = 1"),
        "present": parse("x = 1 OR NOT x = 1"),
        "missing": parse("x IS NULL"),
        "always": parse("x IS NULL OR x IS NOT NULL"),
        "either": parse("x IS NULL XOR y = 1"),
    }
    for spec in ("atree", "atree:zero=0", "atree:demand=0"):
        index = tw.Index(spec).add_many(known)
        index.rebuild()
        check_matches(index, known, [{}, {"x": 1}, {"x": 2}, {"y": 1}, {"x": [1, 2]}, {"x": 1, "y": 1}])


OPTIONS = ["share=0", "share=1", "share=2", "binary=1", "zero=0", "demand=0", "zero=0,demand=0", "access=1", "stab=1"]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", make_seed_params(1, 10))
def test_every_switch_finds_the_same(options, seed):
    check_engine(f"atree:{options}", seed, rounds=3)


@pytest.mark.slow
def test_the_order_of_insertion_changes_no_answer_and_hardly_the_size():
    work, count = Ads(total=3_000), 3_000
    store, slots = loading.store_subscriptions(work, count)
    events = loading.encode_events(work, 30, store)
    sizes, answers = [], []
    for seed in range(4):
        engine = create("atree", store)
        engine.insert(np.random.default_rng(seed).permutation(slots))
        engine.rebuild()
        engine.verify()
        sizes.append(engine.stats()["nodes"])
        answers.append([sorted(engine.reader().match(event).slot.tolist()) for event in split_events(events)])
    assert all(answer == answers[0] for answer in answers)
    assert max(sizes) <= 1.1 * min(sizes)


def test_insert_all_and_delete_all_in_any_order_leaves_nothing():
    store, slots = loading.store_subscriptions(ABEGen(total=400), 400)
    for sharing, binary in ((ADJUSTED, False), (REORGANIZED, False), (APART, False), (EQUAL_PARTS, True)):
        builder = ForestBuilder(sharing, binary)
        roots = builder.add(store.snapshot(), slots)
        check_forest(builder, slots, roots, store.snapshot())
        order = list(range(len(slots)))
        random.Random(sharing).shuffle(order)
        for first in range(0, len(order), 80):
            builder.remove(roots[order[first : first + 80]])
            left = order[first + 80 :]
            check_forest(builder, slots[left], roots[left], store.snapshot())
        assert builder.forest.counters[NODES] == builder.forest.counters[EDGES] == 0


def test_subscriptions_come_and_go_without_building_again():
    store, slots = loading.store_subscriptions(ABEGen(total=1_000), 1_000)
    engine = create("atree", store)
    engine.insert(slots[:600])
    builder = engine._forest
    engine.insert(slots[600:])
    store.remove(slots[:300])
    engine.delete(slots[:300])
    engine.verify()
    assert engine._forest is builder
    assert len(engine) == 700


@pytest.mark.parametrize("spec", ["atree", "atree:zero=0"])
def test_depth_overflows_no_stack(spec):
    nested = "x0 = 1"
    for i in range(1, 100):
        nested = f"({nested}) {'AND' if i % 2 else 'OR'} x{i} = 1"
    chain = " XOR ".join(f"x{i} = 1" for i in range(1_000))  # each stands on the one before
    known = {"nested": parse(nested), "chain": parse(chain)}
    index = tw.Index(spec).add_many(known)
    index.rebuild()
    with index._contents.lock_shard() as shard:
        assert len(shard.engines._index.level_start) > 1_000
    every = {f"x{i}": 1 for i in range(1_000)}
    check_matches(index, known, [every, {}, {"x99": 1}, {**every, "x0": 0}, {**every, "x0": 0, "x99": 0}])


@pytest.mark.slow
def test_memory_falls_as_sharing_grows():
    sizes = []
    for skew in (0.0, 0.6, 1.0):
        store, slots = loading.store_subscriptions(ABEGen(total=2_000, skew=skew), 2_000)
        engine = create("atree", store)
        engine.insert(slots)
        engine.rebuild()
        sizes.append(engine.stats()["bytes"])
    assert sizes == sorted(sizes, reverse=True)


# typical events with several values


@pytest.mark.parametrize("engine", ["atree", "auto:layout=2,pending=4"])
def test_typical_events_may_have_several_values(engine):
    """Each value counts: a predicate may be true more often than once per event."""
    rules = {k: f"x <> {k} AND x <> {k + 1000}" for k in range(100)}
    rules |= {f"or {k}": f"(x <> {k} OR y = 1) AND (x <> {k + 1000} OR y <> 2)" for k in range(100)}
    index = tw.Index(engine).add_many(rules)
    index.optimize_for([{"x": [5000, 5001, 5002], "y": [1, 2, 3, 4]}]).rebuild()
    verify_index(index)
    assert len(index.match({"x": 5000})) == 200
    assert len(index.match({"x": 3})) == 198


@pytest.mark.slow
def test_removing_what_has_the_same_last_atoms_takes_linear_time():
    """`x = 1 AND y = 1 AND u = k`: the nodes of all are in one chain."""

    def seconds(count):
        index = tw.Index("atree").add("u", " OR ".join(f"u = {k}" for k in range(count))).rebuild()
        index.add_many({k: f"x = 1 AND y = 1 AND u = {k}" for k in range(count)})
        begin = time.perf_counter()
        index.remove_many(range(count // 2))
        took = time.perf_counter() - begin
        assert len(index.match({"x": 1, "y": 1, "u": count - 1})) == 2
        return took

    seconds(500)
    assert min(seconds(16_000), seconds(16_000)) < 12 * max(seconds(4_000), 0.01)
