"""Helpers of tests of the service: a client in process, a server on a port of this machine, and waiting."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tellwhen.service import Limits, create_app, run_in_background
from tellwhen.testing.engine_checks import random_event

BASE_URL = "http://127.0.0.1"
JSON_HEADERS = {"content-type": "application/json"}


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


def make_json_event(rng: random.Random) -> dict[str, Any]:
    """Return a random event of the values that JSON can represent."""
    return {name: value for name, value in random_event(rng).items() if _is_json(value)}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        return False
    return True
