"""A process that changes an index and is killed, for the test of kills.

A child changes the index and reports what was requested and what was acknowledged, until it is killed. The parent then
opens the index and reports what is wrong with it. A child is forked, which is faster than a new process.
"""

import json
import os
import queue
import random
import signal
import sys
import time
from pathlib import Path

from tellwhen.service.changes import make_addition, make_removal
from tellwhen.service.durable_index import DurableIndex

GROUP_SIZE = 5
"""Subscriptions that one change adds: all of them must be in the index, or none."""


def make_changes(index, seed):
    """Make changes until killed; print a line when a change is requested, and when it is acknowledged."""
    durable = DurableIndex(index, snapshot_after=40)  # low, so that snapshots are interrupted, too
    rng, answers = random.Random(seed), queue.SimpleQueue()
    for number in range(seed * 1_000_000, (seed + 1) * 1_000_000):
        group = f"{number}"
        removed = str(rng.randrange(seed * 1_000_000, number + 1)) if rng.random() < 0.3 else None
        rows = [[f"{group}-{k}", f"x > {number} AND y = {k}", None, None, None] for k in range(GROUP_SIZE)]
        for change, what in (
            (make_addition(rows), "add"),
            (make_removal([f"{removed}-{k}" for k in range(GROUP_SIZE)], "ignore"), "remove"),
        ):
            if what == "remove" and removed is None:
                continue
            name = group if what == "add" else removed
            print(f"ask {what} {name}", flush=True)
            durable.submit(change, answers.put)
            result = answers.get()
            if isinstance(result, Exception):
                raise result
            print(f"done {what} {name}", flush=True)


def find_faults(index, present):
    """Return what is wrong after a kill; `present` says whether each group must be in the index (None: either)."""
    durable = DurableIndex(index)
    ids = set(durable.index)
    faults = []
    for name, must in present.items():
        count = sum(f"{name}-{k}" in ids for k in range(GROUP_SIZE))
        if count not in ((0, GROUP_SIZE) if must is None else (GROUP_SIZE,) if must else (0,)):
            faults.append(f"{name}: {count} of {GROUP_SIZE}, expected {must}")
        present[name] = count == GROUP_SIZE
    if len(ids) != GROUP_SIZE * sum(present.values()):
        faults.append(f"{len(ids)} ids")
    if len(durable.index.match({"x": 10**12, "y": 0})) != sum(present.values()):
        faults.append("matches are missing")
    durable._queue.put(None)  # stop without a snapshot
    durable._thread.join()
    durable._journal.close()
    return faults


def main():
    index, present = Path(sys.argv[1]), {}
    for seed, line in enumerate(sys.stdin):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            os.close(reading)
            make_changes(index, seed)
        os.close(writing)
        acknowledged = 0
        with os.fdopen(reading) as lines:
            deadline = None
            for report in lines:
                state, what, name = report.split()
                must = what == "add"
                present[name] = (
                    must if state == "done" else None if name not in present or present[name] != must else must
                )
                acknowledged += state == "done"
                deadline = deadline or time.monotonic() + int(line) / 1000
                if time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(json.dumps({"wrong": find_faults(index, present), "acknowledged": acknowledged}), flush=True)


if __name__ == "__main__":
    main()
