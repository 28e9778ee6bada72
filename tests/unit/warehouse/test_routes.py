"""Does an event meet every shard with a subscription that it satisfies, and few others?"""

import random

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.compile.extract import extract
from tellwhen.compile.store import Store
from tellwhen.encode.events import encode
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.language.schema import Schema
from tellwhen.profile import Profile, TypicalEvents
from tellwhen.testing.engine_checks import random_event, random_expression
from tellwhen.warehouse import routes as module
from tellwhen.warehouse.routes import Cells, Router, Routes, ShardRoutes, Stretches, coarsened, routes_of, united
from tellwhen.warehouse.stages import EVERYWHERE, Shares, chosen_stages, expected_shares


def stored(expressions):
    store = Store()
    store.append(store.compile([tw.parse(e) if isinstance(e, str) else e for e in expressions]))
    return store


def staged(store, shards, profile=None):
    """The stages for all subscriptions of a store."""
    if profile is not None:
        store.expect(TypicalEvents(profile, store))
    snapshot, typical = store.snapshot(), store.typical()
    some = extract(snapshot, store.alive())
    marginals = typical.marginals_if_known(snapshot.domains)
    return chosen_stages(some, expected_shares(some, snapshot.domains, marginals), shards)


def placed(store, stages, shards):
    """The shard of every subscription, in the order of the line."""
    found = stages.find(extract(store.snapshot(), store.alive()))
    order = np.lexsort((found.point, found.stage))
    shard = np.empty(len(order), dtype=np.int64)
    shard[order] = np.arange(len(order)) * shards // len(order)
    return shard


def routed(store, stages, shard, shards):
    """The routes of shards that have these subscriptions."""
    found = []
    for number in range(shards):
        one = Store()
        one.attributes = store.attributes
        one.adopt(extract(store.snapshot(), np.flatnonzero(shard == number).astype(np.int32)))
        routes = routes_of(one, stages)
        found.append(ShardRoutes.from_bytes(routes.is_always, routes.to_bytes()))
    return Routes.of(found)


def met(store, routes, events):
    return Router(routes, len(store.attributes.domains)).met(encode(events, store.attributes, Schema())[0])


def losses(store, expressions, routes, shard, events):
    """Pairs of an event and a subscription that it satisfies without meeting its shard."""
    index = tw.Index("scan").add_many(enumerate(expressions))
    seen = met(store, routes, events)
    pairs = [(e, s) for e, event in enumerate(events) for s in index.match(event)]
    assert pairs
    return [(e, s) for e, s in pairs if not seen[shard[s], e]]


SHARDS = 16


@pytest.mark.parametrize("has_profile", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("most", [1, pytest.param(4096, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 8), marks=pytest.mark.slow)])
def test_no_match_is_lost(has_profile, most, seeds, monkeypatch):
    """Every operator and connective, values of every family, several values, intervals; coarse routes, too."""
    monkeypatch.setattr(module, "MAX_STRETCHES", most)
    for seed in seeds:
        rng = random.Random(seed)
        expressions = [random_expression(rng, rng.randint(1, 4)) for _ in range(200)]
        events = [random_event(rng) for _ in range(150)]
        store = stored(expressions)
        profile = Profile.from_events([random_event(rng) for _ in range(50)]) if has_profile else None
        stages = staged(store, SHARDS, profile)
        # Wherever a subscription is: chance is the worst placement.
        for shard in (placed(store, stages, SHARDS), np.array([rng.randrange(SHARDS) for _ in expressions])):
            routes = routed(store, stages, shard, SHARDS)
            assert losses(store, expressions, routes, shard, events) == []
            assert len(routes.stretches.domain) <= SHARDS * (most + len(store.attributes.domains))


def test_every_stretch_counts(monkeypatch):
    """Routes without one of their stretches lose a match that only this one leads to."""
    expressions = [f"a = {i} AND b > 0" for i in range(0, 64, 2)] + ["s = 'x' OR t IS NULL", "TRUE"]
    events = [{"a": i, "b": 1, "t": 1} for i in range(0, 64, 2)] + [{"s": "x", "t": 1}, {}]
    store = stored(expressions)
    stages = staged(store, 4)
    shard = placed(store, stages, 4)
    routes = routed(store, stages, shard, 4)
    assert losses(store, expressions, routes, shard, events) == []
    assert routes.is_always.tolist() == [0, 0, 0, 1]
    for dropped in np.flatnonzero(routes.start[3] > np.arange(len(routes.stretches.domain))):
        kept = [routes.shard(number) for number in range(4)]
        owner = int(np.searchsorted(routes.start, dropped, side="right")) - 1
        is_kept = np.arange(routes.start[owner], routes.start[owner + 1]) != dropped
        kept[owner] = ShardRoutes(False, kept[owner].stretches.chosen(np.flatnonzero(is_kept)))
        assert losses(store, expressions, Routes.of(kept), shard, events) != []


@pytest.mark.parametrize("has_profile", [pytest.param(False, marks=pytest.mark.slow), True])
def test_events_meet_few_shards(has_profile):
    rng = random.Random(1)

    def event():
        return {"user": rng.randrange(1000), "day": rng.randrange(7), "price": rng.uniform(0, 100), "shop": "s"}

    def expression():
        low = rng.uniform(0, 90)
        return f"user = {rng.randrange(1000)} AND day <> 3 AND price BETWEEN {low} AND {low + 9} AND shop = 's'"

    expressions, events = [expression() for _ in range(800)], [event() for _ in range(300)]
    expressions[:40] = [f"price > {99 + i / 100}" for i in range(40)]
    store = stored(expressions)
    stages = staged(store, SHARDS, Profile.from_events([event() for _ in range(300)]) if has_profile else None)
    shard = placed(store, stages, SHARDS)
    routes = routed(store, stages, shard, SHARDS)
    found = met(store, routes, events).sum(axis=0).mean()
    assert found < 2.5
    expected = sum(routes.shard(number).expected(stages.shares) for number in range(SHARDS))
    if has_profile:
        assert abs(found - expected) < 0.5


