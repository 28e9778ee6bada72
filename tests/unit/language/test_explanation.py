"""Explanations of missing attributes."""

import tellwhen as tw


def test_explanations_tell_lists_of_objects_from_objects():
    event = {"copies": [{"price": 5}], "one": {"price": 3}}
    assert "copies is a list of objects; write copies[price ...]" in str(tw.parse("copies.price < 9").explain(event))
    assert "one is an object, not a list of objects" in str(tw.parse("one[price < 9]").explain(event))
    assert str(tw.parse("copies.price < 9").explain({"copies": [1]})).endswith("copies.price is missing")
