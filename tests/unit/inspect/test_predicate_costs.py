"""Ranking of predicates by the work that they cause."""

import pytest

import tellwhen as tw


def test_the_costliest_predicates_are_in_many_subscriptions_and_true_of_many_events():
    index = tw.Index().add_many({n: f"x = {n % 3} AND y > {n}" for n in range(9)}).add("or", "x = 0 OR z IS NULL")
    assert [(one.predicate, one.subscriptions) for one in index.inspect.find_costly_predicates(1)] == [
        ("y > 0", 1)
    ]  # a guess
    index.optimize_for([{"x": 0, "z": 1}] * 3 + [{"x": 1, "z": 1}])
    assert index.inspect.find_costly_predicates(2) == [("x = 0", 4, 0.75), ("x = 1", 3, 0.25)]
    index.remove_many([0, 3, 6])
    assert index.inspect.find_costly_predicates(1) == [("x = 0", 1, 0.75)]
    assert tw.Index().inspect.find_costly_predicates() == []


@pytest.mark.parametrize("limit", [-1, "3", 2.5])
def test_a_limit_that_is_no_count_is_refused(limit):
    with pytest.raises(tw.ArgumentError, match="limit must be a whole number of at least 0"):
        tw.Index().inspect.find_costly_predicates(limit)
