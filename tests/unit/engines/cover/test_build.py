"""The engine `cover`: trees, terms, covers, buckets, guards and chunks, and all of it against `scan`."""

import random
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from bench import loading

import tellwhen as tw
from support import make_seed_params, register_variant
from tellwhen.compile.extract import extract
from tellwhen.compile.store import Store
from tellwhen.engines import create
from tellwhen.engines.cover import engine as cover_engine
from tellwhen.engines.cover import reader
from tellwhen.engines.cover.arrays import ALTERNATIVES, CHUNK_HEADER, COLUMNS, GAP_FLAG, REST_END
from tellwhen.engines.cover.buckets import build_buckets
from tellwhen.engines.cover.build import build_index
from tellwhen.engines.cover.build_arrays import PredicateFacts
from tellwhen.engines.cover.engine import Cover
from tellwhen.engines.cover.ranges import estimate_mass, read_ranges
from tellwhen.engines.cover.terms import choose_covers, find_requirements, sort_parts, split_terms
from tellwhen.engines.shared.spaces import cut_spaces
from tellwhen.kernels.arrays import CONJUNCTION, NEVER, PROGRAM
from tellwhen.language.parser import parse
from tellwhen.testing.engine_checks import check_engine
from tellwhen.workloads import BEGen, Groups, Targeting, Varied

pytestmark = pytest.mark.late


def store_subscriptions(*texts):
    """A store of the expressions, and an extract of all of it."""
    store = Store()
    store.append(store.compile(parse(text) for text in texts))
    return store, extract(store.snapshot(), np.arange(len(texts), dtype=np.int32))


def names(store, terms, predicates):
    """The attributes of predicates: each has only one in these tests."""
    return [store.attributes.domains[terms.literals.domain[p]].attribute for p in predicates]


def terms_of(text):
    """The kinds of its terms, and the attributes of each."""
    store, whole = store_subscriptions(text)
    owner, terms = split_terms(whole)
    assert owner.tolist() == [0] * len(terms.kind)
    found = []
    for s, kind in enumerate(terms.kind.tolist()):
        code = terms.code[terms.start[s] : terms.start[s + 1]]
        found.append((kind, names(store, terms, code if kind == CONJUNCTION else code[::3])))
    return found


def test_the_parts_of_the_outermost_or_are_terms():
    assert terms_of("a = 1 AND b = 1") == [(CONJUNCTION, ["a", "b"])]
    assert terms_of("(a = 1 AND b = 1) OR c = 1") == [(CONJUNCTION, ["a", "b"]), (CONJUNCTION, ["c"])]
    both = terms_of("(a = 1 AND (b = 1 OR c = 1)) OR d = 1 OR (e = 1 AND f = 1)")
    assert both == [(PROGRAM, ["a", "b", "c"]), (CONJUNCTION, ["d"]), (CONJUNCTION, ["e", "f"])]
    assert terms_of("(a = 1 OR b = 1) AND (c = 1 OR d = 1)") == [(PROGRAM, ["a", "b", "c", "d"])]
    assert len(terms_of("(a = 1 XOR b = 1) OR c = 1")) == 1  # registers are shared by all parts
    assert terms_of("FALSE") == [(NEVER, [])]
    assert len(terms_of(" OR ".join(f"a{i} = 1" for i in range(65)))) == 1  # too many


def covers_of(text, **prices):
    """The attributes of the cover and of the guard, for prices by attribute."""
    store, whole = store_subscriptions(text)
    _, terms = split_terms(whole)
    every = names(store, terms, range(len(terms.literals.domain)))
    covers, guards = choose_covers(terms, np.array([prices.get(name, 0.5) for name in every]))
    return [
        sorted(names(store, terms, lists.predicate[lists.start[s] : lists.start[s + 1]].tolist()))
        for s in range(len(terms.kind))
        for lists in (covers, guards)
    ]


def test_an_and_is_covered_by_its_least_probable_part_and_an_or_by_all():
    assert covers_of("a = 1 AND b = 1 AND c = 1", b=0.1, c=0.2) == [["b"], ["c"]]
    clauses = "(a = 1 OR b = 1) AND (c = 1 OR d = 1) AND (e = 1 OR f = 1)"
    assert covers_of(clauses, a=0.3, b=0.3, c=0.1, d=0.4, e=0.2, f=0.9) == [["c", "d"], ["a", "b"]]
    assert covers_of("a = 1 AND (b = 1 OR c = 1)", a=0.9, b=0.2, c=0.2) == [["b", "c"], ["a"]]
    deep = "(a = 1 AND (b = 1 OR c = 1 AND d = 1)) OR e = 1 AND f = 1"
    assert covers_of(deep, a=0.9, b=0.2, c=0.1, f=0.1) == [["b", "c"], ["a"], ["f"], ["e"]]


