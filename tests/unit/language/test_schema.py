"""Errors of a schema."""

import pytest

import tellwhen as tw


def test_a_date_that_is_a_subtraction():
    with pytest.raises(tw.SchemaError, match=r"write a date as DATE '2026-01-31'"):
        tw.Index(schema={"day": "date"}).add(1, "day > 2026-01-01")


def test_of_is_a_deprecated_alias_of_coerce():
    with pytest.warns(DeprecationWarning, match=r"use Schema\.coerce\(\) instead"):
        schema = tw.Schema.of({"day": "date"})
    assert schema == tw.Schema.coerce({"day": "date"}) == tw.Schema.coerce(schema)
    assert tw.Schema.coerce(None).types == {}
