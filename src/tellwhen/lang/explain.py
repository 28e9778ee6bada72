"""Why does an expression match an event, or why not? Its tree, with the value of every node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tellwhen.lang.ast import Connective, Expr, Not, Predicate
from tellwhen.lang.compute import term_of
from tellwhen.lang.evaluate import value_of
from tellwhen.lang.format import predicate_text, value_text
from tellwhen.lang.literals import name_text
from tellwhen.lang.terms import is_computed
from tellwhen.lang.values import flatten, is_present, is_several

WORDS = {True: "true", False: "false", None: "undefined"}


class Explanation(NamedTuple):
    """An expression, its value on an event, and the explanations of its parts.

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
        lines = self._lines("", "")
        width = max((len(label) for _, label, note in lines if note), default=0)
        width = min(max(width, 30), 72)
        return "\n".join(f"{WORDS[value]:<9}  {label:<{width}} {note}".rstrip() for value, label, note in lines)

    @property
    def label(self) -> str:
        """The expression without its parts."""
        expr = self.expression
        return (
            expr.keyword if isinstance(expr, Connective)
            else "NOT" if isinstance(expr, Not)
            else predicate_text(expr) if isinstance(expr, Predicate)
            else str(expr)
        )  # fmt: skip

    def _lines(self, branch: str, indent: str) -> list[tuple[bool | None, str, str]]:
        lines = [(self.value, branch + self.label, self.note)]
        for i, part in enumerate(self.parts):
            last = i == len(self.parts) - 1
            lines += part._lines(indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "))
        return lines


def explain(expr: Expr, event: Mapping[str, Any]) -> Explanation:
    """The explanation of `expr` on `event`."""
    flat = flatten(event)
    return _explain(expr, flat, {name[:end] for name in flat for end, sign in enumerate(name) if sign == "."})


def _said(name: str, event: Mapping[str, Any], objects: set[str]) -> str:
    """What an attribute is; where it is missing, what is there instead: an object for a list, or a list of objects."""
    value = event.get(name)
    if is_present(value):
        return f"{name_text(name)} is {value_text(value)}"
    if is_several(value):
        return f"{name_text(name)} is an empty list"
    if name in objects:
        return f"{name_text(name)} is an object, not a list of objects"
    parts = name.split(".")
    for end in range(1, len(parts)):
        outer = ".".join(parts[:end])
        inner: Any = event.get(outer)
        if is_several(inner) and any(isinstance(member, Mapping) for member in inner):
            asked = f"{name_text(outer)}[{'.'.join(parts[end:])} ...]"
            return f"{name_text(name)} is missing: {name_text(outer)} is a list of objects, ask with {asked}"
    return f"{name_text(name)} is missing"


def _explain(expr: Expr, event: Mapping[str, Any], objects: set[str]) -> Explanation:
    """`objects` are the names of what was flattened."""
    parts: tuple[Explanation, ...] = ()
    note = ""
    if isinstance(expr, Connective):
        parts = tuple(_explain(arg, event, objects) for arg in expr.args)
    elif isinstance(expr, Not):
        parts = (_explain(expr.arg, event, objects),)
    elif isinstance(expr, Predicate):
        names = dict.fromkeys(term_of(expr.attribute).names()) if is_computed(expr.attribute) else [expr.attribute]
        note = ", ".join(_said(name, event, objects) for name in names)
    return Explanation(expr, value_of(expr, event), parts, note)
