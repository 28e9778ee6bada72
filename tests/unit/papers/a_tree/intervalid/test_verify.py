"""Damaged interval IDs are noticed."""

import pytest

from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT
from tree_support import alter_field, assert_verify_notices, replace_item

pytestmark = pytest.mark.late


@pytest.mark.parametrize("by", [1, 1 << BEGIN_SHIFT])
def test_damaged_intervals_are_noticed(by):
    for at in range(11):
        alter = replace_item(at, lambda array, at=at: array[at] + by)
        assert_verify_notices("intervalid", alter_field("posted.annotation", alter))


def test_a_damaged_last_point_is_noticed():
    assert_verify_notices("intervalid", alter_field("end", replace_item(0, 9)))
