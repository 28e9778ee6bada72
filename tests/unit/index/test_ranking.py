"""The k best subscriptions are found, whatever the tiers, the changes of scores, and other threads."""

import copy
import math
import pickle
import random
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tellwhen as tw
from support import Known, register_variant, verify_index, wait_for_upkeep
from tellwhen.engines.auto.bands import BandLimits
from tellwhen.engines.auto.engine import Auto, AutoLimits
from tellwhen.index.index import RANKINGS_PER_UPKEEP_CHECK
from tellwhen.testing.engine_checks import random_event, random_expression

pytestmark = pytest.mark.late


@pytest.fixture
def small_bands(registry):
    """The name of `auto` with bands of a few slots, and few raised ones."""
    return register_variant(Auto, limits=AutoLimits(bands=BandLimits(band_min=4, raised_max=8)))


SCORES = [
    lambda rng: 0.0, lambda rng: rng.choice([-1.5, 0.0, 2.0]), lambda rng: rng.uniform(-5, 5),
    lambda rng: rng.choice([-math.inf, math.inf, 0.0, 1.0]),
]  # fmt: skip


def filled(rng, count, draw, engine="auto", **options):
    index, known = tw.Index(engine, **options), Known()
    rows = [(i, random_expression(rng, depth=2), draw(rng)) for i in range(count)]
    for row in rows:
        known.add(*row)
    return index.add_many(rows), known


def check(index, known, events):
    for event in events:
        for k in (1, 3, 1000):
            assert index.top_k(event, k) == known.best(event, k)
        wanted = known.best(event, 10**9)
        assert (index.count(event), index.has_match(event)) == (len(wanted), bool(wanted))
    found = index.top_k_many(events, 3).to_pylist()
    assert found == [
        {"event_id": number, "rank": rank, "subscription_id": id_, "score": score}
        for number, event in enumerate(events)
        for rank, (id_, score) in enumerate(known.best(event, 3), start=1)
    ]


@pytest.mark.parametrize("draw", SCORES)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_bands_change_no_answer(small_bands, seed, draw):
    rng = random.Random(seed)
    index, known = filled(rng, 200, draw, small_bands, pending=10)
    index.rebuild()
    events = [random_event(rng) for _ in range(15)]
    check(index, known, events)
    for step in range(60):
        action = rng.random()
        if action < 0.2:
            known.add(1000 + step, expression := random_expression(rng, depth=2), score := draw(rng))
            index.add(1000 + step, expression, score=score)
        elif action < 0.35:
            known.remove(gone := rng.choice(list(known.scores)))
            index.remove(gone)
        else:
            changed = {id_: float(draw(rng)) * rng.choice([1, 1, 3]) for id_ in rng.sample(list(known.scores), 3)}
            changed = {id_: 0.0 if math.isnan(score) else score for id_, score in changed.items()}
            known.scores.update(changed)
            index.set_scores(changed)
        if step % 6 == 0:
            check(wait_for_upkeep(index) if rng.random() < 0.5 else index, known, rng.sample(events, 4))
    verify_index(index)
    for other in (copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        check(other, known, events[:4])


@pytest.mark.parametrize("engine", ["scan", "counting", "betree", "atree"])
def test_every_engine_ranks(engine):
    rng = random.Random(5)
    index, known = filled(rng, 60, SCORES[1], engine)
    check(index, known, [random_event(rng) for _ in range(8)])
    index.set_score(7, 99)
    known.scores[7] = 99.0
    check(index, known, [random_event(rng) for _ in range(8)])


def segments(index):
    return index._shard.engine.stats()["segments"]


def test_the_best_are_in_small_segments(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, f"x > {i % 7}", i % 50) for i in range(256)).rebuild()
    assert segments(index) == [192, 48, 12, 4]
    unranked = tw.Index(small_bands, pending=4).add_many((i, "x > 1") for i in range(256)).rebuild()
    assert wait_for_upkeep(unranked) is not None
    assert segments(tw.Index(small_bands, pending=4).add_many((i, "x > 1", 3) for i in range(256)).rebuild()) == [256]


class Watched:
    """A reader that notes what is read."""

    def __init__(self, reader, read):
        self._reader, self._read = reader, read

    def match(self, events):
        self._read.append(self._reader)
        return self._reader.match(events)


def tiers_read(index, event, k):
    """How many tiers `top_k` has matched."""
    state, read = index._contents.state, []
    changes = state.shard.store.scores.changes
    found = [tier._replace(reader=Watched(tier.reader, read)) for tier in state.reader.list_tiers(changes)]
    state.reader._ranked = changes, found
    index.top_k(event, k)
    return len(read), len(found)


