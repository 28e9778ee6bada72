"""Syntax trees: equality, merging, and limits on depth and size."""

import functools
import operator
import time

import pytest

import tellwhen as tw


def test_a_tree_too_deep_is_refused_when_it_is_built():
    expression = tw.col("a") == 1
    with pytest.raises(tw.LimitError):
        for _ in range(1000):
            expression = ~expression
    nested = {"not": True}
    for _ in range(500):
        nested = {"not": nested}
    with pytest.raises(tw.LimitError):
        tw.from_json(nested)
    with pytest.raises(tw.ParseError):
        tw.from_json('{"not":' * 100_000)


def test_nested_xor_does_not_blow_up():
    text = "a0"
    for i in range(1, 45):
        text = f"a{i} XOR (b{i} AND ({text}))"
    index = tw.Index().add(1, text)
    event = {f"{name}{i}": True for i in range(45) for name in "ab"}
    assert (index.match(event) == [1]) == (tw.parse(text).evaluate(event) is True)


def test_one_is_not_true():
    assert tw.parse("a = 1") != tw.parse("a = TRUE")
    assert tw.parse("a = 1") != tw.parse("a = 1.0")
    assert tw.parse("a IN (1, 0)") != tw.parse("a IN (TRUE, FALSE)")


def test_a_long_chain_is_built_in_time():
    start = time.process_time()
    chain = functools.reduce(operator.or_, [tw.col("x") == i for i in range(10_000)])
    assert time.process_time() - start < 2
    assert (chain.depth, chain.size, len(chain.args)) == (1, 10_000, 10_000)
    assert tw.parse(str(chain)) == chain
