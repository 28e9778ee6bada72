"""Damaged Dewey IDs are noticed."""

import itertools

import pytest

from tellwhen.papers.a_tree.dewey.arrays import STAR
from tree_support import alter_field, assert_verify_notices, replace_item

pytestmark = pytest.mark.late


def test_damaged_offsets_are_noticed():
    for at in range(11):
        alter = replace_item(at, lambda array, at=at: array[at] + 1)
        assert_verify_notices("dewey", alter_field("posted.annotation", alter))


def test_damaged_ids_are_noticed():
    for at, by in itertools.product(range(30), (STAR, 2)):
        alter = replace_item(at, lambda array, at=at, by=by: array[at] ^ by)
        assert_verify_notices("dewey", alter_field("ids", alter))
