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
from tellwhen.warehouse.routes import (
    STRETCHES_PER_SHARD_MAX,
    Cells,
    Router,
    Routes,
    ShardRoutes,
    Stretches,
    coarsen_stretches,
    find_covers,
    merge_routes,
    sort_and_merge_stretches,
)
from tellwhen.warehouse.stages import CUTS_PER_DOMAIN_MAX, EVERYWHERE, Shares, choose_stages, estimate_shares


def compile_all(expressions):
    store = Store()
    store.append(store.compile([tw.parse(e) if isinstance(e, str) else e for e in expressions]))
    return store


def choose_all(store, shards, profile=None, cuts_per_domain_max=CUTS_PER_DOMAIN_MAX):
    """Choose the stages for all subscriptions of a store."""
    if profile is not None:
        store.set_typical(TypicalEvents(profile, store))
    snapshot, typical = store.snapshot(), store.typical()
    subscriptions = extract(snapshot, store.find_alive())
    marginals = typical.marginals_if_known(snapshot.domains)
    shares = estimate_shares(subscriptions, snapshot.domains, marginals, cuts_per_domain_max)
    return choose_stages(subscriptions, shares, shards)


def place(store, stages, shards):
    """Return the shard of every subscription, in the order of the line."""
    places = stages.find_places(extract(store.snapshot(), store.find_alive()))
    order = np.lexsort((places.point, places.stage))
    shard = np.empty(len(order), dtype=np.int64)
    shard[order] = np.arange(len(order)) * shards // len(order)
    return shard


def find_routes(store, stages, shard, shards, gaps_max=STRETCHES_PER_SHARD_MAX):
    """Return the routes of shards with these subscriptions, in two parts, and written as bytes and read again."""
    covers = find_covers(store, stages)
    found = []
    for number in range(shards):
        slots = np.flatnonzero(shard == number).astype(np.int32)
        parts = [covers.find_routes(part) for part in np.array_split(slots, 2)]
        routes = merge_routes(parts, stages.shares, gaps_max)
        found.append(ShardRoutes.from_bytes(routes.is_always, routes.to_bytes()))
    return Routes.from_shards(found)


def find_shards(store, routes, events):
    return Router(routes, len(store.attributes.domains)).find_shards(encode(events, store.attributes, Schema())[0])


def find_losses(store, expressions, routes, shard, events):
    """Return the pairs of an event and a subscription that it satisfies without meeting its shard."""
    index = tw.Index("scan").add_many(enumerate(expressions))
    meets = find_shards(store, routes, events)
    pairs = [(e, s) for e, event in enumerate(events) for s in index.match(event)]
    assert pairs
    return [(e, s) for e, s in pairs if not meets[shard[s], e]]


SHARDS = 16


@pytest.mark.parametrize("has_profile", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("gaps_max", [1, pytest.param(4096, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 8), marks=pytest.mark.slow)])
def test_no_match_is_lost(has_profile, gaps_max, seeds):
    """Every operator and connective, values of every family, several values, intervals; coarse routes, too."""
    for seed in seeds:
        rng = random.Random(seed)
        expressions = [random_expression(rng, rng.randint(1, 4)) for _ in range(200)]
        events = [random_event(rng) for _ in range(150)]
        store = compile_all(expressions)
        profile = Profile.from_events([random_event(rng) for _ in range(50)]) if has_profile else None
        stages = choose_all(store, SHARDS, profile)
        # Wherever a subscription is: chance is the worst placement.
        for shard in (place(store, stages, SHARDS), np.array([rng.randrange(SHARDS) for _ in expressions])):
            routes = find_routes(store, stages, shard, SHARDS, gaps_max)
            assert find_losses(store, expressions, routes, shard, events) == []
            assert len(routes.stretches.domain) <= SHARDS * (gaps_max + len(store.attributes.domains))


def test_every_stretch_counts():
    """Routes without one of their stretches lose a match that only this one leads to."""
    expressions = [f"a = {i} AND b > 0" for i in range(0, 64, 2)] + ["s = 'x' OR t IS NULL", "TRUE"]
    events = [{"a": i, "b": 1, "t": 1} for i in range(0, 64, 2)] + [{"s": "x", "t": 1}, {}]
    store = compile_all(expressions)
    stages = choose_all(store, 4)
    shard = place(store, stages, 4)
    routes = find_routes(store, stages, shard, 4)
    assert find_losses(store, expressions, routes, shard, events) == []
    assert routes.is_always.tolist() == [0, 0, 0, 1]
    for dropped in np.flatnonzero(routes.start[3] > np.arange(len(routes.stretches.domain))):
        kept = [routes.get_shard(number) for number in range(4)]
        owner = int(np.searchsorted(routes.start, dropped, side="right")) - 1
        is_kept = np.arange(routes.start[owner], routes.start[owner + 1]) != dropped
        kept[owner] = ShardRoutes(False, kept[owner].stretches.select(np.flatnonzero(is_kept)))
        assert find_losses(store, expressions, Routes.from_shards(kept), shard, events) != []


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
    store = compile_all(expressions)
    stages = choose_all(store, SHARDS, Profile.from_events([event() for _ in range(300)]) if has_profile else None)
    shard = place(store, stages, SHARDS)
    routes = find_routes(store, stages, shard, SHARDS)
    found = find_shards(store, routes, events).sum(axis=0).mean()
    assert found < 2.5
    expected = sum(routes.get_shard(number).estimate_share(stages.shares) for number in range(SHARDS))
    if has_profile:
        assert abs(found - expected) < 0.5


