"""Expressions for engines that have no NOT, no XOR and no third truth value.

NOT is pushed down into the predicates, and XOR is expanded. Undefined can then be replaced by false, so an engine with
two truth values finds the same matches if its predicates are false for a missing attribute. A predicate also gets the
closed intervals of the integers that satisfy it; None is an open end.
"""

from __future__ import annotations

from typing import Any

OPPOSITE = {"=": "<>", "<": ">=", ">": "<=", "in": "not in", "between": "not between"}
OPPOSITE |= {after: before for before, after in OPPOSITE.items()}
Interval = list[int | None]


def make_positive(form: Any, negated: bool = False) -> Any:
    """Return the JSON form of an expression, or of its negation, with AND and OR only.

    >>> make_positive({"not": {"or": [{"attribute": "a", "operator": "<", "value": 3}, True]}})["and"][0]
    {'attribute': 'a', 'operator': '>=', 'value': 3, 'within': [[3, None]]}
    """
    if isinstance(form, bool):
        return form != negated
    if "attribute" in form:
        operator = OPPOSITE.get(form["operator"], "") if negated else form["operator"]
        return form | {"operator": operator, "within": find_intervals(operator, form["value"])}
    ((word, inner),) = form.items()
    if word == "not":
        return make_positive(inner, not negated)
    if word in ("and", "or"):
        return {{"and": "or", "or": "and"}[word] if negated else word: [make_positive(arg, negated) for arg in inner]}
    *before, last = inner
    first = before[0] if len(before) == 1 else {word: before}  # XOR and XNOR associate to the left
    is_equal = (word == "xnor") != negated
    return {
        "or": [{"and": [make_positive(first, side), make_positive(last, side == is_equal)]} for side in (False, True)]
    }


def find_intervals(operator: str, value: Any) -> list[Interval]:
    """Return the closed intervals of the integers that satisfy a comparison."""
    values = value if isinstance(value, list) else [value]
    if operator not in OPPOSITE or not all(type(one) is int for one in values):
        raise ValueError(f"peers are measured on comparisons of integers only, not on {operator} {value!r}")
    if operator in ("<", ">="):
        return [[None, value - 1]] if operator == "<" else [[value, None]]
    if operator in ("<=", ">"):
        return [[None, value]] if operator == "<=" else [[value + 1, None]]
    inside = [[values[0], values[1]]] if "between" in operator else [[one, one] for one in sorted(set(values))]
    inside = [[low, high] for low, high in inside if low <= high]
    if operator in ("=", "in", "between"):
        return [[low, high] for low, high in inside]
    lows = [None, *(high + 1 for _, high in inside)]
    highs = [*(low - 1 for low, _ in inside), None]
    return [[low, high] for low, high in zip(lows, highs, strict=True) if low is None or high is None or low <= high]
