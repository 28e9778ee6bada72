"""Exports have docstrings, returned types are exported, and the page of old and new names states what is true."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tellwhen as tw
from support import ROOT

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


# Old and new names: docs/reference/api.md

NAMES_PAGE = (ROOT / "docs/reference/api.md").read_text("utf-8")

SECTION_PACKAGES = {
    "Other names of `tellwhen`": "tellwhen",
    "Spark: `tellwhen.spark`": "tellwhen.spark",
    "Client: `tellwhen.client`": "tellwhen.client",
    "Service: `tellwhen.service`": "tellwhen.service",
}
"""Sections that list new exports, and the packages that export them."""

OMITTED_ARGUMENTS = {"validate": "{}", "profile.heavy_hitters": "'x'", "add_many": "{}"}
"""What `...` stands for in a call on the page."""


class RenamedCall(NamedTuple):
    """A row of a table with old and new names."""

    section: str
    old: str
    new_calls: list[str]


def read_sections() -> dict[str, str]:
    """Return the text below each heading of the page."""
    headings_and_texts = re.split(r"^## (.+)$", NAMES_PAGE, flags=re.M)[1:]
    return dict(zip(headings_and_texts[::2], headings_and_texts[1::2], strict=True))


def read_tables(header: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (section, cells) of each row of the tables with this header."""
    for section, text in read_sections().items():
        for table in re.findall(rf"^\| {re.escape(header)} \|\n\|[-|]+\n((?:\|.*\n)+)", text, re.M):
            for line in table.splitlines():
                yield section, [cell.strip() for cell in line.strip("|").split("|")]


def find_code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def list_renamed_calls() -> list[RenamedCall]:
    return [
        RenamedCall(section, old, find_code(cells[1]))
        for section, cells in read_tables("old | new | why")
        for old in find_code(cells[0])
    ]


class Scope(dict[str, Any]):
    """Names in the calls of a section; a name that is not a variable is a member of the owner."""

    def __init__(self, owner: Any, variables: dict[str, Any]) -> None:
        super().__init__(variables)
        self.owner = owner

    def __missing__(self, name: str) -> Any:
        return getattr(self.owner, name)

    def evaluate(self, code: str) -> Any:
        return eval(code, {"__builtins__": {}}, self)


def make_scope(section: str, folder: Path) -> Scope:
    index = tw.Index().add("a", "x > 1", payload={"to": "ann"})
    event = {"x": 5}
    variables = {
        "attribute": "x", "constant": 1, "count": 1, "event": event, "events": [event], "expressions": ["x > 1"],
        "id": "a", "ids": ["a"], "index": index, "kind": "invalid", "name": "to", "path": folder / "nothing",
        "profile": tw.Profile(), "profiles": [], "report": tw.validate({}), "schema": {"x": "number"},
        "subscriptions": {"b": "x > 2"}, "tellwhen": tw,
    }  # fmt: skip
    if section == "Client: `tellwhen.client`":
        load_package("tellwhen.service")
        return Scope(load_package("tellwhen.client").Client("http://127.0.0.1:1"), variables)
    if section == "Service: `tellwhen.service`":
        service = load_package("tellwhen.service")
        (folder / "file").write_text("")  # no service can start on a file
        return Scope(
            service, variables | {"folder": folder / "file", "keys": service.Keys(folder / "keys"), "secret": ""}
        )
    if section == "Spark: `tellwhen.spark`":
        return Scope(load_package("tellwhen.spark"), variables)
    return Scope(index if section == "Index" else tw, variables)


def split_call(code: str) -> tuple[str, list[str], str]:
    """Return the name, the names of the arguments, and the type after the arrow of a call on the page."""
    call, _, returned = code.partition(" -> ")
    name, _, arguments = call.removesuffix(")").partition("(")
    return name, [one.partition("=")[0].strip() for one in arguments.split(",") if one and one != "..."], returned


def record_deprecations(scope: Scope, code: str) -> list[str]:
    """Return the messages of the warnings that code raises; it may also raise an error of tellwhen."""
    with warnings.catch_warnings(record=True) as caught, suppress(tw.TellwhenError):
        warnings.simplefilter("always")
        scope.evaluate(code)
    return [str(one.message) for one in caught if issubclass(one.category, DeprecationWarning)]


