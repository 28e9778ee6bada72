"""Attributes that events lack, and values of a wrong type."""

import pyarrow as pa

import tellwhen as tw
from tellwhen.inspect.attribute_coverage import find_missing_attributes


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


def test_an_object_is_not_reported_as_missing():
    index = tw.Index().add(1, "patient IS NULL")
    members = ["weight", "age", "name", "city"]
    for events in ([{"patient": dict.fromkeys(members, 3)}], pa.table({"patient": [dict.fromkeys(members, 3)]})):
        found = index.inspect.check_attributes(events)
        assert found.missing == {"patient": "patient.age"}
        assert "patient has no value in any event, only members such as patient.age" in str(found)
        assert "no event has patient" not in str(found)


def test_suggestions_do_not_depend_on_the_order_of_names():
    names = [f"patient.{letter}" for letter in "dbca"]
    for present in (names, names[::-1], set(names)):
        assert find_missing_attributes(present, ["patient"])[0] == {"patient": "patient.a"}


def test_computed_values_are_told_from_values_of_a_wrong_type():
    index = tw.Index().add_many({1: "a / b > 1", 2: "coalesce(s, 7) > 3", 3: "city = 'Rome'"})
    found = index.inspect.check_attributes([{"a": 1, "b": 0, "s": "odd", "city": 5}, {"a": 2, "b": 0}])
    assert found.mismatches == {"a / b": 2, "coalesce(s, 7)": 1, "city": 1}
    assert found.computed == {"a / b", "coalesce(s, 7)"}
    assert sorted(str(found).splitlines()[1:]) == [
        "a / b: no value, or one of a wrong type, in 2 cases",
        "city: 1 value of a wrong type",
        "coalesce(s, 7): no value, or one of a wrong type, in 1 case",
    ]
