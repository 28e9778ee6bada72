"""Attributes that events lack, and values of a wrong type."""

import pyarrow as pa

import tellwhen as tw


def test_attributes_that_no_event_has_are_seen():
    index = tw.Index().add_many(
        {1: "userId = 5 AND country = 'DE'", 2: "price * qty > 10", 3: "user.age > 3", 4: "plan IS NULL"}
    )
    events = [
        {"user_id": 5, "country": 7, "price": 3, "zip": None, "user": None, "other": None},
        {"user": {"age": "x"}, "other": [1]},
    ]
    for given in (events, pa.Table.from_pylist(events)):
        fit = index.inspect.check_attributes(given)
        assert fit.missing == {"userId": "user_id", "qty": None, "plan": None}
        assert sorted(fit.unused) == ["other", "user_id"]
        assert fit.mismatches == {"country": 1, "user.age": 1}
        assert fit
        assert "no event has userId; did you mean user_id?" in str(fit)
    assert index.inspect.get_stats()["mismatches"] == {}
    fine = tw.Index().add(1, "a + b > 3").inspect.check_attributes([{"a": 1}, {"b": 2}])
    assert not fine
    assert "every attribute" in str(fine)
    many = tw.Index().add_many((n, f"a{n} = 1") for n in range(50)).inspect.check_attributes([{"x": 1}])
    assert "... and 40 more" in str(many)


def test_what_events_lack_is_told_with_what_they_have():
    index = tw.Index().add_many({1: "dealy > 1", 2: "delay > 1", 3: "vehicle IS NOT NULL", 4: "unlike = 1"})
    found = index.inspect.check_attributes([{"delay": 5, "vehicle": {"seats": 3}, "colour": 1}])
    assert found.missing == {"dealy": "delay", "vehicle": "vehicle.seats", "unlike": None}
    assert sorted(found.unused) == ["colour", "vehicle.seats"]