def complete_call(code: str) -> str:
    """Return the call of a row as Python code: without its return type, and with all arguments."""
    call = re.sub(r"(\w+)=\)", r"\1=\1)", code.partition(" -> ")[0])
    return call.replace("...", OMITTED_ARGUMENTS.get(split_call(code)[0], ""))


@pytest.mark.parametrize("row", list_renamed_calls(), ids=lambda row: row.old)
def test_the_new_names_of_the_page_exist(row: RenamedCall, tmp_path: Path) -> None:
    scope = make_scope(row.section, tmp_path)
    for code in row.new_calls:
        name, arguments, returned = split_call(code)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            value = scope.evaluate(name)
        if "(" not in code:
            continue
        signature = inspect.signature(value)
        assert set(arguments) <= set(signature.parameters)
        if signature.return_annotation != "Any":  # methods of both clients
            assert returned in ("", signature.return_annotation)


@pytest.mark.parametrize("row", list_renamed_calls(), ids=lambda row: row.old)
def test_the_old_names_of_the_page_warn(row: RenamedCall, tmp_path: Path) -> None:
    old_name, old_arguments, _ = split_call(row.old)
    new_name, new_arguments, _ = split_call(row.new_calls[0])
    if old_name == new_name and set(old_arguments) <= set(new_arguments):
        return  # a new parameter
    scope = make_scope(row.section, tmp_path)
    messages = record_deprecations(scope, old_name) or record_deprecations(scope, complete_call(row.old))
    assert len(messages) == 1
    if old_name == new_name:
        replacements = [f"{argument}=" for argument in new_arguments if argument not in old_arguments]
    else:
        replacements = [split_call(code)[0].rpartition(".")[2] for code in row.new_calls]
    replacement = messages[0].partition("; use ")[2]
    assert [name for name in replacements if not re.search(rf"\b{name}", replacement)] == []


@pytest.mark.parametrize(
    "cells", [cells for _, cells in read_tables("old module | new module | why")], ids=lambda cells: cells[0]
)
def test_the_old_modules_of_the_page_warn(cells: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (old,), (new,) = find_code(cells[0]), find_code(cells[1])
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} is deprecated .* use {new} instead"):
        importlib.import_module(old)
    importlib.import_module(new)


def test_async_clients_have_the_new_names() -> None:
    client = load_package("tellwhen.client").AsyncClient
    rows = [row for row in list_renamed_calls() if row.section == "Client: `tellwhen.client`"]
    names = [split_call(code)[0] for row in rows for code in row.new_calls]
    assert [name for name in names if "." not in name and not hasattr(client, name)] == []


@pytest.mark.parametrize("section", SECTION_PACKAGES)
def test_the_new_exports_of_the_page_are_exported(section: str) -> None:
    (names,) = re.findall(r"New exports:\s+((?:`\w+`(?:,\s+|\s+and\s+)?)+)", read_sections()[section])
    package = load_package(SECTION_PACKAGES[section])
    assert find_code(names)
    assert [name for name in find_code(names) if name not in package.__all__] == []


@pytest.mark.parametrize("section", ["Index", "Spark: `tellwhen.spark`"])
def test_the_names_that_the_page_keeps_exist(section: str, tmp_path: Path) -> None:
    (names,) = re.findall(r"((?:`\w+`(?:,\s+|\s+and\s+|\s+))+)keep\s+their\s+names", read_sections()[section])
    owner = make_scope(section, tmp_path).owner
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [name for name in find_code(names) if not hasattr(owner, name)] == []


def test_the_errors_of_the_page_exist() -> None:
    rows = [cells for _, cells in read_tables("error | raised for | also a")]
    assert rows
    for error, _, base in rows:
        assert find_code(error)[0] in tw.__all__
        error_class = getattr(tw, find_code(error)[0])
        assert issubclass(error_class, tw.TellwhenError)
        assert issubclass(error_class, getattr(builtins, find_code(base)[0]))
