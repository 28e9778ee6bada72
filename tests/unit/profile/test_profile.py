"""Is a profile right on small data, bounded on large data, and the same however its input was divided?"""

import datetime as dt
import json
import random
from collections import Counter
from http import HTTPStatus

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellwhen as tw
from strategies import EVENTS, expressions
from tellwhen.profile import Profile, census, mappings, sharing, sketches
from tellwhen.profile import events as sampling
from tellwhen.profile.tables import TableBatch


def make_profile(*texts):
    return Profile.from_subscriptions(map(tw.parse, texts))


def draw_parts(draw, items):
    """The same items in another order, in several parts."""
    items = draw(st.permutations(items))
    cuts = sorted(draw(st.lists(st.integers(0, len(items)), max_size=4)))
    return [items[i:j] for i, j in zip([0, *cuts], [*cuts, len(items)], strict=True)]


def by_twos(profiles):
    while len(profiles) > 1:
        profiles = [Profile.merge(profiles[i : i + 2]) for i in range(0, len(profiles), 2)]
    return profiles[0]


# merging


@given(st.data(), st.lists(expressions(), max_size=8))
def test_subscriptions_in_any_order_and_parts(data, items):
    whole = Profile.from_subscriptions(items)
    parts = [Profile.from_subscriptions(part) for part in draw_parts(data.draw, items)]
    assert Profile.merge(parts) == by_twos(parts) == whole
    assert str(by_twos(parts)) == str(whole)


@given(st.data(), st.lists(EVENTS, max_size=8))
def test_events_in_any_order_and_parts(data, items):
    whole = Profile.from_events(items)
    parts = [Profile.from_events(part) for part in draw_parts(data.draw, items)]
    assert Profile.merge(parts) == by_twos(parts) == whole


