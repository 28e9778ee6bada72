"""Lists of plain values are encoded like any other lists."""

import pytest

import tellwhen as tw


@pytest.mark.parametrize(
    "value",
    [["a", "b"], ["a"], ["a", "zz", "a"], ["a", "é"], ["a", 1], ["\ud800"], [1, 2], [1], [1, 2**70], [True, 1], []],
)
@pytest.mark.parametrize("rule", ["v IN ('a', 'zz')", "v = 1", "NOT v IN ('b', 'q')", "v > 1.5", "v LIKE '%z'"])
def test_plain_lists_mean_what_all_lists_mean(value, rule):
    index = tw.Index().add("plain", rule)
    wanted = ["plain"] if tw.parse(rule).evaluate({"v": value}) else []
    assert index.match({"v": value}) == index.match({"v": tuple(value)}) == wanted
