"""Tenants: separation, schemas, engines, and the folder of the service."""

import threading
from pathlib import Path

import httpx2
import pytest

import tellwhen as tw
from service_support import CHECK_KEYS_AT_ONCE, expect_error, make_bearer, run_service, wait_until
from tellwhen.client import Client
from tellwhen.errors import FormatError
from tellwhen.service import Keys, Limits, create_app, run_in_background
from tellwhen.service.keys import ROLES
from tellwhen.service.tenants import Tenants


def test_tenants_share_nothing(guarded):
    client, secrets, _ = guarded
    ann, bob = make_bearer(secrets["ann"]), make_bearer(secrets["bob"])
    for id_ in ("shared", "private"):
        body = {"expression": "secret_of_ann > 1", "payload": {"subscriber": "ann"}}
        assert client.put(f"/v1/subscriptions/{id_}", json=body, headers=ann).status_code == 201
    assert client.put("/v1/subscriptions/shared", json={"expression": "b = 1"}, headers=bob).status_code == 201

    event = {"secret_of_ann": 2}
    assert client.post("/v1/publish", json={"event": event}, headers=ann).json()["count"] == 2
    for path in ("publish", "match"):
        assert client.post(f"/v1/{path}", json={"event": event}, headers=bob).json()["count"] == 0
    assert client.post("/v1/publish/many", json={"events": [event]}, headers=bob).json()["matches"] == [[]]
    assert client.post("/v1/top-k", json={"event": event, "relaxed": True}, headers=bob).json()["matches"] in (
        [], [{"id": "shared", "score": 0.0}],
    )  # fmt: skip

    expect_error(client.get("/v1/subscriptions/private", headers=bob), 404, "UnknownId")
    expect_error(client.delete("/v1/subscriptions/private", headers=bob), 404, "UnknownId")
    expect_error(client.post("/v1/subscriptions/remove", json={"ids": ["private"]}, headers=bob), 404, "UnknownId")
    expect_error(client.post("/v1/explain", json={"id": "private", "event": event}, headers=bob), 404, "UnknownId")
    scores = {"scores": [{"id": "private", "score": 5}]}
    expect_error(client.post("/v1/scores", json=scores, headers=bob), 404, "UnknownId")
    expect_error(client.get("/v1/subscriptions", params={"start": "private"}, headers=bob), 404, "UnknownId")
    assert client.put("/v1/subscriptions/shared", json={"expression": "b = 2"}, headers=bob).status_code == 200

    page = client.get("/v1/subscriptions", headers=bob).json()["subscriptions"]
    assert [one["expression"] for one in page] == ["b = 2"]
    assert client.get("/v1/attributes", headers=bob).json() == {"b": "number"}
    assert client.get("/v1", headers=bob).json()["subscriptions"] == 1
    tried = client.post("/v1/dry-run", json={"expression": "secret_of_ann IS NOT NULL"}, headers=bob).json()
    assert (tried["events"], tried["matches"]) == (2, 2)  # those that bob published
    stats = client.get("/v1/stats", headers=bob).json()
    assert (stats["subscriptions"], stats["events"], stats["matches"]) == (1, 2, 0)
    metrics = client.get("/metrics", headers=bob).text.splitlines()
    assert "tellwhen_subscriptions 1.0" in metrics
    assert "tellwhen_events_total 2.0" in metrics
    assert "tellwhen_matches_total 0.0" in metrics
    for path in ("/v1/stats", "/metrics", "/v1", "/v1/subscriptions"):
        assert "ann" not in client.get(path, headers=bob).text

    shown = client.get("/v1/subscriptions/shared", headers=ann).json()
    assert shown["expression"] == "secret_of_ann > 1"
    assert client.get("/v1/stats", headers=ann).json()["events"] == 1


