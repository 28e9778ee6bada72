"""Do generators have the parameters that were asked for, and make the same data on every machine?"""

import zlib
from collections import Counter

import numpy as np
import pytest
from bench.loading import encode_events, store_subscriptions

import tellwhen as tw
from tellwhen.engines import create
from tellwhen.profile import Profile
from tellwhen.workloads import (
    BLOCK,
    WORKLOADS,
    ABEGen,
    Ads,
    AdTrees,
    BEGen,
    Catalogue,
    Clauses,
    Flights,
    Groups,
    Keywords,
    Prefixes,
    Products,
    QGrams,
    Ranked,
    Targeting,
    Varied,
    take_events,
    take_subscriptions,
)
from tellwhen.workloads.ad_trees import OCCASION, ROOT
from tellwhen.workloads.base import ArrayWorkload
from tellwhen.workloads.begen import CLASSES
from tellwhen.workloads.conjunctions import BETWEEN, EQ, IN, SIGNS
from tellwhen.workloads.draws import Draws, HashedDraws, compute_zipf_ranks, compute_zipf_weights
from tellwhen.workloads.trees import choose_pool_size, expect_distinct

pytestmark = pytest.mark.late


def matches(work, count, events):
    """Matches per event."""
    store, slots = store_subscriptions(work, count)
    engine = create("auto", store)
    engine.insert(slots)
    return np.diff(engine.reader().match(encode_events(work, events, store)).start)


def slope(counts):
    """The slope of the counts by rank, on logarithmic axes; over the ranks with enough counts."""
    ranked = np.sort(np.array(list(counts)))[::-1]
    ranked = ranked[: max(5, np.count_nonzero(ranked >= 30))]
    return np.polyfit(np.log(np.arange(1, len(ranked) + 1)), np.log(ranked), 1)[0]


# numbers


def test_the_same_numbers_everywhere():
    assert Draws(7, "test", 3).integers(0, 1000, 5).tolist() == [500, 279, 831, 355, 284]
    assert HashedDraws(7, "test").integers(0, 1000, np.arange(5), 3).tolist() == [640, 157, 336, 930, 965]


def test_hashed_numbers_are_uniform_and_independent():
    keys = np.arange(100_000)
    first, second = (HashedDraws(1, "x").uniform(keys, column) for column in (0, 1))
    for found in (first, second):
        assert np.abs(np.histogram(found, bins=20, range=(0, 1))[0] / 5000 - 1).max() < 0.08
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.015
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.015
    assert (HashedDraws(2, "x").uniform(keys) != first).all()


@pytest.mark.parametrize("items", [50, 5000])
@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0, 5.0])
def test_subsets_are_distinct_and_weighted(items, skew):
    weights = compute_zipf_weights(items, skew)
    rows = Draws(1, "subsets").draw_subsets(weights, 5, 4000)
    assert all(len(set(row)) == 5 for row in rows.tolist())
    first = np.bincount(rows[:, 0], minlength=items) / 4000
    assert np.abs(first - weights / weights.sum()).max() < 0.03
    if skew == 5 or items == 5000:
        return
    assert abs(np.polyfit(np.log(np.arange(1, 11)), np.log(first[:10] + 1e-9), 1)[0] + skew) < 0.25


@pytest.mark.parametrize("skew", [0.0, 0.6, 1.0, 2.0])
def test_zipf_without_a_table(skew):
    ranks = compute_zipf_ranks(Draws(1, "ranks").uniform(200_000), 100, skew)
    assert ranks.min() == 0
    assert ranks.max() <= 99
    found = np.bincount(ranks, minlength=100)
    # The weight of rank r is the area under the curve from r+1 to r+2.
    edges = np.arange(1, 102.0)
    area = np.log(edges) if skew == 1 else edges ** (1 - skew) / (1 - skew)
    wanted = np.diff(area) / (area[-1] - area[0]) * 200_000
    assert (np.abs(found - wanted) < 5 * np.sqrt(wanted) + 1).all()


def test_the_size_of_a_pool_gives_the_wanted_sharing():
    rng = np.random.default_rng(1)
    for skew in (0.0, 0.6, 1.0):
        pool = choose_pool_size(20_000, 100_000, skew)
        hit = len(np.unique(compute_zipf_ranks(rng.random(100_000), pool, skew)))
        assert abs(hit / 20_000 - 1) < 0.05
        assert abs(expect_distinct(pool, 100_000, skew) / 20_000 - 1) < 0.02


# all of them


