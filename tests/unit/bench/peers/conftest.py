"""Fixtures of the tests of `bench.peers`: workload files and peers that are Python scripts."""

import sys

import pytest
from bench.peers import registry, workload
from bench.peers.registry import Peer

from tellwhen.workloads import BEGen


@pytest.fixture(scope="module")
def work_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    workload.write_files(folder, BEGen(dimensions=20, event_size=10, match=0.1), 100, 5)
    return folder


@pytest.fixture
def make_fake_peer(tmp_path, monkeypatch):
    """A peer that is a Python script."""
    monkeypatch.setattr(registry, "BUILD_FOLDER", tmp_path / "build")

    def make(text, **more):
        script = tmp_path / "fake.py"
        script.write_text(text)
        return Peer("fake", (sys.executable, str(script), "{work}"), **more)

    return make
