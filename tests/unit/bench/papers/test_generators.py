"""Do the generators have the figures that the papers give of their data?"""

import numpy as np
import pytest
from bench.loading import encode_events, store_subscriptions
from bench.papers.generators import AD_OPERATORS, AdConjunctions, GramBases, QueryLog
from bench.truth import find_truth

import tellwhen as tw
from tellwhen.workloads import take_events, take_subscriptions

pytestmark = pytest.mark.late


def measure_match_share(work, count):
    store, _ = store_subscriptions(work, count)
    truth = find_truth(work, count, store, encode_events(work, 64, store))
    return np.mean([len(slots) for slots in truth.slots_by_event]) / count


@pytest.mark.parametrize(("of", "size", "event_size"), [("names", 8, 16), ("titles", 30, 43)])
def test_gram_bases_have_the_sizes_and_matches_of_table_3(of, size, event_size):
    work = GramBases(of=of, size=size, event_size=event_size, match=0.03)
    made, events = work.generate_conjunctions(0), work.generate_pairs(0)
    assert abs(np.diff(made.start).mean() - size) < 0.1
    assert set(np.diff(events.start)) == {event_size}
    assert all(len(set(row)) == event_size for row in events.attribute.reshape(-1, event_size)[:50].tolist())
    assert 0 <= events.value.min() <= events.value.max() < 26
    assert made.attribute.max() < 676
    assert abs(measure_match_share(work, 5_000) / 0.03 - 1) < 0.3


def test_query_logs_are_as_published():
    """Section 7.3: 2.78 predicates, 93.07 attributes in an event, each at most once."""
    pytest.importorskip("wordfreq")
    work = QueryLog()
    parsed = [tw.parse(text) for text in work.generate_subscriptions(0)]
    attributes = [[predicate.attribute for predicate in one.predicates()] for one in parsed]
    assert abs(np.mean([len(names) for names in attributes]) - 2.78) < 0.05
    assert all(len(set(names)) == len(names) for names in attributes)
    sizes = [len(event) for block in (0, 1) for event in work.generate_events(block)]
    assert abs(np.mean(sizes) / 93.07 - 1) < 0.02
    assert all(isinstance(value, str) for value in work.generate_events(0)[0].values())
    assert 0.0005 < measure_match_share(work, 5_000) < 0.01


def test_advertisements_are_as_published():
    """Section 7.4: 122 attributes, 1 to 56 predicates, 8 on average, and 20 attributes in an event."""
    work = AdConjunctions()
    made, events = work.generate_conjunctions(0), work.generate_pairs(0)
    sizes = np.diff(made.start)
    assert sizes.min() == 1
    assert 40 < sizes.max() <= 56
    assert abs(sizes.mean() - 8) < 0.15
    assert len(np.unique(made.attribute)) == 122
    assert all(len(set(made.attribute[a:b])) == b - a for a, b in zip(made.start[:300], made.start[1:301], strict=True))
    assert set(np.diff(events.start)) == {20}
    share = np.bincount(made.operator, minlength=9) / len(made.operator)
    assert all(abs(share[operator] - wanted) < 0.02 for operator, wanted in AD_OPERATORS.items())
    assert 0.0005 < measure_match_share(work, 10_000) < 0.01


def test_advertisements_as_arrays_and_as_text_mean_the_same():
    work, count = AdConjunctions(), 2_000
    store, _ = store_subscriptions(work, count)
    truth = find_truth(work, count, store, encode_events(work, 20, store))
    index = tw.Index("scan").add_many(enumerate(take_subscriptions(work, count)))
    for slots, event in zip(truth.slots_by_event, take_events(work, 20), strict=True):
        assert sorted(slots) == sorted(index.match(event))