@settings(max_examples=25)
@given(st.data(), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 400)), max_size=300))
def test_samples_that_are_cut_are_the_same_in_any_parts(data, pairs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(census, "SAMPLED_VALUES_MAX", 12)
        patch.setattr(census, "SAMPLED_VALUES_MIN", 2)
        patch.setattr(census, "SAMPLED_VALUES", 64)
        patch.setattr(census, "BUFFERED_VALUES_MAX", 50)
        patch.setattr(mappings, "BATCH_VALUES", 50)
        patch.setattr(sharing, "SAMPLED_EXPRESSIONS_MAX", 16)
        patch.setattr(sampling, "SAMPLED_EVENTS_MAX", 9)
        patch.setattr(sampling, "SAMPLED_EVENTS_MIN", 2)
        patch.setattr(sampling, "SAMPLED_EVENT_VALUES_MAX", 16)
        # Wide ones late or early: the wider the widest, the fewer events are sampled.
        events = [{f"a{name + i}": value for i in range(1 + value // 150)} for name, value in pairs]
        texts = [tw.parse(f"a{name} = {value} AND b = {value % 7}") for name, value in pairs]
        whole = Profile.from_events(events) | Profile.from_subscriptions(texts)
        parts = [Profile.from_events(part) for part in draw_parts(data.draw, events)]
        parts += [Profile.from_subscriptions(part) for part in draw_parts(data.draw, texts)]
        assert by_twos(parts) == Profile.merge(reversed(parts)) == whole
        assert Profile.from_json(json.loads(json.dumps(whole.to_json()))) == whole


def test_merging_leaves_the_parts_alone():
    one, two = make_profile("a = 1"), make_profile("a = 1", "b = 2")
    before = json.dumps([one.to_json(), two.to_json()])
    both = one | two
    both.add(two)
    both.add_events([{"a": 1}])
    assert json.dumps([one.to_json(), two.to_json()]) == before
    assert both.subscriptions == 5


@given(st.lists(expressions(), max_size=5), st.lists(EVENTS, max_size=5))
def test_json_round_trip(subscriptions, events):
    whole = Profile.from_subscriptions(subscriptions) | Profile.from_events(events)
    again = Profile.from_json(json.loads(json.dumps(whole.to_json())))
    assert again == whole
    assert again | whole == whole | whole


# small data


def test_frequencies():
    found = make_profile("a = 1 AND b < 2 OR a = 3", "a > 1", "TRUE", "c IS NULL")
    assert found.subscription_frequency == {"a": 0.5, "b": 0.25, "c": 0.25}
    assert found.event_frequency == {}
    found = Profile.from_events([{"a": 1, "b": None}, {"a": float("nan"), "b": []}, {"c": {"d": [None, 1]}}, {"b": {}}])
    assert found.event_frequency == {"a": 0.25, "c.d": 0.25}
    assert found.subscription_frequency == {}
    assert Profile().event_frequency == Profile().subscription_frequency == {}


def test_operators_sizes_depths():
    found = make_profile("a = 1 AND b < 2 OR a = 3", "NOT a IN (1, 2)")
    assert found.operators == {"=": 2, "<": 1, "IN": 1}
    assert found.sizes == {3: 1, 1: 1}
    assert found.depths == {2: 1, 1: 1}


def test_sharing_by_hand():
    # Level 1: a, b, c, a, b, c, d; level 2: a AND b twice, in either order; NOT d; level 3: two different ORs.
    found = make_profile("a = 1 AND b = 2 OR c = 3", "c = 3.0 OR b = 2 AND a = 1 OR NOT d = 4")
    assert found.sharing() == [(1, 7, 4), (2, 3, 2), (3, 2, 2)]
    assert [level.ratio for level in found.sharing()] == [1.75, 1.5, 1.0]


def test_sharing_tells_what_differs_and_only_that():
    def distinct(*texts):
        return make_profile(*texts).sharing()[0].distinct

    assert distinct("a = 1", "a = 1.0", "a = 1e0") == 1
    assert distinct("a IN (1, 2)", "a IN (2, 1, 1)") == 1
    assert distinct("a = DATE '2024-01-01'", "a = TIMESTAMP '2024-01-01 00:00:00'") == 1
    assert distinct("a = 1", "a = TRUE", "a = '1'", "b = 1", "a <> 1", "a BETWEEN 1 AND 1", "a IN (1)") == 7
    assert distinct("a LIKE 'x'", "a LIKE 'x' ESCAPE '!'", "a BETWEEN 1 AND 2", "a BETWEEN 2 AND 1") == 4


def test_heavy_hitters_of_constants_are_those_of_equalities():
    found = make_profile("a = 1", "a IN (1, 2)", "a > 7", "a <> 8", "NOT a = 1")
    assert found.heavy_hitters("a", "subscriptions") == [(1, 3), (2, 1)]
    assert found.families("a", "subscriptions") == {"number": 5}
    assert found.heavy_hitters("a") == found.histogram("a") == found.heavy_hitters("zzz") == []


def test_values_of_every_family():
    day = dt.datetime(2024, 1, 2)
    found = Profile.from_events(
        [{"a": [1, 1.0, True, "1", day, day.date()]}, {"a": tw.Interval(1, 2)}, {"a": object()}]
    )
    assert found.families("a") == {"bool": 1, "number": 2, "string": 1, "time": 2}
    assert found.heavy_hitters("a") == [(1, 2), (day, 2), (True, 1), ("1", 1)]
    assert [type(value) for value, _ in found.heavy_hitters("a")] == [int, dt.datetime, bool, str]
    assert found.distinct("a") == 4
    assert found.event_frequency == {"a": 1.0}


def test_odd_values_are_counted_or_left_out():
    values = [10**30, 2**63, -(2**62), float("inf"), -0.0, 0, "\ud800", "x" * 10_000, dt.date.max, dt.date.min]
    found = Profile.from_events([{"a": value} for value in values])
    assert found.event_frequency == {"a": 1.0}
    assert found.families("a") == {"number": 6, "string": 1, "time": 2}
    assert found.distinct("a") == 8
    enum = Profile.from_events([{"a": HTTPStatus.OK, "\ud800": 1}])
    assert enum.heavy_hitters("a") == [(200, 1)]
    assert enum == Profile.from_bytes(enum.to_bytes())
    assert Profile.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_a_histogram_has_buckets_of_equal_counts():
    found = Profile.from_events([{"a": i % 100} for i in range(800)])
    buckets = found.histogram("a", buckets=4)
    assert buckets == [
        (0, 24, 200),
        (25, 49, 200),
        (50, 74, 200),
        (75, 99, 200),
    ]
    assert found.histogram("a", buckets=1) == [(0, 99, 800)]


def test_a_histogram_reads_text_only_if_all_of_it_is_numbers_or_times():
    def histogram(*values):
        return Profile.from_events([{"a": value} for value in values]).histogram("a", buckets=2)

    assert histogram("1", "2.5", "1") == [(1, 1, 2), (2.5, 2.5, 1)]
    assert histogram("1", "2", "x") == []
    assert histogram("1", "2", True) == []
    assert histogram("1970-01-01", "1970-01-02") == [
        (0, 0, 1),
        (86_400_000_000, 86_400_000_000, 1),
    ]
    assert histogram("1", "2", 7) == [(7, 7, 1)]


# tables


def columns_of(events):
    """Events as a table with a column for each attribute."""
    return pa.table({name: [event.get(name) for event in events] for name in ("n", "f", "s", "b", "t", "l")})


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "n": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5) | st.none(),
                "f": st.floats() | st.sampled_from([0.0, -0.0, 1.0, 0.5]),
                "s": st.sampled_from(["", "x", "ü"]) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
                "b": st.booleans(),
                "t": st.datetimes(),
                "l": st.lists(st.integers(0, 3) | st.none(), max_size=3),
            },
        ),
        max_size=10,
    )
)
def test_a_table_is_the_same_as_its_rows(events):
    assert Profile.from_events(columns_of(events)) == Profile.from_events(events)


