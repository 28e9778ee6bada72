"""Everything that the package exports has a docstring, and the types that public functions return are exported."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tellwhen as tw

PACKAGES = ("tellwhen", "tellwhen.spark", "tellwhen.client", "tellwhen.service", "tellwhen.testing")

NOT_EXPORTED = {
    "Id": "an alias of str | int",
    "Event": "an alias of dict[str, Any]",
}
"""Names in annotations that stand for a type of Python."""


def load_package(name: str) -> Any:
    if name == "tellwhen.spark":
        pytest.importorskip("pyspark")
    if name == "tellwhen.client":
        pytest.importorskip("httpx2")
    if name == "tellwhen.service":
        pytest.importorskip("fastapi")
    return importlib.import_module(name)


def list_exports(package: Any) -> dict[str, Any]:
    return {name: getattr(package, name) for name in package.__all__}


def list_members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public functions and properties that classes of this project define for a class."""
    for owner in cls.__mro__:
        if owner.__module__.startswith("tellwhen") and owner.__name__ not in ("DeprecatedMembers",):
            for name, member in vars(owner).items():
                if isinstance(member, classmethod | staticmethod):
                    member = member.__func__
                if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    yield name, member


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_exported_has_a_docstring(name: str) -> None:
    package = load_package(name)
    missing = [] if package.__doc__ else [name]
    for export, value in list_exports(package).items():
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if not value.__doc__:
            missing.append(export)
        if inspect.isclass(value):
            missing += [f"{export}.{member}" for member, function in list_members(value) if not function.__doc__]
    assert missing == []


def list_returned_names(function: Any) -> set[str]:
    """Return the capitalized names in a return annotation, such as Index in `list[Index]`."""
    if isinstance(function, property):
        function = function.fget
    function = inspect.unwrap(function)
    annotation = getattr(function, "__annotations__", {}).get("return")
    if annotation is None:
        return set()
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return {name for name in re.findall(r"[A-Za-z_.]+", text) if name[:1].isupper()}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_types_that_functions_return_are_exported(name: str) -> None:
    package = load_package(name)
    exported = set(list_exports(package)) | set(tw.__all__) | set(NOT_EXPORTED)
    missing: dict[str, set[str]] = {}
    for export, value in list_exports(package).items():
        if inspect.isclass(value):
            functions = [(f"{export}.{member}", function) for member, function in list_members(value)]
        elif inspect.isfunction(value):
            functions = [(export, value)]
        else:
            continue
        for where, function in functions:
            module = importlib.import_module(inspect.unwrap(getattr(function, "fget", function)).__module__)
            for returned in list_returned_names(function) - exported:
                kind = getattr(module, returned, None)
                if inspect.isclass(kind) and kind.__module__.startswith("tellwhen"):
                    missing.setdefault(returned, set()).add(where)
    assert missing == {}


def test_every_error_has_a_class_of_its_own() -> None:
    sources = Path(tw.__file__).parent.rglob("*.py")
    bare = [path.name for path in sources if re.search(r"raise (Tellwhen|Service)Error\(", path.read_text("utf-8"))]
    assert bare == []