def test_what_is_true_of_nothing_at_all_has_no_cover():
    assert covers_of("TRUE") == [[], []]
    assert covers_of("a = 1 OR TRUE") == [[], []]
    # Whichever of the two is true, it needs a or b.
    assert covers_of("a = 1 XOR b = 1")[0] in (["a"], ["a", "b"], ["b"], ["a", "a"], ["b", "b"], ["a", "a", "b", "b"])


def test_the_parts_of_an_and_are_tested_the_least_probable_first_and_the_known_ones_last():
    store, whole = store_subscriptions("(a = 1 OR b = 1) AND c = 1 AND d = 1 AND (e = 1 OR f = 1)")
    _, terms = split_terms(whole)
    every = names(store, terms, range(len(terms.literals.domain)))
    prices = np.array([{"a": 0.1, "b": 0.2, "c": 0.2, "d": 0.15, "e": 0.2, "f": 0.2}[name] for name in every])
    covers, guards = choose_covers(terms, prices)
    after = sort_parts(terms, prices, covers, guards)
    # d is the cover and c the guard.
    assert names(store, terms, after.code[::3].tolist()) == ["a", "b", "e", "f", "c", "d"]


def buckets_of(most, *texts):
    _, whole = store_subscriptions(*texts)
    known = cut_spaces(whole.literals, np.arange(len(whole.literals.domain), dtype=np.int32), 1)
    mass = estimate_mass(known, whole, None)
    return build_buckets(known, mass, most), known, read_ranges(whole.literals, known)


def test_few_spaces_have_a_bucket_each():
    found, known, _ = buckets_of(62, "x < 3", "x = 7")
    assert known.total == 4
    assert found.bucket.tolist() == [0, 1, 2, 3]


def test_the_gaps_between_integers_and_strings_are_in_no_bucket():
    found, known, _ = buckets_of(62, *(f"x = {v}" for v in range(48)))
    assert known.total == 97
    assert found.bucket.tolist()[1:5] == [2, GAP_FLAG + 3, 3, GAP_FLAG + 4]
    assert found.counts[0] <= 62
    found, known, _ = buckets_of(62, *(f"x = 'w{v}'" for v in range(50)))
    assert known.total == 101
    assert found.bucket.tolist()[:4] == [GAP_FLAG + 1, 1, GAP_FLAG + 2, 2]
    assert found.counts[0] == 51
    assert found.bucket[-1] == GAP_FLAG + 50


def test_many_values_share_buckets():
    found, known, _ = buckets_of(62, *(f"x < {v}.5" for v in range(500)))
    assert known.total == 501
    assert found.counts[0] == 62
    assert np.bincount(found.bucket).min() >= 8


def test_what_is_asked_is_whole_only_if_it_is_all_and_exact():
    _, whole = store_subscriptions(
        "a = 1 AND b < 3",
        "a = 1 AND (b = 2 OR c = 2)",
        "a > 1 AND a < 5",
        "a = 1 XOR b = 2",
        "(a = 1 OR NOT a = 3) AND (b = 1 OR c = 3 OR b > 7)",
        "a = 1 AND (b = 2 OR c = 2 AND a > 3)",
        "a = 1 AND (b = 99 OR c = 2)",
    )
    every = np.arange(len(whole.literals.domain), dtype=np.int32)
    known = cut_spaces(whole.literals, every, 3)
    ranges = read_ranges(whole.literals, known)
    is_exact = np.ones(len(every), dtype=bool)
    is_exact[[p for p in every if whole.literals.low[whole.literals.start[p]] == 198]] = False  # b = 99
    facts = PredicateFacts(ranges, np.zeros(len(every)), is_exact, np.zeros(len(every), dtype=np.uint64), is_exact)
    requirements = find_requirements(whole, facts, 6)
    found, is_whole = requirements.all, requirements.is_whole
    # Two on one attribute need the program; so does a clause of more than predicates, or that buckets do not tell.
    assert is_whole.tolist() == [True, True, False, False, True, False, False]
    assert np.diff(found.start).tolist() == [2, 3, 1, 0, 5, 1, 1]
    assert np.diff(requirements.plain.start).tolist() == [2, 1, 1, 0, 0, 1, 1]
    assert sorted(found.column[found.start[4] : found.start[5]].tolist()) == [6, 6, 14, 14, 16]


def random_clauses(rng):
    """ANDs of ORs over few attributes and values, so that bitmaps decide them."""

    def leaf():
        name, value = rng.choice("abcd"), rng.randrange(12)
        test = rng.choice(["= {0}", "IN ({0}, {1})", "< {0}", ">= {0}", "NOT IN ({0}, {1})", "<> {0}"])
        return f"{'NOT ' * (rng.random() < 0.2)}{name} {test.format(value, (value + 5) % 12)}"

    groups = [f"({' OR '.join(leaf() for _ in range(rng.randint(2, 4)))})" for _ in range(rng.randint(1, 4))]
    return " AND ".join(groups + [leaf() for _ in range(rng.choice([0, 0, 1]))])


