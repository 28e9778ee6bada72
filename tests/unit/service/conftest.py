"""Services that several test modules share."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import tellwhen as tw
from service_support import CHECK_KEYS_AT_ONCE, expect_success, make_json_event, make_test_client, run_service
from tellwhen.client import Client
from tellwhen.service import Keys, Limits, keys
from tellwhen.testing.engine_checks import random_expression


@pytest.fixture(scope="module")
def shared_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of one service for all tests of a module."""
    with make_test_client(tmp_path_factory.mktemp("api") / "data") as client:
        yield client


@pytest.fixture
def client(shared_client: Any) -> Any:
    """The shared client, after all subscriptions were removed."""
    page = shared_client.get("/v1/subscriptions", params={"limit": 1000}).json()
    assert page["next"] is None
    ids = [row["id"] for row in page["subscriptions"]]
    shared_client.post("/v1/subscriptions/remove", json={"ids": ids})
    return shared_client


@pytest.fixture
def fresh_client(tmp_path: Any) -> Iterator[Any]:
    """A client of a new service with a short time limit."""
    with make_test_client(tmp_path / "data", Limits(seconds=5.0)) as client:
        yield client


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service and an index with the same subscriptions, with these subscriptions and with events."""
    rng = random.Random(11)
    rows = []
    index = tw.Index()
    for number in range(150):
        expression = str(random_expression(rng))
        payload = {"tenant": rng.randint(0, 2)} if rng.random() < 0.7 else None
        row = (number if number % 3 else f"s{number}", expression, rng.randint(0, 9) / 2, None, payload)
        try:
            index.add_many([row])
        except tw.TellwhenError:
            continue
        rows.append(dict(zip(("id", "expression", "score", "weights", "payload"), row, strict=True)))
    assert len(rows) > 140
    with make_test_client(tmp_path_factory.mktemp("twins") / "data") as client:
        expect_success(client.post("/v1/subscriptions", json={"subscriptions": rows}))
        yield client, index, rows, [make_json_event(rng) for _ in range(60)]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client, secrets and the folder of a service: one key for each role, and one with all roles for each tenant."""
    folder = tmp_path_factory.mktemp("guard") / "data"
    file = Keys(folder / "keys.json")
    secrets = {role: file.add(role, [role]) for role in keys.ROLES}
    secrets |= {tenant: file.add(tenant, list(keys.ROLES), tenant) for tenant in ("ann", "bob")}
    with make_test_client(folder, timeouts=CHECK_KEYS_AT_ONCE) as client:
        yield client, secrets, folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service with small limits, over a socket."""
    limits = Limits(body=2_000, events=3, subscriptions=2, results=5, expression=50, seconds=1.0, listeners=1)
    with run_service(tmp_path_factory.mktemp("small") / "data", limits=limits) as address, Client(address) as client:
        client.add_many({f"s{number}": "x > 0" for number in range(2)})
        client.add_many({f"t{number}": "x > 0" for number in range(2)})
        client.add_many({f"u{number}": "x > 0" for number in range(2)})
        yield address
