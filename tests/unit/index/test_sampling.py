"""The sample of recent events is bounded, and has copies of the events."""

import pyarrow as pa
import pytest

import tellwhen as tw
from tellwhen.index.sampling import SAMPLED_EVENTS_MAX, MatchedEventSample

pytestmark = pytest.mark.late


def test_recent_events_are_a_bounded_sample():
    sample = MatchedEventSample()
    event = {"x": 1}
    sample.record(event)
    event["x"] = 2  # the user's own, afterwards
    assert sample.build_profile().event_frequency == {"x": 1.0}
    assert [value for value, _ in sample.build_profile().weights("x")] == [1]
    for i in range(10 * SAMPLED_EVENTS_MAX):
        sample.record({"y": i})
    assert sample.build_profile().events == SAMPLED_EVENTS_MAX
    sample.record_many([{"z": 1}] * 100_000)
    assert sample.build_profile().events == SAMPLED_EVENTS_MAX
    assert sample.build_profile().event_frequency["z"] > 0.9
    sample.record_many(pa.table({"w": range(100_000)}))
    assert 0 < sample.build_profile().event_frequency["w"] < 0.2
    sample.record_many(iter([]))


def test_an_event_that_is_refused_is_not_among_the_recent_ones():
    index = tw.Index().add(1, "x = 1")
    index.match_many([{"x": 1}] * 10)
    with pytest.raises(tw.EventError):
        index.match_many([{"x": 1}, {1: 2}])
    assert index.optimize_for_recent_events().profile.events == 10
