"""Do generators make what they are asked for, and the same on every machine?"""

import zlib

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.compile.events import encode
from tellwhen.compile.subscriptions import Store
from tellwhen.engines import create
from tellwhen.workloads import BEGen
from tellwhen.workloads.begen import CLASSES
from tellwhen.workloads.conjunctions import BETWEEN, EQ, IN, SIGNS
from tellwhen.workloads.draws import Draws, zipf


def as_events(work, block, count):
    attributes, values = work.events(block, count)
    return [
        {f"a{a}": v for a, v in zip(names, found, strict=True)}
        for names, found in zip(attributes.tolist(), values.tolist(), strict=True)
    ]


def indexed(work, made, name):
    """An engine over the arrays, without a detour through text."""
    store = Store()
    for attribute in work.names:
        store.attributes.line(store.attributes.of(attribute), "int")
    count = len(made.start) - 1
    code = np.arange(len(made.attribute), dtype=np.int32)
    slots = store.append_arrays(made.literals(), np.zeros(count, np.uint8), made.start.copy(), code)
    engine = create(name, store)
    engine.insert(slots)
    return engine, store


CHECKSUM = 3908254498
"""Of two hundred subscriptions, as text."""


def test_the_same_bytes_everywhere():
    assert Draws(7, "test", 3).integers(0, 1000, 5).tolist() == [500, 279, 831, 355, 284]
    work = BEGen(seed=5, operators="high", skew=1.0)
    text = "\n".join(work.subscriptions(2, 200).texts(work.names))
    assert zlib.crc32(text.encode()) == CHECKSUM
    assert text != "\n".join(work.subscriptions(3, 200).texts(work.names))
    assert text != "\n".join(BEGen(seed=6).subscriptions(2, 200).texts(work.names))


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0])
def test_subsets_are_distinct_and_weighted(skew):
    weights = zipf(50, skew)
    rows = Draws(1, "subsets").subsets(weights, 5, 4000)
    assert all(len(set(row)) == 5 for row in rows.tolist())
    first = np.bincount(rows[:, 0], minlength=50) / 4000
    assert np.abs(first - weights / weights.sum()).max() < 0.03
    slope = np.polyfit(np.log(np.arange(1, 11)), np.log(first[:10] + 1e-9), 1)[0]
    assert abs(slope + skew) < 0.25


@pytest.mark.parametrize("match", [0.1, 0.01, 0.002])
@pytest.mark.parametrize("operators", ["min", "low", "med", "high"])
def test_match_probability_and_sizes(match, operators):
    work = BEGen(match=match, operators=operators)
    made = work.subscriptions(0, 20_000)
    sizes = np.diff(made.start)
    assert sizes.min() >= 1
    assert abs(sizes.mean() - work.size) < 0.1
    share = np.bincount(made.operator, minlength=len(SIGNS)) / len(made.operator)
    if operators == "min":
        assert share[EQ] == 1
    else:
        assert abs(share[EQ] - work.equality) < 0.02
        each = (1 - work.equality) / len(CLASSES[operators])
        assert all(abs(share[operator] - each) < 0.02 for operator in CLASSES[operators])
    engine, store = indexed(work, made, "counting")
    events, _ = encode(as_events(work, 0, 400), store.attributes, tw.Schema())
    found = len(engine.reader().match(events).slot) / 400 / 20_000
    assert abs(found / match - 1) < 0.1


def test_arrays_and_text_mean_the_same():
    work = BEGen(operators="high", dimensions=16, event_size=12, cardinality=10, match=0.05)
    made = work.subscriptions(1, 500)
    texts = made.texts(work.names)
    index = tw.Index("scan").add_many(enumerate(texts))
    engine, store = indexed(work, made, "scan")
    given = as_events(work, 0, 40)
    events, _ = encode(given, store.attributes, tw.Schema())
    start, slot = engine.reader().match(events)
    parsed = [tw.parse(text) for text in texts]
    for e, event in enumerate(given):
        want = [i for i, expression in enumerate(parsed) if expression.evaluate(event) is True]
        assert sorted(slot[start[e] : start[e + 1]].tolist()) == want == index.match(event)


def test_ranges_have_the_width_asked_for():
    for share in (0.06, 0.12, 0.5):
        work = BEGen(range=share, cardinality=1000)
        made = work.subscriptions(0, 20_000)
        between = np.flatnonzero(made.operator == BETWEEN)
        low, high = made.operand[made.first[between]], made.operand[made.first[between] + 1]
        assert abs((high - low + 1).mean() / 1000 / share - 1) < 0.05
        members = np.diff(made.first)[made.operator == IN]
        assert 1 <= members.min() <= members.max() <= 6


def test_parameters_that_cannot_be():
    for wrong in ({"size": 20}, {"event_size": 500}, {"operators": "all"}, {"match": 0}, {"cardinality": 1}):
        with pytest.raises(ValueError):
            BEGen(**wrong)
