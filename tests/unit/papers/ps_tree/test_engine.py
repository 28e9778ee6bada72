"""`pstbloom` and `psthash`: changing subscriptions, wide predicates, large events, and what `verify` notices."""

import random

import numpy as np
import pytest

import tellwhen as tw
from support import make_seed_params, register_variant, verify_index
from tellwhen.engines import find_engine
from tellwhen.papers.ps_tree.engine import PSTreeEngine
from tellwhen.papers.ps_tree.pstbloom import PSTBloom
from tellwhen.papers.ps_tree.psthash import PSTHash
from tellwhen.testing.engine_checks import check_engine, check_matches

pytestmark = pytest.mark.late

ENGINES = ["pstbloom", "pstbloom:bits=0", "pstbloom:bits=1", "psthash", "psthash:access=1", "psthash:access=4"]


@pytest.fixture(params=ENGINES)
def name(request):
    return request.param


@pytest.fixture
def narrow(registry):
    """Engines by name, with limits so low that predicates of more than three spaces exceed them."""
    return {
        "pstbloom": register_variant(PSTBloom, lists_max=3, signed_spaces_max=3),
        "psthash": register_variant(PSTHash, lists_max=3),
    }


def narrow_options(spec):
    """Return the options of a spec, with a low limit on keys for `psthash`."""
    name, _, options = spec.partition(":")
    options = [options] * bool(options) + ["keys=3"] * (name == "psthash")
    return ":" * bool(options) + ",".join(options)


def register_eager(spec, pending_min):
    """Register an engine that merges more than `pending_min` pending subscriptions; return its spec."""
    name, colon, options = spec.partition(":")
    return register_variant(find_engine(name), pending_min=pending_min) + colon + options


@pytest.mark.parametrize("seed", make_seed_params(1, 4))
def test_trees_that_change_with_every_change(name, seed, registry):
    check_engine(register_eager(name, pending_min=0), seed=seed, rounds=6)


@pytest.mark.parametrize("seed", make_seed_params(1, 4))
def test_wide_predicates(name, seed, narrow):
    check_engine(narrow[name.partition(":")[0]] + narrow_options(name), seed=10 + seed, rounds=6)


def make_texts(rng, count):
    for _ in range(count):
        parts = []
        for attribute in rng.sample("abcdef", rng.randint(1, 4)):
            low = rng.randint(0, 40)
            parts.append(
                rng.choice(
                    [f"{attribute} = {low}", f"{attribute} BETWEEN {low} AND {low + rng.randint(0, 20)}",
                     f"{attribute} >= {low}", f"{attribute} IN ({low}, {low + 3}, {low + 4})", f"{attribute} <> {low}"]
                )
            )  # fmt: skip
        yield " AND ".join(parts)


def test_merged_trees_are_those_that_a_rebuild_makes(name, monkeypatch):
    """Splitting and merging spaces gives the same spaces and lists as a rebuild."""
    resets = []
    reset = PSTreeEngine._reset_trees
    monkeypatch.setattr(PSTreeEngine, "_reset_trees", lambda self: (resets.append(1), reset(self)))
    rng = random.Random(5)
    index = tw.Index(name).add_many(enumerate(make_texts(rng, 600)))
    known = {id_: index[id_] for id_ in index}
    for step in range(6):
        gone = rng.sample(sorted(known), 250)
        for id_ in gone:
            index.remove(id_)
            del known[id_]
        added = {1000 * step + 1000 + k: tw.parse(text) for k, text in enumerate(make_texts(rng, 200))}
        index.add_many(added)
        known |= added
        engine = index._shard.engine
        engine.verify()
        events = [{a: rng.randint(0, 45) for a in rng.sample("abcdef", 4)} for _ in range(20)]
        check_matches(index, known, events, f"{name}, step {step}")
    before = len(resets)
    engine.merge()
    assert len(resets) == before
    merged = engine._index.common
    engine.rebuild()
    assert len(resets) == before + 1
    for field in ("cut_start", "cuts", "list_start", "waiting", "records"):
        assert np.array_equal(getattr(merged, field), getattr(engine._index.common, field)), field


