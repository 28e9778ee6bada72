"""Compaction drops removed subscriptions, and keeps scores, payloads and changes made meanwhile."""

import random

import numpy as np
import pytest

import tellwhen as tw
from support import Known, limit_index, wait_for_upkeep
from tellwhen.index.limits import CompactionLimits
from tellwhen.index.maintenance.compaction import Compaction
from tellwhen.testing.engine_checks import check_matches, random_event, random_expression

pytestmark = pytest.mark.late


def test_compaction_forgets_the_removed(engine):
    rng = random.Random(5)
    index = limit_index(compaction=CompactionLimits(removed_slots_min=20))(engine)
    known = {}
    for step in range(30):
        for i in range(20):
            expression = random_expression(rng, depth=2) if i % 2 else tw.col("c.d") == f"text {step} {i}"
            try:
                index.add(f"{step}-{i}", expression)
                known[f"{step}-{i}"] = expression
            except tw.BudgetError:
                pass
        gone = rng.sample(sorted(known), k=min(len(known), 19))
        index.remove_many(gone)
        for id_ in gone:
            del known[id_]
        check_matches(index, known, [random_event(rng) for _ in range(3)] + [{"c.d": f"text {step} 2"}])
    assert len(index._shard.store) < 300
    assert len(index._shard.store.attributes.by_name["c.d"].string.keys) < 300
    assert all(index[id_] == expression for id_, expression in known.items())


def test_what_was_computed_for_removed_ones_is_forgotten():
    index = tw.Index().add_many({n: f"x = {n}" for n in range(200)})
    index.add_many({f"c{n}": f"fuel * {n} > 5" for n in range(2, 300)})
    index.remove_many([f"c{n}" for n in range(2, 300)])
    wait_for_upkeep(index)
    assert index.inspect.describe_engine().computed_values == 0
    assert "fuel" not in "".join(index.inspect.get_types())
    assert index.match({"x": 7, "fuel": 100}) == [7]


def test_rebuild_forgets_what_was_removed():
    index = tw.Index().add_many({n: f"van = {n} AND a + {n} > 2" for n in range(20)}).add("new", "plate = 1")
    index.remove_many(range(20))
    assert index.inspect.describe_engine().computed_values == 20
    assert list(index.inspect.get_types()) == ["plate"]  # even before
    assert not index.inspect.check_attributes([{"plate": 1}])
    index.rebuild()
    assert index.inspect.describe_engine().computed_values == 0
    assert index.match({"plate": 1, "van": 3}) == ["new"]
    assert index.inspect.get_stats()["attributes"] == 1


def test_a_compaction_that_catches_up_keeps_payloads():
    index = tw.Index().add_many([(i, "x > 1", None, None, {"n": i}) for i in range(9)]).remove_many(range(4))
    work = Compaction(index._shard)
    work.run()
    index.add("late", "x > 1", payload={"n": "late"}).add(5, "x > 0", payload={"n": "new"}, replace=True)
    while not work.finish():
        work.run()
    kept = {work.result.ids[slot]: work.result.payloads.get(slot) for slot in work.result.store.find_alive().tolist()}
    assert kept == {id_: index.get_payload(id_) for id_ in index}


def test_a_compaction_that_catches_up_keeps_scores_and_positions():
    index = tw.Index().add_many([(i, "x > 1", float(i)) for i in range(9)]).remove_many(range(4))
    work = Compaction(index._shard)
    work.run()
    index.add(6, "x > 0", score=3.0, replace=True).add("late", "x > 1", score=1.0).set_scores({5: 50.0})
    while not work.finish():
        work.run()
    new = work.result
    live = new.store.find_alive()
    scores = dict(
        zip([new.ids[slot] for slot in live.tolist()], new.store.scores.get_scores(live).tolist(), strict=True)
    )
    assert scores == {4: 4.0, 5: 50.0, 6: 3.0, 7: 7.0, 8: 8.0, "late": 1.0}
    by_position = live[np.argsort(new.ids.ordinals.get_many(live))]
    assert [new.ids[slot] for slot in by_position.tolist()] == list(index) == [4, 5, 6, 7, 8, "late"]
    assert new.ids.ordinals.next == index._shard.ids.ordinals.next


def test_compaction_keeps_payloads():
    compaction = CompactionLimits(removed_slots_min=10, inline_subscriptions_max=0)
    index = limit_index(compaction=compaction)().add_many([(i, "x > 1", None, None, {"n": i}) for i in range(500)])
    before = index._shard
    index.remove_many(range(450))
    index.add("late", "x > 1", payload={"n": "late"})
    wait_for_upkeep(index)
    assert index._shard is not before
    wanted = [*range(450, 500), "late"]
    assert index.match_with_payloads({"x": 2}) == [(i, {"n": i}) for i in wanted]
    assert index.match({"x": 2}, where={"n": [470, "late"]}) == [470, "late"]
    counts = index.count_by_subscription([{"x": 2}, {"x": 0}], where={"n": [470, "late"]}).to_pydict()
    assert counts["count"] == [1, 1]


@pytest.mark.parametrize("is_background", [False, True])
def test_compaction_keeps_scores(is_background):
    compaction = CompactionLimits(inline_subscriptions_max=0) if is_background else CompactionLimits()
    index, known = limit_index(compaction=compaction)(), Known()
    for i in range(9000):
        known.add(i, tw.parse(f"x > {i % 10}"), i % 13)
    index.add_many((i, e, known.scores[i], {"x": i}) for i, e in known.expressions.items())
    gone = [i for i in range(9000) if i % 10 < 6]
    index.remove_many(gone)
    index.set_score(9, 77)
    for i in gone:
        known.remove(i)
    known.scores[9] = 77.0
    wait_for_upkeep(index)
    assert len(index._shard.store) < 9000
    assert index.top_k({"x": 9.5}, 30) == known.best({"x": 9.5}, 30)
    assert index.get_subscription(17).weights == {"x": 17.0}