SMALL = {
    "abegen": ABEGen(total=20_000, dimension_skew=0.7), "ads": Ads(total=20_000),
    "adtrees": AdTrees(total=20_000, order=3),
    "begen": BEGen(operators="high", skew=1.0), "catalogue": Catalogue(),
    "clauses": Clauses(clauses=4, dimensions=300), "flights": Flights(),
    "groups": Groups(dimensions=60, event_size=12, bases=20, cardinality=30),
    "keywords": Keywords(form="split", length=20), "prefixes": Prefixes(), "products": Products(skew=0.8),
    "qgrams": QGrams(), "ranked": Ranked(dimensions=2, skew_across=0.7, skew_within=0.8),
    "targeting": Targeting(countries=9, segments=80, carried=6),
    "varied": Varied(family="string", cardinality=300, skew=0.9, event_size=9, size=3, members=7, bases=40),
}  # fmt: skip
"""With values other than the defaults, so that a parameter that is ignored is noticed."""

OTHERS = {
    "begen": BEGen(size=14, event_size=30, cardinality=12, range=0.3), "keywords": Keywords(form="between", length=20),
    "qgrams": QGrams(of="titles"), "equal": Keywords(length=5.4), "flat": ABEGen(depth=1),
    "dense": Products(dimensions=90), "dnf": Clauses(form="dnf", dimensions=300),
    "floats": Varied(family="float", dimensions=50),
}  # fmt: skip

CHECKSUMS = {
    "abegen": 2841619556, "ads": 3008983889, "adtrees": 4104953845, "begen": 2794861228,
    "catalogue": 1401445959, "clauses": 1777796894,
    "flights": 3927043195, "groups": 3022266243, "targeting": 1238816540, "varied": 2382270560,
    "keywords": 3522203677, "prefixes": 444193497, "products": 3593503369, "qgrams": 3952597927, "ranked": 797220355,
}  # fmt: skip
"""Checksums of a block of subscriptions and a block of events, as text."""

OTHER_CHECKSUMS = {
    "begen": 1114798225,
    "keywords": 1627803938,
    "qgrams": 1667297139,
    "equal": 2801173296,
    "flat": 3113874513,
    "dense": 1388488119,
    "dnf": 3524148947,
    "floats": 768309738,
}


def checksum(subscriptions, events):
    return zlib.crc32("\n".join([*subscriptions, *map(repr, events)]).encode())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OTHERS))
def test_other_parameters_are_the_same_everywhere_too(name):
    assert checksum(OTHERS[name].generate_subscriptions(1), OTHERS[name].generate_events(1)) == OTHER_CHECKSUMS[name]


