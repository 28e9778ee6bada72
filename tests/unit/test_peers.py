"""Are peers measured fairly? With fakes that answer right or wrong, hang, crash, or are missing. No network."""

import itertools
import json
import subprocess
import sys
import time

import pytest
from bench.peers import measurement, registry, workload
from bench.peers.commands import make_table
from bench.peers.measurement import Limits, describe_disagreement, measure_peer
from bench.peers.positive_form import make_positive
from bench.peers.process import run
from bench.peers.registry import PEERS, Peer

import tellwhen as tw
from support import ROOT
from tellwhen.workloads import ABEGen, BEGen

LIMITS = Limits(seconds=30, megabytes=2_000)

RIGHT = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
matches = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
refused = []
{change}
print(json.dumps({{"peer": "fake", "build_seconds": 0.5, "bytes": 1000, "micros": [3.0, 1.0, 2.0], "matches": matches,
                  "refused": refused, "notes": "a fake"}}))
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    workload.write_files(folder, BEGen(dimensions=20, event_size=10, match=0.1), 100, 5)
    return folder


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A peer that is a Python script."""
    monkeypatch.setattr(registry, "BUILD_FOLDER", tmp_path / "build")

    def make(text, **more):
        script = tmp_path / "fake.py"
        script.write_text(text)
        return Peer("fake", (sys.executable, str(script), "{work}"), **more)

    return make


def test_files_hold_the_workload(work):
    lines = {name: (work / f"{name}.jsonl").read_text().splitlines() for name in ("subscriptions", "events", "truth")}
    assert [len(found) for found in lines.values()] == [100, 5, 5]
    rows = [json.loads(line) for line in lines["subscriptions"]]
    assert [measure_peer["id"] for measure_peer in rows] == list(range(100))
    read = [(measure_peer["id"], tw.from_json(measure_peer["expression"])) for measure_peer in rows]
    for event, truth in zip(map(json.loads, lines["events"]), workload.read_truth(work), strict=True):
        assert truth == [id for id, expression in read if expression.evaluate(event) is True]
    assert any(workload.read_truth(work))


def test_the_positive_form_means_the_same(tmp_path):
    workload.write_files(tmp_path, ABEGen(total=300, dimensions=6, cardinality=5, event_size=4), 300, 20)
    rows = [json.loads(line) for line in (tmp_path / "subscriptions.jsonl").read_text().splitlines()]
    words = {
        word
        for measure_peer in rows
        for word in ("not", "xor", "xnor")
        if f'"{word}"' in json.dumps(measure_peer["expression"])
    }
    assert words == {"not", "xor", "xnor"}
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    for event, truth in zip(events, workload.read_truth(tmp_path), strict=True):
        assert truth == [measure_peer["id"] for measure_peer in rows if two_valued(measure_peer["positive"], event)]


def two_valued(form, event):
    """Evaluate as an engine with AND, OR and intervals would, for which a missing attribute makes a predicate false."""
    if isinstance(form, bool):
        return form
    if "attribute" in form:
        value = event.get(form["attribute"])
        inside = [(low is None or low <= value) and (high is None or value <= high) for low, high in form["within"]
                  if value is not None]  # fmt: skip
        return any(inside)
    ((word, inner),) = form.items()
    return {"and": all, "or": any}[word](two_valued(one, event) for one in inner)


OPERANDS = [("=", 2), ("<>", 2), ("<", 2), ("<=", 2), (">", 2), (">=", 2), ("in", [1, 3]), ("not in", [1, 2, 3]),
            ("between", [1, 3]), ("not between", [1, 3]), ("between", [3, 1]), ("not between", [3, 1])]  # fmt: skip


@pytest.mark.parametrize(("operator", "operand"), OPERANDS)
@pytest.mark.parametrize("wrap", ["{0}", "NOT {0}", "{0} XOR b = 1", "NOT ({0} XNOR b = 1 XNOR c = 1)"])
def test_every_operator_has_its_intervals(operator, operand, wrap):
    expression = tw.parse(wrap.format(tw.from_json({"attribute": "a", "operator": operator, "value": operand})))
    form = make_positive(expression.to_json())
    for a, b, c in itertools.product([None, 0, 1, 2, 3, 4], [None, 1, 2], [None, 1, 2]):
        event = {name: value for name, value in (("a", a), ("b", b), ("c", c)) if value is not None}
        assert two_valued(form, event) == (expression.evaluate(event) is True), event


def test_what_is_not_about_integers_is_refused():
    with pytest.raises(ValueError, match="integers"):
        make_positive(tw.parse("name STARTS WITH 'a'").to_json())
    with pytest.raises(ValueError, match="integers"):
        make_positive(tw.parse("a < 2.5").to_json())


def test_a_right_answer_gets_its_time(work, fake):
    found = measure_peer(fake(RIGHT.format(change="")), work, 100, LIMITS)
    assert (found["status"], found["micros"], found["build_seconds"], found["bytes"]) == ("ok", 2.0, 0.5, 10.0)
    assert found["note"] == "a fake"


@pytest.mark.parametrize("change", ["matches[0].append(99999)", "matches[0] = matches[0][1:]", "matches.pop()",
                                    "matches[0] = matches[0] + matches[0][:1]"])  # fmt: skip
def test_a_wrong_answer_gets_none(work, fake, change):
    found = measure_peer(fake(RIGHT.format(change=change)), work, 100, LIMITS)
    assert found["status"].startswith("wrong: ")
    assert "micros" not in found


def test_refused_subscriptions_do_not_count(work, fake):
    change = "no = matches[0][0]; matches = [[i for i in m if i != no] for m in matches]; refused = [[no, 'no OR']]"
    found = measure_peer(fake(RIGHT.format(change=change)), work, 100, LIMITS)
    assert (found["status"], found["refused"], found["note"]) == ("ok", 1, "a fake; 1 refused: no OR")


def test_refused_subscriptions_must_not_match():
    assert describe_disagreement([[1, 2]], {2}, [[1, 2]]) == "0 matches missing and 1 too many, of 1"
    assert describe_disagreement([[1]], {2}, [[1, 2]]) == ""


def test_one_that_refuses_all_gets_no_time(work, fake):
    change = "matches = [[] for _ in matches]; refused = [[i, 'no'] for i in range(100)]"
    assert measure_peer(fake(RIGHT.format(change=change)), work, 100, LIMITS)["status"] == "refused all"


def test_one_that_hangs_is_ended(work, fake):
    begin = time.monotonic()
    found = measure_peer(fake("import time; time.sleep(60)"), work, 100, Limits(seconds=0.5))
    assert (found["status"], found["note"]) == ("over time", "more than 0.5 s")
    assert time.monotonic() - begin < 20


def test_one_that_eats_memory_is_ended(work, fake):
    found = measure_peer(
        fake("import time; x = bytearray(300_000_000); time.sleep(60)"), work, 100, Limits(30, megabytes=200)
    )
    assert found["status"] == "over memory"


def test_one_that_crashes_says_why(work, fake):
    found = measure_peer(fake("raise RuntimeError('out of luck')"), work, 100, LIMITS)
    assert (found["status"], found["note"]) == ("failed", "RuntimeError: out of luck")


@pytest.mark.parametrize("said", ["nothing to read", "{}", "[]", '{"refused": 1, "matches": []}'])
def test_one_that_talks_nonsense_has_failed(work, fake, said):
    assert measure_peer(fake(f"print({said!r})"), work, 100, LIMITS)["status"] == "failed"


def test_one_whose_tools_are_missing_is_skipped(work, fake):
    found = measure_peer(fake("", tools=("no-such-tool",)), work, 100, LIMITS)
    assert (found["status"], found["note"]) == ("skipped", "no-such-tool not found")


def test_one_that_cannot_be_built_is_skipped(work, fake):
    failing = (sys.executable, "-c", "import sys; sys.exit('\x1b[0m[ERROR] no such version\\n[ERROR]')")
    found = measure_peer(fake("", build=(failing,)), work, 100, LIMITS)
    assert (found["status"], found["note"]) == ("skipped", "could not be built: [ERROR] no such version")


def test_a_build_happens_in_a_copy(tmp_path, fake, monkeypatch):
    monkeypatch.setattr(measurement, "HERE", tmp_path)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "manifest").write_text("1")
    touch = (sys.executable, "-c", "import sys; open(sys.argv[1], 'w')", "{source}/lock")
    peer = fake("", folder="kept", build=(touch,))
    assert measurement.build(peer, LIMITS) == ""
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["manifest"]
    assert (tmp_path / "build" / "kept" / "source" / "lock").exists()


def test_a_command_that_is_not_there_has_failed():
    assert run(["/no/such/command"], 1, 100).status == "failed"


def test_every_peer_is_pinned():
    for peer in PEERS:
        assert peer.version[0].isdigit(), peer.name
        assert not list((registry.HERE / peer.folder).glob("*.sum")), peer.name
        assert not list((registry.HERE / peer.folder).glob("*.lock")), peer.name


def test_the_table_shows_what_there_is(work, fake):
    rows = [measure_peer(fake(text), work, 100, LIMITS) for text in (RIGHT.format(change=""), "raise ValueError")]
    assert make_table("fakes", rows).row_count == 2


def test_peers_are_measured_where_tellwhen_is_not_installed():
    code = "import sys; sys.modules['tellwhen'] = None; import bench.peers.protocol, bench.peers.process"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