@pytest.mark.parametrize("together", [1, 256, 1 << 30])
@pytest.mark.parametrize("seed", range(3))
def test_clauses_in_chunks_say_what_scan_says(together, seed, monkeypatch):
    """Direct and negated ones in one column, and events with one value, several, intervals, or none."""
    monkeypatch.setattr(cover_engine, "build_index", partial(build_index, shared_chunk_min=together))
    rng = random.Random(seed)
    rules = {i: random_clauses(rng) for i in range(900)}
    cover, scan = tw.Index("cover").add_many(rules), tw.Index("scan").add_many(rules)
    engine = cover._shard.engine
    engine.verify()
    index, at, alternatives = engine._index, 0, 0
    while at < len(index.chunks.words):
        alternatives += index.chunks.words[at + ALTERNATIVES]
        at += CHUNK_HEADER + index.chunks.words[at + COLUMNS] + index.chunks.words[at + ALTERNATIVES]
    assert alternatives > 10
    assert (index.clusters[0, REST_END] > 400) == (together < 1 << 30)

    def value():
        form = rng.random()
        if form < 0.1:
            return tw.Interval(rng.randrange(6), rng.randrange(6, 12))
        if form < 0.3:
            return [rng.randrange(12) for _ in range(rng.randint(1, 3))]
        return rng.randrange(13) + rng.choice([0, 0, 0, 0, 0.5])

    for _ in range(150):
        event = {name: value() for name in "abcd" if rng.random() < 0.85}
        assert cover.match(event) == scan.match(event), event


def random_rule(rng):
    """Conjunctions and more, over few attributes, so that chunks form."""

    def leaf():
        name = rng.choice("abcdefgh")
        kind = rng.random()
        if name in "gh":
            return f"{name} IN ({', '.join(repr(f's{rng.randrange(90)}') for _ in range(rng.randint(1, 6)))})"
        value = rng.randrange(40) if name in "abc" else rng.randrange(4000) / 10
        if kind < 0.4:
            return f"{name} = {value}"
        if kind < 0.7:
            return f"{name} {rng.choice(['<', '<=', '>', '>='])} {value}"
        if kind < 0.85:
            return f"{name} BETWEEN {value} AND {value + rng.randrange(9)}"
        return f"{name} {rng.choice(['IN', 'NOT IN'])} ({value}, {value + 3})"

    parts = [leaf() for _ in range(rng.randint(1, 4))]
    parts += [f"NOT {leaf()}"] * (rng.random() < 0.2) + [f"({leaf()} OR {leaf()})"] * (rng.random() < 0.2)
    rule = " AND ".join(parts)
    return f"{rule} OR {leaf()} AND {leaf()}" if rng.random() < 0.1 else rule


def random_event(rng):
    def value(name):
        if name in "gh":
            return [f"s{rng.randrange(99)}" for _ in range(rng.randint(0, 5))]
        if rng.random() < 0.1:
            low = rng.randrange(40)
            return tw.Interval(low, low + rng.randrange(6))
        if rng.random() < 0.2:
            several = [rng.randrange(40) + rng.choice([0, 0, 0.5]) for _ in range(rng.randint(1, 3))]
            return [*several, tw.Interval(several[0] + 1, several[0] + 9)] if rng.random() < 0.3 else several
        return rng.randrange(40) + rng.choice([0, 0, 0, 0.5]) if name in "abc" else rng.randrange(4000) / 10

    return {name: value(name) for name in "abcdefgh" if rng.random() < 0.8}


@pytest.mark.parametrize("spec", ["cover", "cover:chunk=2,buckets=5"])
@pytest.mark.parametrize("is_observed", [False, True])
def test_chunks_say_what_scan_says(spec, is_observed):
    rng = random.Random(f"{spec} {is_observed}")
    rules = {i: random_rule(rng) for i in range(3_000)}
    events = [random_event(rng) for _ in range(150)]
    cover, scan = tw.Index(spec).add_many(rules), tw.Index("scan").add_many(rules)
    if is_observed:
        cover.optimize_for(events[:100])
    engine = cover._shard.engine
    engine.verify()
    assert len(engine._index.chunks.words) > 0
    assert cover.match_many(events).sort_by([("event_id", "ascending"), ("subscription_id", "ascending")]) == (
        scan.match_many(events).sort_by([("event_id", "ascending"), ("subscription_id", "ascending")])
    )
    for event in events[:20]:  # one by one, with an output that is too small at first
        assert cover.match(event) == scan.match(event)