def test_what_cannot_be_better_is_not_matched(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", 1000 - i) for i in range(256)).rebuild()
    assert tiers_read(index, {"x": 2}, 4) == (1, 4)
    assert tiers_read(index, {"x": 2}, 5) == (2, 4)
    assert tiers_read(index, {"x": 2}, 256) == (4, 4)
    assert tiers_read(index, {"x": 0}, 1) == (4, 4)


def test_equal_scores_are_in_the_order_of_insertion_and_still_cut_short(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", float(i < 200)) for i in range(256)).rebuild()
    assert tiers_read(index, {"x": 2}, 4) == (1, 4)
    assert index.top_k({"x": 2}, 3) == [(0, 1.0), (1, 1.0), (2, 1.0)]


def test_a_raised_score_is_found_at_once_and_costs_no_band(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", 1000 - i) for i in range(256)).rebuild()
    index.set_score(255, 5000)
    assert index.top_k({"x": 2}, 2) == [(255, 5000.0), (0, 1000.0)]
    # It is a tier of its own, before the four bands.
    assert tiers_read(index, {"x": 2}, 4) == (2, 5)
    index.set_score(255, 1)
    assert index.top_k({"x": 2}, 256)[-1] == (255, 1.0)
    # Up to the next better band, the bound of its own rises.
    index.set_score(100, 990)
    assert index.top_k({"x": 2}, 12)[10:] == [(10, 990.0), (100, 990.0)]


def test_many_raised_scores_cut_the_bands_anew(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", 1000 - i) for i in range(256)).rebuild()
    index._shard.engine._rests_until = 0.0
    before = segments(index)
    index.set_scores({i: 2000 + i for i in range(100, 130)})
    assert index.top_k({"x": 2}, 2) == [(129, 2129.0), (128, 2128.0)]
    wait_for_upkeep(index)
    assert segments(index) == before
    assert not index._shard.engine._bounds.raised.count
    assert tiers_read(index, {"x": 2}, 4) == (1, 4)


def test_an_old_reader_does_not_trust_its_bounds(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", 1000 - i) for i in range(256)).rebuild()
    old = index._contents.state
    index.add_many((300 + i, "x > 1", 0) for i in range(20))
    index.set_score(255, 5000)
    current, index._contents.state = index._contents.state, old
    assert index.top_k({"x": 2}, 1) == [(255, 5000.0)]
    index._contents.state = current


def test_threads_see_scores_of_one_moment():
    """Two subscriptions swap their scores all the time: together they always have the same."""
    index = tw.Index().add_many((i, "x > 1", i % 100) for i in range(3000)).rebuild()
    index.set_scores({1: 500.0, 2: 600.0})
    wrong, is_over = [], threading.Event()

    def rank():
        while not is_over.is_set():
            found = index.top_k({"x": 2}, 2)
            if {score for _, score in found} != {500.0, 600.0}:
                wrong.append(found)
            table = index.top_k_many([{"x": 2}], 2)["score"].to_pylist()
            if table != [600.0, 500.0]:
                wrong.append(table)

    threads = [threading.Thread(target=rank) for _ in range(2)]
    for thread in threads:
        thread.start()
    for step in range(3000):
        index.set_scores({1: 500.0 + 100 * (step % 2), 2: 600.0 - 100 * (step % 2)})
        if step % 300 == 0:
            index.add(10_000 + step, "x > 1", score=1).remove(step + 5)
    is_over.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_an_interrupted_change_of_scores_has_written_is_found(small_bands, monkeypatch):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", 1000 - i) for i in range(256)).rebuild()

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tellwhen.engines.auto.engine.Auto.update_scores", stop)
        with pytest.raises(KeyboardInterrupt):
            index.set_score(255, 5000)
    assert index.top_k({"x": 2}, 1) == [(255, 5000.0)]
    index.set_score(7, -1)
    assert index.top_k({"x": 2}, 1) == [(255, 5000.0)]


def test_a_change_that_stopped_half_way_is_noticed(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", 1000 - i) for i in range(256)).rebuild()
    scores = index._shard.store.scores
    scores.changes += 1  # as an interrupt leaves it
    scores._score.data[255] = 5000
    assert index.top_k({"x": 2}, 1) == [(255, 5000.0)]
    index.set_score(7, -1)
    assert scores.changes % 2 == 0
    assert index.top_k({"x": 2}, 1) == [(255, 5000.0)]
    index._shard.engine.rebuild()
    assert index.rebuild().top_k({"x": 2}, 1) == [(255, 5000.0)]


def test_subscriptions_and_scores_are_of_one_moment(monkeypatch):
    """Whoever sees the score sees the subscription that was added before it changed."""
    index = tw.Index().add("y", "x > 1", score=0)
    plain = tw.Index._encode_and_record
    for ask in (lambda: index.top_k({"x": 2}), lambda: index.top_k_many([{"x": 2}]).num_rows):
        index.discard("x").set_score("y", 0)
        calls = []

        def encoded(self, event, state, calls=calls):
            if not calls:
                calls.append(1)
                index.add("x", "x > 1", score=5)
                index.set_score("y", 1)
            return plain(self, event, state)

        monkeypatch.setattr(tw.Index, "_encode_and_record", encoded)
        found = ask()
        monkeypatch.setattr(tw.Index, "_encode_and_record", plain)
        assert found in ([("x", 5.0), ("y", 1.0)], [("y", 0.0)], 1, 2)


def test_ranking_never_waits_for_a_change():
    index = tw.Index().add("a", "x > 1", score=1)
    found = []

    def rows():
        yield "b", "x > 1", 2
        thread = threading.Thread(
            target=lambda: found.extend([index.top_k({"x": 2}), index.top_k_many([{"x": 2}]).num_rows])
        )
        thread.start()
        thread.join(20)

    index.add_many(rows())
    assert found == [[("a", 1.0)], 1]


def test_bands_that_have_become_useless_are_cut_anew(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", 1000 - i) for i in range(1024)).rebuild()
    assert tiers_read(index, {"x": 2}, 4)[0] == 1
    rng = random.Random(1)
    for _ in range(3):  # drawn anew, all of them
        index.set_scores({i: rng.random() for i in range(1024)})
    # Perhaps the bands were cut before the last change, and rest now: then some ranking has them cut again.
    wait_for_upkeep(index)
    index._shard.engine._rests_until = 0.0
    for _ in range(RANKINGS_PER_UPKEEP_CHECK):
        index.top_k({"x": 2}, 4)
    assert tiers_read(wait_for_upkeep(index), {"x": 2}, 4)[0] == 1
    wait_for_upkeep(index)
    index._shard.engine._rests_until = 0.0
    index.set_scores(dict.fromkeys([id_ for id_, _ in index.top_k({"x": 2}, 300)], 0.0))  # the best sink
    assert tiers_read(wait_for_upkeep(index), {"x": 2}, 4)[0] == 1


def test_a_small_merge_does_not_merge_all_bands(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", 1000 - i) for i in range(256)).rebuild()
    names = {segment.name for segment in index._shard.engine._segments}
    for i in range(40):
        wait_for_upkeep(index.add(1000 + i, "x > 1", score=i))
    assert names <= {segment.name for segment in index._shard.engine._segments}
    loaded = pickle.loads(pickle.dumps(index))
    for i in range(20):
        wait_for_upkeep(loaded.add(2000 + i, "x > 1", score=i))
    assert segments(loaded)[:4] == [192, 48, 12, 4]
    for i in range(40):
        index.add(3000 + i, "x > 1", score=i)
    assert segments(wait_for_upkeep(index))[:2] != [192, 48]


def test_the_plan_counts_no_candidates_of_rankings(small_bands):
    index = tw.Index(small_bands, pending=4).add_many((i, "x > 1", i) for i in range(256)).rebuild()
    for _ in range(10):
        index.top_k({"x": 2}, 3)
    index.match({"x": 2})
    counted = index._shard.engine.match_counts()
    assert counted.events == 1
    assert counted.candidates <= 256


def test_a_mapping_with_a_wrong_length():
    class Odd(dict):
        def __len__(self):
            return 5

    index = tw.Index().add_many((i, "x > 1", i) for i in range(5))
    index.set_scores(Odd({0: 9}))
    assert [index.get_subscription(i).score for i in range(5)] == [9.0, 1.0, 2.0, 3.0, 4.0]


def test_scores_and_weights_are_kept(tmp_path):
    index = tw.Index().add("a", "x > 1 AND y = 2", score=-2.5, weights={"x": 0.25, "y": 3}).add("b", "x > 1")
    index.set_score("b", 7)
    index.save(tmp_path / "saved")
    loaded = tw.Index.load(tmp_path / "saved")
    for found in (index, loaded, copy.copy(index)):
        assert found.top_k({"x": 2, "y": 2}) == [("b", 7.0), ("a", -2.5)]
        assert found.get_subscription("a")[2:4] == (-2.5, {"x": 0.25, "y": 3.0})
        assert found.get_subscription("b").weights == {}
    loaded.set_score("a", 8)  # what is mapped from a file stays as it is
    assert tw.Index.load(tmp_path / "saved").get_subscription("a").score == -2.5


def test_a_replaced_subscription_has_the_new_score():
    index = tw.Index().add("a", "x > 1", score=3, weights={"x": 2}).add("b", "x > 1", score=2)
    index.add("a", "x > 0", replace=True)
    assert index.top_k({"x": 2}) == [("b", 2.0), ("a", 0.0)]
    assert index.get_subscription("a").weights == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: i.add("b", "x > 1", score=math.nan), "subscription 'b': a score is a number that can be compared"),
        (lambda i: i.add("b", "x > 1", score="3"), "subscription 'b': a score is a number, not '3'"),
        (lambda i: i.add("b", "x > 1", score=True), "subscription 'b': a score is a number, not True"),
        (lambda i: i.add("b", "x > 1", score=10**400), "that a double can hold"),
        (
            lambda i: i.add("b", "price > 1", weights={"prize": 1}),
            "weights name 'prize', which the expression does not use; did you mean price",
        ),
        (
            lambda i: i.add("b", "x > 1", weights={"long": 1}),
            "weights name 'long', which the expression does not use; its attributes are: x",
        ),
        (lambda i: i.add("b", "x > 1", weights={"x": math.inf}), r"the weight of x is a number from -1e\+150"),
        (lambda i: i.add("b", "x > 1", weights=[1]), "weights are a mapping"),
        (lambda i: i.add("b", "x > 1", weights={1: 1}), "by the names of attributes, not by 1"),
        (lambda i: i.add_many([("b", "x > 1", 1, None, None, 5)]), "perhaps followed by its score, its weights and"),
        (lambda i: i.set_score("b", 1), "there is no subscription 'b'"),
        (lambda i: i.set_scores({"a": 1, "b": 2}), "there is no subscription 'b'"),
        (lambda i: i.set_scores({"a": math.nan}), "subscription 'a': a score is a number that can be compared"),
        (lambda i: i.set_scores({"a": None}), "subscription 'a': a score is a number, not None"),
        (lambda i: i.set_score(["a"], 1), "id is a str or an int"),
        (
            lambda i: i.add_many([{"id": "b", "expresion": "x = 1"}]),
            "a subscription lacks expression; found id, expresion",
        ),
        (lambda i: i.add_many(["zx"]), "a subscription is a tuple of an id"),
        (lambda i: i.set_scores([("a", 1)]), "set_scores takes a mapping"),
        (lambda i: i.top_k({"x": 2}, 0), "k must be a whole number of at least 1, not 0"),
        (lambda i: i.top_k({"x": 2}, 2.0), "k must be a whole number of at least 1, not 2.0"),
        (lambda i: i.top_k({"x": 2}, True), "k must be a whole number of at least 1, not True"),
        (lambda i: i.top_k_many([{"x": 2}], -1), "k must be a whole number"),
        (lambda i: i.get_subscription("b"), "there is no subscription 'b'"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(call, message):
    index = tw.Index().add("a", "x > 1", score=5)
    with pytest.raises(tw.TellwhenError, match=message):
        call(index)
    assert index.top_k({"x": 2}) == [("a", 5.0)]
    assert len(index) == 1


def test_scores_of_every_kind_of_number():
    rows = [
        ("a", "x > 1", Decimal("1.5")),
        ("b", "x > 1", Fraction(5, 2)),
        ("c", "x > 1", np.float32(3)),
        ("d", "x > 1", None),
    ]
    index = tw.Index().add_many(rows).set_score("a", -0.0)
    assert index.top_k({"x": 2}) == [("c", 3.0), ("b", 2.5), ("a", 0.0), ("d", 0.0)]
    assert math.copysign(1, index.get_subscription("a").score) == 1


def test_a_faulty_batch_leaves_no_scores():
    index = tw.Index().add("a", "x > 1", score=5)
    with pytest.raises(tw.ParseError):
        index.add_many([("b", "x > 1", 9, {"x": 3}), ("c", "x >", 1)])
    index.add("d", "x > 1")
    assert index.top_k({"x": 2}) == [("a", 5.0), ("d", 0.0)]
    assert index.get_subscription("d").weights == {}


def test_no_subscriptions_no_events():
    index = tw.Index()
    assert index.top_k({"x": 1}) == []
    assert index.count({"x": 1}) == 0
    assert not index.has_match({"x": 1})
    assert index.top_k_many([]).num_rows == 0
    assert index.top_k_many([]).column_names == ["event_id", "rank", "subscription_id", "score"]
    index.add(1, "x = 1", score=np.float32(2)).set_scores({})
    assert index.top_k_many(pa.table({"x": [1, 2, 1]})).to_pydict() == {
        "event_id": [0, 2], "rank": [1, 1], "subscription_id": [1, 1], "score": [2.0, 2.0]
    }  # fmt: skip


def test_several_values_and_intervals():
    index = tw.Index().add_many([(1, "x BETWEEN 2 AND 4", 1), (2, "x > 3", 2), (3, "NOT x IN (9)", 3)])
    assert index.top_k({"x": [2, 9]}) == [(2, 2.0), (1, 1.0)]
    assert index.top_k({"x": tw.Interval(0, 3)}) == [(3, 3.0), (1, 1.0)]
