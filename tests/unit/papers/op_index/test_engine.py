"""`opindex`: the worked examples of the OpIndex paper, and changes against `scan`."""

import random

import numpy as np
import pytest
from bench.loading import encode_events, store_subscriptions

import tellwhen as tw
from support import verify_index
from tellwhen.containers.batches import EncodedSample, take_first
from tellwhen.encode.events import encode
from tellwhen.engines import create
from tellwhen.papers.op_index.arrays import AT_LEAST, AT_MOST, EQUAL
from tellwhen.papers.op_index.kernels.segments import compute_domain_fraction, compute_signature_bit, find_segment
from tellwhen.workloads import ABEGen, BEGen

pytestmark = pytest.mark.late

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


def list_domains(index):
    return [domain.attribute for domain in index._shard.store.attributes.domains]


def list_pivots(index):
    """Return by attribute the subscriptions that have it as their pivot."""
    found = index._shard.engine._index
    ids = index._shard.ids
    start = found.pivot_start.tolist()
    return {
        name: [ids[slot] for slot in found.conjunction_slot[start[domain] : start[domain + 1]].tolist()]
        for domain, name in enumerate(list_domains(index))
        if start[domain] < start[domain + 1]
    }


def test_example_2_and_figure_4(opindex):
    assert list_pivots(opindex) == {"A": ["S1", "S2", "S4"], "C": ["S3"], "D": ["S5", "S6"]}


def read_predicate_list(index, pivot, operator):
    """Return attribute, operand and subscription of each posting of a list, in their order."""
    found, names = index._shard.engine._index, list_domains(index)
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


def test_example_4(opindex):
    """Lists sorted by attribute and operand; IN is several =, BETWEEN is >= and <=."""
    assert sorted(read_predicate_list(opindex, "A", EQUAL)) == [
        ("A", 2, "S1"), ("A", 2, "S4"), ("B", 3, "S1"), ("B", 6, "S1"), ("B", 9, "S1"),
    ]  # fmt: skip
    assert read_predicate_list(opindex, "A", AT_MOST) == [("A", 8, "S2")]
    assert read_predicate_list(opindex, "A", AT_LEAST) == [("C", 2, "S2")]
    assert read_predicate_list(opindex, "C", EQUAL) == [("C", 6, "S3")]
    assert read_predicate_list(opindex, "C", AT_MOST) == [("B", 4, "S3"), ("E", 12, "S3")]
    assert read_predicate_list(opindex, "C", AT_LEAST) == [("E", 3, "S3")]
    assert sorted(read_predicate_list(opindex, "D", AT_LEAST)) == [("D", 10, "S6"), ("D", 12, "S5")]
    found = opindex._shard.engine._index
    need = {opindex._shard.ids[int(slot)]: int(n) for slot, n in zip(found.conjunction_slot, found.need, strict=True)}
    assert need == {"S1": 2, "S2": 2, "S3": 4, "S4": 1, "S5": 2, "S6": 4}


@pytest.mark.parametrize("segments", [1, 2, 5])
def test_example_3(segments):
    """An attribute leads to its segment, its operand to a bit of the signature: if that is off, nothing is searched."""
    index = tw.Index(f"opindex:segments={segments}")
    index.add_many([(f"{name}{k}", f"{name} = {k} AND Z = 1") for name in "ABCDE" for k in range(8)])
    index.optimize_for([{"Z": 1}] * 2 + [dict.fromkeys("ABCDE", 1)] * 3).rebuild()
    assert set(list_pivots(index)) == {"Z"}
    lists, names = index._shard.engine._index.lists, list_domains(index)
    begin, end = lists.segment_start[names.index("Z") : names.index("Z") + 2].tolist()
    assert end - begin - 1 == segments
    for name in "ABCDE":
        segment = begin + find_segment(compute_domain_fraction(names.index(name), len(names)), segments)
        inside = slice(lists.segments[segment, 0], lists.segments[segment + 1, 0])
        ranks = lists.ranks[inside].tolist()
        assert [lists.operands.domain[rank] for rank in ranks].count(names.index(name)) == 8
        bits = {compute_signature_bit(EQUAL, int(lists.operands.domain[rank]), rank) for rank in ranks}
        assert lists.segments[segment, 1] == sum(bits)
        assert index.match({name: 3, "Z": 1}) == [f"{name}3"]
        assert index.match({name: 9, "Z": 1}) == []


def test_pivots_by_event_frequency():
    """Section 4.1: of its attributes the one that fewest events carry; guessed from subscriptions without events."""
    index = tw.Index("opindex").add_many(TABLE_1).rebuild()
    assert list_pivots(index) == {"A": ["S1", "S2", "S4"], "C": ["S3"], "D": ["S5", "S6"]}
    index.optimize_for([{"A": 1, "C": 1, "D": 1}, {"A": 1, "C": 1, "D": 1, "E": 1}, {"A": 1, "D": 1, "B": 1, "E": 1}])
    index.rebuild()
    assert list_pivots(index) == {"A": ["S4"], "B": ["S1", "S3", "S6"], "C": ["S2"], "E": ["S5"]}
    verify_index(index)
    assert index.match({"A": 2, "B": 6}) == ["S1", "S4"]
    assert index.match({"B": 3, "C": 4, "D": 12, "E": 7}) == ["S5", "S6"]


