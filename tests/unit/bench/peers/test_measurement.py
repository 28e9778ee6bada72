"""Are peers measured fairly? With fakes that answer right or wrong, hang, crash, or are missing. No network."""

import sys
import time

import pytest
from bench.peers import measurement
from bench.peers.measurement import Limits, describe_disagreement, measure_peer

from peer_support import FAKE_PEER, LIMITS


def test_a_right_answer_gets_its_time(work_folder, make_fake_peer):
    found = measure_peer(make_fake_peer(FAKE_PEER.format(change="")), work_folder, 100, LIMITS)
    assert (found["status"], found["micros"], found["build_seconds"], found["bytes"]) == ("ok", 2.0, 0.5, 10.0)
    assert found["note"] == "a fake"


@pytest.mark.parametrize("change", ["matches[0].append(99999)", "matches[0] = matches[0][1:]", "matches.pop()",
                                    "matches[0] = matches[0] + matches[0][:1]"])  # fmt: skip
def test_a_wrong_answer_gets_none(work_folder, make_fake_peer, change):
    found = measure_peer(make_fake_peer(FAKE_PEER.format(change=change)), work_folder, 100, LIMITS)
    assert found["status"].startswith("wrong: ")
    assert "micros" not in found


def test_refused_subscriptions_do_not_count(work_folder, make_fake_peer):
    change = "no = matches[0][0]; matches = [[i for i in m if i != no] for m in matches]; refused = [[no, 'no OR']]"
    found = measure_peer(make_fake_peer(FAKE_PEER.format(change=change)), work_folder, 100, LIMITS)
    assert (found["status"], found["refused"], found["note"]) == ("ok", 1, "a fake; 1 refused: no OR")


def test_refused_subscriptions_must_not_match():
    assert describe_disagreement([[1, 2]], {2}, [[1, 2]]) == "0 matches missing and 1 too many, of 1"
    assert describe_disagreement([[1]], {2}, [[1, 2]]) == ""


def test_one_that_refuses_all_gets_no_time(work_folder, make_fake_peer):
    change = "matches = [[] for _ in matches]; refused = [[i, 'no'] for i in range(100)]"
    assert (
        measure_peer(make_fake_peer(FAKE_PEER.format(change=change)), work_folder, 100, LIMITS)["status"]
        == "refused all"
    )


def test_one_that_hangs_is_ended(work_folder, make_fake_peer):
    begin = time.monotonic()
    found = measure_peer(make_fake_peer("import time; time.sleep(60)"), work_folder, 100, Limits(seconds=0.5))
    assert (found["status"], found["note"]) == ("over time", "more than 0.5 s")
    assert time.monotonic() - begin < 20


def test_one_that_eats_memory_is_ended(work_folder, make_fake_peer):
    found = measure_peer(
        make_fake_peer("import time; x = bytearray(300_000_000); time.sleep(60)"),
        work_folder,
        100,
        Limits(30, megabytes=200),
    )
    assert found["status"] == "over memory"


def test_one_that_crashes_says_why(work_folder, make_fake_peer):
    found = measure_peer(make_fake_peer("raise RuntimeError('out of luck')"), work_folder, 100, LIMITS)
    assert (found["status"], found["note"]) == ("failed", "RuntimeError: out of luck")


@pytest.mark.parametrize("output", ["nothing to read", "{}", "[]", '{"refused": 1, "matches": []}'])
def test_one_that_talks_nonsense_has_failed(work_folder, make_fake_peer, output):
    assert measure_peer(make_fake_peer(f"print({output!r})"), work_folder, 100, LIMITS)["status"] == "failed"


def test_one_whose_tools_are_missing_is_skipped(work_folder, make_fake_peer):
    found = measure_peer(make_fake_peer("", tools=("no-such-tool",)), work_folder, 100, LIMITS)
    assert (found["status"], found["note"]) == ("skipped", "no-such-tool not found")


def test_one_that_cannot_be_built_is_skipped(work_folder, make_fake_peer):
    failing = (sys.executable, "-c", "import sys; sys.exit('\x1b[0m[ERROR] no such version\\n[ERROR]')")
    found = measure_peer(make_fake_peer("", build=(failing,)), work_folder, 100, LIMITS)
    assert (found["status"], found["note"]) == ("skipped", "could not be built: [ERROR] no such version")


def test_a_build_happens_in_a_copy(tmp_path, make_fake_peer, monkeypatch):
    monkeypatch.setattr(measurement, "HERE", tmp_path)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "manifest").write_text("1")
    touch = (sys.executable, "-c", "import sys; open(sys.argv[1], 'w')", "{source}/lock")
    peer = make_fake_peer("", folder="kept", build=(touch,))
    assert measurement.build(peer, LIMITS) == ""
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["manifest"]
    assert (tmp_path / "build" / "kept" / "source" / "lock").exists()