def test_a_loaded_index_goes_on_changing(name, tmp_path, registry):
    rng = random.Random(9)
    index = tw.Index(register_eager(name, pending_min=5)).add_many(enumerate(make_texts(rng, 100)))
    index.save(tmp_path / "index")
    loaded = tw.Index.load(tmp_path / "index")
    verify_index(loaded)
    for id_ in range(0, 100, 2):
        loaded.remove(id_)
    loaded.add_many((200 + k, text) for k, text in enumerate(make_texts(rng, 50)))
    verify_index(loaded)
    known = {id_: loaded[id_] for id_ in loaded}
    check_matches(loaded, known, [{a: rng.randint(0, 45) for a in "abcdef"} for _ in range(20)])


def test_conjunctions_that_are_too_wide_wait_for_a_domain(narrow):
    for engine, variant in narrow.items():
        index = tw.Index(variant + narrow_options(engine)).add_many([(i, f"a = {i} AND b = 1") for i in range(20)])
        index.add_many([("wide", "a > 3"), ("broad", "a <> 1 AND a > 2 AND c <> 2"), ("nothing", "TRUE")]).rebuild()
        stats = index._shard.engine.stats()
        assert (stats["waiting"], stats["spaces"] > 20, stats["postings"] >= 20) == (2, True, True)
        assert set(index.match({"a": 7, "b": 1})) == {7, "wide", "nothing"}
        assert set(index.match({"a": 7, "c": 3})) == {"wide", "broad", "nothing"}
        assert index.match({"c": 2}) == ["nothing"]
        verify_index(index)


def test_events_of_thousands_of_entries(name):
    """There are more combinations than keys, so that all keys are tested instead."""
    expressions = [f"a{i} = 1 AND a{i + 1} > 5 AND a{i + 2} = 1 AND a{i + 3} < 3" for i in range(3000)]
    index = tw.Index(name).add_many(enumerate(expressions)).rebuild()
    event = {f"a{i}": 1 if i % 3 else 9 for i in range(3003)}
    assert index.match(event) == [i for i in range(3000) if i % 3 == 2]
    assert index.match({"a1": 1, "a2": 6, "a3": 1, "a4": 2}) == [1]


def test_an_interval_over_many_spaces(name):
    index = tw.Index(name).add_many([(i, f"a BETWEEN {i} AND {i + 30} AND b = {i % 7}") for i in range(300)]).rebuild()
    got = index.match({"a": tw.Interval(100, 200), "b": [1, 2]})
    assert sorted(got) == [i for i in range(70, 201) if i % 7 in (1, 2)]


def test_the_first_and_the_last_space_of_a_domain(name):
    index = tw.Index(name).add_many([(i, f"a {'<' if i % 2 else '>'} 5 AND b = {i}") for i in range(4)]).rebuild()
    assert [index.match({"a": 1, "b": i}) for i in range(4)] == [[], [1], [], [3]]
    assert [index.match({"a": 9, "b": i}) for i in range(4)] == [[0], [], [2], []]


def test_an_index_without_any_predicate(name):
    index = tw.Index(name).add("always", "TRUE").add("never", "FALSE").rebuild()
    verify_index(index)
    assert index.match({"a": 1}) == index.match({}) == ["always"]


def test_values_between_the_integers(name):
    """`psthash` has no keys for the spaces between adjacent integers: such a value looks up both neighbours."""
    texts = [f"a BETWEEN {k} AND {k + width} AND b {operator} {k % 3}" for k in range(9) for width in (0, 1, 3)
             for operator in ("=", ">=", "<>")]  # fmt: skip
    texts += ["a > 3 AND a < 4 AND b >= 0", "a > 2 AND a < 5 AND b >= 0"]
    texts += ["a NOT IN (3, 4) AND b < 9", "a <= 3 AND b > 0"]
    index = tw.Index(name).add_many((text, text) for text in texts).rebuild()
    verify_index(index)
    values = [k / 2 for k in range(-3, 29)]
    events = [{"a": a, "b": b} for a in values for b in (0, 0.5, 1, 2, 2.5)]
    events += [{"a": [1.5, 7], "b": 0.5}, {"a": tw.Interval(2.5, 3.5), "b": 1}]
    events += [{"a": tw.Interval(3.5, 3.75), "b": [1, 2]}]
    check_matches(index, {text: tw.parse(text) for text in texts}, events)


