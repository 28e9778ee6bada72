"""Do the commands start, stop and refuse as they should, from where a user stands: a process?"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from typer.testing import CliRunner

import tellwhen as tw
from service_support import wait_until
from tellwhen.cli import app
from tellwhen.client import Client
from tellwhen.service import Keys, create_app, running


class Process:
    """`tellwhen serve`, in a process of its own."""

    def __init__(self, *given):
        self.run = subprocess.Popen(
            [sys.executable, "-m", "tellwhen", "serve", "--port", "0", *map(str, given)],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = self.run.stderr.readline()
        assert "listens on" in self.said, self.said
        self.address = self.said.split()[3].rstrip(";")

    def end(self, how):
        self.run.send_signal(how)
        self.run.communicate(timeout=30)
        return self.run.returncode


def refused(*given):
    result = CliRunner().invoke(app, ["serve", "--port", "0", *map(str, given)])
    assert result.exit_code == 1
    return result.stderr


@pytest.mark.slow
def test_a_process_is_killed_and_stopped(tmp_path):
    """Ctrl-C, a supervisor's SIGTERM, and a kill: nothing acknowledged is lost, and it starts again."""
    for number, how in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)):
        process = Process(tmp_path / "data")
        with Client(process.address) as client:
            assert len(client) == number
            client.add(number, f"x >= {number}")
            assert client.publish({"x": 9}) == list(range(number + 1))
            assert "another service runs on" in refused(tmp_path / "data")
        code = process.end(how)
        assert code in ((-signal.SIGKILL,), (0, 143), (0, 130, -signal.SIGINT))[number]
    with running(tmp_path / "data") as service, Client(service.address) as client:
        assert len(client) == 3


def test_a_saved_index_is_left_as_it_is(tmp_path):
    folder = tmp_path / "index"
    tw.Index(schema={"day": "date"}).add("a", "day > DATE '2026-01-01'", score=3, payload={"k": 1}).save(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for number in range(2):  # the second time, from the copy
        with running(folder) as service, Client(service.address) as client:
            assert client.publish_with_payloads({"day": "2026-05-05"})[0] == ("a", {"k": 1})
            client.add(f"new-{number}", "x = 1")
            assert len(client) == 2 + number
            assert client.get_subscription("a").score == 3.0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert (tmp_path / "index-service" / "tenants" / "default" / "index").is_dir()


def test_a_schema_and_an_engine_are_kept(tmp_path):
    with running(tmp_path / "data", engine="counting", schema={"day": "date"}) as service, Client(service.address) as c:
        c.add("a", "day > DATE '2026-01-01'")
    with running(tmp_path / "data") as service, Client(service.address) as client:
        assert client.publish({"day": "2026-05-05"}) == ["a"]
        assert client.get_stats()["plan"].startswith("counting")
    with running(tmp_path / "data", engine="counting", schema={"day": "date"}) as service, Client(service.address) as c:
        assert len(c) == 1
    for other in ({"engine": "auto"}, {"engine": "counting", "schema": {"day": "int"}}):
        with pytest.raises(
            tw.ArgumentError, match="of default cannot have this schema|of default has the engine counting"
        ):
            running(tmp_path / "data", **other)
        assert not [one.name for one in threading.enumerate() if one.name == "tellwhen-default"]  # it is closed
    with running(tmp_path / "data") as service, Client(service.address) as client:
        assert len(client) == 1


def test_what_is_refused(tmp_path):
    assert "can be reached from other machines, and there are no keys" in refused(tmp_path / "a", "--host", "0.0.0.0")
    assert "TLS needs two files" in refused(tmp_path / "a", "--certificate", "x.pem")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    assert "is no folder of a service" in refused(tmp_path / "photos")
    assert "nowhere" in refused("/proc/nowhere")
    assert "no engine" in refused(tmp_path / "b", "--engine", "nope")
    with running(tmp_path / "c") as service:
        port = service.address.rsplit(":", 1)[1]
        result = CliRunner().invoke(app, ["serve", str(tmp_path / "d"), "--port", port])
        assert result.exit_code == 1
        assert "address already in use" in result.stderr.lower()
    damaged = tmp_path / "e" / "tenants" / "default"
    with running(tmp_path / "e") as service, Client(service.address) as client:
        client.add("a", "x = 1")
    (damaged / "index" / "manifest.json").write_text("{")
    assert "manifest.json is damaged" in refused(tmp_path / "e")


def keys(*given):
    result = CliRunner().invoke(app, ["keys", *map(str, given)])
    return result.exit_code, result.stdout + result.stderr


def test_keys_are_made_listed_and_removed(tmp_path):
    code, key = keys("add", tmp_path, "shop", "--role", "read", "--tenant", "acme", "--rate", "5")
    assert (code, key[:3]) == (0, "tw_")
    assert keys("add", tmp_path, "shop", "--role", "read")[0] == 1
    assert "a role is one of read, publish, manage, not admin" in keys("add", tmp_path, "b", "--role", "admin")[1]
    assert "a tenant is named by" in keys("add", tmp_path, "b", "--role", "read", "--tenant", "../x")[1]
    _, listed = keys("list", tmp_path, "--json")
    assert json.loads(listed) == {"name": "shop", "tenant": "acme", "roles": ["read"], "rate": 5.0}
    assert "shop" in keys("list", tmp_path)[1]
    assert key.strip() not in (tmp_path / "keys.json").read_text()
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    assert keys("remove", tmp_path, "nobody")[0] == 1
    assert keys("remove", tmp_path, "shop")[0] == 0
    assert json.loads((tmp_path / "keys.json").read_text())["keys"] == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="only where there are users")
