"""The HTTP reference describes all parameters of the service, and the service answers its examples as shown.

The examples are sent in their order to a service that is empty at first. A request is a call of curl, or a block
`body`, which is sent to the path of its section. A block `status ...` is the response.
"""

import json
import re
import shlex
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest

import page_blocks
from service_support import make_test_client
from tellwhen.service.guard import PATHS_WITHOUT_KEY, get_required_role
from tellwhen.service.messages import MatchMessage, encode_message

PAGE = page_blocks.DOCS / "reference" / "http.md"
HEADING = re.compile(r"^### `(?P<method>[A-Z]+) (?P<path>/\S*)`$", re.M)
ROW = re.compile(r"^\| (?P<names>`[^|]*`) \| (?P<meaning>.*) \| (?P<default>[^|]*) \|$", re.M)
ANSWER = re.compile(r"status (\d+)")
LIVE = "/v1/live"
"""A path whose response never ends."""
VARYING = ("/v1", "/v1/stats")
"""Paths whose responses vary with version, time and memory; the page shows only their form."""


class Section(NamedTuple):
    method: str
    path: str
    first: int  # lines of the page
    last: int
    text: str  # without blocks of code


class Example(NamedTuple):
    line: int
    method: str
    address: str
    body: str | None
    status: int | None = None
    answer: object = None


def iter_sections():
    text = PAGE.read_text()
    starts = [found.start() for found in re.finditer(r"^##+ ", text, re.M)]
    for begin, end in pairwise([*starts, len(text)]):
        if found := HEADING.match(text, begin):
            lines = [text[:place].count("\n") + 1 for place in (begin, end)]
            yield Section(found["method"], found["path"], *lines, page_blocks.FENCE.sub("", text[begin:end]))


SECTIONS = list(iter_sections())


def iter_examples():
    """Yield each request of the page, with its response if the page shows one."""
    asked = None
    for block in page_blocks.read_blocks(PAGE):
        about = next((one for one in SECTIONS if one.first <= block.line < one.last), None)
        answered = ANSWER.fullmatch(block.title)
        if answered:
            asked = asked or Example(block.line, about.method, about.path.replace("{id}", "ann-1"), None)
            yield asked._replace(status=int(answered[1]), answer=json.loads(block.code))
            asked = None
            continue
        if asked:
            yield asked
            asked = None
        if block.language == "sh":
            asked = parse_curl(block)
        elif block.title == "body":
            asked = Example(block.line, about.method, about.path.replace("{id}", "ann-1"), block.code)
        else:
            assert block.title == "stream", f"line {block.line}: what is this an example of?"
    assert asked is None


def parse_curl(block):
    """Return the request that a call of curl sends, without its key, which is not needed here."""
    words = shlex.split(block.code)[1:]
    options = {words[place]: words[place + 1] for place, word in enumerate(words) if word in ("-X", "-d", "-H")}
    (url,) = (word for word in words if word.startswith("localhost:8080/"))
    body = options.get("-d")
    method = options.get("-X", "GET" if body is None else "POST")
    return Example(block.line, method, url.removeprefix("localhost:8080"), body)


EXAMPLES = list(iter_examples())


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with make_test_client(tmp_path_factory.mktemp("reference") / "data") as client:
        yield client


@pytest.fixture(scope="module")
def operations(client):
    """The operations of `openapi.json`, by method and path."""
    paths = client.get("/openapi.json").json()["paths"]
    return {(method.upper(), path): one for path, methods in paths.items() for method, one in methods.items()}


def list_query_parameters(operation):
    return {one["name"]: one["schema"] for one in operation.get("parameters", ()) if one["in"] == "query"}


def get_body_schema(operation):
    body = operation.get("requestBody")
    return body["content"]["application/json"]["schema"] if body else {"properties": {}}


def collect_names(schema):
    """Return the names of all fields, also of nested objects."""
    if isinstance(schema, list):
        return {name for part in schema for name in collect_names(part)}
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", ())) | {name for part in schema.values() for name in collect_names(part)}


def test_every_path_is_there_once_and_no_other(operations):
    assert sorted((one.method, one.path) for one in SECTIONS) == sorted(operations)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: f"{one.method} {one.path}")
def test_a_section_says_all_of_its_path(operations, section):
    operation = operations[section.method, section.path]
    query, body = list_query_parameters(operation), get_body_schema(operation)
    needed = body.get("required", [])
    expected = {}
    for name, schema in {**query, **body["properties"]}.items():
        default = schema.get("default")
        said = default if isinstance(default, str) else json.dumps(default)
        expected[f"`{name}`"] = "required" if name in needed else "none" if default is None else f"`{said}`"
    assert not set(query) & set(body["properties"]), "one table cannot tell them apart"
    assert {found["names"]: found["default"] for found in ROW.finditer(section.text)} == expected
    for name in collect_names(body):
        assert f"`{name}`" in section.text
    role = "none" if section.path in PATHS_WITHOUT_KEY else f"`{get_required_role(section.method, section.path)}`"
    assert f"Role: {role}." in section.text
    has_body = any(one.body for one in EXAMPLES if section.first <= one.line < section.last)
    assert has_body == bool(body["properties"])


def test_every_status_is_explained(operations):
    text = PAGE.read_text()
    for operation in operations.values():
        for status in operation["responses"]:
            assert int(status) < 300 or f"\n| {status} | " in text


def test_every_measurement_is_named(client):
    (section,) = (one for one in SECTIONS if one.path == "/metrics")
    names = set(re.findall(r"^# TYPE (\S+)", client.get("/metrics").text, re.M))
    assert set(re.findall(r"`(tellwhen_\w+)`", section.text)) == {name for name in names if "_created" not in name}


def test_every_example_is_answered_as_shown(client, operations):
    for one in EXAMPLES:
        address = urlsplit(one.address)
        if address.path == LIVE:
            assert dict(parse_qsl(address.query)).keys() <= list_query_parameters(operations["GET", LIVE]).keys()
            continue
        content = None if one.body is None else one.body.encode()
        answer = client.request(one.method, one.address, content=content)
        where = f"{PAGE.name}, line {one.line}: {answer.status_code} {answer.text}"
        if one.status is None:
            assert answer.is_success, where
            continue
        assert answer.status_code == one.status, where
        found = answer.json()
        if address.path in VARYING:
            assert found.keys() == one.answer.keys(), where
            assert is_like(one.answer, found), where
        else:
            assert found == one.answer, where


def is_like(shown, found):
    """Return whether a response has everything that the page shows, with the same types."""
    if isinstance(shown, dict):
        return isinstance(found, dict) and all(
            name in found and is_like(part, found[name]) for name, part in shown.items()
        )
    if isinstance(shown, list):
        return isinstance(found, list) and len(shown) <= len(found) and all(map(is_like, shown, found))
    return type(shown) is type(found)


def test_messages_are_written_as_shown():
    (shown,) = (block.code for block in page_blocks.read_blocks(PAGE) if block.title == "stream")
    match = MatchMessage({"price": 12, "genre": "classics"}, ["ann-1"]).encoded
    assert shown.encode() == b": connected\n\n" + match + encode_message("lost", {"count": 3}) + b": still here\n\n"
