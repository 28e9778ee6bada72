"""How do tests reach a service? In process, or over a socket of this machine, which needs a real server."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tellwhen.service import Limits, create_app, running
from tellwhen.testing.engine_checks import random_event

HERE = "http://127.0.0.1"
JSON = {"content-type": "application/json"}


def inside(folder: Path, limits: Limits | None = None, **given: Any) -> TestClient:
    """A service without a socket; to be entered with `with`. What it does not expect is raised in the test."""
    return TestClient(create_app(folder, limits, **given), base_url=HERE)


@contextmanager
def served(folder: Path, **given: Any) -> Iterator[str]:
    """A service on a free port of this machine; gives its address."""
    with running(folder, **given) as service:
        yield service.address


def wait_until(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, "it does not come about"
        time.sleep(0.01)


def json_event(rng: random.Random) -> dict[str, Any]:
    """A random event of what JSON has."""
    return {name: value for name, value in random_event(rng).items() if _is_json(value)}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        return False
    return True
