"""Functions of the user's own, in expressions: `tw.function`."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tellwhen.errors import ExpressionError, abbreviate
from tellwhen.language.column import Column, as_term
from tellwhen.language.comparisons import build_call
from tellwhen.language.computation import to_python
from tellwhen.language.functions import BUILT_IN_NAMES, FUNCTION_ALIASES, FUNCTIONS, Function
from tellwhen.language.literals import RESERVED_KEYWORDS, is_plain_name
from tellwhen.language.values import Value, normalize_value

ARGUMENTS_MAX = 100

logger = logging.getLogger("tellwhen")


class UserFunction(NamedTuple):
    """What `function` returns: called with values it is the function itself, with columns a computed column."""

    name: str
    run: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        if any(isinstance(arg, Column) for arg in args):
            return Column(build_call(self.name, *(as_term(arg, self.name) for arg in args)))
        return self.run(*args)


def function(run: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Let expressions call a function of one's own, by its name.

    >>> import tellwhen as tw
    >>> @tw.function
    ... def distance(x, y):
    ...     return (x * x + y * y) ** 0.5
    >>> tw.parse("distance(x, y) < 6").evaluate({"x": 3, "y": 4})
    True
    >>> print(distance(tw.col("x"), 0) < 6)
    distance(x, 0) < 6

    It is called with single values, once for an event however many subscriptions compute the same with it, and should
    return the same for the same. None is undefined, and so is an error, which is logged once. An index does not hold
    the function: where one is opened that calls it, it must be registered before. On Spark it travels to the workers.
    """
    if run is None:
        return lambda given: function(given, name=name)
    if not callable(run):
        raise ExpressionError(f"a function is something to call, not {abbreviate(run)}")
    chosen = getattr(run, "__name__", "") if name is None else name
    if not isinstance(chosen, str) or not is_plain_name(chosen) or "." in chosen or chosen != chosen.lower():
        raise ExpressionError(f"a function has a name in lower case, not {abbreviate(chosen)}; give it one with name=")
    if chosen in BUILT_IN_NAMES or chosen in FUNCTION_ALIASES or chosen.upper() in (*RESERVED_KEYWORDS, "CAST"):
        raise ExpressionError(f"there is a {chosen}() in the language already; give it another name with name=")
    if not _count_arguments(run)[1]:
        raise ExpressionError(f"{chosen} takes no arguments: what it computes would not depend on the event")
    register_functions({chosen: run})
    return UserFunction(chosen, run)


def get_user_functions() -> dict[str, Callable[..., Any]]:
    """Those that are registered, by name."""
    return {name: known.run.given for name, known in FUNCTIONS.items() if isinstance(known.run, _GuardedFunction)}


def register_functions(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Register functions whose names are checked."""
    for name, run in functions.items():
        FUNCTIONS[name] = Function(*_count_arguments(run), None, _GuardedFunction(name, run), is_user_defined=True)


def _count_arguments(run: Callable[..., Any]) -> tuple[int, int]:
    """How many it takes, at least and at most."""
    try:
        parameters = inspect.signature(run).parameters.values()
    except (TypeError, ValueError):  # of some that are written in C
        return 1, ARGUMENTS_MAX
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return 1, ARGUMENTS_MAX
    given = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return sum(one.default is one.empty for one in given), len(given)


class _GuardedFunction:
    """Calls a function with plain values; what it returns becomes a value, and what it raises is undefined."""

    def __init__(self, name: str, given: Callable[..., Any]) -> None:
        self.name, self.given = name, given
        self._has_failed = False

    def __call__(self, *values: Value) -> Value | None:
        try:
            return normalize_value(self.given(*(to_python(value) for value in values)))
        except Exception as error:
            if not self._has_failed:
                self._has_failed = True
                logger.warning("%s() has failed, and is undefined wherever it does: %r", self.name, error)
            return None
