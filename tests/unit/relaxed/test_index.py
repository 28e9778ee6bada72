"""Relaxed matching counts every attribute by itself, on every expression, and adds the right weights."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

import tellwhen as tw
from support import set_thresholds, wait_for_upkeep
from tellwhen.language.ast import And, Not, Or, Predicate, Truth, Xnor, Xor

pytestmark = pytest.mark.late

# The oracle: relaxed matching of one expression at a time, written without an index.


def evaluate_part(expression, attribute, event, negated=False):
    """Return the value of the part of an attribute; None if the expression has no predicate on it."""
    if isinstance(expression, Predicate):
        return expression.evaluate(event) is (not negated) if expression.attribute == attribute else None
    if isinstance(expression, Truth):
        return None
    if isinstance(expression, Not):
        return evaluate_part(expression.arg, attribute, event, not negated)
    if isinstance(expression, Xor | Xnor):
        # Two operands at a time: x XOR y is (x AND NOT y) OR (NOT x AND y).
        negated ^= isinstance(expression, Xnor) and len(expression.args) % 2 == 0
        first, *rest = expression.args
        return evaluate_xor(first, rest, attribute, event, negated)
    return combine(
        isinstance(expression, And) != negated,
        [evaluate_part(arg, attribute, event, negated) for arg in expression.args],
    )


def combine(is_and, values):
    known = [value for value in values if value is not None]
    return (all(known) if is_and else any(known)) if known else None


def evaluate_xor(first, rest, attribute, event, negated):
    """Return the value of the part of `first XOR rest...`: the last operand against all operands before it."""
    if not rest:
        return evaluate_part(first, attribute, event, negated)
    *before, last = rest
    sides = [
        combine(
            True,
            [
                evaluate_xor(first, before, attribute, event, one),
                evaluate_part(last, attribute, event, not one ^ negated),
            ],
        )
        for one in (False, True)
    ]
    return combine(False, sides)


def list_attributes(expression):
    return sorted({predicate.attribute for predicate in expression.predicates()})


def compute_score(expression, weights, event, factors):
    """Return the score of an expression, and whether any part is true."""
    true = [name for name in list_attributes(expression) if evaluate_part(expression, name, event)]
    total = 0.0
    for name in true:
        total += (1.0 if not weights else weights.get(name, 0.0)) * factors.get(name, 1.0)
    return total, bool(true)


def rank_expected(known, event, k, factors=None, relaxed=True):
    found = []
    for order, (id_, (expression, weights)) in enumerate(known.items()):
        total, is_any = compute_score(expression, weights, event, factors or {})
        if is_any if relaxed else expression.evaluate(event) is True:
            found.append((-total, order, id_))
    return [(id_, -total) for total, _, id_ in sorted(found)[:k]]


def draw_weights(rng, expression):
    names = list_attributes(expression)
    return {name: rng.choice([0.5, 1.0, -2.0, 0.1, 3.0]) for name in names if rng.random() < 0.7} or None


def draw_predicate(rng):
    """Return a predicate that is neither always true nor never: an expression is simplified before it is divided."""
    name, number = rng.choice("abcde"), rng.randint(0, 5)
    column = tw.col(name)
    return rng.choice([
        lambda: column == number, lambda: column != number, lambda: column < number, lambda: column >= number,
        lambda: column.isin([number, number + 2]), lambda: ~column.isin([number, 9]),
        lambda: column.between(number, number + rng.randint(0, 2)), lambda: column == rng.choice("xyz"),
        lambda: column.startswith(rng.choice("xyz")), lambda: column.is_null(), lambda: column.is_not_null(),
    ])()  # fmt: skip


def draw_expression(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return draw_predicate(rng)
    args = [draw_expression(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    return rng.choice([And.create, And.create, Or.create, Or.create, Xor.create, lambda *args: Not(And.create(*args))])(
        *args
    )


def draw_event(rng):
    value = [lambda: rng.randint(-1, 8), lambda: rng.choice(["x", "xy", "z", "w"]), lambda: 2.5]
    one = {name: rng.choice(value)() for name in "abcde" if rng.random() < 0.7}
    if rng.random() < 0.3:
        one["a"] = [rng.choice(value)() for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.2:
        one["b"] = tw.Interval(2, rng.randint(2, 6))
    if rng.random() < 0.2:
        one["c"] = tw.parse(rng.choice(["c < 'xy'", "c <> 'x'", "c > 'x' AND c < 'z'", "c NOT IN (1, 2)"])).to_event()[
            "c"
        ]
    return one


def make_index(rng, count, depth=2, **options):
    index, known = tw.Index(**options), {}
    for i in range(count):
        expression = draw_expression(rng, depth)
        known[i] = expression, draw_weights(rng, expression)
    return index.add_many((i, e, 0.0, w) for i, (e, w) in known.items()), known


def check_ranking(index, known, events, factors=None):
    for relaxed in (True, False):
        how = {"relaxed": relaxed, "weights": factors if relaxed else factors or {}}
        for event in events:
            for k in (1, 5, 10_000):
                assert index.top_k(event, k, **how) == rank_expected(known, event, k, factors, relaxed)
        found = index.top_k_many(events, 4, **how).to_pylist()
        assert [(row["event_id"], row["rank"], row["subscription_id"], row["score"]) for row in found] == [
            (number, rank, id_, total)
            for number, event in enumerate(events)
            for rank, (id_, total) in enumerate(rank_expected(known, event, 4, factors, relaxed), start=1)
        ]


def test_matches_are_ranked_by_weights():
    """Section 4: the score is the sum of the weights of the matched dimensions; an event may weigh them, too."""
    index = tw.Index()
    index.add("cheap", "price < 9 AND size = 1", score=100, weights={"price": 3, "size": 1})
    index.add("small", "size = 1 AND price < 20", weights={"size": 2})
    index.add("near miss", "size = 1 AND price > 20", weights={"size": 50})
    index.add("always", "size = 1 OR TRUE", score=7)
    index.add("divided", "(size = 1 OR price = 2) AND (size = 3 OR price = 5)")  # true, though none of its parts is
    event = {"price": 5, "size": 1}
    assert index.top_k(event, weights={}) == [("cheap", 4.0), ("small", 2.0), ("always", 0.0), ("divided", 0.0)]
    assert index.top_k(event, 2, weights={"size": 4, "price": 0.5}) == [("small", 8.0), ("cheap", 5.5)]
    assert index.top_k(event, 1) == [("cheap", 100.0)]
    assert index.inspect.get_stats()["bytes"]["weighted"] > 0
    index.add("gold", "size = 1", weights={"size": 9}, payload={"kind": "gold"})
    assert index.top_k(event, 9, weights={}, where={"kind": "gold"}) == [("gold", 9.0)]
    index.remove("gold")
    assert index.top_k(event, 1, weights={}) == [("cheap", 4.0)]


def test_the_example_of_the_paper():
    """Section 1: an ad may be shown although a constraint fails; dimensions have weights."""
    ad = "age BETWEEN 20 AND 35 AND credit BETWEEN 400 AND 500 AND visits >= 3"
    index = tw.Index().add("mortgage", ad, weights={"age": 1, "credit": 4, "visits": 2})
    assert index.top_k({"age": 25, "credit": 441, "visits": 6}, relaxed=True) == [("mortgage", 7.0)]
    assert index.top_k({"age": 50, "credit": 441, "visits": 6}, relaxed=True) == [("mortgage", 6.0)]
    assert index.top_k({"age": 25}, relaxed=True) == [("mortgage", 1.0)]
    assert index.top_k({"age": 50}, relaxed=True) == []


@pytest.mark.parametrize(
    ("expression", "event", "total"),
    [
        ("x > 2 AND x < 5", {"x": 3}, 1.0),
        ("x > 2 AND x < 5", {"x": 7}, None),  # both predicates on x, or nothing
        ("x = 1 OR x = 2", {"x": 2}, 1.0),
        ("x = 1 OR y = 2", {"x": 1, "y": 2}, 2.0),
        ("(x = 1 AND y = 1) OR (x = 2 AND z = 1)", {"x": 2, "y": 1}, 2.0),
        ("NOT (x = 1 AND y = 1)", {"x": 2, "y": 1}, 1.0),
        ("NOT (x = 1 AND y = 1)", {"x": 1, "y": 1}, None),
        ("NOT x = 1", {}, None),
        ("x IS NULL AND y = 1", {}, 1.0),
        ("x = 1 XOR y = 1", {"x": 5, "y": 5}, 2.0),  # its part on x is x = 1 OR NOT x = 1
        ("tags = 'a' AND tags = 'b'", {"tags": ["a", "b"]}, 1.0),
        ("tags = 'a' AND tags = 'b'", {"tags": ["a"]}, None),
        ("NOT tags IN ('a')", {"tags": ["a", "b"]}, None),
        ("x BETWEEN 2 AND 3 AND y = 1", {"x": tw.Interval(3, 9)}, 1.0),
        ("x = 'a' OR x = 1", {"x": 1}, 1.0),
        ("TRUE", {"x": 1}, None),
        ("FALSE", {"x": 1}, None),
    ],
)
def test_parts(expression, event, total):
    index = tw.Index().add(1, expression)
    assert index.top_k(event, relaxed=True) == ([] if total is None else [(1, total)])
    if not any(isinstance(value, tw.Interval | list) for value in event.values()):
        assert rank_expected({1: (tw.parse(expression), None)}, event, 9) == ([] if total is None else [(1, total)])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 40))])
def test_random_expressions(seed):
    rng = random.Random(seed)
    index, known = make_index(rng, 80, depth=3)
    check_ranking(index, known, [draw_event(rng) for _ in range(12)])
    check_ranking(index, known, [draw_event(rng) for _ in range(4)], {"a": 2.0, "b": -0.5, "nowhere": 7.0})


def test_while_subscriptions_come_and_go(monkeypatch):
    set_thresholds(monkeypatch, stride=4)  # strings move often
    rng = random.Random(8)
    index, known = make_index(rng, 40)
    events = [draw_event(rng) for _ in range(6)]
    for step in range(60):
        if rng.random() < 0.7:
            expression = draw_expression(rng, 2)
            known[100 + step] = expression, draw_weights(rng, expression)
            index.add(100 + step, expression, weights=known[100 + step][1])
        else:
            gone = rng.choice(list(known))
            del known[gone]
            index.remove(gone)
        if step % 4 == 0:
            check_ranking(index, known, rng.sample(events, 3))
    assert len(index._shard.relaxed._segments[0].packed.arrays.slot) > 40


def test_an_old_reader_sees_what_it_saw():
    index = tw.Index().add_many([(1, "x = 'a'"), (2, "x = 'c'")])
    old = index._contents.state
    index.remove(1).add_many((10 + i, f"x = 'b{i}'") for i in range(3000))
    assert index.top_k({"x": "a"}, relaxed=True) == []
    current, index._contents.state = index._contents.state, old
    assert index.top_k({"x": "a"}, relaxed=True) == [(1, 1.0)]
    assert index.top_k({"x": "b7"}, relaxed=True) == []
    index._contents.state = current
    assert index.top_k({"x": "b7"}, relaxed=True) == [(17, 1.0)]


def test_compaction_and_saving_keep_weights(tmp_path):
    index = tw.Index().add_many((i, f"x > {i % 7} AND y > 3", 0, {"x": i, "y": 0.5}) for i in range(9000))
    index.remove_many(i for i in range(9000) if i % 9 != 4)
    wait_for_upkeep(index).save(tmp_path / "saved")
    wanted = [(8995, 8995.5), (8986, 8986.5)]
    for found in (index, tw.Index.load(tmp_path / "saved")):
        assert found.top_k({"x": 9, "y": 9}, 2, relaxed=True) == wanted


def test_the_order_of_an_event_changes_no_score():
    """Sums of floats depend on their order."""
    rng = random.Random(2)
    names = [f"n{i}" for i in range(30)]
    text = " AND ".join(f"{name} = 1" for name in names)
    index = tw.Index().add(1, text, weights={name: rng.uniform(-1, 1) * 10 ** rng.randint(-9, 9) for name in names})
    event = dict.fromkeys(names, 1)
    totals = set()
    for _ in range(20):
        rng.shuffle(names)
        totals.add(index.top_k({name: event[name] for name in names}, relaxed=True)[0][1])
    assert len(totals) == 1


def test_long_chains():
    chain = " XOR ".join(f"a{i % 5} = {i}" for i in range(300))
    index = tw.Index().add(1, chain)
    assert index.top_k({f"a{i}": 1 for i in range(5)}, relaxed=True) == [(1, 5.0)]


def test_several_threads():
    index = tw.Index().add_many((i, f"x > {i % 50} AND y = {i % 7}") for i in range(5000))
    events = [{"x": i % 60, "y": i % 9} for i in range(40)]
    wanted = [index.top_k(event, 5, relaxed=True) for event in events]
    wrong = []

    def rank():
        for _ in range(5):
            wrong.extend(e for e, want in zip(events, wanted, strict=True) if index.top_k(e, 5, relaxed=True) != want)

    threads = [threading.Thread(target=rank) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert index.top_k_many(events * 10, 5, relaxed=True, threads=2).num_rows == 10 * sum(map(len, wanted))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": {"x": "1"}}, "the weight of x is a number"),
        ({"weights": {"x": float("nan")}, "relaxed": True}, "the weight of x is a number from -1e.150 to 1e.150"),
        ({"weights": [1], "relaxed": True}, "weights are a mapping"),
    ],
)
def test_bad_weights_of_events(given, message):
    index = tw.Index().add(1, "x = 1")
    with pytest.raises(tw.ScoreError, match=message):
        index.top_k({"x": 1}, **given)
    with pytest.raises(tw.ScoreError, match=message):
        index.top_k_many([{"x": 1}], **given)


def test_while_another_thread_adds_weights():
    index = tw.Index().add_many((i, f"a{i} > 1 AND x > 0", 0.0, {f"a{i}": 0.5}) for i in range(500))
    errors, is_over = [], threading.Event()

    def rank():
        try:
            while not is_over.is_set():
                index.top_k({"x": 1}, 1, relaxed=True)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=rank)
    thread.start()
    for i in range(500, 900):
        index.add(i, f"a{i} > 1 AND x > 0", weights={f"a{i}": 0.5})
    is_over.set()
    thread.join()
    assert not errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_does_not_wait_for_a_thread_of_its_parent():
    index = tw.Index().add(1, "x = 1")
    with index._shard.relaxed._lock:
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if index.top_k({"x": 1}, relaxed=True) == [(1, 1.0)] else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_an_event_with_thousands_of_attributes():
    names = [f"n{i:05d}" for i in range(5000)]
    index = tw.Index().add_many((i, f"{name} = 1") for i, name in enumerate(names))
    began = time.process_time()
    assert len(index.top_k(dict.fromkeys(reversed(names), 1), 10_000, relaxed=True)) == 5000
    assert time.process_time() - began < 5


def test_its_memory_is_counted():
    index = tw.Index().add_many((i, f"x = {i}") for i in range(100))
    assert "relaxed" not in index.inspect.get_stats()["bytes"]
    index.top_k({"x": 1}, relaxed=True)
    assert index.inspect.get_stats()["bytes"]["relaxed"] > 1000


def test_numpy_weights():
    index = tw.Index().add(1, "x = 1", weights={"x": np.float32(0.5)})
    assert index.top_k({"x": 1}, relaxed=True) == [(1, 0.5)]


def test_the_largest_weights_add_up_to_a_number():
    index = tw.Index().add("large", "x = 1 AND y = 1", weights={"x": 1e150, "y": -1e150})
    index.add_many((n, "x = 1 AND y = 1", 0, {"x": n}) for n in range(1, 6))
    event, factors = {"x": 1, "y": 1}, {"x": 1e150, "y": 1e150}
    assert index.top_k(event, 3, relaxed=True, weights=factors) == [(n, n * 1e150) for n in (5, 4, 3)]
    assert index.top_k(event, 9, relaxed=True, weights=factors)[-1] == ("large", 0.0)
