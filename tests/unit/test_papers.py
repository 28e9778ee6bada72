"""The worked examples of the papers."""

import random
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from bench.loading import encoded, stored

import tellwhen as tw
from support import verify
from tellwhen.compile.store import Store
from tellwhen.containers.batches import Typical, first
from tellwhen.encode.events import encode
from tellwhen.engines import create
from tellwhen.engines.base import REGISTRY
from tellwhen.papers.be_tree.kindex.engine import KIndex, KIndexWeak
from tellwhen.papers.op_index.arrays import AT_LEAST, AT_MOST, EQUAL
from tellwhen.papers.op_index.kernels.segments import domain_share, segment_of, signature_bit
from tellwhen.workloads import ABEGen, BEGen

pytestmark = pytest.mark.late

# OpIndex


TABLE_1 = {
    "S1": "A = 2 AND B IN (3, 6, 9)",
    "S2": "A <= 8 AND C >= 2",
    "S3": "C = 6 AND B <= 4 AND E BETWEEN 3 AND 12",
    "S4": "A = 2",
    "S5": "D >= 12 AND E <= 9",
    "S6": "B IN (3, 6) AND C <= 4 AND D >= 10 AND E <= 7",
}


@pytest.fixture(params=["opindex", "opindex-plain"])
def opindex(request):
    index = tw.Index(request.param).add_many(TABLE_1)
    return index.rebuild()


def domains(index):
    return [domain.attribute for domain in index._shard.store.attributes.domains]


def pivots(index):
    """By attribute the subscriptions that have it as their pivot."""
    found = index._shard.engine._index
    ids = index._shard.ids
    start = found.pivot_start.tolist()
    return {
        name: [ids[slot] for slot in found.conjunction_slot[start[domain] : start[domain + 1]].tolist()]
        for domain, name in enumerate(domains(index))
        if start[domain] < start[domain + 1]
    }


def test_opindex_example_2_and_figure_4(opindex):
    assert pivots(opindex) == {"A": ["S1", "S2", "S4"], "C": ["S3"], "D": ["S5", "S6"]}


