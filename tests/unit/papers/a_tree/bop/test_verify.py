"""Damaged encodings are noticed."""

import itertools

import pytest

from tree_support import alter_field, assert_verify_notices, replace_item

pytestmark = pytest.mark.late


def test_damaged_bytes_are_noticed():
    for at, by in itertools.product(range(34), (1, 3, 128)):
        alter = replace_item(at, lambda array, at=at, by=by: array[at] ^ by)
        assert_verify_notices("bop", alter_field("encoding", alter))


def test_a_missing_byte_and_a_wrong_minimum_are_noticed():
    assert_verify_notices("bop", alter_field("encoding", lambda array: array[:-1]))
    assert_verify_notices("bop", alter_field("minimum", replace_item(0, 2)))