def test_tenants_do_not_hear_each_other(tmp_path):
    made = Keys(tmp_path / "data" / "keys.json")
    secrets = {tenant: made.add(tenant, list(ROLES), tenant) for tenant in ("ann", "bob")}
    with (
        run_service(tmp_path / "data") as address,
        Client(address, secrets["ann"]) as ann,
        Client(address, secrets["bob"]) as bob,
    ):
        for client in (ann, bob):
            client.add("same", "x > 0", payload={"subscriber": "same"})
        heard = []

        def listen(**wanted):
            with Client(address, secrets["ann"]) as client:
                heard.append(next(client.listen(**wanted)))

        ways = ({}, {"subscriber": "same"}, {"ids": ["same"]}, {"filter": "x > 0"})
        threads = [threading.Thread(target=listen, kwargs=wanted, daemon=True) for wanted in ways]
        for thread in threads:
            thread.start()
        wait_until(lambda: ann.get_stats()["listeners"] == len(ways))
        assert bob.get_stats()["listeners"] == 0
        bob.publish({"x": 1})
        bob.publish_many([{"x": 2}])
        assert ann.publish({"x": 3}) == ["same"]
        for thread in threads:
            thread.join(20)
        assert [message.data for message in heard] == [{"event": {"x": 3}, "matches": ["same"]}] * len(ways)
        wait_until(lambda: ann.get_stats()["listeners"] == 0)


def test_folders_that_cannot_be_used(tmp_path):
    keys = Keys(tmp_path / "keys.json")
    first = Tenants(tmp_path / "data", keys, Limits())
    with pytest.raises(FormatError, match="another service runs on"):
        Tenants(tmp_path / "data", keys, Limits())
    first.close()
    Tenants(tmp_path / "data", keys, Limits()).close()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(FormatError, match=r"is not the folder of a service: it contains cat\.jpg"):
        Tenants(tmp_path / "photos", keys, Limits())
    with pytest.raises(OSError, match="nowhere"):  # a file system that cannot be written
        Tenants(Path("/proc/nowhere"), keys, Limits())


def test_a_tenant_that_cannot_be_opened_is_told_so(tmp_path):
    folder = tmp_path / "data"
    keys = Keys(folder / "keys.json")
    keys.add("acme", ["read"], "acme")
    with run_service(folder, engine="counting"):
        pass
    keys.remove("acme")
    keys.add("other", ["read"])
    with run_service(folder, engine="atree", timeouts=CHECK_KEYS_AT_ONCE) as address:
        late = keys.add("late", ["read"], "acme")
        before = None
        for number in range(30):
            answer = httpx2.get(f"{address}/v1", headers={"authorization": f"Bearer {late}"})
            assert (answer.status_code, answer.json()["error"]) == (503, "Unavailable")
            before = count_open_files() if number == 5 else before
        assert count_open_files() <= before + 2


