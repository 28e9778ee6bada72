"""Explanations of missing attributes."""

import tellwhen as tw


def test_explanations_tell_lists_of_objects_from_objects():
    event = {"copies": [{"price": 5}], "one": {"price": 3}}
    assert "copies is a list of objects; write copies[price ...]" in str(tw.parse("copies.price < 9").explain(event))
    assert "one is an object, not a list of objects" in str(tw.parse("one[price < 9]").explain(event))
    assert str(tw.parse("copies.price < 9").explain({"copies": [1]})).endswith("copies.price is missing")


def test_explanations_show_null_members():
    for value, note in (
        ([None], "l is [NULL]"), ([4, None], "l is [4, NULL]"), ([float("nan")], "l is [NULL]"),
        ([], "l is an empty list"), (None, "l is missing"),
    ):  # fmt: skip
        assert str(tw.parse("l > 9").explain({"l": value})).endswith(note)
