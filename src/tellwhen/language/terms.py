"""Terms: trees of function calls over attributes and constants, such as `lower(city)`, `a + b * 2` and `a < b`.

A predicate on a term is stored as a predicate on a *computed attribute*. The name of this attribute is
`COMPUTED_PREFIX` and the text of the term; no attribute of an event can have such a name. Terms are equal if their
texts are, so subscriptions with the same term share one computed attribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tellwhen.errors import LimitError
from tellwhen.language import limits
from tellwhen.language.literals import COMPUTED_PREFIX, CONDITION_PREFIX, format_constant, format_name
from tellwhen.language.values import Constant

if TYPE_CHECKING:
    from tellwhen.language.ast import Expr

LACKS = "lacks"
"""Function that tests that an attribute has no value of a family. Compiled `HAS` needs it; users cannot write it."""

COMPARISON_FUNCTIONS = ("=", "<>", "<", "<=", ">", ">=")
"""Functions that compare two terms, neither of them constant. A comparison with a constant is a plain predicate."""

SUM, PRODUCT, SIGN, PRIMARY = range(1, 5)
TERM_OPERATORS = {"||": SUM, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT}
"""Binary operators and their precedence; a higher one binds tighter."""


class Term:
    """Base of the nodes of a term: `Name`, `Literal`, `Call` and `AnyMember`. Terms with equal texts are equal."""

    __slots__ = ("depth", "text")
    precedence: int = PRIMARY

    def __init__(self, text: str, depth: int) -> None:
        if depth > limits.DEPTH_MAX:
            raise LimitError(f"a computation may be nested at most {limits.DEPTH_MAX} deep")
        self.text, self.depth = text, depth

    def iter_names(self) -> Iterator[str]:
        """Yield the attributes that the term reads, with repetitions."""
        return iter(())

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Term) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"


class Name(Term):
    """An attribute as a term."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(format_name(name), 0)
        self.name = name

    def iter_names(self) -> Iterator[str]:
        yield self.name


class Literal(Term):
    """A constant as a term; its value is None for NULL."""

    __slots__ = ("value",)

    def __init__(self, value: Constant | None) -> None:
        super().__init__("NULL" if value is None else format_constant(value), 0)
        self.value = value

    @property
    def precedence(self) -> int:  # type: ignore[override]
        """SIGN for a negative number, PRIMARY for other constants."""
        return SIGN if self.text[0] == "-" else PRIMARY


class Call(Term):
    """A function or an operator applied to terms."""

    __slots__ = ("args", "function", "precedence")

    def __init__(self, function: str, args: tuple[Term, ...]) -> None:
        self.function, self.args = function, args
        self.precedence = _get_precedence(function, len(args))
        super().__init__(_format_call(function, args), 1 + max([arg.depth for arg in args], default=0))

    def iter_names(self) -> Iterator[str]:
        for arg in self.args:
            yield from arg.iter_names()


class AnyMember(Term):
    """A Boolean term such as `items[price > 5 AND qty >= 2]`: TRUE if any object in a list satisfies the expression."""

    __slots__ = ("expression", "name")

    def __init__(self, name: str, expression: Expr) -> None:
        self.name, self.expression = name, expression
        super().__init__(f"{format_name(name)}[{expression}]", 1 + expression.depth)

    def iter_names(self) -> Iterator[str]:
        yield self.name


def _get_precedence(function: str, argument_count: int) -> int:
    if function == "-" and argument_count == 1:
        return SIGN
    return 0 if function in COMPARISON_FUNCTIONS else TERM_OPERATORS.get(function, PRIMARY)


def _format_call(function: str, args: tuple[Term, ...]) -> str:
    texts = [arg.text for arg in args]
    if function in TERM_OPERATORS:
        if len(args) == 1:
            return function + _parenthesize(args[0], PRIMARY)
        own = TERM_OPERATORS[function]
        return f"{_parenthesize(args[0], own)} {function} {_parenthesize(args[1], own + 1)}"
    if function in COMPARISON_FUNCTIONS:
        # The parser rejects a bare quoted name on the right, where users often mean a string.
        return f"{texts[0]} {function} " + (f"({texts[1]})" if texts[1][0] == '"' else texts[1])
    if function == "cast":
        kind = args[1]
        assert isinstance(kind, Literal)
        return f"CAST({texts[0]} AS {kind.value})"
    return f"{function}({', '.join(texts)})"


def _parenthesize(term: Term, precedence: int) -> str:
    return term.text if term.precedence >= precedence else f"({term.text})"


def is_comparison(term: Term) -> bool:
    """Return whether a term is a comparison of two terms."""
    return isinstance(term, Call) and term.function in COMPARISON_FUNCTIONS


def get_required_name(term: Term) -> str:
    """Return an attribute without which the term is undefined; an empty string if no attribute is required."""
    if isinstance(term, Name | AnyMember):
        return term.name
    if isinstance(term, Call) and term.function not in ("coalesce", LACKS):
        return next((name for arg in term.args if (name := get_required_name(arg))), "")
    return ""


# names of computed attributes


def is_computed(name: str) -> bool:
    """Return whether an attribute is computed from others."""
    return name[:1] == COMPUTED_PREFIX


def is_condition(name: str) -> bool:
    """Return whether an attribute is computed and Boolean: a comparison of two terms, or `items[...]`."""
    return name[:2] == CONDITION_PREFIX


def is_lacks_call(name: str) -> bool:
    """Return whether an attribute is computed by a call of `lacks`."""
    return is_computed(name) and name.lstrip(COMPUTED_PREFIX).startswith(f"{LACKS}(")


def get_attribute_name(term: Term) -> str:
    """Return the name of the attribute that holds the value of a term."""
    if isinstance(term, Name):
        return term.name
    return (CONDITION_PREFIX if isinstance(term, AnyMember) or is_comparison(term) else COMPUTED_PREFIX) + term.text