HEAVY = ("abegen", "clauses", "flights", "groups", "keywords", "products", "targeting")
"""Workloads that take the longest to make."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY else name for name in sorted(WORKLOADS)]
)
def test_every_workload_is_the_same_everywhere_and_readable(name):
    work = SMALL[name]
    assert type(work) is WORKLOADS[name]
    subscriptions, events = work.generate_subscriptions(1), work.generate_events(1)
    assert len(subscriptions) == len(events) == BLOCK
    assert checksum(subscriptions, events) == CHECKSUMS[name]
    # The oracle and an engine agree.
    few, given = subscriptions[:300], events[:20]
    index = tw.Index().add_many(enumerate(few))
    parsed = [tw.parse(expression) for expression in few]
    for event in given:
        assert sorted(index.match(event)) == [i for i, one in enumerate(parsed) if one.evaluate(event) is True]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_blocks_and_seeds_differ(name):
    work = SMALL[name]
    again = type(work)(**{**vars_of(work), "seed": 2})
    assert work.generate_subscriptions(1) not in (work.generate_subscriptions(0), again.generate_subscriptions(1))


def vars_of(work):
    return {name: getattr(work, name) for name in work.__dataclass_fields__}


@pytest.mark.slow
@pytest.mark.parametrize(
    "work", [w for w in SMALL.values() if isinstance(w, ArrayWorkload)], ids=lambda w: type(w).__name__
)
def test_arrays_and_text_mean_the_same(work):
    count = 12_000  # more than a block
    store, slots = store_subscriptions(work, count)
    engine = create("scan", store)
    engine.insert(slots)
    events = encode_events(work, 10, store)
    start, slot = engine.reader().match(events)
    index = tw.Index("scan").add_many(enumerate(take_subscriptions(work, count)))
    for e, event in enumerate(take_events(work, 10)):
        assert sorted(slot[start[e] : start[e + 1]].tolist()) == sorted(index.match(event))


# Slow, and not needed every time: while the checksums above hold, neither can these figures change.
FIGURES = pytest.mark.slow


# BEGen


@FIGURES
@pytest.mark.parametrize("match", [0.1, 0.01, 0.002])
@pytest.mark.parametrize("operators", ["min", "low", "med", "high"])
def test_begen_hits_its_match_probability_and_sizes(match, operators):
    work = BEGen(match=match, operators=operators)
    made = work.generate_conjunctions(0)
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
    assert abs(matches(work, 20_000, 400).mean() / 20_000 / match - 1) < 0.1


@FIGURES
@pytest.mark.parametrize("match", [0.001, 0.05])
@pytest.mark.parametrize("dimensions", [100, 30_000])
def test_begen_in_the_ranges_of_the_ps_tree(dimensions, match):
    work = BEGen(dimensions=dimensions, cardinality=100, size=5, event_size=30, equality=0.2, match=match)
    assert abs(matches(work, 20_000, 400).mean() / 20_000 / match - 1) < 0.1


def test_more_matches_by_chance_than_wanted():
    """With few attributes and values nearly everything matches: the number of bases is at its upper limit."""
    work = BEGen(dimensions=15, cardinality=4, match=0.001)
    assert work.chance_match_share > 0.001
    assert len(work.bases[0]) == 10_000
    assert (
        work.chance_match_share * 0.8
        < matches(work, 10_000, 100).mean() / 10_000
        < work.chance_match_share * 1.3 + 0.001
    )


@pytest.mark.slow
def test_ranges_have_the_width_asked_for():
    for share, cardinality in ((0.06, 1000), (0.12, 48), (0.5, 1000), (0.5, 10)):
        made = BEGen(range=share, cardinality=cardinality).generate_conjunctions(0)
        between = np.flatnonzero(made.operator == BETWEEN)
        low, high = made.operand[made.first[between]], made.operand[made.first[between] + 1]
        assert abs((high - low + 1).mean() / cardinality / share - 1) < 0.05
        members = np.diff(made.first)[made.operator == IN]
        assert 1 <= members.min() <= members.max() <= 6


# trees


@FIGURES
def test_abegen_hits_its_operators_and_shape():
    work = ABEGen(total=10_000, depth=3, children=5)
    parsed = [tw.parse(text) for text in work.generate_subscriptions(0)]
    kinds = Counter(type(one).__name__ for one in parsed)
    # The parser may merge NOT with its operand; the other operators remain at the root.
    assert abs(kinds["And"] / 10_000 - 0.4) < 0.05
    assert abs(kinds["Or"] / 10_000 - 0.4) < 0.05
    assert kinds["Xor"] + kinds["Xnor"] + kinds["Not"] > 1_500
    assert max(len(list(one.predicates())) for one in parsed) == 25
    sizes = [len(event) for event in work.generate_events(0)]
    assert set(sizes) == {20}


@FIGURES
def test_the_dimension_skew_of_abegen_is_that_of_predicates():
    work = ABEGen(total=10_000, dimensions=100, dimension_skew=1.0)
    asked = Counter(p.attribute for e in work.generate_subscriptions(0) for p in tw.parse(e).predicates())
    carried = Counter(name for event in work.generate_events(0) for name in event)
    assert max(asked.values()) > 50 * min(asked.values())
    assert max(carried.values()) < 1.2 * min(carried.values())


@FIGURES
def test_abegen_has_the_published_sharing():
    """Section 6.1: at the default skew a sub-expression occurs about 4.33 times, a predicate 18.35 times."""

    def measure_sharing(skew):
        work = ABEGen(total=100_000, skew=skew)
        _, _, _, middle = work.expand_nodes(3, np.arange(100_000))
        distinct, times = np.unique(middle, return_counts=True)
        _, owner, _, leaf = work.expand_nodes(2, distinct)
        predicates = set(work.format_predicates(np.unique(leaf)))
        return len(middle) / len(distinct), times[owner].sum() / len(predicates)

    middle, leaf = measure_sharing(0.6)
    assert abs(middle / 4.33 - 1) < 0.1
    assert abs(leaf / 18.35 - 1) < 0.1
    assert measure_sharing(0.0)[0] < 1.01
    assert measure_sharing(1.0)[0] > 1.5 * middle


@FIGURES
def test_ads_are_as_published():
    """Section 6.2: 1 to 56 predicates, up to 9 levels, 122 attributes, 20 in an event; sharing from 68.76 to 2.88."""
    work = Ads(total=20_000)
    parsed = [tw.parse(text) for text in take_subscriptions(work, 20_000)]
    sizes = [len(list(one.predicates())) for one in parsed]
    assert min(sizes) == 1
    assert 28 <= max(sizes) <= 56
    assert 7 < np.mean(sizes) < 9
    assert len({p.attribute for one in parsed for p in one.predicates()}) in range(118, 123)
    assert {len(event) for event in work.generate_events(0)} == {20}
    profile = Profile()
    profile.add_subscriptions(parsed)
    shared = {level.level: level.ratio for level in profile.sharing()}
    assert max(shared) >= 8
    assert abs(shared[1] / 68.76 - 1) < 0.3
    assert shared[1] > shared[2] > shared[4] > shared[7] > 1.5


@FIGURES
def test_ad_trees_are_as_published():
    """Section 6.2: 1 to 56 predicates, 48.1 on average, up to 9 levels, 122 attributes, 20 in an event; sharing."""
    work = AdTrees(total=20_000)
    parsed = [tw.parse(expression) for expression in take_subscriptions(work, 20_000)]
    sizes = [len(list(one.predicates())) for one in parsed]
    assert (min(sizes), max(sizes)) == (1, 56)
    assert abs(np.mean(sizes) - 973_794 * 68.76 / 1_392_196) < 0.5
    assert len({p.attribute for one in parsed[:2_000] for p in one.predicates()}) == 122
    assert {len(event) for event in work.generate_events(0)} == {20}
    profile = Profile()
    profile.add_subscriptions(parsed)
    shared = {level.level: level.ratio for level in profile.sharing()}
    assert sorted(shared) == list(range(1, 10))
    assert abs(shared[1] / 68.76 - 1) < 0.2
    assert abs(shared[9] / 2.88 - 1) < 0.1
    assert list(shared.values()) == sorted(shared.values(), reverse=True)


@pytest.mark.parametrize("total", [1_000, 12_000])
def test_ad_trees_are_the_same_in_every_order(total):
    first, second, third = (take_subscriptions(AdTrees(total=total, order=order), total) for order in range(3))
    assert sorted(first) == sorted(second) == sorted(third)
    assert first != second != third


def test_every_second_ad_and_occasion_extends_another():
    work = AdTrees(total=1_000)
    for pool in (OCCASION, ROOT + 5):
        _, owner, pools, child = work.expand_nodes(pool, np.arange(200))
        for k in range(0, 200, 2):
            original, copy = (list(zip(pools[owner == n], child[owner == n], strict=True)) for n in (k, k + 1))
            assert copy[:-1] == original


# products, words, flights, boxes


def test_products_hit_their_parameters():
    work = Products(size=12, event_size=60, equality=0.6, skew=1.0)
    made = work.generate_conjunctions(0)
    sizes = np.diff(made.start)
    assert (sizes.min(), sizes.max()) == (1, 12)
    assert abs(sizes.mean() - 6.5) < 0.2
    assert abs((made.operator == EQ).mean() - 0.6) < 0.02
    assert all(len(set(made.attribute[a:b])) == b - a for a, b in zip(made.start[:500], made.start[1:501], strict=True))
    singles = made.attribute[made.start[:-1]]
    assert abs(slope(np.bincount(singles)) + 1) < 0.15
    assert np.diff(work.generate_pairs(0).start).max() == 60
    assert abs(slope(np.bincount(made.operand)) + 1) < 0.2


@FIGURES
def test_the_catalogue_is_as_skewed_as_the_crawled_one():
    work = Catalogue()
    carried = np.bincount(work.generate_pairs(0).attribute, minlength=10_204)
    assert carried.argmax() == 0
    assert abs(slope(carried) + 0.87) < 0.2
    asked = np.bincount(work.generate_conjunctions(0).attribute, minlength=10_204)
    # By the logarithm: far less skewed than the attributes of products.
    assert asked[:10].sum() / asked.sum() < 0.05 < carried[:10].sum() / carried.sum()
    assert matches(work, 20_000, 200).sum() > 0
    assert set(Catalogue(equality=1.0, attributes=500).generate_conjunctions(0).operator) == {EQ}
    few = Catalogue(equality=0.0, attributes=500).generate_conjunctions(0)
    assert set(few.operator) == {IN}
    assert few.attribute.max() == 499


def test_prefixes_have_share_and_length():
    texts = Prefixes(prefix=0.7, length=4).generate_subscriptions(0)
    parts = [part for text in texts for part in text.split(" AND ")]
    prefixes = [part for part in parts if "STARTS WITH" in part]
    assert abs(len(prefixes) / len(parts) - 0.7) < 0.03
    assert {len(part.split("'")[1]) for part in prefixes} == {4}


@FIGURES
def test_clauses_have_their_form_and_sizes():
    for form, inner, outer in (("cnf", " OR ", " AND "), ("dnf", " AND ", " OR ")):
        parts = [text.split(f"){outer}(") for text in Clauses(form=form).generate_subscriptions(0)]
        assert abs(np.mean([len(clauses) for clauses in parts]) - 3) < 0.05
        sizes = Counter(clause.count(inner) + 1 for clauses in parts for clause in clauses)
        assert sorted(sizes) == [1, 2, 3]
        assert max(sizes.values()) < 1.05 * min(sizes.values())
    assert matches(Clauses(), 20_000, 100).sum() > 0


@FIGURES
def test_words_have_their_real_frequencies():
    words = Counter(word for event in Keywords(length=123).generate_events(0) for word in event)
    assert [word for word, _ in words.most_common(3)] == ["the", "to", "and"]
    for length in (5.4, 123):
        assert abs(np.mean([len(event) for event in Keywords(length=length).generate_events(0)]) / length - 1) < 0.03
    assert max(max(event.values()) for event in Keywords(form="between", length=50).generate_events(0)) > 5
    few = {word for event in Keywords(length=20, vocabulary=300).generate_events(0) for word in event}
    assert 250 < len(few) <= 300
    asked = Keywords().generate_subscriptions(0)
    assert not any("the = 1" in text for text in asked)
    assert all(part.endswith(" = 1") for text in asked for part in text.split(" AND "))
    sizes = [text.count(" AND ") + 1 for text in asked]
    assert (min(sizes), max(sizes)) == (1, 5)
    assert matches(Keywords(), 10_000, 100).mean() > 1


@FIGURES
def test_grams_of_names_and_titles():
    sizes = {
        of: np.mean([text.count(" AND ") + 1 for text in QGrams(of=of).generate_subscriptions(0)])
        for of in ("names", "titles")
    }
    assert round(sizes["names"]) == 8  # BE-Tree, Table 3
    assert round(sizes["titles"]) == 35
    assert matches(QGrams(), 10_000, 300).min() >= 1  # every name matches itself


@pytest.mark.slow
def test_flights_are_real_and_alerts_fit_them():
    work = Flights()
    event = work.generate_events(0)[0]
    assert event["origin"] in {"EWR", "JFK", "LGA"}
    blocks = [work.generate_events(block) for block in (0, 1, 20)]
    assert len({repr(event) for block in blocks for event in block}) > 0.99 * 3 * BLOCK
    found = matches(work, 10_000, 300)
    assert 5 < found.mean() < 1_000


@pytest.mark.slow
def test_boxes_shrink_with_their_skew():
    wide, narrow = (Ranked(skew_length=skew).draw_boxes(0) for skew in (0.0, 1.5))
    assert (wide[1] - wide[0]).mean() > 2 * (narrow[1] - narrow[0]).mean()
    low, high, score = narrow
    assert np.allclose(score, 1 - (high - low) / 2)
    work = Ranked(dimensions=3)
    points = np.array([list(event.values()) for event in work.generate_events(0)])
    assert points.min() >= 0
    assert points.max() < 1
    # Points are clustered: ten regions of 1/20 of the space contain all of them.
    cells = len({tuple(cell) for cell in np.floor(points * 10).astype(int).tolist()})
    assert cells < 500
    assert np.allclose(work.sum_scores(0), work.draw_boxes(0)[2].sum(axis=1))
    # Regions and distances have the wanted skew.
    common = []
    for skew in (0, 3):
        points = Ranked(regions=1, skew_within=skew).draw_points(Draws(1, "x"), 5000)
        common.append(np.unique(np.floor(points * 100), return_counts=True)[1].max() / 5000)
    assert common[1] > 1.5 * common[0]
    spread = [np.floor(Ranked(skew_across=skew).draw_points(Draws(1, "x"), 5000) * 10).std() for skew in (0.0, 4.0)]
    assert spread[1] < spread[0]
    assert matches(work, 10_000, 100).mean() > 1


def test_impossible_parameters_are_refused():
    for make, wrong in [
        (BEGen, {"size": 20}), (BEGen, {"event_size": 500}), (BEGen, {"operators": "all"}), (BEGen, {"match": 0}),
        (BEGen, {"cardinality": 1}), (BEGen, {"match": 0.7}), (ABEGen, {"operators": (1, 1, 0, 0, 0)}),
        (ABEGen, {"children": 1}),
        (Products, {"size": 0}), (Keywords, {"form": "other"}), (QGrams, {"of": "cats"}), (Ranked, {"dimensions": 0}),
        (Prefixes, {"prefix": 2}), (Clauses, {"form": "xnf"}), (Clauses, {"size": 0}),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            make(**wrong)