def test_what_is_kept_is_only_the_owners(tmp_path):
    with running(tmp_path / "data") as service, Client(service.address) as client:
        client.add("a", "x = 1")
        (log,) = (tmp_path / "data" / "tenants" / "default").glob("log-*")
        assert log.stat().st_mode & 0o077 == 0


def test_a_stop_ends_those_who_listen(tmp_path):
    process = Process(tmp_path / "data")
    with Client(process.address) as client:
        heard = []
        thread = threading.Thread(target=lambda: heard.extend(client.listen()))
        thread.start()
        wait_until(lambda: client.get_stats()["listeners"] == 1)
        begin = time.monotonic()
        process.run.send_signal(signal.SIGTERM)
        _, said = process.run.communicate(timeout=30)
        thread.join(10)
        assert (thread.is_alive(), heard) == (False, [])  # it ended as a stream should
        assert time.monotonic() - begin < 2.5
        assert "Traceback" not in said


RULES = [("a", "day > DATE '2026-01-01'", 2.5, {"day": 3.0}, {"subscriber": "ann"}), (7, "n = 1", 1e300)]


def test_a_schema_that_is_given_later_is_of_all_that_is_there(tmp_path, monkeypatch):
    data = tmp_path / "data"
    with running(data) as service, Client(service.address) as client:
        client.add_many(RULES)
        client.remove("a")
        client.add(*RULES[0][:2], score=2.5, weights={"day": 3.0}, payload={"subscriber": "ann"})
        assert client.match({"day": "2026-02-02", "n": 1}) == [7]
        assert client.get_service_info()["schema"] == {}
    kept = (data / "tenants/default/index/manifest.json").read_bytes()
    with pytest.raises(
        tw.TellwhenError, match="the index of default cannot have this schema: subscription 'a': day > "
    ):
        running(data, schema={"day": "string"})
    assert (data / "tenants/default/index/manifest.json").read_bytes() == kept
    with monkeypatch.context() as broken, pytest.raises(OSError, match="full"):
        broken.setattr("tellwhen.index.index.Index.save", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
        running(data, schema={"day": "date"})
    assert (data / "tenants/default/index/manifest.json").read_bytes() == kept
    for given in ({"schema": {"day": "date"}}, {}, {"schema": {"day": "date"}}):
        with running(data, **given) as service, Client(service.address) as client:
            assert sorted(client.match({"day": "2026-02-02", "n": 1}), key=str) == [7, "a"]
            assert client.get_service_info()["schema"] == {"day": "date"}
            found = client.get_subscription("a")
            assert (found.score, found.weights, found.payload) == RULES[0][2:]
            client.add("late", "n = 1", replace=True)
            client.remove("late")
            assert client.get_subscription(7).score == 1e300


def test_a_new_tenant_has_the_schema_of_the_folder(tmp_path):
    data = tmp_path / "data"
    with running(data, schema={"day": "date"}, engine="scan"):
        pass
    secret = Keys(data / "keys.json").add("acme", ["read", "publish", "manage"], "acme")
    with running(data) as service, Client(service.address, key=secret) as acme:
        acme.add("a", "day > DATE '2026-01-01'")
        assert (acme.publish({"day": "2026-02-02"}), acme.get_service_info()["schema"]) == (["a"], {"day": "date"})
        assert "scan" in acme.get_stats()["plan"]
    (data / "service.json").write_text("{")
    for _ in range(2):  # the second one would find the folder in use if the first one had held it on
        with pytest.raises(tw.FormatError, match="service.json is damaged"):
            running(data)


def test_an_index_that_was_saved_again_is_told(tmp_path):
    said = []
    for is_saved in (True, False, True):
        if is_saved:
            tw.Index().add("a", "x = 1").save(tmp_path / "index")
        app = create_app(tmp_path / "index")
        said.append(app.summary)
        app._tenants.close()
    assert ["which is new" in one for one in said] == [True, False, False]
    assert ["was saved again since" in one for one in said] == [False, False, True]


@pytest.mark.slow
def test_the_start_says_what_is_served(tmp_path):
    tw.Index().add("a", "x = 1").save(tmp_path / "index")
    process = Process(tmp_path / "index")
    assert f"1 subscription in {tmp_path / 'index-service'}, which is new" in process.said
    process.end(signal.SIGTERM)
