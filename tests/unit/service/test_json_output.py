"""Encoding of JSON."""

import math

import pytest

import tellwhen as tw
from tellwhen.service.json_output import encode_json


def test_answers_are_json_in_ascii_whatever_is_in_them():
    assert encode_json({"a": ["ž\u2028\n", -0.0, 10**30, math.inf, math.nan]}) == (
        b'{"a":["\\u017e\\u2028\\n",-0.0,1000000000000000000000000000000,null,null]}'
    )


def test_an_interval_is_an_object():
    assert encode_json([tw.Interval(1, None, "(]")]) == b'[{"low":1,"high":null,"bounds":"(]"}]'
    with pytest.raises(ValueError, match="has no JSON"):
        encode_json(object())
