"""Helpers of tests of the service: a client in process, a server on a port of this machine, and waiting."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.testclient import TestClient

from tellwhen.service import Limits, Timeouts, create_app, run_in_background
from tellwhen.testing.engine_checks import random_event

BASE_URL = "http://127.0.0.1"
JSON_HEADERS = {"content-type": "application/json"}
CHECK_KEYS_AT_ONCE = Timeouts(keys_check_seconds=0.0)
"""The file of keys is checked for changes at every request."""
ODD_IDS: list[Any] = [
    "ann", "a/b", "/", "//x/", "a//b", "it's", '"quoted"', "žluť", "😀", "a b", "a+b", "?x=1&y", "#x",
    "remove", "a/../b", "\\", "\n", "x\n", "x\ny", "\u2028", "x" * 3_000, "5", "", 5, -5, 0, 2**63 - 1, -(2**63) + 1,
]  # fmt: skip
"""Ids that are hard to put into an address."""


def make_test_client(folder: Path, limits: Limits | None = None, **options: Any) -> TestClient:
    """Return a client of a service without a socket, to be entered with `with`.

    An exception that the service does not handle is raised in the test.
    """
    return TestClient(create_app(folder, limits, **options), base_url=BASE_URL)


@contextmanager
def run_service(folder: Path, **options: Any) -> Iterator[str]:
    """Run a service on a free port of this machine; yield its address."""
    with run_in_background(folder, **options) as service:
        yield service.address


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until a condition is true; fail the test after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"the condition is still false after {seconds} seconds"
        time.sleep(0.01)


def make_address(id_: Any) -> str:
    """Return the address of a subscription."""
    return f"/v1/subscriptions/{quote(str(id_), safe='')}?id_type={'int' if isinstance(id_, int) else 'str'}"


def make_bearer(secret: str) -> dict[str, str]:
    """Return the header that sends a key."""
    return {"authorization": f"Bearer {secret}"}


def add_subscriptions(client: Any, *subscriptions: Any, **options: Any) -> Any:
    """Add subscriptions, each an id, an expression and perhaps a dict of other fields; return the response."""
    rows = [{"id": id_, "expression": expression, **dict(*more)} for id_, expression, *more in subscriptions]
    return client.post("/v1/subscriptions", json={"subscriptions": rows, **options})


def list_ids(page: dict[str, Any]) -> list[Any]:
    """Return the ids of the subscriptions on a page."""
    return [row["id"] for row in page["subscriptions"]]


def expect_success(response: Any, status: int = 200) -> Any:
    """Check the status of a response; return its body."""
    assert response.status_code == status, response.text
    return response.json()


def expect_error(response: Any, status: int, kind: str) -> str:
    """Check the form of an error response; return its message."""
    assert response.status_code == status, response.text
    body = response.json()
    assert body["error"] == kind
    assert isinstance(body["message"], str)
    assert body["message"]
    assert set(body) <= {"error", "message", "position", "rejected"}
    return body["message"]


def make_json_event(rng: random.Random) -> dict[str, Any]:
    """Return a random event of the values that JSON can represent."""
    return {name: value for name, value in random_event(rng).items() if _is_json(value)}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        return False
    return True