def test_more_constants_than_spaces_are_not_counted_again_and_again():
    store = compile_all([f"user = {number}" for number in range(2_000)])
    profile = Profile.from_events([{"user": number} for number in range(0, 2_000, 7)])
    stages = choose_all(store, SHARDS, profile, cuts_per_domain_max=64)
    routes = find_routes(store, stages, place(store, stages, SHARDS), SHARDS)
    expected = sum(routes.get_shard(number).estimate_share(stages.shares) for number in range(SHARDS))
    found = find_shards(store, routes, [{"user": number} for number in range(0, 2_000, 3)]).sum(axis=0).mean()
    assert abs(found - expected) < 0.5


def test_the_narrow_predicate_decides():
    """An equality on a large domain rather than a range, a complement, or one of few values."""
    texts = [f"NOT b = {i % 5} AND a = {i} AND c IN (1, 2) AND d > {i % 50}" for i in range(100)]
    store = compile_all([*texts, "TRUE", "a > 0 AND a < 0", "a = 1 OR d = 2", "a = 7 OR a = 8", "a = 1 OR a = 99"])
    stages = choose_all(store, 4)
    stage, point, covers = stages.find_places(extract(store.snapshot(), store.find_alive()))
    assert (stage[:100] == 0).all()
    assert point[:100].tolist() == list(range(0, 200, 2))
    assert stage[100] == EVERYWHERE
    assert np.diff(covers.start)[100] == 0
    assert stage[103] == 0
    assert (stage[[102, 104]] >= len(stages.number)).all()
    names = [store.attributes.domains[domain].attribute for domain in stages.find_domains(stage[[0, 102, 103]])]
    assert names == ["a", "a", "a"]
    assert stages.find_domains(np.array([EVERYWHERE])).tolist() == [-1]


def test_a_domain_that_is_new():
    """Subscriptions that are added later may have domains that the stages do not know."""
    store = compile_all([f"a = {i}" for i in range(20)])
    stages = choose_all(store, 4)
    store.append(store.compile([tw.parse("a = 5 AND z = 'new'"), tw.parse("z > 'm' OR y = 1")]))
    found = stages.find_places(extract(store.snapshot(), store.find_alive()))
    assert (found.stage[20:] >= len(stages.number)).all()
    routes = find_routes(store, stages, np.zeros(22, np.int64), 1)
    assert find_shards(store, routes, [{"z": "new"}, {"y": 1}, {"z": "a"}, {"a": 99}, {"a": 7}]).tolist() == [
        [1, 1, 0, 0, 1]
    ]


def test_labels_that_move():
    store = compile_all([f"s = 'w{i:03}'" for i in range(0, 100, 2)])
    stages = choose_all(store, 4)
    domain = store.attributes.by_name["s"].string.domain
    before = store.attributes.get_dictionary(domain)
    after, moves = before.relabel([f"w{i:03}" for i in range(1, 100, 2)])
    found = stages.move_labels({domain: moves})
    labels = [after.labels[key] for key in before.keys]
    share = found.shares.estimate(np.full(50, domain, np.int32), np.array(labels), np.array(labels))
    old = np.array([before.labels[key] for key in before.keys])
    assert share.tolist() == stages.shares.estimate(np.full(50, domain, np.int32), old, old).tolist()


def stretches(*triples):
    domain, low, high = zip(*triples, strict=True)
    return Stretches(np.array(domain, np.int32), np.array(low, np.int64), np.array(high, np.int64))


def list_rows(found):
    return list(zip(*(array.tolist() for array in found), strict=True))


def test_stretches_are_united_and_coarsened():
    given = stretches((1, 5, HIGHEST), (0, 8, 9), (0, 1, 3), (0, 4, 5), (0, 2, 2), (1, LOWEST, 3), (1, 7, HIGHEST))
    merged = sort_and_merge_stretches(given)
    assert list_rows(merged) == [(0, 1, 5), (0, 8, 9), (1, LOWEST, 3), (1, 5, HIGHEST)]
    shares = Shares(np.array([0, 2, 2]), np.array([6, 8]), np.array([0.0, 0.5, 0.6, 0.8, 1.0]))
    assert list_rows(coarsen_stretches(merged, shares, 2)) == list_rows(merged)
    assert list_rows(coarsen_stretches(merged, shares, 1)) == [
        (0, 1, 9),
        (1, LOWEST, 3),
        (1, 5, HIGHEST),
    ]
    assert list_rows(coarsen_stretches(merged, shares, 0)) == [(0, 1, 9), (1, LOWEST, HIGHEST)]


def test_cells():
    cells = Cells(np.array([0, 0, 2]), np.array([5, 9, LOWEST]), np.array([0, 1, 2, 4, 5]), np.array([0, 0, 1, 2, 2]))
    stage, point = np.array([0, 2, 0, 0, 1, EVERYWHERE, 0]), np.array([4, -7, 5, 9, 3, 0, LOWEST])
    assert cells.find_cells(stage, point).tolist() == [0, 3, 1, 2, 2, 3, 0]
    assert cells.find_cells(stage[:0], point[:0]).tolist() == []
    assert cells.list_shards() == [[0], [0], [1, 2], [2]]
    assert cells.replace_shards([[0], [1], [1], [4, 5]]).list_shards() == [[0], [1], [1], [4, 5]]