def test_maps_structs_and_dictionaries():
    events = [{"a": "x", "b": "1"}, {"a": "y"}, {"b": "x"}, {}]
    expected = Profile.from_events(events)
    kind = pa.map_(pa.string(), pa.string())
    maps = pa.array([list(event.items()) for event in events], kind)
    assert Profile.from_events(pa.table({"m": maps})) == expected
    assert Profile.from_events(pa.table({"m": pa.chunked_array([maps[:1], maps[1:]])})) == expected
    assert Profile.from_events(pa.table({"m": pa.concat_arrays([maps, maps])[4:]})) == expected
    coded = {name: pa.array([event.get(name) for event in events]).dictionary_encode() for name in "ab"}
    assert Profile.from_events(pa.table(coded)) == expected
    structs = pa.table({"s": pa.array([{"a": 1, "b": None}, None])})
    assert Profile.from_events(structs) == Profile.from_events([{"s": {"a": 1}}, {}])
    union = pa.map_(pa.string(), pa.struct({"i": pa.int64(), "s": pa.string()}))
    unions = pa.table({"m": pa.array([[("a", {"i": 1}), ("b", {"s": "x"})], [("a", {"s": "y"})], None], union)})
    assert Profile.from_events(unions) == Profile.from_events([{"a": 1, "b": "x"}, {"a": "y"}, {}])
    both = pa.table({"m": pa.array([[("a", {"i": 1, "s": "x"})], [("a", {"i": 1, "s": "x"})]], union)})
    assert Profile.from_events(both) == Profile.from_events([{"a": [1, "x"]}, {"a": ["x", 1]}])


def test_columns_that_arrow_cannot_compute_with():
    lists = pa.array([[1, 2], None, [3]], pa.list_view(pa.int64()))
    binary = pa.array([b"x", None, b"y"], pa.binary_view())
    expected = Profile.from_events([{"l": [1, 2], "b": b"x"}, {}, {"l": [3], "b": b"y"}])
    assert Profile.from_events(pa.table({"l": lists, "b": binary})) == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_every_unit(unit):
    moment = dt.datetime(2024, 1, 2, 3, 4, 5)
    column = pa.array([moment, moment, None], pa.timestamp(unit))
    assert Profile.from_events(pa.table({"t": column})) == Profile.from_events([{"t": moment}, {"t": moment}, {}])
    days = pa.table({"t": pa.array([moment.date()], pa.date32()), "u": pa.array([moment.date()], pa.date64())})
    assert Profile.from_events(days) == Profile.from_events([{"t": moment.date(), "u": moment.date()}])


# whole events


def count_events(events):
    """Distinct events with their counts; those of the tests are written in the same way if they are equal."""
    return Counter(json.dumps(event, sort_keys=True, default=str) for event in events)


def test_a_few_events_are_all_in_the_sample():
    events = [{"a": 1, "b": "x"}] * 3 + [
        {"b": "x", "a": 1.0},
        {"a": [2, 1, 2]},
        {"a": [1, 2]},
        {"a": [3]},
        {"a": 3},
        {},
    ]
    found = Profile.from_events([*events, {"a": None, "c": float("nan")}, {"a": {"b": True}, "t": dt.date(2024, 1, 2)}])
    day = str(dt.datetime(2024, 1, 2))
    assert count_events(event for event, weight in found.sample() for _ in range(round(weight))) == {
        '{"a": 1, "b": "x"}': 4, '{"a": [1, 2]}': 2, '{"a": 3}': 2, "{}": 2, f'{{"a.b": true, "t": "{day}"}}': 1,
    }  # fmt: skip


