"""Does the form without NOT and XOR match the same events?"""

import itertools
import json

import pytest
from bench.peers import workload
from bench.peers.positive_form import make_positive

import tellwhen as tw
from tellwhen.workloads import ABEGen


def evaluate_two_valued(form, event):
    """Evaluate as an engine with AND, OR and intervals would, for which a missing attribute makes a predicate false."""
    if isinstance(form, bool):
        return form
    if "attribute" in form:
        value = event.get(form["attribute"])
        inside = [(low is None or low <= value) and (high is None or value <= high) for low, high in form["within"]
                  if value is not None]  # fmt: skip
        return any(inside)
    ((word, inner),) = form.items()
    return {"and": all, "or": any}[word](evaluate_two_valued(one, event) for one in inner)


COMPARISONS = [("=", 2), ("<>", 2), ("<", 2), ("<=", 2), (">", 2), (">=", 2), ("in", [1, 3]), ("not in", [1, 2, 3]),
            ("between", [1, 3]), ("not between", [1, 3]), ("between", [3, 1]), ("not between", [3, 1])]  # fmt: skip


def test_the_positive_form_means_the_same(tmp_path):
    workload.write_files(tmp_path, ABEGen(total=300, dimensions=6, cardinality=5, event_size=4), 300, 20)
    rows = [json.loads(line) for line in (tmp_path / "subscriptions.jsonl").read_text().splitlines()]
    words = {word for row in rows for word in ("not", "xor", "xnor") if f'"{word}"' in json.dumps(row["expression"])}
    assert words == {"not", "xor", "xnor"}
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    for event, truth in zip(events, workload.read_truth(tmp_path), strict=True):
        assert truth == [row["id"] for row in rows if evaluate_two_valued(row["positive"], event)]


@pytest.mark.parametrize(("operator", "operand"), COMPARISONS)
@pytest.mark.parametrize("wrap", ["{0}", "NOT {0}", "{0} XOR b = 1", "NOT ({0} XNOR b = 1 XNOR c = 1)"])
def test_every_operator_has_its_intervals(operator, operand, wrap):
    expression = tw.parse(wrap.format(tw.from_json({"attribute": "a", "operator": operator, "value": operand})))
    form = make_positive(expression.to_json())
    for a, b, c in itertools.product([None, 0, 1, 2, 3, 4], [None, 1, 2], [None, 1, 2]):
        event = {name: value for name, value in (("a", a), ("b", b), ("c", c)) if value is not None}
        assert evaluate_two_valued(form, event) == (expression.evaluate(event) is True), event


def test_what_is_not_about_integers_is_refused():
    with pytest.raises(ValueError, match="integers"):
        make_positive(tw.parse("name STARTS WITH 'a'").to_json())
    with pytest.raises(ValueError, match="integers"):
        make_positive(tw.parse("a < 2.5").to_json())
