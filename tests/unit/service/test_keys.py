"""API keys: their file, and their use by a running service."""

import json
import multiprocessing
import stat

import pytest
from typer.testing import CliRunner

from service_support import CHECK_KEYS_AT_ONCE, expect_error, make_bearer, make_test_client
from tellwhen.cli import app
from tellwhen.errors import ArgumentError, FormatError, UnknownId
from tellwhen.service import Keys


def test_keys_come_and_go_while_the_service_runs(guarded):
    client, _, folder = guarded
    made = Keys(folder / "keys.json")
    secret = made.add("late", ["read"], "late-tenant")
    about = client.get("/v1", headers=make_bearer(secret)).json()
    assert (about["tenant"], about["roles"]) == ("late-tenant", ["read"])
    made.remove("late")
    expect_error(client.get("/v1", headers=make_bearer(secret)), 401, "KeyRefused")


def test_the_first_key_closes_a_service_that_runs(tmp_path):
    with make_test_client(tmp_path / "data", timeouts=CHECK_KEYS_AT_ONCE) as client:
        assert client.get("/v1").status_code == 200
        made = Keys(tmp_path / "data" / "keys.json")
        secret = made.add("first", ["read"])
        expect_error(client.get("/v1"), 401, "KeyRefused")
        assert client.get("/v1", headers=make_bearer(secret)).status_code == 200
        # With a key, a page elsewhere may ask: it must know one.
        assert client.get("/v1", headers={**make_bearer(secret), "host": "tellwhen.example"}).status_code == 200
        made.remove("first")
        expect_error(client.get("/v1", headers=make_bearer(secret)), 401, "KeyRefused")
        (tmp_path / "data" / "keys.json").unlink()
        expect_error(client.get("/v1"), 401, "KeyRefused")  # it does not open again


def test_a_damaged_file_of_keys_lets_nobody_in(tmp_path, caplog):
    file = tmp_path / "data" / "keys.json"
    secret = Keys(file).add("one", ["read"])
    good = file.read_bytes()
    with make_test_client(tmp_path / "data", timeouts=CHECK_KEYS_AT_ONCE) as client:
        for damage in (b"", b"{", b"[]", b'{"keys": [{}]}', b'{"keys": 5}', b"\xff", b"[" * 100_000):
            file.write_bytes(damage)
            for _ in range(2):
                message = expect_error(client.get("/v1", headers=make_bearer(secret)), 503, "Unavailable")
                assert str(tmp_path) not in message
        assert "is damaged" in caplog.text
        file.write_bytes(good)
        assert client.get("/v1", headers=make_bearer(secret)).status_code == 200
    file.write_bytes(b"{")
    with pytest.raises(FormatError), make_test_client(tmp_path / "data"):
        pass


def test_the_file_has_no_key_in_clear(tmp_path):
    file = tmp_path / "data" / "keys.json"
    made = Keys(file)
    secrets = [made.add(f"key{number}", ["read"]) for number in range(3)]
    made.remove("key1")
    text = file.read_text()
    for secret in secrets:
        assert len(secret) >= 43
        assert secret not in text
        assert secret.removeprefix("tw_") not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {path.name for path in file.parent.iterdir()} == {"keys.json", "keys.json.lock"}  # nothing unfinished
    assert [key.name for key in Keys(file).list_keys()] == ["key0", "key2"]
    assert Keys(file).find(secrets[0]).name == "key0"
    assert Keys(file).find(secrets[1]) is None


@pytest.mark.parametrize(
    "given",
    [
        ("", ["read"]), ("x" * 101, ["read"]), ("a\nb", ["read"]), ("a", []), ("a", ["admin"]), ("a", ["read"], "A"),
        ("a", ["read"], "../x"), ("a", ["read"], ""), ("a", ["read"], "x" * 64), ("a", ["read"], "t", 0),
        ("a", ["read"], "t", -1), ("a", ["read"], "t", float("nan")), ("taken", ["read"]),
    ],
)  # fmt: skip
def test_keys_that_cannot_be_made(tmp_path, given):
    made = Keys(tmp_path / "keys.json")
    made.add("taken", ["read"])
    with pytest.raises(ArgumentError):
        made.add(*given)
    with pytest.raises(UnknownId):
        made.remove("nobody")
    assert len(made.list_keys()) == 1


def test_keys_of_a_file_that_is_gone_or_odd(tmp_path):
    secret = Keys(tmp_path / "data" / "keys.json").add("ann", ["read"])
    with make_test_client(tmp_path / "data", timeouts=CHECK_KEYS_AT_ONCE) as client:
        assert client.get("/v1", headers=make_bearer(secret)).status_code == 200
        file = tmp_path / "data" / "keys.json"
        text = file.read_text()
        file.unlink()
        assert client.get("/v1", headers=make_bearer(secret)).status_code == 401
        file.write_text(text.replace('"digest": "', '"digest": "\u00e9'))
        assert client.get("/v1", headers=make_bearer(secret)).status_code == 503


def add_key(folder, number):
    Keys(folder / "keys.json").add(f"key{number}", ["read"])


def test_keys_that_are_made_at_once_are_all_kept(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=add_key, args=(tmp_path, number)) for number in range(8)]
    for one in processes:
        one.start()
    for one in processes:
        one.join()
    assert len(json.loads((tmp_path / "keys.json").read_text())["keys"]) == 8


def run_keys(*given):
    result = CliRunner().invoke(app, ["keys", *map(str, given)])
    return result.exit_code, result.stdout + result.stderr


def test_keys_are_made_listed_and_removed(tmp_path):
    code, key = run_keys("add", tmp_path, "shop", "--role", "read", "--tenant", "acme", "--rate", "5")
    assert (code, key[:3]) == (0, "tw_")
    assert run_keys("add", tmp_path, "shop", "--role", "read")[0] == 1
    assert "a role is one of read, publish, manage, not admin" in run_keys("add", tmp_path, "b", "--role", "admin")[1]
    assert "the name of a tenant has" in run_keys("add", tmp_path, "b", "--role", "read", "--tenant", "../x")[1]
    _, listed = run_keys("list", tmp_path, "--json")
    assert json.loads(listed) == {"name": "shop", "tenant": "acme", "roles": ["read"], "rate": 5.0}
    assert "shop" in run_keys("list", tmp_path)[1]
    assert key.strip() not in (tmp_path / "keys.json").read_text()
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    assert run_keys("remove", tmp_path, "nobody")[0] == 1
    assert run_keys("remove", tmp_path, "shop")[0] == 0
    assert json.loads((tmp_path / "keys.json").read_text())["keys"] == []


def test_old_names_warn(tmp_path):
    keys = Keys(tmp_path / "keys.json")
    secret = keys.add("shop", ["read"])
    with pytest.warns(DeprecationWarning, match=r"Keys\.all\(\) is deprecated .* use Keys\.list_keys\(\) instead"):
        assert keys.all() == keys.list_keys()
    with pytest.warns(DeprecationWarning, match=r"Keys\.of\(\) is deprecated .* use Keys\.find\(\) instead"):
        assert keys.of(secret) == keys.find(secret)