def test_a_value_of_no_family_is_there_and_unknown():
    ((event, weight),) = Profile.from_events([{"a": object(), "b": tw.Interval(1, 2), "c": [1, object()]}]).sample()
    assert weight == 1
    assert event.keys() == {"a", "b", "c"}
    assert tw.parse("a IS NOT NULL AND b IS NOT NULL AND c = 1").evaluate(event)
    assert not tw.parse("a = 1 OR b = 1 OR c = 2").evaluate(event)


def test_the_sample_tells_what_comes_together():
    draw = random.Random(3)
    # Alone, `a` and `b` are 1 in half of the events; together nearly always.
    events = [{"id": i, "a": i % 2, "b": i % 2 if draw.random() < 0.95 else draw.randrange(2)} for i in range(20_000)]
    sample = Profile.from_events(events).sample()
    assert len(sample) == sampling.SAMPLED_EVENTS_MAX
    assert sum(weight for _, weight in sample) == pytest.approx(20_000)
    both = sum(weight for event, weight in sample if event["a"] == event["b"] == 1) / 20_000
    exact = sum(event["a"] == event["b"] == 1 for event in events) / 20_000
    assert both == pytest.approx(exact, abs=0.05)


def test_counts_in_the_sample_are_exact_however_divided():
    draw = random.Random(4)
    events = [{"a": min(draw.randrange(9_000), draw.randrange(9_000)), "b": i % 2} for i in range(30_000)]
    exact = count_events(events)
    parts = [Profile.from_events(events[i : i + 7_001]) for i in range(0, len(events), 7_001)]
    table = Profile.from_events(pa.Table.from_pylist(events))
    assert table.to_json()["sample"] == by_twos(parts).to_json()["sample"]
    found = [(event, count) for count, event in table.to_json()["sample"]["events"].values()]
    assert len(found) == sampling.SAMPLED_EVENTS_MAX < len(exact)
    for event, count in found:
        assert exact[json.dumps({name: int(text[1:]) for name, (text,) in event.items()})] == count


