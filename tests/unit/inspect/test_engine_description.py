"""Description of an engine, and optimizing it for events."""

import pytest

import tellwhen as tw
from support import wait_for_upkeep

pytestmark = pytest.mark.late


def test_a_description_says_what_was_chosen_and_what_it_costs():
    index = tw.Index("auto", pending=100).add_many((i, f"user = {i} AND country = 'DE'") for i in range(1000))
    wait_for_upkeep(index.rebuild())
    description = index.inspect.describe_engine()
    assert description.parts == [(1000, "wait for user")]
    assert (
        description.subscriptions,
        description.over_budget,
        description.always_tested,
        description.expected_candidates,
        description.observed_candidates,
    ) == (
        1000,
        0,
        [],
        None,
        None,
    )
    index.add("new", "country = 'FR'")
    for i in range(50):
        index.match({"user": i, "country": "DE"})
    description = index.inspect.describe_engine()
    assert (description.observed_candidates, description.matched_events) == (
        2,
        50,
    )  # the one that it satisfies, and the one that is pending
    assert str(description) == (
        "auto:pending=100: 1,001 subscriptions\n"
        "        1,000  wait for user\n"
        "            1  are pending: tested one by one until they are merged\n"
        "candidates per event: expected unknown without a profile, observed 2.0 in 50 events "
        "since the index was opened or optimized"
    )
    # Batches count as well, and by all threads.
    index.match_many([{"user": i, "country": "DE"} for i in range(500)], threads=2)
    assert index.inspect.describe_engine().matched_events == 550


def test_a_description_counts_by_attribute():
    index = tw.Index("auto", pending=1).add_many((f"s{i}", f"s CONTAINS 'w{i}'") for i in range(20))
    index.add_many((f"f{i}", f"n = {i}.5") for i in range(5)).add_many((f"i{i}", f"n = {i}") for i in range(5))
    assert wait_for_upkeep(index.rebuild()).inspect.describe_engine().parts == [
        (20, "wait for a pattern of s"),
        (10, "wait for n"),
    ]
    index.add_many((f"a{i}", f"a{i} = 1") for i in range(20))
    assert wait_for_upkeep(index.rebuild()).inspect.describe_engine().parts[:2] == [
        (20, "wait for a pattern of s"),
        (10, "wait for n"),
    ]
    assert index.inspect.describe_engine().parts[-1] == (14, "wait for 14 other attributes and computed values")
    assert "several" not in str(index.inspect.describe_engine())
    index.add("or", "a1 = 1 OR a2 = 1")
    assert "(a subscription with an OR may wait for several attributes)" in str(
        wait_for_upkeep(index.rebuild()).inspect.describe_engine()
    )


def test_a_description_warns_of_what_every_event_is_tested_against():
    index = tw.Index("auto", pending=1).add_many({i: f"a = {i}" for i in range(20)})
    index.add_many({"null": "b IS NULL AND a <> 3", "always": "TRUE", "fine": "b IS NOT NULL", "not": "NOT a = 1"})
    description = wait_for_upkeep(index.rebuild()).inspect.describe_engine()
    assert description.always_tested == ["null", "always"]
    assert description.warnings == [
        "2 subscriptions must be tested on nearly every event, because no rare predicate must be true: 'null', 'always'"
    ]
    assert str(description).endswith("\nwarning: " + description.warnings[0])
    assert wait_for_upkeep(index.remove("null")).inspect.describe_engine().always_tested == ["always"]


def test_a_description_does_not_count_what_was_removed():
    index = wait_for_upkeep(tw.Index("auto", pending=1).add_many({k: f"u = {k}" for k in range(500)}).rebuild())
    assert index.remove_many(range(50)).inspect.describe_engine().parts == [(450, "wait for u")]


def test_an_absence_that_is_rare_is_no_reason_to_warn():
    index = tw.Index("auto", pending=1).optimize_for([{"u": k, "b": 1} for k in range(50)])
    index.add_many({k: f"u = {k} AND b IS NULL" for k in range(100)})
    assert wait_for_upkeep(index.rebuild()).inspect.describe_engine().warnings == []
    index.optimize_for([{"u": k} for k in range(100)])
    index.add("always", "b IS NULL")
    assert wait_for_upkeep(index.rebuild()).inspect.describe_engine().always_tested == ["always"]


def test_what_was_observed_before_a_new_profile_is_forgotten():
    index = tw.Index().add_many({k: f"u = {k}" for k in range(100)})
    index.match({"u": 1})
    assert index.inspect.describe_engine().observed_candidates == 100
    assert index.optimize_for([{"u": k} for k in range(100)]).inspect.describe_engine().observed_candidates is None


def test_a_description_warns_when_a_memory_limit_holds_up_a_merge():
    index = tw.Index("auto", pending=10).add_many({k: f"u = {k} AND c = 'DE{k}'" for k in range(400)})
    size = sum(wait_for_upkeep(index.rebuild()).inspect.get_stats()["bytes"].values())
    index = tw.Index("auto", pending=10, memory_limit=size).add_many(
        {k: f"u = {k} AND c = 'DE{k}'" for k in range(400)}
    )
    description = wait_for_upkeep(index).inspect.describe_engine()
    assert description.parts == [(400, "are pending: tested one by one until they are merged")]
    assert description.warnings == [
        "the memory_limit leaves no room to merge pending subscriptions: each is tested on every event"
    ]


