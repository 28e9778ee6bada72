"""Detection of attributes that are probably misspelt or are text without its quotes.

A misspelt attribute matches nothing, without an error. It is suspected if no other expression has it and another
attribute is spelt like it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tellwhen.errors import find_similar
from tellwhen.language.ast import Expr
from tellwhen.language.computation import get_term, iter_input_names
from tellwhen.language.terms import Call, Name, is_computed

SHORT_NAME_LETTERS = 3
"""Names of up to 3 letters are never suspected: most of them look alike."""

CUTOFF = 0.8
"""Similarity, of 1, from which a name is suspected to be a misspelling of another one."""


def find_similar_name(name: str, others: Collection[str], cutoff: float) -> str | None:
    """Return the name that differs from `name` in case, dots, underscores or a few letters, or None.

    If `name` is an object, return the first of its members.
    """
    if (member := next((other for other in others if other.startswith(f"{name}.")), None)) is not None:
        return member
    by_plain_form = {_simplify(other): other for other in others}
    similar = find_similar(_simplify(name), by_plain_form, cutoff)
    return None if similar is None else by_plain_form[similar]


def _simplify(name: str) -> str:
    return name.lower().replace("_", "").replace(".", "")


def list_event_attributes(expression: Expr) -> dict[str, None]:
    """Return the attributes of events that an expression and its computed values need, each once."""
    return dict.fromkeys(name for one in expression.predicates() for name in iter_input_names(one.attribute))


def find_doubtful_names(expression: Expr, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield attributes of an expression that are not `known` and probably wrong, each with a hint."""
    unquoted = set(_list_compared_names(expression))
    for name in list_event_attributes(expression):
        if name in known:
            continue
        similar = find_similar_name(name, known, CUTOFF) if len(name) > SHORT_NAME_LETTERS else None
        if similar is not None and _remove_digits(similar) != _remove_digits(name):
            yield name, f"no other subscription uses {name}; did you mean {similar}?"
        elif name in unquoted:
            yield name, f"{name} is an attribute here; if it is text, write '{name}'"


def _remove_digits(name: str) -> str:
    """Return a name without digits, so that a1 and a2 do not count as misspellings of each other."""
    return "".join(letter for letter in name if not letter.isdigit())


def _list_compared_names(expression: Expr) -> Iterator[str]:
    """Yield the attributes on the right of `=` and `<>`."""
    for one in expression.predicates():
        if is_computed(one.attribute):
            term = get_term(one.attribute)
            if isinstance(term, Call) and term.function in ("=", "<>") and all(isinstance(a, Name) for a in term.args):
                yield from (arg.name for arg in term.args[1:] if isinstance(arg, Name))