def test_a_frequent_event_in_the_sample_does_not_outweigh_the_others(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLED_EVENTS_MAX", 100)
    events = [{"a": i} for i in range(10_000)]
    sampled, _ = Profile.from_events(events).sample()[0]
    sample = Profile.from_events(events + [sampled] * 10_000).sample()
    weights = {event["a"]: weight for event, weight in sample}
    assert weights.pop(sampled["a"]) == 10_001
    assert list(weights.values()) == pytest.approx([9_999 / 99] * 99)


@pytest.mark.slow
def test_wide_events_keep_the_bounds():
    events = [{f"a{i + k}": k for k in range(200)} for i in range(340)]
    assert len(Profile.from_events(events).sample()) == sampling.SAMPLED_EVENT_VALUES_MAX // 200
    found = Profile.from_events([*events, {"list": list(range(5_000))}])
    assert len(found.sample()) == sampling.SAMPLED_EVENTS_MIN
    parts = Profile.from_events([{"list": list(range(5_000))}]) | Profile.from_events(events)
    assert parts.to_json()["sample"] == found.to_json()["sample"]
    huge = Profile.from_events([{f"a{k:05}": k for k in range(3_000)}])
    assert list(huge.sample()[0][0].values()) == list(range(sampling.VALUES_PER_EVENT_MAX))
    assert Profile.from_bytes(huge.to_bytes()) == huge
    assert Profile.from_bytes(huge.to_bytes()) | huge == huge | huge


def test_only_what_is_sampled_becomes_an_object(monkeypatch):
    made = []
    whole = TableBatch.build_events
    monkeypatch.setattr(TableBatch, "build_events", lambda batch, at: made.append(len(at)) or whole(batch, at))
    table = pa.table({"a": np.arange(50_000), "b": np.arange(50_000) % 7})
    found = Profile()
    for start in range(0, 50_000, 5_000):
        found.add_events(table[start : start + 5_000])
    assert made[0] == sampling.SAMPLED_EVENTS_MAX
    assert sum(made) < sampling.SAMPLED_EVENTS_MAX * 4  # 1 + 1/2 + 1/3 + ... + 1/10 of them are expected


# large data


@pytest.mark.slow
def test_many_values_keep_the_bounds():
    rows = 200_000
    numbers = np.random.default_rng(1).permutation(rows)
    skewed = np.where(numbers % 4 == 0, 7, numbers)  # a quarter is 7
    table = pa.table({"id": numbers, "skewed": skewed, "few": numbers % 3})
    parts = [Profile.from_events(table[i : i + 40_000]) for i in range(0, rows, 40_000)]
    found = Profile.merge(parts)
    assert len(json.dumps(found.to_json())) < 3_000_000
    error = found.heavy_error()
    assert 0 < error <= 3 * rows / (sketches.HEAVY_PAIRS_MAX + 1)
    assert found.heavy_hitters("few") == [(0, 66_667), (1, 66_667), (2, 66_666)]
    ((value, count),) = found.heavy_hitters("skewed")
    assert value == 7
    assert rows // 4 - error <= count <= rows // 4
    assert found.heavy_hitters("id") == []
    assert abs(found.distinct("id") / rows - 1) < 0.3
    for name in ("id", "skewed"):
        buckets = found.histogram(name, buckets=8)
        assert sum(bucket.count for bucket in buckets) == rows
        for low, high, _ in buckets:
            exact = np.count_nonzero((table[name].to_numpy() >= low) & (table[name].to_numpy() <= high)) / rows
            assert exact < 0.125 + (0.25 if low <= 7 else 0) + 0.1


@pytest.mark.slow
def test_many_attributes_keep_little_of_each():
    draw = random.Random(1)
    events = [{f"a{draw.randrange(20_000)}": draw.random() for _ in range(20)} for _ in range(8_000)]
    found = Profile.from_events(events)
    names = {name for event in events for name in event}
    assert found.event_frequency.keys() == names
    assert max(len(sample) for sample in found.to_json()["values"]["samples"].values()) == census.SAMPLED_VALUES_MIN
    size = len(json.dumps(found.to_json()))
    assert size < 200 * len(names) + 60 * sketches.HEAVY_PAIRS_MAX + 50 * sampling.SAMPLED_EVENT_VALUES_MAX


def test_many_distinct_expressions_are_estimated():
    found = Profile.from_subscriptions(tw.parse(f"a = {i} AND b = {i % 1_000}") for i in range(20_000))
    one, two = found.sharing()
    assert (one.total, two.total) == (40_000, 20_000)
    assert abs(one.distinct / 21_000 - 1) < 0.1
    assert abs(two.distinct / 20_000 - 1) < 0.1
    assert len(json.dumps(found.to_json())) < 3_000_000


def test_an_empty_profile_says_so():
    assert str(Profile()) == "nothing yet"
    assert repr(make_profile("a = 1")) == "<Profile of 1 subscriptions and 0 events, 1 attributes>"


def test_subscriptions_in_any_form():
    wanted = Profile.from_subscriptions([tw.parse("x = 1"), tw.parse("y > 2")])
    assert Profile.from_subscriptions(["x = 1", tw.col("y") > 2]) == wanted
    assert Profile.from_subscriptions(tw.Index().add("a", "x = 1").add("b", "y > 2")) == wanted


def test_events_in_any_form():
    events = [{"x": 1, "m": {"k": 2}}, {"x": 2}]
    wanted = Profile.from_events(events)
    assert Profile.from_events(pa.Table.from_pylist(events)) == wanted
    assert Profile.from_events(pd.DataFrame(events)) == wanted
    maps = pa.array([[("k", 2)], None], pa.map_(pa.string(), pa.int64()))
    assert Profile.from_events(pa.table({"x": [1, 2], "m": maps})) == wanted


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda: Profile.from_subscriptions("x = 1"), tw.ExpressionError),
        (lambda: Profile.from_subscriptions(5), tw.ExpressionError),
        (lambda: Profile.from_subscriptions([5]), tw.ExpressionError),
        (lambda: Profile.from_subscriptions(["x = "]), tw.ParseError),
        (lambda: Profile.from_events(5), tw.EventError),
        (lambda: Profile.from_events([5]), tw.EventError),
        (lambda: Profile.from_events({"x": 1}), tw.EventError),
        (lambda: Profile() | None, tw.TellwhenError),
        (lambda: Profile.merge([5]), tw.TellwhenError),
        (lambda: Profile.from_bytes(b"zz"), tw.FormatError),
        (lambda: Profile.from_bytes(None), tw.FormatError),
        (lambda: Profile.from_bytes(Profile().to_bytes()[:-3]), tw.FormatError),
        (lambda: Profile.from_json({}), tw.FormatError),
        (lambda: Profile.from_json(Profile().to_json() | {"values": [1]}), tw.FormatError),
        (lambda: Profile.from_json(5), tw.FormatError),
    ],
)
def test_what_is_no_profile(use, error):
    with pytest.raises(error):
        use()