def test_a_description_warns_when_events_have_changed():
    description = (
        tw.Index()
        .inspect.describe_engine()
        ._replace(expected_candidates=5.0, observed_candidates=40.0, matched_events=10)
    )
    assert description.warnings == [
        "events differ from the profile: optimize_for_recent_events() rebuilds the engine for recent events"
    ]
    assert description._replace(observed_candidates=12.0).warnings == []


def test_many_candidates_and_many_computed_values_are_told():
    index = tw.Index().add_many({n: f"segments HAS NONE ('s{n}')" for n in range(400)}).rebuild()
    index.match({"segments": ["a"]})
    (warning,) = index.inspect.describe_engine().warnings
    assert warning.startswith("an event is tested against about 400 of 400 subscriptions")
    assert "wait for no string in segments" in str(index.inspect.describe_engine())
    assert index.inspect.get_types() == {"segments": "string"}
    assert index.inspect.find_costly_predicates(1)[0].predicate == "no string in segments"
    description = tw.Index().add_many({n: f"a + {n} < b" for n in range(300)}).inspect.describe_engine()
    assert description.warnings == [
        "300 different values are computed for an event that has all attributes, each in 1 to 10 us"
    ]


@pytest.mark.parametrize("engine", ["counting", "betree", "scan", "cover"])
def test_every_engine_is_described(engine):
    index = tw.Index(engine).add_many((i, f"a = {i} AND b = {i % 3}") for i in range(300))
    description = index.optimize_for([{"a": 1, "b": 1}, {"a": 2, "b": 0}]).inspect.describe_engine()
    assert "observed not counted by this engine" in str(description)
    assert sum(part.subscriptions for part in description.parts) == 300
    assert description.expected_candidates >= 0.5
    index.add("complex", " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(12)))
    assert index.inspect.describe_engine().over_budget == (0 if engine in ("scan", "cover") else 1)
    assert ("over the budget of the engine" in str(index.inspect.describe_engine())) == (
        engine not in ("scan", "cover")
    )


def test_adapting_chooses_by_the_events_that_come():
    """Half of the events have item 7: what asks for it is found by its user. Other items are rare, or never come."""
    index = tw.Index("auto", pending=100)
    index.add_many((i, f"item = {i % 40} AND user = {i // 40}") for i in range(1600))
    wait_for_upkeep(index.rebuild())
    with pytest.raises(tw.TellwhenError, match="no events were matched yet"):
        index.optimize_for_recent_events()
    events = [{"item": 7 if i % 2 else i % 40, "user": i % 39} for i in range(500)]
    wanted = [index.match(event) for event in events]
    wait_for_upkeep(index.optimize_for_recent_events())
    description = index.inspect.describe_engine()
    assert dict(reversed(part) for part in description.parts)["wait for user"] >= 39
    assert description.observed_candidates is None
    assert description.expected_candidates < 5
    assert [index.match(event) for event in events] == wanted
    assert index.inspect.describe_engine().observed_candidates == pytest.approx(
        description.expected_candidates, rel=0.3
    )
    assert index.profile.events == 500
    # They change: it is user 7 now.
    for event in events * 3:
        index.match({"item": event["user"], "user": event["item"]})
    after = wait_for_upkeep(index.optimize_for_recent_events()).inspect.describe_engine()
    assert dict(reversed(part) for part in after.parts)["wait for item"] >= 39
    assert after.expected_candidates < 5


def test_a_merge_that_was_begun_before_adapting_is_made_again(merge_gate):
    index = tw.Index("auto", pending=10).add_many((i, f"item = {i % 40} AND user = {i // 40}") for i in range(400))
    assert merge_gate.arrivals.acquire(timeout=60)
    for i in range(400):
        index.match({"item": i % 40, "user": 3})
    index.optimize_for_recent_events()
    merge_gate.permits.release(100)
    (many, how), *_ = wait_for_upkeep(index).inspect.describe_engine().parts
    assert (many > 300, how) == (True, "wait for user")  # who else is rare: but users 0 to 9 but 3 never come


@pytest.mark.parametrize("engine", ["psthash", "counting"])
def test_other_engines_adapt_at_once(engine):
    index = tw.Index(engine).add_many((i, f"item = {i % 40} AND user = {i // 40}") for i in range(400))
    index.match({"item": 1, "user": 2})
    assert index.optimize_for_recent_events().match({"item": 1, "user": 2}) == [81]
    assert index.profile.events == 1


def test_a_description_has_the_bands():
    index = tw.Index().add_many((i, f"u = {i}", float(i)) for i in range(10_000))
    description = wait_for_upkeep(index).inspect.describe_engine()
    assert description.bands == [(2_500, 9_999.0), (7_500, 7_499.0)]
    assert "top_k searches 2,500 with scores up to 9,999, then 7,500 with scores up to 7,499" in str(description)
    assert "top_k" not in str(
        wait_for_upkeep(tw.Index().add_many({i: f"u = {i}" for i in range(10_000)})).inspect.describe_engine()
    )


def test_pending_ones_are_no_reason_for_a_warning():
    index = tw.Index().add_many({n: f"van = {n}" for n in range(200)}).add_many({f"w{n}": f"x = {n}" for n in range(9)})
    index.match({"van": 7})
    description = index.inspect.describe_engine()
    assert description.observed_candidates == 209
    assert description.warnings == []
    waiting = description._replace(
        parts=[*description.parts[1:], *description.parts[:1], type(description.parts[0])(9, "wait for x")]
    )
    assert waiting.warnings == []