def predicate_list(index, pivot, operator):
    """The entries of a list: attribute, operand and subscription, in their order."""
    found, names = index._shard.engine._index, domains(index)
    lists, number = found.lists, operator * len(names) + names.index(pivot)
    begin, end = lists.segment_start[number : number + 2]
    if begin == end:
        return []
    slots = found.conjunction_slot[found.pivot_start[names.index(pivot)] :].tolist()
    mine = slice(lists.segments[begin, 0], lists.segments[end - 1, 0])
    # The integer v is the point 2v.
    return [
        (names[lists.operands.domain[rank]], int(lists.operands.keys[rank]) // 2, index._shard.ids[slots[conjunction]])
        for rank, conjunction in zip(lists.ranks[mine], lists.conjunctions[mine], strict=True)
    ]


def test_opindex_example_4(opindex):
    """Lists sorted by attribute and operand; IN is several =, BETWEEN is >= and <=."""
    assert sorted(predicate_list(opindex, "A", EQUAL)) == [
        ("A", 2, "S1"), ("A", 2, "S4"), ("B", 3, "S1"), ("B", 6, "S1"), ("B", 9, "S1"),
    ]  # fmt: skip
    assert predicate_list(opindex, "A", AT_MOST) == [("A", 8, "S2")]
    assert predicate_list(opindex, "A", AT_LEAST) == [("C", 2, "S2")]
    assert predicate_list(opindex, "C", EQUAL) == [("C", 6, "S3")]
    assert predicate_list(opindex, "C", AT_MOST) == [("B", 4, "S3"), ("E", 12, "S3")]
    assert predicate_list(opindex, "C", AT_LEAST) == [("E", 3, "S3")]
    assert sorted(predicate_list(opindex, "D", AT_LEAST)) == [("D", 10, "S6"), ("D", 12, "S5")]
    found = opindex._shard.engine._index
    need = {opindex._shard.ids[int(slot)]: int(n) for slot, n in zip(found.conjunction_slot, found.need, strict=True)}
    assert need == {"S1": 2, "S2": 2, "S3": 4, "S4": 1, "S5": 2, "S6": 4}


@pytest.mark.parametrize("segments", [1, 2, 5])
def test_opindex_example_3(segments):
    """An attribute leads to its segment, its operand to a bit of the signature: if that is off, nothing is searched."""
    index = tw.Index(f"opindex:segments={segments}")
    index.add_many([(f"{name}{k}", f"{name} = {k} AND Z = 1") for name in "ABCDE" for k in range(8)])
    index.optimize_for([{"Z": 1}] * 2 + [dict.fromkeys("ABCDE", 1)] * 3).rebuild()
    assert set(pivots(index)) == {"Z"}
    lists, names = index._shard.engine._index.lists, domains(index)
    begin, end = lists.segment_start[names.index("Z") : names.index("Z") + 2].tolist()
    assert end - begin - 1 == segments
    for name in "ABCDE":
        segment = begin + segment_of(domain_share(names.index(name), len(names)), segments)
        inside = slice(lists.segments[segment, 0], lists.segments[segment + 1, 0])
        ranks = lists.ranks[inside].tolist()
        assert [lists.operands.domain[rank] for rank in ranks].count(names.index(name)) == 8
        bits = {signature_bit(EQUAL, int(lists.operands.domain[rank]), rank) for rank in ranks}
        assert lists.segments[segment, 1] == sum(bits)
        assert index.match({name: 3, "Z": 1}) == [f"{name}3"]
        assert index.match({name: 9, "Z": 1}) == []


def test_opindex_pivots_by_event_frequency():
    """Section 4.1: of its attributes the one that fewest events carry; guessed from subscriptions without events."""
    index = tw.Index("opindex").add_many(TABLE_1).rebuild()
    assert pivots(index) == {"A": ["S1", "S2", "S4"], "C": ["S3"], "D": ["S5", "S6"]}
    index.optimize_for([{"A": 1, "C": 1, "D": 1}, {"A": 1, "C": 1, "D": 1, "E": 1}, {"A": 1, "D": 1, "B": 1, "E": 1}])
    index.rebuild()
    assert pivots(index) == {"A": ["S4"], "B": ["S1", "S3", "S6"], "C": ["S2"], "E": ["S5"]}
    verify(index)
    assert index.match({"A": 2, "B": 6}) == ["S1", "S4"]
    assert index.match({"B": 3, "C": 4, "D": 12, "E": 7}) == ["S5", "S6"]


@pytest.mark.slow
def test_opindex_section_6_1():
    """The smallest clause gives the pivots, of equals the rarer one; any entry strikes out the bit of its clause."""
    index = tw.Index("opindex-cnf").add_many(
        {
            "two": "(A = 1 OR B >= 2) AND (C = 1 OR D = 1 OR E = 1)",
            "one": "(A = 1 OR B >= 2) AND C BETWEEN 3 AND 5",
            "rare": "(A = 1 OR A = 2) AND (C = 1 OR F = 1)",
            "none": "TRUE",
        }
    )
    index.rebuild()
    found, ids = index._shard.engine._index, index._shard.ids
    named = [(ids[-1 - slot if slot < 0 else slot], slot < 0) for slot in found.conjunction_slot.tolist()]
    start = found.pivot_start.tolist()
    assert {name: named[a:b] for name, (a, b) in zip(domains(index), pairwise(start), strict=True) if a < b} == {
        "A": [("two", True)], "B": [("two", True)], "C": [("one", False), ("rare", True)], "F": [("rare", True)],
    }  # fmt: skip
    assert named[start[-1] :] == [("none", False)]
    assert [bin(bits) for bits in found.clauses.tolist()] == ["0b11"] * 5 + ["0b0"]
    assert index.match({"A": 1, "B": 2, "E": 1}) == ["two", "none"]
    assert index.match({"B": 3, "C": 4}) == ["one", "none"]
    assert index.match({"B": 3, "C": 6}) == ["none"]  # beyond the high end
    assert index.match({"A": 2, "C": 1, "F": 1}) == ["rare", "none"]
    assert index.match({"A": 1}) == ["none"]
    arrays, _ = encode([{"C": 1}, {"F": 1}, {"D": 1}], index._shard.store.attributes, tw.Schema())
    assert index._shard.engine.reader().count_candidates(arrays) == 2


def test_opindex_example_5(opindex):
    """Only C is a pivot of the event: S2 and S5, which match in part, are not touched."""
    event = {"B": 6, "C": 3, "E": 9}
    assert opindex.match(event) == []
    arrays, _ = encode([event], opindex._shard.store.attributes, tw.Schema())
    assert opindex._shard.engine.reader().count_candidates(arrays) == 1


def test_opindex_lemma_1(opindex):
    assert opindex.match({"A": 2, "B": 6}) == ["S1", "S4"]
    assert opindex.match({"B": 3, "C": 4, "D": 12, "E": 7}) == ["S5", "S6"]


@pytest.mark.parametrize(
    "spec",
    [
        "opindex",
        "opindex-cnf",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("opindex-plain", "opindex:segments=7")),
    ],
)
@pytest.mark.parametrize(
    "work", [BEGen(operators="high", dimensions=40), ABEGen(total=500, depth=2, children=3)], ids=repr
)
def test_opindex_keeps_its_structure_and_answers(spec, work):
    """Insert, delete, observe and rebuild at random, with more subscriptions than the conformance suite has."""
    rng = random.Random(1)
    store, slots = stored(work, 500)
    events = encoded(work, 40, store)
    rivals = [create(spec, store), create("scan", store)]
    slots = slots[rivals[0].can_index(slots)]
    assert len(slots) > 450
    waiting, inside = slots.tolist(), []
    while waiting:
        choice = rng.random()
        if choice < 0.5:
            some, waiting = np.array(waiting[:90], dtype=np.int32), waiting[90:]
            inside += some.tolist()
            for rival in rivals:
                rival.insert(some)
        elif choice < 0.75 and inside:
            gone = np.array(sorted(rng.sample(inside, len(inside) // 3)), dtype=np.int32)
            inside = sorted(set(inside) - set(gone.tolist()))
            store.remove(gone)
            for rival in rivals:
                rival.delete(gone)
        elif choice < 0.85:
            known = rng.randint(1, 40)
            store.expect(Typical(first(events, known), np.ones(known)))
        else:
            rivals[0].rebuild()
        rivals[0].verify()
        found, wanted = (rival.reader().match(events) for rival in rivals)
        for e in range(40):
            mine, right = (m.slot[m.start[e] : m.start[e + 1]].tolist() for m in (found, wanted))
            assert sorted(mine) == sorted(right)
    assert len(wanted.slot)


@pytest.mark.parametrize("spec", ["opindex", "opindex-plain", "opindex-cnf"])
def test_opindex_of_several_values_and_intervals(spec):
    """Lists shorter than the event and longer ones, and operands that only the lists of other pivots have."""
    index = tw.Index(spec).add_many({f"x{k}": f"X = 1 AND a = {k}" for k in range(20)})
    index.add_many({"between": "Y = 1 AND a BETWEEN 3 AND 5", "not": "Y = 1 AND a NOT IN (3, 4, 9)"})
    index.add("never", " AND ".join(f"{name} = 2" for name in "bcdefgh"))
    index.add_many({f"z{k}": f"Z = {k % 2} AND a = {k}" for k in (7, 9, 11, 13)}).rebuild()
    verify(index)
    more = dict.fromkeys("bcdefgh", 1)
    for extra in ({}, more):
        assert index.match({"Y": 1, "a": [9, 4], **extra}) == index.match({"Y": 1, "a": [4, 9], **extra}) == ["between"]
        assert index.match({"Y": 1, "a": [3, 9, 4], **extra}) == ["between"]
        assert index.match({"Y": 1, "a": [8, 2], **extra}) == ["not"]
        assert index.match({"Z": 1, "a": tw.Interval(2, 10), **extra}) == ["z7", "z9"]
        assert index.match({"Z": 1, "a": [2, 13], **extra}) == ["z13"]


def test_opindex_cnf_has_a_bit_for_each_of_64_clauses():
    pairs = [f"p{k} = 1 AND q{k} = 1" for k in range(6)]
    index = tw.Index("opindex-cnf", strict=True).add("64 clauses", " OR ".join(pairs)).rebuild()
    assert index.match({"p0": 1, "q1": 1, "p2": 1, "q3": 1, "p4": 1, "q5": 1}) == []
    assert index.match({"p5": 1, "q5": 1}) == ["64 clauses"]
    with pytest.raises(tw.BudgetError):
        index.add("65 clauses", f"a = 1 AND ({' OR '.join(pairs)})")
    assert index.rebuild().match({"a": 2}) == []


def test_opindex_of_long_events():
    """Working arrays grow with the longest event, in a batch and alone."""
    index = tw.Index("opindex").add_many({k: f"a = {k} AND b <= {k}" for k in range(0, 3000, 7)}).rebuild()
    long = {"a": list(range(2000)), "b": 1400}
    right = list(range(1400, 2000, 7))
    assert index.match(long) == right
    found = index.match_many([{"a": 7, "b": 3}, long, {"a": 14, "b": 3}, {}]).to_pydict()
    assert found["subscription_id"][0] == 7
    assert sorted(found["subscription_id"][1:-1]) == right
    assert found["event_id"] == [0, *[1] * len(right), 2]
    verify(index)


# k-index


@pytest.mark.parametrize("engine", [KIndex, KIndexWeak])
def test_weak_and_strong_inequality(engine):
    """BE-Tree 7.2: under the weak semantics an inequality is also true where the attribute is missing."""
    assert REGISTRY["kindex"] is KIndex
    store = Store()
    texts = ["a <> 3 AND b = 1", "a NOT IN (3, 5)", "a <> 3 AND c NOT IN (1)", "b = 1", "a > 4 AND a < 7 AND a <> 5"]
    store.append(store.compile(tw.parse(text) for text in texts))
    made = engine(store)
    made.insert(store.alive())
    made.rebuild()
    weak = engine is KIndexWeak
    for event, strong, more in [
        ({"b": 1}, {3}, {0, 1, 2}),
        ({"a": 3, "b": 1}, {3}, set()),
        ({"a": 5}, set(), {2}),
        ({"a": 6}, {1, 4}, {2}),
        ({"a": 4, "c": 1}, {1}, set()),
        ({"a": 4, "c": 2}, {1, 2}, set()),
        ({}, set(), {1, 2}),
    ]:
        events, _ = encode([event], store.attributes, tw.Schema())
        assert set(made.reader().match(events).slot.tolist()) == (strong | more if weak else strong), event


@pytest.mark.slow
def test_ranges_over_budget_are_looked_at_one_by_one(monkeypatch):
    monkeypatch.setattr(import_module("tellwhen.papers.be_tree.kindex.engine"), "MAX_SEGMENTS", 20)
    index = tw.Index("kindex").add_many([(i, f"a = {i}") for i in range(50)])
    index.add_many([("wide", "a >= 5 AND b = 1"), ("narrow", "a BETWEEN 5 AND 9 AND b = 1")]).rebuild()
    assert index._shard.engine._index.unindexed.tolist() == [50]
    assert set(index.match({"a": 7, "b": 1})) == {7, "wide", "narrow"}
    assert set(index.match({"a": 40, "b": 1})) == {40, "wide"}


@pytest.mark.parametrize("built", [False, True])
def test_kindex_and_events_of_several_values(built):
    index = tw.Index("kindex").add("both", "tag = 'red' AND tag = 'large'").add("apart", "price >= 10 AND price <= 4")
    index.add_many({k: f"price = {k}" for k in range(3)})
    if built:
        index.rebuild()
    assert index.match({"tag": ["red", "large"]}) == ["both"]
    assert index.match({"tag": ["red", "blue"]}) == []
    assert index.match({"price": tw.Interval(1, 20)}) == ["apart", 1, 2]
    events = [{"price": 1}, {"price": tw.Interval(1, 20)}, {"tag": "red"}, {"tag": ["large", "red"]}]
    found = index.match_many(events).to_pydict()
    assert sorted(zip(found["event_id"], map(str, found["subscription_id"]), strict=True)) == [
        (0, "1"), (1, "1"), (1, "2"), (1, "apart"), (3, "both"),
    ]  # fmt: skip


def test_a_subscription_is_over_budget_as_a_whole(monkeypatch):
    monkeypatch.setattr(import_module("tellwhen.papers.be_tree.kindex.engine"), "MAX_SEGMENTS", 20)
    index = tw.Index("kindex").add_many([(i, f"a = {i}") for i in range(50)])
    index.add("either", "a >= 5 OR b = 1").rebuild()
    assert index.match({"a": 100, "b": 1}) == ["either"]
    assert index.match({"b": 1}) == ["either"]
    assert index.match({"a": 7, "b": 2}) == [7, "either"]
