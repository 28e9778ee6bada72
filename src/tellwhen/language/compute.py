"""What is the value of a term on an event? All its values: of several values in the event come several results.

No value is undefined. A function of several lists is computed for each combination of their members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

from tellwhen.errors import ExpressionError, ParseError
from tellwhen.language import limits
from tellwhen.language.functions import FUNCTIONS, moment_of
from tellwhen.language.literals import MARK, shown_name
from tellwhen.language.terms import LACKS, Call, Each, Literal, Name, Term, is_computed
from tellwhen.language.values import Interval, Value, flatten, is_missing, is_several, members, reduce


def computed(term: Term, event: Mapping[str, Any]) -> Any:
    """The value of a term on a flat event, as an event could carry it: None, one value, or a list."""
    values = values_of(term, event)
    if len(values) == 1:
        return python_value(values[0])
    return [python_value(value) for value in values] or None


def python_value(value: Value) -> Any:
    """As a user would write it."""
    family, key = value
    if family == "number" or family == "string":
        return key
    return bool(key) if family == "bool" else moment_of(key)


def values_of(term: Term, event: Mapping[str, Any]) -> list[Value]:
    """All values of a term on a flat event."""
    if isinstance(term, Name):
        given: Any = event.get(term.name)
        kind = type(given)
        if kind is int or kind is str:  # the common cases, in a fifth of the time
            if kind is int and -limits.INTEGER <= given <= limits.INTEGER:
                return [Value("number", given)]
            if kind is str and given.isascii():
                return [Value("string", given)]
        elif kind is float and given == given:
            return [Value("number", given)]
        elif given is None:
            return []
        return [value for member in members(given) if (value := reduce(member)) is not None]
    if isinstance(term, Literal):
        value = reduce(term.value)
        return [] if value is None else [value]
    if isinstance(term, Each):
        return _each(term, event)
    assert isinstance(term, Call)
    whole = WHOLE.get(term.function)
    if whole is not None:
        return whole(term, event)
    return applied(term.function, [values_of(arg, event) for arg in term.args])


def applied(function: str, args: list[list[Value]]) -> list[Value]:
    """A function of every combination of its arguments' values."""
    run = FUNCTIONS[function].run
    if len(args) == 1 or all([len(values) == 1 for values in args]):
        found = [run(*combined) for combined in zip(*args, strict=False)] if args[0] else []
    else:
        combinations = 1
        for values in args:
            combinations *= len(values)
        if combinations > limits.COMBINATIONS:
            return []
        found = [run(*combined) for combined in product(*args)]
    return [value for value in found if value is not None]


# functions that see more than single values


def _each(term: Each, event: Mapping[str, Any]) -> list[Value]:
    from tellwhen.language.evaluate import value_of

    objects = [member for member in members(event.get(term.name)) if isinstance(member, Mapping)]
    found = [value_of(term.expression, flatten(member)) for member in objects]
    if True in found:
        return [Value("bool", 1)]
    return [Value("bool", 0)] if False in found else []


def _coalesce(term: Call, event: Mapping[str, Any]) -> list[Value]:
    for arg in term.args:
        found = values_of(arg, event)
        if found:
            return found
    return []


def _length(term: Call, event: Mapping[str, Any]) -> list[Value]:
    """Of a list its members, of a string its characters."""
    (arg,) = term.args
    if isinstance(arg, Name) and is_several(event.get(arg.name)):
        return [Value("number", sum(not is_missing(member) for member in event[arg.name]))]
    return applied("length", [values_of(arg, event)])


def _lacks(term: Call, event: Mapping[str, Any]) -> list[Value]:
    name, family = term.args
    assert isinstance(name, Name)
    assert isinstance(family, Literal)
    for member in members(event.get(name.name)):
        found = member if isinstance(member, Interval) else reduce(member)
        if found is not None and found.family == family.value:
            return [Value("bool", 0)]
    return [Value("bool", 1)]


WHOLE: dict[str, Callable[[Call, Mapping[str, Any]], list[Value]]] = {
    "coalesce": _coalesce,
    LACKS: _lacks,
    "length": _length,
}


def names_in(name: str) -> Iterator[str]:
    """The attributes of events that an attribute is: itself, or the parts of what is computed."""
    if is_computed(name):
        yield from term_of(name).names()
    else:
        yield name


def paths_in(name: str) -> Iterator[str]:
    """The same, with the members of objects in lists by their paths: of `items[price > 5]`, items.price."""
    term = term_of(name) if is_computed(name) else None
    if isinstance(term, Each):
        for predicate in term.expression.predicates():
            yield from (f"{term.name}.{path}" for path in paths_in(predicate.attribute))
    else:
        yield from names_in(name)


def weighed(name: str) -> str:
    """The attribute, as users know it, to which a predicate counts: what is computed is one of its own."""
    if is_computed(name):
        term = term_of(name)
        if isinstance(term, Call) and term.function == LACKS:
            return next(term.names())
    return shown_name(name)


@lru_cache(8_192)
def term_of(name: str) -> Term:
    """The term that a computed attribute is named after."""
    from tellwhen.language.parser import parse_term

    try:
        return parse_term(name.lstrip(MARK))
    except ParseError as error:
        raise ExpressionError(
            f"{shown_name(name)} cannot be computed: {error.message}; a function of your own is registered with "
            "tellwhen.function before an index that calls it is opened"
        ) from None
