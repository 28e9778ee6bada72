"""User-defined functions in expressions: `tw.function`."""

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
    """A registered function. Called with values it computes; called with columns it returns a computed column."""

    name: str
    run: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        if any(isinstance(arg, Column) for arg in args):
            return Column(build_call(self.name, *(as_term(arg, self.name) for arg in args)))
        return self.run(*args)


def function(run: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Register a Python function, so that expressions can call it by its name. Usable as a decorator.

    The function is called with single values, once per event and distinct call, however many subscriptions use it. It
    should return the same result for the same arguments. A result of None is undefined, and so is the result of a call
    that raises; the first error is logged.

    An index does not store the function: register it before you open an index that calls it. On Spark the function is
    sent to the workers.

    Parameters
    ----------
    run
        The function, which takes at least one positional argument.
    name
        Name in expressions, in lower case. By default the name of the function.

    Returns
    -------
    UserFunction
        A function that also accepts columns, and then returns a column.

    Raises
    ------
    ExpressionError
        If the name is invalid or belongs to a built-in function, or if the function takes no arguments.

    Examples
    --------
    >>> import tellwhen as tw
    >>> @tw.function
    ... def distance(x, y):
    ...     return (x * x + y * y) ** 0.5
    >>> tw.parse("distance(x, y) < 6").evaluate({"x": 3, "y": 4})
    True
    >>> print(distance(tw.col("x"), 0) < 6)
    distance(x, 0) < 6
    """
    if run is None:
        return lambda decorated: function(decorated, name=name)
    if not callable(run):
        raise ExpressionError(f"expected a function, not {abbreviate(run)}")
    chosen = getattr(run, "__name__", "") if name is None else name
    if not isinstance(chosen, str) or not is_plain_name(chosen) or "." in chosen or chosen != chosen.lower():
        raise ExpressionError(
            f"the name of a function must be a plain name in lower case, not {abbreviate(chosen)}; "
            "pass another one with name="
        )
    if chosen in BUILT_IN_NAMES or chosen in FUNCTION_ALIASES or chosen.upper() in (*RESERVED_KEYWORDS, "CAST"):
        raise ExpressionError(f"{chosen}() is built into the language; pass another name with name=")
    if not _count_arguments(run)[1]:
        raise ExpressionError(f"{chosen} takes no positional arguments, so its result would not depend on the event")
    register_functions({chosen: run})
    return UserFunction(chosen, run)


def get_user_functions() -> dict[str, Callable[..., Any]]:
    """Return the registered functions by name."""
    return {
        name: definition.run.function
        for name, definition in FUNCTIONS.items()
        if isinstance(definition.run, _GuardedFunction)
    }


def register_functions(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Register functions under names that are valid."""
    for name, run in functions.items():
        FUNCTIONS[name] = Function(*_count_arguments(run), None, _GuardedFunction(name, run), is_user_defined=True)


def _count_arguments(run: Callable[..., Any]) -> tuple[int, int]:
    """Return the least and the largest number of positional arguments."""
    try:
        parameters = inspect.signature(run).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have no signature
        return 1, ARGUMENTS_MAX
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return 1, ARGUMENTS_MAX
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return sum(parameter.default is parameter.empty for parameter in positional), len(positional)


class _GuardedFunction:
    """A user-defined function on Values. A call that raises is undefined, and the first error is logged."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function
        self._has_failed = False

    def __call__(self, *values: Value) -> Value | None:
        try:
            return normalize_value(self.function(*(to_python(value) for value in values)))
        except Exception as error:
            if not self._has_failed:
                self._has_failed = True
                logger.warning("%s() failed, its result is undefined for such events: %r", self.name, error)
            return None
