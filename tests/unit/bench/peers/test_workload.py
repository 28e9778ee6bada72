"""Do the files that peers read have the workload and its true matches?"""

import json

from bench.peers import workload

import tellwhen as tw


def test_files_hold_the_workload(work_folder):
    lines = {
        name: (work_folder / f"{name}.jsonl").read_text().splitlines() for name in ("subscriptions", "events", "truth")
    }
    assert [len(found) for found in lines.values()] == [100, 5, 5]
    rows = [json.loads(line) for line in lines["subscriptions"]]
    assert [row["id"] for row in rows] == list(range(100))
    read = [(row["id"], tw.from_json(row["expression"])) for row in rows]
    for event, truth in zip(map(json.loads, lines["events"]), workload.read_truth(work_folder), strict=True):
        assert truth == [id for id, expression in read if expression.evaluate(event) is True]
    assert any(workload.read_truth(work_folder))
