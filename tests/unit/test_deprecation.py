"""Deprecated aliases: each warns at the caller's line, names its replacement, and does what that does."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

import pytest

from tellwhen.deprecation import (
    REMOVAL_VERSION,
    alias_function,
    alias_method,
    alias_module_names,
    alias_property,
    rename_parameters,
)


class Inspection:
    def count_items(self, limit: int) -> int:
        return limit

    def get_types(self) -> str:
        return "types"


class Thing:
    inspect = Inspection()
    size = 7

    def get_name(self, suffix: str = "") -> str:
        return "name" + suffix

    name = alias_method("Thing.name", "get_name")
    items = alias_method("Thing.items", "inspect.count_items")
    length = alias_property("Thing.length", "size")
    types = alias_property("Thing.types", "inspect.get_types()")


def record_warning(action: Any) -> tuple[Any, warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    assert len(caught) == 1
    assert caught[0].category is DeprecationWarning
    assert caught[0].filename == __file__  # the caller's line, not one of the mechanism
    assert f"removed in tellwhen {REMOVAL_VERSION}" in str(caught[0].message)
    return result, caught[0]


@pytest.mark.parametrize(
    ("action", "result", "old", "new"),
    [
        (lambda: Thing().name(suffix="!"), "name!", "Thing.name()", "Thing.get_name()"),
        (lambda: Thing().items(3), 3, "Thing.items()", "Thing.inspect.count_items()"),
        (lambda: Thing().length, 7, "Thing.length", "Thing.size"),
        (lambda: Thing().types, "types", "Thing.types", "Thing.inspect.get_types()"),
        (lambda: alias_function("old()", "new()", len)([1, 2]), 2, "old()", "new()"),
    ],
)
def test_an_alias_warns_and_does_the_same(action: Any, result: Any, old: str, new: str) -> None:
    got, warning = record_warning(action)
    assert got == result
    assert str(warning.message).startswith(f"{old} is deprecated")
    assert str(warning.message).endswith(f"use {new} instead")


def test_an_alias_of_a_class_is_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("some_module")
    module.__getattr__ = alias_module_names("some_module", {"Old": "collections.OrderedDict"})  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "some_module", module)
    from collections import OrderedDict

    import some_module

    got, warning = record_warning(lambda: some_module.Old)
    assert got is OrderedDict
    assert "use collections.OrderedDict instead" in str(warning.message)
    with pytest.raises(AttributeError, match="module 'some_module' has no attribute 'Other'"):
        some_module.Other  # noqa: B018


def test_an_old_parameter_is_passed_under_its_new_name() -> None:
    @rename_parameters(count="limit", top="limit")
    def list_items(limit: int = 10) -> int:
        return limit

    got, warning = record_warning(lambda: list_items(count=3))  # type: ignore[call-arg]
    assert got == 3
    assert "list_items(count=...) is deprecated" in str(warning.message)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        list_items(other=1)  # type: ignore[call-arg]
