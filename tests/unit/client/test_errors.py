"""Answers without success become errors."""

import json

import pytest

import tellwhen as tw
from tellwhen.client import ServiceError
from tellwhen.client.errors import make_error


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (404, {"error": "UnknownId", "message": "m"}, tw.UnknownId, "m"),
        (422, {"error": "ParseError", "message": "m", "position": 3}, tw.ParseError, "m"),
        (507, {"error": "StorageError", "message": "m"}, ServiceError, "m"),
        (422, {"error": "shown", "message": "m"}, ServiceError, "m"),
        (422, {"error": "annotations", "message": "m"}, ServiceError, "m"),
        (502, None, ServiceError, "502"),
        (200, None, ServiceError, "address"),
        (500, [], ServiceError, "500"),
        (500, {"message": 5}, ServiceError, "500"),
    ],
)
def test_errors_of_answers(status, body, kind, says):
    error = make_error(status, json.loads(json.dumps(body)))
    assert type(error) is kind
    assert says in str(error)


def test_a_date_to_try_again_is_ignored():
    assert make_error(429, {"error": "TooMany", "message": "no"}, "Wed, 18 Nov").retry_after is None
