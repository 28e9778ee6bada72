"""Reading of JSON: round trips, errors, and limits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellwhen as tw
from strategies import TEXT
from tellwhen.language.limits import DEPTH_MAX

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["and", "or", "not", "xor", "attribute", "operator", "value", "escape", "date", "timestamp", "zzz"]
    ), inner, max_size=4),
)  # fmt: skip


@settings(max_examples=300)
@given(JSON)
def test_any_json_reads_or_is_refused(form):
    try:
        expression = tw.from_json(form)
    except tw.TellwhenError as error:
        assert str(error)
    else:
        assert tw.from_json(expression.to_json()) == expression


TOO_DEEP = 2 * DEPTH_MAX


def test_json_is_limited():
    form = {"attribute": "a"}
    for _ in range(TOO_DEEP):
        form = {"function": "abs", "arguments": [form]}
    with pytest.raises(tw.LimitError, match="nested at most"):
        tw.from_json({"attribute": form, "operator": ">", "value": 1})


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"attribute": {"function": "abs"}, "value": 1}, "a name and a list of arguments"),
        ({"attribute": {"function": "nope", "arguments": []}, "value": 1}, "no function nope"),
        ({"attribute": {"function": "abs", "arguments": []}, "value": 1}, "takes 1 argument, not 0"),
        ({"attribute": "a", "operator": "has any", "value": [{"attribute": "b"}]}, "list of constants"),
        ({"attribute": "a", "operator": "like", "value": {"attribute": "b"}}, "a constant must be a bool"),
        ({"attribute": "a", "operator": "=", "value": [1]}, "not a list"),
        ({"attribute": "a", "operator": "in", "value": 1}, "takes a list"),
        ({"attribute": "a", "where": True, "value": 1}, "members attribute and where, found attribute, value, where"),
    ],
)
def test_bad_json(form, words):
    with pytest.raises(tw.ExpressionError, match=words):
        tw.from_json(form)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("lacks", [{"attribute": "a"}, "number"]),
        ("<", [{"attribute": "a"}, 1]),
        ("=", [{"attribute": "a"}, {"attribute": "b"}]),
        ("cast", [{"attribute": "a"}, {"attribute": "b"}]),
        ("cast", [{"attribute": "a"}, "int) + CAST(b AS int"]),
        ("cast", ["1", "bogus"]),
    ],
)
def test_functions_that_json_may_not_call(function, args):
    with pytest.raises(tw.ExpressionError, match="there is no"):
        tw.from_json({"attribute": {"function": function, "arguments": args}, "operator": "=", "value": True})
