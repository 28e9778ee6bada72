"""Computation of the values of terms on events.

A term has a list of values, because an attribute of an event may be a list. An empty list stands for undefined. A
function of several lists is computed for each combination of their members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

from tellwhen.errors import ExpressionError, ParseError
from tellwhen.language import limits
from tellwhen.language.functions import FUNCTIONS, to_datetime
from tellwhen.language.literals import COMPUTED_PREFIX, get_display_name
from tellwhen.language.terms import LACKS, AnyMember, Call, Literal, Name, Term, is_computed
from tellwhen.language.values import Interval, Value, flatten, is_list_like, is_missing, iter_members, normalize_value


def compute_value(term: Term, event: Mapping[str, Any]) -> Any:
    """Return the value of a term on a flat event in the form of an attribute's value: None, one value, or a list."""
    values = compute_values(term, event)
    if len(values) == 1:
        return to_python(values[0])
    return [to_python(value) for value in values] or None


def to_python(value: Value) -> Any:
    family, key = value
    if family == "number" or family == "string":
        return key
    return bool(key) if family == "bool" else to_datetime(key)


def compute_values(term: Term, event: Mapping[str, Any]) -> list[Value]:
    """Return all values of a term on a flat event."""
    if isinstance(term, Name):
        raw: Any = event.get(term.name)
        kind = type(raw)
        if kind is int or kind is str:  # the common cases, in a fifth of the time
            if kind is int and -limits.INTEGER_MAX <= raw <= limits.INTEGER_MAX:
                return [Value("number", raw)]
            if kind is str and raw.isascii():
                return [Value("string", raw)]
        elif kind is float and raw == raw:
            return [Value("number", raw)]
        elif raw is None:
            return []
        return [value for member in iter_members(raw) if (value := normalize_value(member)) is not None]
    if isinstance(term, Literal):
        value = normalize_value(term.value)
        return [] if value is None else [value]
    if isinstance(term, AnyMember):
        return _compute_any_member(term, event)
    assert isinstance(term, Call)
    list_function = LIST_FUNCTIONS.get(term.function)
    if list_function is not None:
        return list_function(term, event)
    return apply_function(term.function, [compute_values(arg, event) for arg in term.args])


def apply_function(function: str, args: list[list[Value]]) -> list[Value]:
    """Return the defined results of a function for every combination of its arguments' values."""
    run = FUNCTIONS[function].run
    if len(args) == 1 or all([len(values) == 1 for values in args]):
        results = [run(*values) for values in zip(*args, strict=False)] if args[0] else []
    else:
        combinations = 1
        for values in args:
            combinations *= len(values)
        if combinations > limits.COMBINATIONS_MAX:
            return []
        results = [run(*values) for values in product(*args)]
    return [value for value in results if value is not None]


# functions that take the whole list of an argument's values


def _compute_any_member(term: AnyMember, event: Mapping[str, Any]) -> list[Value]:
    """Return TRUE if some object in the list satisfies the expression, else FALSE; nothing if all are undefined."""
    from tellwhen.language.evaluation import evaluate_flat

    objects = [member for member in iter_members(event.get(term.name)) if isinstance(member, Mapping)]
    results = [evaluate_flat(term.expression, flatten(member)) for member in objects]
    if True in results:
        return [Value("bool", 1)]
    return [Value("bool", 0)] if False in results else []


def _compute_coalesce(term: Call, event: Mapping[str, Any]) -> list[Value]:
    for arg in term.args:
        values = compute_values(arg, event)
        if values:
            return values
    return []


def _compute_length(term: Call, event: Mapping[str, Any]) -> list[Value]:
    """Return the number of members of a list, or of characters of a string."""
    (arg,) = term.args
    if isinstance(arg, Name) and is_list_like(event.get(arg.name)):
        members = event[arg.name]
        if any(isinstance(member, Interval) for member in members):
            return []  # nobody knows how many values there are
        return [Value("number", sum(not is_missing(member) for member in members))]
    return apply_function("length", [compute_values(arg, event)])


def _compute_lacks(term: Call, event: Mapping[str, Any]) -> list[Value]:
    """Return whether an attribute has no value of a family."""
    name, family = term.args
    assert isinstance(name, Name)
    assert isinstance(family, Literal)
    for member in iter_members(event.get(name.name)):
        value = member if isinstance(member, Interval) else normalize_value(member)
        if value is not None and value.family == family.value:
            return [Value("bool", 0)]
    return [Value("bool", 1)]


LIST_FUNCTIONS: dict[str, Callable[[Call, Mapping[str, Any]], list[Value]]] = {
    "coalesce": _compute_coalesce,
    LACKS: _compute_lacks,
    "length": _compute_length,
}


def iter_input_names(name: str) -> Iterator[str]:
    """Yield the attributes of events from which an attribute is computed; if it is not computed, the attribute."""
    if is_computed(name):
        yield from get_term(name).iter_names()
    else:
        yield name


def iter_input_paths(name: str) -> Iterator[str]:
    """Yield the attributes of events from which an attribute is computed, with the members that it tests.

    For `items[price > 5]` yield the path items.price. `iter_input_names` yields items.
    """
    term = get_term(name) if is_computed(name) else None
    if isinstance(term, AnyMember):
        for predicate in term.expression.predicates():
            yield from (f"{term.name}.{path}" for path in iter_input_paths(predicate.attribute))
    else:
        yield from iter_input_names(name)


def get_weighted_name(name: str) -> str:
    """Return the display name of the attribute whose weight applies to predicates on `name`.

    A computed attribute has a weight of its own, but a call of `lacks` counts as its argument.
    """
    if is_computed(name):
        term = get_term(name)
        if isinstance(term, Call) and term.function == LACKS:
            return next(term.iter_names())
    return get_display_name(name)


@lru_cache(8_192)
def get_term(name: str) -> Term:
    """Parse the term of a computed attribute from its name; raise ExpressionError if it calls an unknown function."""
    from tellwhen.language.parser import parse_term

    try:
        return parse_term(name.lstrip(COMPUTED_PREFIX))
    except ParseError as error:
        raise ExpressionError(
            f"{get_display_name(name)} cannot be computed: {error.message}; register your own functions with "
            "tellwhen.function before you open an index that calls them"
        ) from None
