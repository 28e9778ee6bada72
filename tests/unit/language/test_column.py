"""Expressions from columns: invalid arguments, and long lists of constants."""

import pytest

import tellwhen as tw
from support import wait_for_upkeep

A = tw.col("a")


def test_python_mistakes_are_caught():
    with pytest.raises(TypeError, match="& |"):
        bool(tw.col("a") == 1)
    with pytest.raises(TypeError, match="& |"):
        tw.col("a") == 1 and tw.col("b") == 2
    for wrong in (None, float("nan"), float("inf"), 2**62, b"x", object(), [1], "\ud800", "a\0b"):
        with pytest.raises(tw.ExpressionError):
            tw.col("a") == wrong  # noqa: B015
    with pytest.raises(tw.ExpressionError):
        tw.col("a").isin("abc")
    with pytest.raises(tw.ExpressionError):
        tw.col("a").between(1, "x")
    with pytest.raises(TypeError, match=r"col\('a'\).isin\(\[...\]\) instead of in"):
        _ = tw.col("a") in [1, 2]
    with pytest.raises(TypeError, match="between"):
        _ = 1 < tw.col("a") < 3
    with pytest.raises(TypeError, match="expected an expression, found the int 5; compare a column first"):
        (tw.col("a") == 1) & 5
    with pytest.raises(tw.ExpressionError):
        tw.col("")


@pytest.mark.parametrize("wrong", [tw.col("a") & tw.col("b") == 1, True])
def test_a_bool_is_not_an_expression(wrong):
    """Python reads `a & b == 1` as `(a & b) == 1`, which compares an expression with 1."""
    index = tw.Index()
    message = rf"found the bool {wrong}\. .*write col\('a'\) & \(col\('b'\) == 1\)\. .*'{str(wrong).upper()}'"
    for add in (lambda: index.add("x", wrong), lambda: index.add_many({"x": wrong})):
        with pytest.raises(tw.ExpressionError, match=message):
            add()
    (rejected,) = index.add_valid({"x": wrong})
    assert "found the bool" in rejected.reason
    assert len(index) == 0
    for form in ("TRUE", tw.parse("FALSE"), {"not": True}):
        index.add(len(index), form)
    assert list(map(str, index.values())) == ["TRUE", "FALSE", "NOT TRUE"]


def test_bad_arguments_of_columns():
    for wrong in (
        lambda: A.round([1]), lambda: A.date_part(["x"]), lambda: A.date_part("eon"), lambda: A.cast([1]),
        lambda: A.has_any(5), lambda: A.has_any("abc"), lambda: A.in_cidr(5), lambda: (A + 1).has_any([1]),
    ):  # fmt: skip
        with pytest.raises(tw.ExpressionError):
            wrong()
    with pytest.raises(tw.ExpressionError, match="takes no positional arguments"):
        tw.function(lambda: 5, name="five")


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_long_lists_of_constants(count, tmp_path):
    users = tw.col("user").isin(range(0, 2 * count, 2))
    names = tw.col("name").not_in(f"n{number}" for number in range(count))
    index = tw.Index().add("users", users).add("names", names).add("json", users.to_json())
    assert len(str(users)) > 5 * count
    for one in (index, wait_for_upkeep(index.rebuild())):
        assert one.match({"user": 2 * count - 2, "name": "n7"}) == ["users", "json"]
        assert one.match({"user": 7, "name": "x"}) == ["names"]
    index.save(tmp_path / "index")
    again = tw.Index.load(tmp_path / "index")
    assert again.match({"user": 4}) == ["users", "json"]
    assert again["users"] == users
    with pytest.raises(tw.ParseError, match="at most 1048576 characters"):
        tw.parse(str(names) * (1 + 2**20 // len(str(names))))
    with pytest.raises(tw.ExpressionError, match="at most 1048576 constants"):
        tw.col("user").isin(range(2**20 + 1))