def test_example_5(opindex):
    """Only C is a pivot of the event: S2 and S5, which match in part, are not touched."""
    event = {"B": 6, "C": 3, "E": 9}
    assert opindex.match(event) == []
    arrays, _ = encode([event], opindex._shard.store.attributes, tw.Schema())
    assert opindex._shard.engine.reader().count_candidates(arrays) == 1


def test_lemma_1(opindex):
    assert opindex.match({"A": 2, "B": 6}) == ["S1", "S4"]
    assert opindex.match({"B": 3, "C": 4, "D": 12, "E": 7}) == ["S5", "S6"]


@pytest.mark.parametrize(
    "spec",
    [
        "opindex",
        "opindex-cnf",
        "opindex:insertion=1",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("opindex-plain", "opindex:segments=7")),
    ],
)
@pytest.mark.parametrize(
    "work", [BEGen(operators="high", dimensions=40), ABEGen(total=500, depth=2, children=3)], ids=repr
)
def test_keeps_its_structure_and_answers(spec, work):
    """Insert, delete, observe and rebuild at random, with more subscriptions than the conformance suite has."""
    rng = random.Random(1)
    store, slots = store_subscriptions(work, 500)
    events = encode_events(work, 40, store)
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
            store.set_typical(EncodedSample(take_first(events, known), np.ones(known)))
        else:
            rivals[0].rebuild()
        rivals[0].verify()
        found, wanted = (rival.reader().match(events) for rival in rivals)
        for e in range(40):
            mine, right = (m.slot[m.start[e] : m.start[e + 1]].tolist() for m in (found, wanted))
            assert sorted(mine) == sorted(right)
    assert len(wanted.slot)


@pytest.mark.parametrize("spec", ["opindex", "opindex-plain", "opindex-cnf"])
def test_of_several_values_and_intervals(spec):
    """Lists shorter than the event and longer ones, and operands that only the lists of other pivots have."""
    index = tw.Index(spec).add_many({f"x{k}": f"X = 1 AND a = {k}" for k in range(20)})
    index.add_many({"between": "Y = 1 AND a BETWEEN 3 AND 5", "not": "Y = 1 AND a NOT IN (3, 4, 9)"})
    index.add("never", " AND ".join(f"{name} = 2" for name in "bcdefgh"))
    index.add_many({f"z{k}": f"Z = {k % 2} AND a = {k}" for k in (7, 9, 11, 13)}).rebuild()
    verify_index(index)
    more = dict.fromkeys("bcdefgh", 1)
    for extra in ({}, more):
        assert index.match({"Y": 1, "a": [9, 4], **extra}) == index.match({"Y": 1, "a": [4, 9], **extra}) == ["between"]
        assert index.match({"Y": 1, "a": [3, 9, 4], **extra}) == ["between"]
        assert index.match({"Y": 1, "a": [8, 2], **extra}) == ["not"]
        assert index.match({"Z": 1, "a": tw.Interval(2, 10), **extra}) == ["z7", "z9"]
        assert index.match({"Z": 1, "a": [2, 13], **extra}) == ["z13"]


@pytest.mark.parametrize("name", ["opindex", "opindex-plain", "opindex-cnf"])
def test_algorithm_1(name):
    """Inserting one subscription after the other gives the same lists, of 32 segments, signed as they grow."""
    work = BEGen(operators="high", dimensions=40)
    store, slots = store_subscriptions(work, 700)
    engines = [create(f"{name}:insertion={inserted}", store) for inserted in (0, 1)]
    for engine in engines:
        engine.insert(slots)
        engine.rebuild()
        engine.verify()
    at_once, inserted = (engine._index for engine in engines)
    for field in ("ranks", "conjunctions"):
        assert np.array_equal(getattr(inserted.lists, field), getattr(at_once.lists, field))
    assert np.array_equal(inserted.conjunction_slot, at_once.conjunction_slot)
    per_list = np.diff(inserted.lists.segment_start)
    assert set(per_list.tolist()) <= ({0, 2} if name == "opindex-plain" else {0, 33})
    assert per_list.max() > 0
    events = encode_events(work, 20, store)
    found, right = (engine.reader().match(events) for engine in engines)
    assert np.array_equal(found.start, right.start)


def test_of_long_events():
    """Working arrays grow with the longest event, in a batch and alone."""
    index = tw.Index("opindex").add_many({k: f"a = {k} AND b <= {k}" for k in range(0, 3000, 7)}).rebuild()
    long = {"a": list(range(2000)), "b": 1400}
    right = list(range(1400, 2000, 7))
    assert index.match(long) == right
    found = index.match_many([{"a": 7, "b": 3}, long, {"a": 14, "b": 3}, {}]).to_pydict()
    assert found["subscription_id"][0] == 7
    assert sorted(found["subscription_id"][1:-1]) == right
    assert found["event_id"] == [0, *[1] * len(right), 2]
    verify_index(index)
