"""Explanations of why an expression matches an event or not: its tree with the value of every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tellwhen.language.ast import Connective, Expr, Not, Predicate
from tellwhen.language.computation import get_term
from tellwhen.language.evaluation import combine_values, evaluate_flat, get_operands
from tellwhen.language.formatting import format_predicate, format_value
from tellwhen.language.literals import format_name
from tellwhen.language.terms import is_computed
from tellwhen.language.values import flatten, is_list_like, is_present

VALUE_LABELS = {True: "true", False: "false", None: "undefined"}


class Explanation(NamedTuple):
    """The value of an expression on an event, and the explanations of its operands.

    Attributes
    ----------
    expression
        The expression.
    value
        Its value: True, False, or None for undefined.
    parts
        The explanations of the operands of a NOT or a connective.
    note
        The values in the event of the attributes of a predicate.

    Examples
    --------
    >>> import tellwhen as tw
    >>> print(tw.parse("price < 20 AND NOT sold").explain({"price": 12}))
    undefined  AND
    true       ├─ price < 20                 price is 12
    undefined  └─ NOT
    undefined     └─ sold = TRUE             sold is missing
    """

    expression: Expr
    value: bool | None
    parts: tuple[Explanation, ...]
    note: str

    def __str__(self) -> str:
        lines = self._format_lines("", "")
        width = max((len(label) for _, label, note in lines if note), default=0)
        width = min(max(width, 30), 72)
        return "\n".join(f"{VALUE_LABELS[value]:<9}  {label:<{width}} {note}".rstrip() for value, label, note in lines)

    @property
    def label(self) -> str:
        """The text of the node: of a connective its keyword, of a predicate the whole text."""
        expr = self.expression
        return (
            expr.keyword if isinstance(expr, Connective)
            else "NOT" if isinstance(expr, Not)
            else format_predicate(expr) if isinstance(expr, Predicate)
            else str(expr)
        )  # fmt: skip

    def _format_lines(self, branch: str, indent: str) -> list[tuple[bool | None, str, str]]:
        lines = [(self.value, branch + self.label, self.note)]
        for i, part in enumerate(self.parts):
            is_last = i == len(self.parts) - 1
            lines += part._format_lines(indent + ("└─ " if is_last else "├─ "), indent + ("   " if is_last else "│  "))
        return lines


def explain_expression(
    expr: Expr, event: Mapping[str, Any], check_abort: Callable[[], None] = lambda: None
) -> Explanation:
    """Return the explanation of an expression on an event.

    `check_abort` is called before every node. It may raise an error to abort.
    """
    flat = flatten(event)
    objects = {name[:end] for name in flat for end, sign in enumerate(name) if sign == "."}

    def explain_node(expr: Expr) -> Explanation:
        check_abort()
        parts = tuple(map(explain_node, get_operands(expr)))
        value = combine_values(expr, [part.value for part in parts]) if parts else evaluate_flat(expr, flat)
        return Explanation(expr, value, parts, _describe_attributes(expr, value, flat, objects))

    return explain_node(expr)


def _describe_attributes(expr: Expr, value: bool | None, event: Mapping[str, Any], objects: set[str]) -> str:
    """Describe the values of a predicate's attributes. `objects` are the names of the nested objects of the event."""
    if not isinstance(expr, Predicate):
        return ""
    if is_computed(expr.attribute):
        return ", ".join(
            _describe_value(name, event, objects) for name in dict.fromkeys(get_term(expr.attribute).iter_names())
        )
    note = _describe_value(expr.attribute, event, objects)
    if value is None and isinstance(event.get(expr.attribute), str) and expr.family is not None:
        hint = f"; a schema can declare {format_name(expr.attribute)} as a time" if expr.family == "time" else ""
        note += f", which is a string, not a {expr.family}{hint}"
    return note


def _describe_value(name: str, event: Mapping[str, Any], objects: set[str]) -> str:
    """Describe the value of an attribute, or why it is missing: it is an object, or inside of a list of objects."""
    value: Any = event.get(name)
    if is_present(value):
        return f"{format_name(name)} is {format_value(value)}"
    if is_list_like(value):
        return f"{format_name(name)} is {format_value(value) if len(value) else 'an empty list'}"
    if name in objects:
        return f"{format_name(name)} is an object, not a list of objects"
    parts = name.split(".")
    for end in range(1, len(parts)):
        outer = ".".join(parts[:end])
        inner: Any = event.get(outer)
        if is_list_like(inner) and any(isinstance(member, Mapping) for member in inner):
            example = f"{format_name(outer)}[{'.'.join(parts[end:])} ...]"
            return f"{format_name(name)} is missing: {format_name(outer)} is a list of objects; write {example}"
    return f"{format_name(name)} is missing"