def count_open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_saved_index_is_left_as_it_is(tmp_path):
    folder = tmp_path / "index"
    tw.Index(schema={"day": "date"}).add("a", "day > DATE '2026-01-01'", score=3, payload={"k": 1}).save(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for number in range(2):  # the second time, from the copy
        with run_in_background(folder) as service, Client(service.address) as client:
            assert client.publish_with_payloads({"day": "2026-05-05"})[0] == ("a", {"k": 1})
            client.add(f"new-{number}", "x = 1")
            assert len(client) == 2 + number
            assert client.get_subscription("a").score == 3.0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert (tmp_path / "index-service" / "tenants" / "default" / "index").is_dir()


def count_default_tenants():
    """Return how many indexes of default tenants are open, of all services of this module."""
    return sum(thread.name == "tellwhen-default" for thread in threading.enumerate())


def test_a_schema_and_an_engine_are_kept(tmp_path):
    with (
        run_in_background(tmp_path / "data", engine="counting", schema={"day": "date"}) as service,
        Client(service.address) as c,
    ):
        c.add("a", "day > DATE '2026-01-01'")
    with run_in_background(tmp_path / "data") as service, Client(service.address) as client:
        assert client.publish({"day": "2026-05-05"}) == ["a"]
        assert client.get_stats()["plan"].startswith("counting")
    with (
        run_in_background(tmp_path / "data", engine="counting", schema={"day": "date"}) as service,
        Client(service.address) as c,
    ):
        assert len(c) == 1
    before = count_default_tenants()
    for other in ({"engine": "auto"}, {"engine": "counting", "schema": {"day": "int"}}):
        with pytest.raises(
            tw.ArgumentError, match="of default contradicts this schema|of default has the engine counting"
        ):
            run_in_background(tmp_path / "data", **other)
        assert count_default_tenants() == before  # it is closed
    with run_in_background(tmp_path / "data") as service, Client(service.address) as client:
        assert len(client) == 1


RULES = [("a", "day > DATE '2026-01-01'", 2.5, {"day": 3.0}, {"subscriber": "ann"}), (7, "n = 1", 1e300)]


def test_a_schema_that_is_given_later_is_of_all_that_is_there(tmp_path, monkeypatch):
    data = tmp_path / "data"
    with run_in_background(data) as service, Client(service.address) as client:
        client.add_many(RULES)
        client.remove("a")
        client.add(*RULES[0][:2], score=2.5, weights={"day": 3.0}, payload={"subscriber": "ann"})
        assert client.match({"day": "2026-02-02", "n": 1}) == [7]
        assert client.get_service_info()["schema"] == {}
    kept = (data / "tenants/default/index/manifest.json").read_bytes()
    with pytest.raises(
        tw.TellwhenError, match="the index of default contradicts this schema: subscription 'a': day > "
    ):
        run_in_background(data, schema={"day": "string"})
    assert (data / "tenants/default/index/manifest.json").read_bytes() == kept
    with monkeypatch.context() as broken, pytest.raises(OSError, match="full"):
        broken.setattr("tellwhen.index.index.Index.save", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
        run_in_background(data, schema={"day": "date"})
    assert (data / "tenants/default/index/manifest.json").read_bytes() == kept
    for given in ({"schema": {"day": "date"}}, {}, {"schema": {"day": "date"}}):
        with run_in_background(data, **given) as service, Client(service.address) as client:
            assert sorted(client.match({"day": "2026-02-02", "n": 1}), key=str) == [7, "a"]
            assert client.get_service_info()["schema"] == {"day": "date"}
            found = client.get_subscription("a")
            assert (found.score, found.weights, found.payload) == RULES[0][2:]
            client.add("late", "n = 1", replace=True)
            client.remove("late")
            assert client.get_subscription(7).score == 1e300


def test_a_new_tenant_has_the_schema_of_the_folder(tmp_path):
    data = tmp_path / "data"
    with run_in_background(data, schema={"day": "date"}, engine="scan"):
        pass
    secret = Keys(data / "keys.json").add("acme", ["read", "publish", "manage"], "acme")
    with run_in_background(data) as service, Client(service.address, key=secret) as acme:
        acme.add("a", "day > DATE '2026-01-01'")
        assert (acme.publish({"day": "2026-02-02"}), acme.get_service_info()["schema"]) == (["a"], {"day": "date"})
        assert "scan" in acme.get_stats()["plan"]
    (data / "service.json").write_text("{")
    for _ in range(2):  # the second one would find the folder in use if the first one had held it on
        with pytest.raises(tw.FormatError, match="service.json is damaged"):
            run_in_background(data)


def test_an_index_that_was_saved_again_is_told(tmp_path):
    said = []
    for is_saved in (True, False, True):
        if is_saved:
            tw.Index().add("a", "x = 1").save(tmp_path / "index")
        app = create_app(tmp_path / "index")
        said.append(app.startup_message)
        app._tenants.close()
    assert ["which is new" in one for one in said] == [True, False, False]
    assert ["was saved again since" in one for one in said] == [False, False, True]
