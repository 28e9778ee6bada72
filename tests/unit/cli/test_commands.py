"""Does every command do what it says, and say what is wrong, whatever it is given?"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tellwhen as tw
from tellwhen.cli import app
from tellwhen.cli.shell import Session
from tellwhen.cli.warm_command import WarmResult

RULES = [
    {"id": "cheap", "expression": "price < 20", "score": 2.5, "payload": {"tenant": 7}},
    {"id": "rome", "expression": "city = 'Rome' AND price * qty > 10", "weights": {"city": 2.0}},
    {"id": "tags", "expression": "tags HAS ANY ('a', 'b')"},
]
EVENTS = [
    {"id": "e1", "price": 12, "city": "Rome", "qty": 1},
    {"id": "e2", "price": 30, "city": "Rome", "qty": 1},
    {"id": "e3", "tags": ["b"]},
]
MATCHES = [("e1", "cheap"), ("e1", "rome"), ("e2", "rome"), ("e3", "tags")]


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines("rules.jsonl", RULES)
    lines("events.jsonl", EVENTS)
    tw.Index().add_many(RULES).save("index")
    return tmp_path


def lines(path, rows):
    with open(path, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def run(*arguments, code=0, given=None):
    done = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
    assert done.exit_code == code, (done.output, done.exception)
    return done


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def pairs(found):
    return sorted((row["event_id"], row["subscription_id"]) for row in found)


@pytest.mark.usefixtures("work")
def test_from_a_file_to_matches():
    assert "3 subscriptions in built" in run("build", "rules.jsonl", "-o", "built").stderr
    assert dict(tw.Index.load("built").iter_texts()) == {row["id"]: row["expression"] for row in RULES}
    done = run("match", "built", "events.jsonl", "--event-id", "id")
    assert pairs(rows(done.stdout)) == MATCHES
    assert "3 events, 4 matches" in done.stderr
    numbered = rows(run("match", "built", "events.jsonl").stdout)
    assert pairs(numbered) == [(0, "cheap"), (0, "rome"), (1, "rome"), (2, "tags")]
    given = "\n".join(map(json.dumps, EVENTS))
    assert pairs(rows(run("match", "built", "-", "--event-id", "id", given=given).stdout)) == MATCHES
    chosen = rows(run("match", "built", "events.jsonl", "--where", "tenant=7", "--payload", "tenant").stdout)
    assert chosen == [{"event_id": 0, "subscription_id": "cheap", "tenant": 7}]
    counts = rows(run("match", "built", "events.jsonl", "--count").stdout)
    assert counts == [{"event_id": n, "count": count} for n, count in enumerate([2, 1, 1])]
    best = rows(run("top-k", "built", "events.jsonl", "-k", 1).stdout)
    assert [(row["event_id"], row["subscription_id"]) for row in best] == [(0, "cheap"), (1, "rome"), (2, "tags")]
    relaxed = rows(run("top-k", "built", "events.jsonl", "--relaxed", "-k", 1).stdout)
    assert relaxed[0]["subscription_id"] == "rome"


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "arrow"])
def test_every_format_of_results_and_subscriptions(suffix, monkeypatch):
    monkeypatch.setattr("tellwhen.cli.event_files.ROWS_PER_BATCH", 2)
    run("match", "index", "events.jsonl", "-o", f"matches.{suffix}", "--event-id", "id")
    if suffix == "parquet":
        assert pairs(pq.read_table("matches.parquet").to_pylist()) == MATCHES
    elif suffix == "arrow":
        assert pairs(pa.ipc.open_file("matches.arrow").read_all().to_pylist()) == MATCHES
    run("convert", "index", f"again.{suffix}")
    run("build", f"again.{suffix}", "-o", "again")
    one, other = tw.Index.load("index"), tw.Index.load("again")
    assert list(map(other.get_subscription, other)) == list(map(one.get_subscription, one))
    assert sorted(os.listdir(".")) == sorted([
        "again", f"again.{suffix}", "events.jsonl", "index", f"matches.{suffix}", "rules.jsonl"
    ])  # fmt: skip


@pytest.mark.usefixtures("work")
def test_every_format_of_events():
    flat = [{name: value for name, value in event.items() if name != "tags"} for event in EVENTS]
    pq.write_table(pa.Table.from_pylist(flat), "events.parquet")
    table = pa.Table.from_pylist(flat)
    with pa.ipc.new_stream("events.arrow", table.schema) as writer:
        writer.write_table(table)
    with open("events.csv", "w") as file:
        file.write("price,city,qty\n12,Rome,1\n30,Rome,1\n,,\n")
    for name in ("events.parquet", "events.arrow", "events.csv"):
        assert pairs(rows(run("match", "index", name).stdout)) == [(0, "cheap"), (0, "rome"), (1, "rome")]


ODD = [
    [{"x": 1}, {"x": 2.5}, {"x": 9007199254740993}], [{"x": "2026-01-01"}, {"x": "2026-01-02T00:00:00"}],
    [{"x": 1}, {"x": "1"}], [{"x": [1, "a"]}, {}], [{}, {}], [{"x": None}, {"x": {"y": [1, 2]}}], [{"x": 1 << 70}],
    [{"x": {"y": 1}}, {"x": [{"y": 1}]}], [{"x": True}, {"x": 0}], [{"x.y": 1}, {"x": {"y": 2}}], [{"x": "é\u0000"}],
    [{"x": -0.0}, {"x": 1e300}], [{"x": [[1], [2]]}], [{"x": [{"y": 1}, {"y": 9}]}, {"x": []}], [{"x": ["a", None]}],
]  # fmt: skip


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("events", ODD, ids=str)
@pytest.mark.parametrize("size", [7, 1 << 22])
def test_no_value_becomes_another_one_on_its_way(events, size, monkeypatch):
    monkeypatch.setattr("tellwhen.cli.event_files.BLOCK_BYTES", size)
    texts = [
        "x = 1", "x > 2.4", "x = 9007199254740993", "x = '2026-01-01'", "x = '1'", "x = TRUE", "x.y > 0", "x IS NULL",
        "x[y > 5]", "x HAS ANY ('a')", "NOT x = 1", "x LIKE '%'", "x >= 0", "x = DATE '2026-01-01'",
    ]  # fmt: skip
    index = tw.Index().add_many(dict(enumerate(texts)))
    index.save("odd")
    lines("odd.jsonl", events)
    wanted = sorted((n, id_) for n, event in enumerate(events) for id_ in index.match(event))
    assert pairs(rows(run("match", "odd", "odd.jsonl").stdout)) == wanted
    Path("odd.jsonl").write_bytes(b"\xef\xbb\xbf" + Path("odd.jsonl").read_bytes().rstrip().replace(b"\n", b"\r\n\n"))
    assert pairs(rows(run("match", "odd", "odd.jsonl").stdout)) == [(2 * n, id_) for n, id_ in wanted]


@pytest.mark.usefixtures("work")
def test_validate_and_quarantine():
    lines("more.jsonl", [{"id": "bad", "expression": "price <"}, {"id": "never", "expression": "x > 5 AND x < 3"}])
    done = run("validate", "rules.jsonl", "more.jsonl", code=1)
    assert "5 subscriptions: 1 error, 1 warning, 0 hints" in done.stdout
    found = rows(run("validate", "more.jsonl", "--json", code=1).stdout)
    assert [(one["kind"], one["id"], one["position"]) for one in found] == [
        ("error", "bad", 7),
        ("warning", "never", None),
    ]
    assert run("validate", "rules.jsonl").stdout.startswith("3 subscriptions: 0 errors")
    with open("types.json", "w") as file:
        json.dump({"price": "float", "city": "string", "qty": "int"}, file)
    assert "tags is not declared" in run("validate", "rules.jsonl", "--schema", "types.json", "--strict", code=1).stdout
    assert (
        "equivalent to subscription 'cheap'"
        in run("validate", "-", "--against", "index", given='{"id": 1, "expression": "price < 20"}').stdout
    )
    assert "subscription 'bad'" in run("build", "more.jsonl", "-o", "none", code=1).stderr
    assert not os.path.exists("none")
    run("build", "rules.jsonl", "more.jsonl", "-o", "some", "--quarantine", "faulty.jsonl")
    (faulty,) = rows(Path("faulty.jsonl").read_text())
    assert (faulty["id"], faulty["position"], len(tw.Index.load("some"))) == ("bad", 7, 4)
    told = rows(run("build", "rules.jsonl", "-o", "again", "--json", "--observe", "events.jsonl").stdout)
    assert told == [{"subscriptions": 3, "quarantined": 0, "index": "again"}]
    assert tw.Index.load("again").profile.events == 3


@pytest.mark.usefixtures("work")
def test_explain_and_inspect():
    assert "price is 12" in run("explain", "index", "cheap", '{"price": 12}').stdout
    assert "price is 12" in run("explain", "index", "cheap", "-", given='{"price": 12}').stdout
    with open("event.json", "w") as file:
        file.write('{"price": 40}')
    (told,) = rows(run("explain", "index", "cheap", "@event.json", "--json").stdout)
    assert (told["value"], told["expression"]) == (False, "price < 20")
    shown = run("inspect", "index").stdout
    assert "price * qty" in shown
    assert "price < 20" in shown
    (found,) = rows(run("inspect", "index", "--json").stdout)
    assert (found["stats"]["subscriptions"], found["types"]["city"]) == (3, "string")
    tw.Index().add(7, "x = 1").save("numbers")
    assert "x is 1" in run("explain", "numbers", 7, '{"x": 1}').stdout


@pytest.mark.usefixtures("work")
def test_what_is_wrong_with_events_is_told():
    lines("odd.jsonl", [{"price": "12", "City": "Rome"}])
    told = run("match", "index", "odd.jsonl").stderr
    assert "price: 1 value of a wrong type" in told
    assert "no sampled event has the attribute city; did you mean City?" in told


@pytest.mark.usefixtures("work")
def test_events_as_text():
    lines("some.jsonl", ["price < 10 AND city <> 'Rome'", {"tags": ["b"]}, "tags >= 'b' AND price <> 20"])
    found = pairs(rows(run("match", "index", "some.jsonl").stdout))
    assert found == [(0, "cheap"), (1, "tags"), (2, "cheap"), (2, "tags")]
    lines("faulty.jsonl", [{"tags": "a"}, "price <", "price = 1 OR city = 'Rome'"])
    assert "faulty.jsonl, line 2: " in run("match", "index", "faulty.jsonl", code=1).stderr
    done = run("match", "index", "faulty.jsonl", "--quarantine", "bad.jsonl")
    assert pairs(rows(done.stdout)) == [(0, "tags")]
    assert "line 3: an event is predicates joined by AND" in Path("bad.jsonl").read_text()


@pytest.mark.usefixtures("work")
def test_the_shell():
    asked = [
        '{"price": 12}',
        "why rome",
        "top 1",
        "show cheap",
        "find city",
        "add new price > 1",
        "what",
        "why no",
        "{",
    ]
    said = run("shell", "index", given="\n".join(asked) + "\n").stdout
    for part in (
        "1 match",
        "city is missing",
        "2.5  cheap",
        "4 subscriptions",
        "what is neither a command",
        "no subscription 'no'",
        "the event is not valid JSON",
    ):
        assert part in said, said


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["match", "nothing", "events.jsonl"], "there is no directory nothing"),
        (["match", "index", "nothing.jsonl"], "nothing.jsonl: No such file"),
        (["match", "index", "events.what"], "unknown suffix; pass"),
        (["match", "index", "events.jsonl", "--format", "xml"], "unknown format xml"),
        (["match", "index", "broken.jsonl"], "broken.jsonl, line 2: not valid JSON"),
        (["match", "index", "list.jsonl"], "list.jsonl, line 1: expected a JSON object"),
        (["match", "index", "half.parquet"], "half.parquet cannot be read as parquet"),
        (
            ["match", "index", "events.jsonl", "--event-id", "no"],
            "event_id='no' is not a column of the table",
        ),
        (["match", "index", "events.jsonl", "--where", "tenant"], "--where takes name=value"),
        (["match", "index", "events.jsonl", "-o", "no/where.csv"], "No such file or directory"),
        (["match", "index", "latin.jsonl"], "latin.jsonl, line 2: not valid JSON"),
        (["match", "index", "events.jsonl", "--spark", "local", "--count"], "--spark takes no --where"),
        (["build", "rules.jsonl", "-o", "x", "--spark", "local"], "--spark needs --quarantine"),
        (["validate", "rules.jsonl", "--against", "index", "--spark", "local"], "no --against"),
        (
            ["top-k", "index", "events.jsonl", "--where", "a=1", "--spark", "local"],
            "--spark takes no --where and --quarantine",
        ),
        (["validate", "rules.jsonl", "--against", "index", "--strict"], "--strict needs a --schema"),
        (["top-k", "index", "events.jsonl", "-k", "0"], "k must be a whole number"),
        (["build", "columns.csv", "-o", "x"], "columns.csv needs a column id; its columns are a, b"),
        (["build", "events.jsonl", "-o", "x"], "events.jsonl, line 1: the subscription lacks expression; found id, "),
        (["build", "rules.jsonl", "rules.jsonl", "-o", "x"], "the id 'cheap' occurs twice in this call"),
        (["build", "rules.jsonl", "-o", "x", "--engine", "nothing"], "there is no engine 'nothing'"),
        (
            ["build", "rules.jsonl", "-o", "x", "--schema", "broken.jsonl"],
            "broken.jsonl is not a schema",
        ),
        (["build", "rules.jsonl", "-o", "x", "--strict"], "--strict needs a --schema"),
        (["build", "rules.jsonl", "-o", "events.jsonl"], "found a file"),
        (["explain", "index", "no", "{}"], "there is no subscription 'no'"),
        (["explain", "index", "cheap", "price"], "the event is not valid JSON"),
        (["explain", "index", "cheap", "[1]"], "an event is a JSON object"),
        (["generate", "nothing", "-o", "x"], "unknown workload nothing"),
        (["warm", "nothing"], "there is no engine 'nothing'"),
        (["inspect", "events.jsonl"], "is a file; pass the directory of an index"),
    ],
)
def test_what_is_given_wrongly(arguments, message):
    with open("broken.jsonl", "w") as file:
        file.write('{"price": 1}\n{"price":\n')
    Path("latin.jsonl").write_bytes(b'{"price": 1}\n{"city": "K\xf6ln"}\n')
    with open("list.jsonl", "w") as file:
        file.write("[1]\n")
    with open("columns.csv", "w") as file:
        file.write("a,b\n1,2\n")
    pq.write_table(pa.table({"price": list(range(1000))}), "half.parquet")
    with open("half.parquet", "r+b") as file:
        file.truncate(900)
    done = run(*arguments, code=1)
    assert message in done.stderr.replace("\n", " ")
    assert not os.path.exists("x")


@pytest.mark.usefixtures("work")
def test_generated_data_is_what_other_commands_take():
    run("generate", "groups", "-o", "data", "--subscriptions", 50, "--events", 20)
    run("build", "data/subscriptions.jsonl", "-o", "data/index")
    assert "20 events" in run("match", "data/index", "data/events.jsonl").stderr


def start_command(*arguments, **options):
    command = [sys.executable, "-m", "tellwhen", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("work")
def test_a_reader_that_goes_away_and_ctrl_c():
    lines("many.jsonl", [{"price": 1}] * 60_000)
    reading = start_command("match", "index", "many.jsonl")
    assert "cheap" in reading.stdout.readline()
    reading.stdout.close()
    assert reading.wait(120) == 141
    assert reading.stderr.read() == ""
    waiting = start_command("match", "index", "-", stdin=subprocess.PIPE)
    waiting.stdin.write('{"price": 1}\n')
    waiting.stdin.flush()
    assert "cheap" in waiting.stdout.readline()  # now it waits for more
    waiting.send_signal(signal.SIGINT)
    _, told = waiting.communicate(timeout=120)
    assert (waiting.returncode, "Traceback" in told) == (130, False)


@pytest.mark.slow
@pytest.mark.usefixtures("work")
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_nothing_half_written_is_left_behind(how, code):
    waiting = start_command("match", "index", "-", "-o", "found.csv", stdin=subprocess.PIPE)
    waiting.stdin.write('{"price": 1}\n' * 20_000)
    waiting.stdin.flush()
    while not list(Path().glob(".found*")):
        assert waiting.poll() is None
        time.sleep(0.05)
    waiting.send_signal(how)
    _, told = waiting.communicate(timeout=120)
    assert (waiting.returncode, "Traceback" in told) == (code, False)
    assert [path.name for path in Path().iterdir() if "found" in path.name] == []


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
def test_no_matches_are_a_table_without_rows(suffix):
    Path("none.jsonl").write_text("")
    lines("other.jsonl", [{"price": 99}])
    for name in ("none.jsonl", "other.jsonl"):
        for command, columns in (("match", ["event_id", "subscription_id"]), ("top-k", None)):
            run(command, "index", name, "-o", f"found.{suffix}")
            if suffix == "parquet":
                table = pq.read_table("found.parquet")
                assert (table.num_rows, table.column_names[0]) == (0, "event_id")
                assert columns is None or table.column_names == columns
            elif suffix == "arrow":
                assert pa.ipc.open_file("found.arrow").read_all().num_rows == 0
            elif suffix == "csv":
                assert Path("found.csv").read_text().startswith('"event_id"')


@pytest.mark.usefixtures("work")
def test_events_in_csv_are_called_by_a_column():
    Path("events.csv").write_text("id,price,city,qty\ne1,12,Rome,1\ne2,30,Rome,1\n")
    assert pairs(rows(run("match", "index", "events.csv", "--event-id", "id").stdout)) == MATCHES[:3]
    assert "event_id='no' is not an attribute of any event; their attributes are: city, id" in read_errors(
        run("match", "index", "events.csv", "--event-id", "no", code=1)
    )


def read_errors(done):
    return done.stderr.replace("\n", " ")


@pytest.mark.usefixtures("work")
def test_lines_that_are_no_rows_go_to_the_quarantine():
    Path("odd.jsonl").write_text(
        '{"id": "a", "expression": "price < 9"}\nno json\n{"id": 1}\n[1]\n{"id": "b", "expression": "x >"}\n'
    )
    found = rows(run("validate", "odd.jsonl", "--json", code=1).stdout)
    assert [one["kind"] for one in found] == ["error"] * 4
    assert "5 subscriptions: 4 errors" in run("validate", "odd.jsonl", code=1).stdout
    run("build", "odd.jsonl", "-o", "built", "--quarantine", "faulty.jsonl")
    assert list(tw.Index.load("built")) == ["a"]
    faulty = rows(Path("faulty.jsonl").read_text())
    assert sorted(one["expression"] for one in faulty) == ["[1]", "no json", "x >", '{"id": 1}']
    assert any("odd.jsonl, line 2: not valid JSON" in one["reason"] for one in faulty)
    assert "line 2: not valid JSON" in read_errors(run("build", "odd.jsonl", "-o", "x", code=1))
    Path("events2.jsonl").write_text('{"price": 1}\nno json\n{"price": 2}\n')
    done = run("match", "index", "events2.jsonl", "--quarantine", "bad.jsonl")
    assert pairs(rows(done.stdout)) == [(0, "cheap"), (2, "cheap")]
    assert "1 faulty event in bad.jsonl" in read_errors(done)
    assert rows(Path("bad.jsonl").read_text())[0]["expression"] == "no json"
    assert "every line must be one object" in read_errors(run("match", "index", "-", given='{\n"price": 1}\n', code=1))


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_what_was_faulty_is_mended_and_given_again_whole(kind):
    """All that a row had is in the quarantine, and not only its expression."""
    given = [
        {"id": 1, "expression": "x >", "score": 2, "weights": {"x": 0.5}, "payload": {"who": "ann", "n": [1, None]}},
        {"id": 2, "expression": "x > 1", "score": 2.5},
        {"id": 3, "expression": "y <", "score": 3.5},
    ]
    lines("some.jsonl", given)
    run("build", "some.jsonl", "-o", "first", "--quarantine", f"faulty.{kind}")
    assert list(tw.Index.load("first")) == [2]
    run("convert", f"faulty.{kind}", "faulty.jsonl", code=1)  # they are faulty yet
    if kind == "parquet":
        table = pq.read_table("faulty.parquet")
        mended = [text + " 5" for text in table["expression"].to_pylist()]
        pq.write_table(table.set_column(1, "expression", pa.array(mended)), "mended.parquet")
    else:
        text = Path(f"faulty.{kind}").read_text()
        Path(f"mended.{kind}").write_text(text.replace("x >", "x > 5").replace("y <", "y < 5"))
    run("build", f"mended.{kind}", "-o", "again")
    index = tw.Index.load("again")
    one, three = (1, 3) if kind != "csv" else ("1", "3")  # all is text in CSV
    assert dict(index.iter_texts()) == {one: "x > 5", three: "y < 5"}
    assert (index.get_subscription(one).score, index.get_subscription(three).score) == (2.0, 3.5)
    assert index.get_subscription(one).weights == {"x": 0.5}
    assert index.get_payload(one) == {"who": "ann", "n": [1, None]}
    assert index.get_payload(three) == {}


@pytest.mark.usefixtures("work")
def test_mistakes_that_people_make():
    lines("more.jsonl", [{"id": 1, "expression": "price < 20", "prio": 3}, {"id": 2, "expression": "prcie < 5"}])
    done = run("build", "more.jsonl", "-o", "more")
    assert "column prio is not read (1 row): put it into the payload" in done.stderr
    Path("more.csv").write_text("id,expression,who,score\na,price < 2,ann,\nb,price < 3,,two\n")
    done = run("build", "more.csv", "-o", "built", "--quarantine", "faulty.jsonl")
    assert "column who is not read (1 row)" in done.stderr
    assert "more.csv, row 2: a score must be a number, found 'two'" in Path("faulty.jsonl").read_text()
    assert "not used" not in run("build", "rules.jsonl", "-o", "again").stderr
    found = run("validate", "more.jsonl").stdout
    assert "hint: 2: no other subscription uses prcie; did you mean price?" in found
    Path("array.json").write_text('[{"price": 12}]')
    assert "every line must be one object: `jq -c '.[]'` converts an array" in read_errors(
        run("match", "index", "array.json", code=1)
    )
    Path("event.json").write_text('{"price": 12}')
    assert "event.json is a file: write @event.json" in read_errors(
        run("explain", "index", "cheap", "event.json", code=1)
    )
    os.makedirs("served/tenants/default")
    assert "the indexes of a service are in tenants/<name>/index" in read_errors(run("inspect", "served", code=1))


@pytest.mark.usefixtures("work")
def test_text_that_is_no_utf8():
    Path("latin.csv").write_bytes("id,expression\na,city = 'K\xf6ln'\n".encode("latin-1"))
    Path("latin.jsonl").write_bytes('{"id": "a", "expression": "city = \'K\xf6ln\'"}\n'.encode("latin-1"))
    for name in ("latin.csv", "latin.jsonl"):
        assert f"{name} is not UTF-8 text" in read_errors(run("build", name, "-o", "x", code=1))
    assert "latin.csv is not UTF-8 text" in read_errors(run("match", "index", "latin.csv", code=1))
    Path("rules.csv").write_text("id,expression\na,city = 'Köln'\n", encoding="utf-8-sig")
    run("build", "rules.csv", "-o", "built")
    assert dict(tw.Index.load("built").iter_texts()) == {"a": "city = 'Köln'"}


@pytest.mark.usefixtures("work")
def test_what_is_exported_keeps_its_schema():
    tw.Index(schema={"day": "date"}).add("a", "day > DATE '2026-01-01'").to_parquet("backup.parquet")
    assert tw.Index.from_parquet("backup.parquet").match({"day": "2026-03-01"}) == ["a"]
    run("build", "backup.parquet", "-o", "built")
    run("convert", "built", "again.parquet")
    run("build", "again.parquet", "-o", "again")
    assert tw.Index.load("again").match({"day": "2026-03-01"}) == ["a"]
    lines("text.jsonl", [{"day": "2026-03-01"}])
    tw.Index().add("a", "day > DATE '2026-01-01'").save("undeclared")
    assert "text is read as a time where the --schema" in read_errors(run("match", "undeclared", "text.jsonl"))


@pytest.mark.usefixtures("work")
def test_arrow_and_csv_through_pipes():
    done = CliRunner().invoke(app, ["match", "index", "events.jsonl", "--event-id", "id", "--output-format", "arrow"])
    assert pairs(pa.ipc.open_stream(done.stdout_bytes).read_all().to_pylist()) == MATCHES
    assert run("convert", "index", "-", "--output-format", "csv").stdout.startswith('"id","expression"')
    assert "pass --output-format" in read_errors(run("convert", "index", "x.xls", code=1))
    assert "--replace keeps the last one" in read_errors(run("build", "rules.jsonl", "rules.jsonl", "-o", "x", code=1))


@pytest.mark.usefixtures("work")
def test_an_event_over_several_lines_in_the_shell():
    said = run("shell", "index", given='{\n  "price": 12\n}\ntop x\n{]\nadd cheap price > 1\nshow cheap\n').stdout
    for part in ("1 match", "top takes a whole number, not x", "the event is not valid JSON", "price > 1"):
        assert part in said, said


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize(
    "events",
    [
        [{"x": 1}, {"x": 3000000000}, {"x": 0.5}],
        [{"o": {"x": 7}}, {"o": {"x": 0.5}}],
        [{"y": [None, None]}, {"y": []}],
        [{"z": [{"a": None}]}, {"z": [{"a": [None]}]}],
        [{"x": 1, "deep": json.loads("[" * 300 + "]" * 300)}],
        [{"x": 1, "deep": json.loads('{"a":' * 300 + "1" + "}" * 300)}],
    ],
    ids=["fraction", "nested", "nulls", "null members", "deep lists", "deep objects"],
)
def test_one_event_does_not_change_another(events):
    texts = ["CAST(x AS string) = '1'", "x * x > 0", "length(y) = 2", "CAST(o.x AS string) = '7'", "x = 1", "y IS NULL"]
    index = tw.Index().add_many(dict(enumerate(texts)))
    index.save("odd")
    lines("odd.jsonl", events)
    wanted = sorted((n, id_) for n, event in enumerate(events) for id_ in index.match(event))
    assert pairs(rows(run("match", "odd", "odd.jsonl").stdout)) == wanted


@pytest.mark.usefixtures("work")
def test_ids_of_events_do_not_depend_on_others(monkeypatch):
    monkeypatch.setattr("tellwhen.cli.event_files.BLOCK_BYTES", 64)
    found = [{"id": f"e{n}", "price": 1, "note": n if n % 7 else "seven"} for n in range(40)]
    lines("mixed.jsonl", found)
    for suffix in ("parquet", "arrow"):
        run("match", "index", "mixed.jsonl", "--event-id", "id", "-o", f"m.{suffix}")
    table = pq.read_table("m.parquet")
    assert sorted(table["event_id"].to_pylist()) == sorted(event["id"] for event in found)
    assert pa.ipc.open_file("m.arrow").read_all().num_rows == 40
    lines("numbers.jsonl", [{"id": 1, "price": 1}, {"id": 2.5, "price": 1}])
    assert "must have one type" in read_errors(run("match", "index", "numbers.jsonl", "--event-id", "id", code=1))


@pytest.mark.usefixtures("work")
def test_what_is_written_replaces_nothing_else():
    Path("target.jsonl").write_text("old")
    Path("target.jsonl").chmod(0o600)
    Path("link.jsonl").symlink_to("target.jsonl")
    run("match", "index", "events.jsonl", "-o", "link.jsonl")
    assert Path("link.jsonl").is_symlink()
    assert len(rows(Path("target.jsonl").read_text())) == 4
    assert Path("target.jsonl").stat().st_mode & 0o777 == 0o600
    os.mkfifo("pipe.jsonl")
    reader = subprocess.Popen(["cat", "pipe.jsonl"], stdout=subprocess.PIPE, text=True)
    run("match", "index", "events.jsonl", "-o", "pipe.jsonl")
    assert len(reader.communicate(timeout=60)[0].splitlines()) == 4
    for arguments in (
        ["match", "index", "events.jsonl", "-o", "events.jsonl"],
        ["build", "rules.jsonl", "-o", "x", "--quarantine", "rules.jsonl"],
    ):
        assert "is an input file" in read_errors(run(*arguments, code=1))
    assert "No such file" in read_errors(
        run("build", "rules.jsonl", "-o", "x", "--quarantine", "no/where.jsonl", code=1)
    )
    assert not os.path.exists("x")
    assert "exclude each other" in read_errors(
        run("match", "index", "events.jsonl", "--count", "--payload", "a", code=1)
    )


@pytest.mark.usefixtures("work")
def test_csv_with_more_or_the_same_columns():
    Path("more.csv").write_text("id,expression\n7,price > 5,000\n8,price > 6\n")
    assert "line 2: more cells than columns" in read_errors(run("build", "more.csv", "-o", "x", code=1))
    run("build", "more.csv", "-o", "built", "--quarantine", "faulty.jsonl")
    assert dict(tw.Index.load("built").iter_texts()) == {"8": "price > 6"}
    Path("twice.csv").write_text("price,price\n1,2\n")
    assert "twice.csv has two columns price" in read_errors(run("match", "index", "twice.csv", code=1))
    Path("long.csv").write_text("id,expression\nlong,city = '" + "x" * 200_000 + "'\n")
    assert "at most 65536 characters" in run("validate", "long.csv", code=1).stdout


@pytest.mark.usefixtures("work")
def test_odd_ids_and_deep_events_are_told():
    for id_ in ("--5", "9" * 5000, "-"):
        assert "there is no subscription" in read_errors(run("explain", "index", "--", id_, "{}", code=1))
    deep = '{"a":' * 200_000 + "1" + "}" * 200_000
    Path("deep.json").write_text(deep)
    assert "the event is nested too deep" in read_errors(run("explain", "index", "cheap", "@deep.json", code=1))
    Path("deep.jsonl").write_text(deep + "\n")
    assert "deep.jsonl, line 1" in read_errors(run("match", "index", "deep.jsonl", code=1))
    assert "top takes" in run("shell", "index", given=f'{{"price": 1}}\ntop {"1" * 5000}\nwhy --5\n').stdout


@pytest.mark.usefixtures("work")
def test_a_misspelt_name_of_the_payloads_is_told(caplog):
    assert run("match", "index", "events.jsonl", "--where", "tenat=7").stdout == ""
    assert [record.message for record in caplog.records] == [
        "tellwhen: where= asks for tenat, which no payload has; did you mean tenant?; logged once"
    ]


def test_engines_for_programs():
    found = {row["name"]: row for row in rows(run("engines", "--json").stdout)}
    assert list(found) == [info.name for info in tw.list_engines()]
    assert found["betree"]["options"]["max_cap"]["default"] == 0
    assert "expressions" in found["auto"]["supports"]


def test_warm_for_programs(monkeypatch):
    assert "there is no engine" in run("warm", "sacn", "--json", code=1).stderr
    monkeypatch.setattr("tellwhen.cli.warm_command.compile_kernels", lambda engine: WarmResult(engine, 0.5, 3))
    found = rows(run("warm", "scan", "auto", "--json").stdout)
    assert [(row["engine"], row["compiled"]) for row in found] == [("scan", 3), ("auto", 3)]


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("size", [1 << 22, 20])
def test_events_are_called_by_their_lines(size, monkeypatch):
    monkeypatch.setattr("tellwhen.cli.event_files.BLOCK_BYTES", size)
    cheap = '{"id": "e", "price": 12}'
    Path("some.jsonl").write_text(f'{cheap}\n\n{{"price": 90}}\n\n{cheap}')
    assert [row["event_id"] for row in rows(run("match", "index", "some.jsonl").stdout)] == [0, 4]
    Path("odd.jsonl").write_text(f'no JSON\n{cheap}\n\n{{"id": null, "price": 1}}\n{{"price": 2}}\n{cheap}\n')
    found = rows(run("match", "index", "odd.jsonl", "--quarantine", "q.jsonl").stdout)
    assert [row["event_id"] for row in found] == [1, 3, 4, 5]
    assert [row["expression"] for row in rows(Path("q.jsonl").read_text())] == ["no JSON"]
    found = rows(run("match", "index", "odd.jsonl", "--event-id", "id", "--quarantine", "q.jsonl").stdout)
    assert [row["event_id"] for row in found] == ["e", "e"]
    reasons = [row["reason"] for row in rows(Path("q.jsonl").read_text())]
    assert reasons[1:] == [f"odd.jsonl, line {n}: the event has no attribute 'id' (--event-id id)" for n in (4, 5)]
    Path("nameless.jsonl").write_text(f"{cheap}\n" * 3 + '{"price": 1}\n')
    done = run("match", "index", "nameless.jsonl", "--event-id", "id", code=1)
    assert ("line 4: the event has no attribute 'id'" if size > 20 else "event_id='id' is not a column") in read_errors(
        done
    )
    Path("deep.jsonl").write_text('{"o": {"id": 5}, "price": 12}\n{"o": {}, "price": 12}\n')
    found = rows(run("match", "index", "deep.jsonl", "--event-id", "o.id", "--quarantine", "q.jsonl").stdout)
    assert [row["event_id"] for row in found] == [5]


@pytest.mark.usefixtures("work")
def test_rows_of_csv_without_an_id_go_to_the_quarantine():
    Path("events.csv").write_text("key,price\na,12\n,12\nb,90\nc,12,7\nd,1\n")
    found = rows(run("match", "index", "events.csv", "--event-id", "key", "--quarantine", "q.jsonl").stdout)
    assert [row["event_id"] for row in found] == ["a", "d"]
    reasons = [row["reason"] for row in rows(Path("q.jsonl").read_text())]
    assert sorted(reason.split(":")[0] for reason in reasons) == ["events.csv, line 5", "events.csv, row 2"]
    found = rows(run("match", "index", "events.csv", "--quarantine", "q.jsonl").stdout)
    assert [row["event_id"] for row in found] == [0, 1, 4]


@pytest.mark.usefixtures("work")
def test_what_a_new_user_stumbled_over():
    tw.Index(schema={"at": "timestamp"}).add("a", "at > DATE '2026-01-01'").save("timed")
    assert "jsonl cannot hold the declared types" in read_errors(run("convert", "timed", "timed.jsonl"))
    assert "declared types" not in read_errors(run("convert", "timed", "timed.parquet"))
    assert "declared types" not in read_errors(run("convert", "index", "again.csv"))
    Path("types.json").write_text(run("inspect", "timed", "--schema").stdout)
    run("build", "timed.jsonl", "-o", "again", "--schema", "types.json")
    assert tw.Index.load("again").match({"at": "2026-02-02"}) == ["a"]
    lines("typo.jsonl", [{"id": 1, "expression": "x = 1", "wieghts": {"x": 1}, "team": 7}])
    said = read_errors(run("build", "typo.jsonl", "-o", "typo"))
    assert "wieghts is not read (1 row): did you mean weights?" in said
    assert "column team is not read (1 row): put it into the payload" in said
    assert "rules.jsonl is a file" in read_errors(run("keys", "add", "rules.jsonl", "x", "--role", "read", code=1))
    with pytest.raises(tw.UnknownId, match="no subscription '7', but 7, whose id is an integer"):
        tw.Index().add(7, "x = 1").get_subscription("7")
    with pytest.raises(tw.UnknownId, match="no subscription 8, but '8', whose id is a string"):
        tw.Index().add("8", "x = 1").remove(8)
    answer = Session(tw.Index.load("index"))
    answer.answer('{"price": 30}')
    assert answer.answer("why not cheap") == answer.answer("why cheap")


def test_signals_leave_nothing_behind(work):
    code = (
        "import sys, time; from tellwhen import cli; from tellwhen.cli import output_files;"
        "output_files._write_to_stream = lambda *_, **__: (print('begun', flush=True), time.sleep(60));"
        "cli.app(['match', 'index', 'events.jsonl', '-o', 'matches.parquet'])"
    )
    for sent in (signal.SIGHUP, signal.SIGTERM):
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        process.send_signal(sent)
        _, said = process.communicate(timeout=30)
        assert (process.returncode, said) == (128 + sent, "")
    assert not [path.name for path in work.iterdir() if "unfinished" in path.name or "matches" in path.name]


def test_closed_streams_are_told(work):
    for close, message in (("<&-", "the standard input is closed"), (">&-", "the standard output is closed")):
        file = "-" if "<" in close else "events.jsonl"
        done = subprocess.run(
            f"{sys.executable} -m tellwhen match index {file} {close}",
            shell=True,
            capture_output=True,
            text=True,
            cwd=work,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
        assert message in done.stderr


COMMANDS = (
    ",validate,build,match,top-k,explain,inspect,shell,convert,generate,serve,demo,engines,warm,"
    "keys add,keys list,keys remove"
)


@pytest.mark.parametrize("command", COMMANDS.split(","))
def test_help_has_an_example(command):
    done = CliRunner().invoke(app, [*command.split(), "--help"])
    assert (done.exit_code, "Example: tellwhen" in done.stdout) == (0, True)