def test_more_constants_than_spaces_are_not_counted_again_and_again(monkeypatch):
    monkeypatch.setattr("tellwhen.warehouse.stages.MAX_CUTS", 64)
    store = stored([f"user = {number}" for number in range(2_000)])
    stages = staged(store, SHARDS, Profile.from_events([{"user": number} for number in range(0, 2_000, 7)]))
    routes = routed(store, stages, placed(store, stages, SHARDS), SHARDS)
    expected = sum(routes.shard(number).expected(stages.shares) for number in range(SHARDS))
    found = met(store, routes, [{"user": number} for number in range(0, 2_000, 3)]).sum(axis=0).mean()
    assert abs(found - expected) < 0.5


def test_the_narrow_predicate_decides():
    """An equality on a large domain rather than a range, a complement, or one of few values."""
    texts = [f"NOT b = {i % 5} AND a = {i} AND c IN (1, 2) AND d > {i % 50}" for i in range(100)]
    store = stored([*texts, "TRUE", "a > 0 AND a < 0", "a = 1 OR d = 2", "a = 7 OR a = 8", "a = 1 OR a = 99"])
    stages = staged(store, 4)
    stage, point, covers = stages.find(extract(store.snapshot(), store.alive()))
    assert (stage[:100] == 0).all()
    assert point[:100].tolist() == list(range(0, 200, 2))
    assert stage[100] == EVERYWHERE
    assert np.diff(covers.start)[100] == 0
    assert stage[103] == 0
    assert (stage[[102, 104]] >= len(stages.number)).all()
    names = [store.attributes.domains[domain].attribute for domain in stages.domains(stage[[0, 102, 103]])]
    assert names == ["a", "a", "a"]
    assert stages.domains(np.array([EVERYWHERE])).tolist() == [-1]


def test_a_domain_that_is_new():
    """Subscriptions that are added later may have domains that the stages do not know."""
    store = stored([f"a = {i}" for i in range(20)])
    stages = staged(store, 4)
    store.append(store.compile([tw.parse("a = 5 AND z = 'new'"), tw.parse("z > 'm' OR y = 1")]))
    found = stages.find(extract(store.snapshot(), store.alive()))
    assert (found.stage[20:] >= len(stages.number)).all()
    routes = Routes.of([routes_of(store, stages)])
    assert met(store, routes, [{"z": "new"}, {"y": 1}, {"z": "a"}, {"a": 99}, {"a": 7}]).tolist() == [[1, 1, 0, 0, 1]]


def test_labels_that_move():
    store = stored([f"s = 'w{i:03}'" for i in range(0, 100, 2)])
    stages = staged(store, 4)
    domain = store.attributes.by_name["s"].string.domain
    before = store.attributes.dictionary(domain)
    after, moves = before.relabelled([f"w{i:03}" for i in range(1, 100, 2)])
    found = stages.moved({domain: moves})
    labels = [after.labels[key] for key in before.keys]
    share = found.shares.between(np.full(50, domain, np.int32), np.array(labels), np.array(labels))
    old = np.array([before.labels[key] for key in before.keys])
    assert share.tolist() == stages.shares.between(np.full(50, domain, np.int32), old, old).tolist()


def stretches(*triples):
    domain, low, high = zip(*triples, strict=True)
    return Stretches(np.array(domain, np.int32), np.array(low, np.int64), np.array(high, np.int64))


def listed(found):
    return list(zip(*(array.tolist() for array in found), strict=True))


def test_stretches_are_united_and_coarsened():
    given = stretches((1, 5, HIGHEST), (0, 8, 9), (0, 1, 3), (0, 4, 5), (0, 2, 2), (1, LOWEST, 3), (1, 7, HIGHEST))
    assert listed(united(given)) == [(0, 1, 5), (0, 8, 9), (1, LOWEST, 3), (1, 5, HIGHEST)]
    shares = Shares(np.array([0, 2, 2]), np.array([6, 8]), np.array([0.0, 0.5, 0.6, 0.8, 1.0]))
    assert listed(coarsened(united(given), shares, 2)) == listed(united(given))
    assert listed(coarsened(united(given), shares, 1)) == [(0, 1, 9), (1, LOWEST, 3), (1, 5, HIGHEST)]
    assert listed(coarsened(united(given), shares, 0)) == [(0, 1, 9), (1, LOWEST, HIGHEST)]


def test_cells():
    cells = Cells(np.array([0, 0, 2]), np.array([5, 9, LOWEST]), np.array([0, 1, 2, 4, 5]), np.array([0, 0, 1, 2, 2]))
    stage, point = np.array([0, 2, 0, 0, 1, EVERYWHERE, 0]), np.array([4, -7, 5, 9, 3, 0, LOWEST])
    assert cells.of(stage, point).tolist() == [0, 3, 1, 2, 2, 3, 0]
    assert cells.of(stage[:0], point[:0]).tolist() == []
    assert cells.shards() == [[0], [0], [1, 2], [2]]
    assert cells.having([[0], [1], [1], [4, 5]]).shards() == [[0], [1], [1], [4, 5]]