def test_a_range_of_integers_has_a_key_for_each():
    texts = [f"a BETWEEN {k} AND {k + 2} AND b IN ({k}, {k + 1})" for k in range(20)]
    index = tw.Index("psthash").add_many(enumerate(texts)).rebuild()
    found = index._shard.engine._index
    assert len(found.common.postings) == 20 * 3 * 2
    assert np.count_nonzero(found.key_space < 0) == 17  # one range ends at v and another begins at v + 1: v is 2 to 18
    assert sorted(index.match({"a": 4, "b": 3})) == [2, 3]
    assert sorted(index.match({"a": 4.5, "b": 3})) == [3]


def test_the_limit_on_keys():
    texts = [f"a BETWEEN {k} AND {k + 9} AND b BETWEEN {k} AND {k + 4}" for k in range(30)]
    texts += ["a BETWEEN 1 AND 4"]  # with a single predicate, as few spaces as it has
    for limit, postings in ((49, 30 * 5), (50, 30 * 50), (1 << 24, 30 * 50)):
        index = tw.Index(f"psthash:keys={limit}").add_many(enumerate(texts)).rebuild()
        verify_index(index)
        assert len(index._shard.engine._index.common.postings) == postings + 4
        assert sorted(index.match({"a": 4, "b": 3})) == [0, 1, 2, 3, 30]


def test_options_are_checked():
    with pytest.raises(tw.EngineError, match="access must be at least 1 and at most 4"):
        tw.Index("psthash:access=5")


@pytest.mark.parametrize("engine", ["pstbloom", "psthash"])
@pytest.mark.parametrize("field", ["postings", "records", "list_start", "cuts", "waiting"])
def test_verify_notices(engine, field):
    index = tw.Index(engine).add_many([(i, f"a = {i} AND b > {i} AND c < 3") for i in range(9)]).rebuild()
    engine = index._shard.engine
    engine.verify()
    common = engine._index.common
    broken = getattr(common, field).copy()
    broken[4 if field != "waiting" else 0] += 2 if field != "waiting" else -1
    engine._index = engine._index._replace(common=common._replace(**{field: broken}))
    with pytest.raises((AssertionError, IndexError, KeyError, ValueError)):
        engine.verify()


def test_verify_notices_a_signature_without_a_conjunction():
    index = tw.Index("pstbloom").add_many([(i, f"a = {i} AND b = {i}") for i in range(9)]).rebuild()
    engine = index._shard.engine
    signatures = engine._index.signatures
    signatures[np.flatnonzero(signatures)[0]] = 0
    with pytest.raises(AssertionError, match="signature"):
        engine.verify()


def test_verify_notices_a_wrong_first_domain():
    index = tw.Index("pstbloom").add_many([(i, f"a = {i} AND b = {i}") for i in range(9)]).add("one", "a = 3").rebuild()
    engine = index._shard.engine
    engine.verify()
    engine._index.first_domain[:] = -1 - len(engine._index.common.cut_start)
    with pytest.raises(AssertionError, match="posting of record"):
        engine.verify()


@pytest.mark.parametrize("change", [lambda key_space: 0 * key_space, lambda key_space: np.abs(key_space)])
def test_verify_notices_other_gaps(change):
    index = tw.Index("psthash").add_many([(i, f"a BETWEEN {i} AND {i + 2} AND b = {i}") for i in range(9)]).rebuild()
    engine = index._shard.engine
    engine.verify()
    engine._index = engine._index._replace(key_space=change(engine._index.key_space))
    with pytest.raises(AssertionError, match="key_space"):
        engine.verify()


def test_verify_notices_a_key_that_is_not_found():
    index = tw.Index("psthash").add_many([(i, f"a = {i} AND b = {i}") for i in range(9)]).rebuild()
    engine = index._shard.engine
    engine._index.table[:] = 0
    with pytest.raises(AssertionError, match="not found"):
        engine.verify()
