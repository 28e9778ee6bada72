"""Deprecated aliases of functions, methods, properties, parameters and classes.

An alias works for one released version. It raises a `DeprecationWarning`, at the line of the caller, that
states the new name and the version that removes the alias.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from operator import attrgetter
from pkgutil import resolve_name
from typing import Any, ParamSpec, TypeVar

REMOVAL_VERSION = "0.3"
"""Version that removes all aliases."""

P = ParamSpec("P")
Result = TypeVar("Result")


def warn_deprecated(old: str, new: str, *, stacklevel: int = 2) -> None:
    """Raise a `DeprecationWarning` for `old` and name its replacement.

    With `stacklevel=2` the warning points at the caller of the function that calls `warn_deprecated`.
    """
    warnings.warn(
        f"{old} is deprecated and will be removed in tellwhen {REMOVAL_VERSION}; use {new} instead",
        DeprecationWarning,
        stacklevel=stacklevel + 1,
    )


def alias_function(old: str, new: str, function: Callable[P, Result]) -> Callable[P, Result]:
    """Return a function that warns and calls `function`.

    >>> read = alias_function("tellwhen.saved_note()", "tellwhen.read_note()", lambda path: {"path": path})
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = read("index")
    >>> print(caught[0].message)
    tellwhen.saved_note() is deprecated and will be removed in tellwhen 0.3; use tellwhen.read_note() instead
    """

    def alias(*args: P.args, **kwargs: P.kwargs) -> Result:
        warn_deprecated(old, new)
        return function(*args, **kwargs)

    alias.__doc__ = f"Call `{new}`. Deprecated."
    return alias


def alias_method(old: str, new: str) -> Any:
    """Return a method that warns and calls another method.

    `old` is the name in the warning, such as `Index.plan`. `new` is the path from the object to the other method, such
    as `inspect.describe_engine`.
    """
    owner = old.rpartition(".")[0]
    find_method = attrgetter(new)

    def alias(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn_deprecated(f"{old}()", f"{owner}.{new}()")
        return find_method(self)(*args, **kwargs)

    alias.__doc__ = f"Call `{owner}.{new}`. Deprecated."
    return alias


def alias_property(old: str, new: str) -> Any:
    """Return a property that warns and returns another property or, if `new` ends with `()`, the result of a method."""
    owner = old.rpartition(".")[0]
    find_attribute = attrgetter(new.removesuffix("()"))

    def alias(self: Any) -> Any:
        warn_deprecated(old, f"{owner}.{new}")
        value = find_attribute(self)
        return value() if new.endswith("()") else value

    alias.__doc__ = f"Return `{owner}.{new}`. Deprecated."
    return property(alias)


def alias_module_names(module: str, new_names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, which warns of an old name and returns the object of its new name.

    It serves classes and functions: `__getattr__ = alias_module_names(__name__, {"Old": "tellwhen.New"})`.
    """

    def getattr_with_aliases(name: str) -> Any:
        new = new_names.get(name)
        if new is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_deprecated(f"{module}.{name}", new)
        return resolve_name(new)

    return getattr_with_aliases


def rename_parameters(**new_names: str) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Return a decorator that warns of old parameter names and passes their values under the new names.

    >>> @rename_parameters(top="limit")
    ... def list_hitters(limit=10):
    ...     return limit
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     list_hitters(top=3)
    3
    """

    def decorate(function: Callable[P, Result]) -> Callable[P, Result]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Result:
            for old, new in new_names.items():
                if old in kwargs:
                    warn_deprecated(f"{function.__qualname__}({old}=...)", f"{new}=")
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
