"""Start and stop of the service: processes, addresses, certificates and refusals."""

import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time

import pytest
from typer.testing import CliRunner

import tellwhen as tw
import tellwhen.service
from service_support import run_service, wait_until
from tellwhen.cli import app
from tellwhen.client import Client, ServiceError
from tellwhen.errors import ArgumentError
from tellwhen.service import run_in_background, serve


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


def run_refused_serve(*given):
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
            assert "another service runs on" in run_refused_serve(tmp_path / "data")
        code = process.end(how)
        assert code in ((-signal.SIGKILL,), (0, 143), (0, 130, -signal.SIGINT))[number]
    with run_in_background(tmp_path / "data") as service, Client(service.address) as client:
        assert len(client) == 3


def test_what_is_refused(tmp_path):
    assert "other machines can reach 0.0.0.0, and there are no keys" in run_refused_serve(
        tmp_path / "a", "--host", "0.0.0.0"
    )
    assert "TLS needs two files" in run_refused_serve(tmp_path / "a", "--certificate", "x.pem")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    assert "is not the folder of a service" in run_refused_serve(tmp_path / "photos")
    assert "nowhere" in run_refused_serve("/proc/nowhere")
    assert "no engine" in run_refused_serve(tmp_path / "b", "--engine", "nope")
    with run_in_background(tmp_path / "c") as service:
        port = service.address.rsplit(":", 1)[1]
        result = CliRunner().invoke(app, ["serve", str(tmp_path / "d"), "--port", port])
        assert result.exit_code == 1
        assert "address already in use" in result.stderr.lower()
    damaged = tmp_path / "e" / "tenants" / "default"
    with run_in_background(tmp_path / "e") as service, Client(service.address) as client:
        client.add("a", "x = 1")
    (damaged / "index" / "manifest.json").write_text("{")
    assert "manifest.json is damaged" in run_refused_serve(tmp_path / "e")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="only where there are users")
def test_what_is_kept_is_only_the_owners(tmp_path):
    with run_in_background(tmp_path / "data") as service, Client(service.address) as client:
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


@pytest.mark.slow
def test_the_start_says_what_is_served(tmp_path):
    tw.Index().add("a", "x = 1").save(tmp_path / "index")
    process = Process(tmp_path / "index")
    assert f"1 subscription in {tmp_path / 'index-service'}, which is new" in process.said
    process.end(signal.SIGTERM)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org", ""])
def test_without_keys_others_cannot_be_listened_to(tmp_path, host):
    with pytest.raises(ArgumentError, match="tellwhen keys add"):
        serve(tmp_path / "data", host=host, port=0)
    assert not (tmp_path / "data").exists()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "certificate.pem", folder / "key.pem"


def test_tls(tmp_path, certificate):
    chain, private = certificate
    with run_service(tmp_path / "data", certificate=chain, private_key=private) as address:
        assert address.startswith("https://127.0.0.1:")
        with Client(address, verify=ssl.create_default_context(cafile=chain)) as client:
            client.add("a", "x > 1")
            assert client.publish({"x": 2}) == ["a"]
        with Client(address) as stranger, pytest.raises(ServiceError, match="certificate"):
            stranger.get_service_info()
        with Client(address.replace("https", "http")) as plain, pytest.raises(ServiceError):
            plain.get_service_info()


def test_tls_needs_both_files(tmp_path, certificate):
    chain, private = certificate
    for files in ({"certificate": chain}, {"private_key": private}):
        with pytest.raises(ArgumentError, match="two files"):
            serve(tmp_path / "data", port=0, **files)


def test_running_is_an_old_name_that_warns():
    with pytest.warns(DeprecationWarning, match=r"running is deprecated .* use tellwhen\.service\.run_in_background"):
        assert tellwhen.service.running is run_in_background
