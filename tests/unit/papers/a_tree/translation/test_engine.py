"""The engine `translation`: the paper's worked example, its budget, and what it says of its cost."""

from itertools import pairwise

import numpy as np
import pytest
from bench.loading import encode_events, store_subscriptions

import tellwhen as tw
from tellwhen.engines import create
from tellwhen.papers.a_tree.translation.engine import BASES
from tellwhen.workloads import ABEGen

pytestmark = pytest.mark.late

EXAMPLE = "(P1 = 1 OR P2 = 1 OR P3 = 1) AND P4 = 1 AND (P5 = 1 OR P6 = 1)"


def test_the_example_of_section_2():
    """Six conjunctions: P1, P2 or P3, with P4, and with P5 or P6."""
    index = tw.Index("translation").add("one", EXAMPLE).rebuild()
    slot, start, predicate = index._shard.engine.inner.translator.conjunctions
    found = [sorted((1 + predicate[a:b]).tolist()) for a, b in pairwise(start.tolist())]
    assert sorted(found) == [[1, 4, 5], [1, 4, 6], [2, 4, 5], [2, 4, 6], [3, 4, 5], [3, 4, 6]]
    assert slot.tolist() == [-1] * 6
    assert index._shard.engine.stats()["conjunctions per expression"] == 6
    assert index.match({"P3": 1, "P4": 1, "P6": 1}) == ["one"]
    assert index.match({"P3": 1, "P4": 1}) == []
    index.add_many({"plain": "P4 = 1 AND P5 = 1", "gone": EXAMPLE}).remove("gone")
    assert index._shard.engine.stats()["conjunctions per expression"] == 3.5


def groups(sizes):
    """An AND of ORs: as many conjunctions as the product of the sizes."""
    return " AND ".join(f"({' OR '.join(f'g{g}_{k} = 1' for k in range(size))})" for g, size in enumerate(sizes))


def test_the_budget_is_an_option(tmp_path):
    expressions = {"256": groups([4, 4, 4, 4]), "320": groups([4, 4, 4, 5]), "6": EXAMPLE}
    event = {f"g{g}_0": 1 for g in range(4)}
    index = tw.Index("translation").add_many(expressions).rebuild()
    assert len(index._shard.engine) == 2  # the default engine has the other one
    assert index.match(event) == ["256", "320"]
    with pytest.raises(tw.BudgetError, match="'320' is too complex for translation"):
        tw.Index("translation", strict=1).add_many(expressions)
    few = tw.Index("translation", conjunctions=6, base=1).add_many(expressions)
    few.save(tmp_path / "few")
    few = tw.Index.load(tmp_path / "few")
    few.add("7", "x = 1 AND (" + " OR ".join(f"y = {k} AND z = {k}" for k in range(7)) + ")")
    assert len(few._shard.engine) == 1
    assert sorted(few.match(event | {"x": 1, "y": 3, "z": 3})) == ["256", "320", "7"]


@pytest.mark.parametrize("number", range(len(BASES)))
def test_any_engine_of_conjunctions_may_be_underneath(number):
    work = ABEGen(total=300, depth=2)
    store, slots = store_subscriptions(work, 300)
    events = encode_events(work, 40, store)
    engine, scan = create(f"translation:base={number}", store), create("scan", store)
    assert engine.inner.name == BASES[number]
    assert engine.can_index(slots).all()
    for one in (engine, scan):
        one.insert(slots)
    engine.verify()
    found, wanted = (one.reader().match(events) for one in (engine, scan))
    assert np.array_equal(found.start, wanted.start)
    assert sorted(found.slot.tolist()) == sorted(wanted.slot.tolist())


def test_costs_are_told_apart():
    work = ABEGen(total=500)
    store, slots = store_subscriptions(work, 500)
    engine = create("translation", store)
    engine.insert(slots[engine.can_index(slots)])
    stats = engine.stats()
    assert stats["index bytes"] + stats["translated bytes"] == stats["bytes"]
    assert min(stats["index bytes"], stats["translated bytes"]) > 1_000
    assert stats["translate seconds"] > 0
    assert stats["build seconds"] > 0
    assert 2 < stats["conjunctions per expression"] < 256
    before = stats["translate seconds"]
    engine.rebuild()
    assert engine.stats()["translate seconds"] == before  # translated once
    assert engine.stats()["build seconds"] > stats["build seconds"]
