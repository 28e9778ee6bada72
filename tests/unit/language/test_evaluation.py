"""The cases of LANGUAGE.md, evaluated by the oracle and matched by the engines."""

import json

import pytest

import tellwhen as tw
from support import TRUTH_VALUES, decode_special_value, read_cases, read_language_examples

pytestmark = pytest.mark.late

ALL = [
    (case["expression"], json.loads(case["event"], object_hook=decode_special_value), TRUTH_VALUES[case["value"]])
    for case in read_cases()
]


def test_the_document_and_the_cases_agree():
    as_data = [(case["rule"], case["expression"], case["event"], case["value"]) for case in read_cases()]
    assert sorted(read_language_examples()) == sorted(as_data)
    assert len(ALL) > 100


@pytest.mark.parametrize(("expression", "event", "value"), ALL)
def test_oracle(expression, event, value):
    assert tw.parse(expression).evaluate(event) is value
    assert tw.parse(expression).explain(event).value is value


@pytest.mark.parametrize("engine", [info.name for info in tw.list_engines()])
@pytest.mark.parametrize("built", [False, True])
def test_engines(engine, built):
    # All in one index, so that their constants and domains mix.
    index = tw.Index(engine).add_many((i, expression) for i, (expression, _, _) in enumerate(ALL))
    if built:
        index.rebuild()
    for i, (expression, event, value) in enumerate(ALL):
        assert (i in index.match(event)) == (value is True), (expression, event)
