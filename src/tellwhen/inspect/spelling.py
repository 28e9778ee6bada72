"""Which attribute is probably not meant? One that nobody else has, and that is spelt like another, or is text without
its quotes. What is misspelt matches nothing, and says nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches

from tellwhen.language.ast import Expr
from tellwhen.language.compute import names_in, term_of
from tellwhen.language.terms import Call, Name, is_computed

SHORT = 3
"""Names of up to so many letters look alike without being meant so."""


def nearest(name: str, others: Collection[str], cutoff: float) -> str | None:
    """Another name that differs in its case, its dots or a few letters; or a member, if it names an object."""
    if (member := next((other for other in others if other.startswith(f"{name}.")), None)) is not None:
        return member
    plain = {_plain(other): other for other in others}
    near = get_close_matches(_plain(name), plain, 1, cutoff)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace(".", "")


def names_of(expression: Expr) -> dict[str, None]:
    """The attributes of events that an expression asks for, each once."""
    return dict.fromkeys(name for one in expression.predicates() for name in names_in(one.attribute))


def doubtful_names(expression: Expr, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Names that are not known from elsewhere, each with what to ask about it."""
    unquoted = set(_compared(expression))
    for name in names_of(expression):
        if name in known:
            continue
        near = nearest(name, known, 0.8) if len(name) > SHORT else None
        if near is not None and _letters(near) != _letters(name):
            yield name, f"nobody else asks for {name}; did you mean {near}?"
        elif name in unquoted:
            yield name, f"{name} is an attribute here; if it is text, write '{name}'"


def _letters(name: str) -> str:
    """Without digits: a1 and a2 are both meant."""
    return "".join(letter for letter in name if not letter.isdigit())


def _compared(expression: Expr) -> Iterator[str]:
    """Attributes that another one is to equal."""
    for one in expression.predicates():
        if is_computed(one.attribute):
            term = term_of(one.attribute)
            if isinstance(term, Call) and term.function in ("=", "<>") and all(isinstance(a, Name) for a in term.args):
                yield from (arg.name for arg in term.args[1:] if isinstance(arg, Name))