def gap_rule(rng):
    """On 40 integers and 40 words, what may be true between two of them, or of nothing else."""
    v, w = rng.randrange(39), rng.randrange(10, 49)
    x = rng.choice([f"x = {v}", f"x > {v}", f"x < {v}", f"NOT x IN ({v}, {v + 1})", "x = 7.5", "NOT x = 7.5"])
    s = rng.choice([f"s = 'w{w}'", f"s > 'w{w}'", f"NOT s IN ('w{w}', 'w{w + 1}')", "s BETWEEN 'w20a' AND 'w20b'"])
    return "a = 1 AND " + rng.choice([f"{x} AND {s}", f"({x} OR y = {v}) AND ({s} OR z = {w})", x, s])


@pytest.mark.parametrize("spec", ["cover", "cover:chunk=2"])
def test_values_in_gaps(spec):
    rng = random.Random(spec)
    rules = {i: gap_rule(rng) for i in range(2_000)}
    values = [*range(40), *(v + 0.5 for v in range(40)), -1, 99]
    words = [f"w{w}{end}" for w in range(9, 51) for end in ("", "a", "ab", "c")]
    events = [{"a": 1, "x": x, "s": rng.choice(words), "y": 3, "z": 11} for x in values * 3]
    events += [{"a": 1, "x": [x, x + 0.5], "s": rng.choice(words), "y": 3} for x in values]
    cover, scan = tw.Index(spec).add_many(rules), tw.Index("scan").add_many(rules)
    cover.optimize_for([{**event, "a": rng.randrange(1_000)} for event in events])  # so that all wait for a = 1
    assert (cover._shard.engine._index.chunks.bucket >= GAP_FLAG).sum() > 80
    for event in events:
        assert cover.match(event) == scan.match(event), event


def test_most_of_a_dense_workload_is_in_chunks():
    rng = random.Random(3)
    store, whole = store_subscriptions(
        *(f"a = {rng.randrange(9)} AND b < {rng.randrange(9)} AND c = {rng.randrange(9)}" for _ in range(900))
    )
    engine = create("cover", store)
    engine.insert(np.arange(900, dtype=np.int32))
    engine.verify()
    assert (engine._index.postings.program < 0).mean() > 0.9
    assert len(whole.kind) == 900


# batches, cluster by cluster


@pytest.fixture
def small_blocks(monkeypatch, registry):
    """The name of `cover` that matches every batch cluster by cluster, in blocks for which there is hardly any room."""
    monkeypatch.setattr(reader.CoverReader, "match", lambda self, events: self._batch(events))
    return register_variant(Cover, block_limits=reader.BlockLimits(events_max=5, visits_min=0, staged_min=0))


@pytest.mark.parametrize("seed", make_seed_params(2, 30))
def test_batches_cluster_by_cluster_are_right(small_blocks, seed):
    check_engine(f"{small_blocks}:chunk=2", seed, rounds=4)


WORKLOADS = {
    "conjunctions": (BEGen(dimensions=10, event_size=10, match=0.05), 4_000),
    "many matches": (BEGen(dimensions=10, event_size=9, match=0.5), 4_000),
    "absent attributes": (BEGen(dimensions=12, event_size=7), 4_000),
    "inexact buckets": (Varied(dimensions=12, event_size=6, cardinality=10_000, bases=20), 4_000),
    "clauses": (Groups(dimensions=20, event_size=20, bases=60), 2_000),
    "lists of values": (Targeting(), 2_000),
}


@pytest.mark.parametrize("removed", [100, pytest.param(0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_batch_finds_the_same_cluster_by_cluster(name, removed):
    work, count = WORKLOADS[name]
    store, slots = loading.store_subscriptions(work, count)
    engine = create("cover:chunk=8", store)
    engine.insert(slots)
    engine.rebuild()
    store.remove(slots[:removed])
    engine.delete(slots[:removed])
    events = loading.encode_events(work, 150, store)
    found = engine.reader()
    by_cluster, by_event = found._batch(events), found._call(events)
    assert by_cluster.start.tolist() == by_event.start.tolist()
    for begin, end in pairwise(by_event.start.tolist()):
        assert sorted(by_cluster.slot[begin:end]) == sorted(by_event.slot[begin:end])


def test_a_dense_batch_is_matched_cluster_by_cluster():
    work, count = WORKLOADS["conjunctions"]
    store, slots = loading.store_subscriptions(work, count)
    engine = create("cover", store)
    engine.insert(slots)
    assert engine.reader()._is_dense(loading.encode_events(work, 300, store))


def test_a_sparse_batch_is_matched_event_by_event():
    work = BEGen(dimensions=200, event_size=10, match=0.001)
    store, slots = loading.store_subscriptions(work, 4_000)
    engine = create("cover", store)
    engine.insert(slots)
    assert not engine.reader()._is_dense(loading.encode_events(work, 300, store))
