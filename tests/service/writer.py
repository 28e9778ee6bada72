"""A process that is made to be killed: its children change an index, tell what was acknowledged, and are killed; it
then opens the index and says what is wrong with it. A child is forked, which is faster than to start again."""

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

TOGETHER = 5
"""Subscriptions that are added by one change: all of them are there, or none."""


def change(index, seed):
    """Make changes until killed, and write a line when each was asked for, and when it was acknowledged."""
    kept = DurableIndex(index, snapshot_after=40)  # so that snapshots are killed, too
    rng, answers = random.Random(seed), queue.SimpleQueue()
    for number in range(seed * 1_000_000, (seed + 1) * 1_000_000):
        group = f"{number}"
        removed = str(rng.randrange(seed * 1_000_000, number + 1)) if rng.random() < 0.3 else None
        rows = [[f"{group}-{k}", f"x > {number} AND y = {k}", None, None, None] for k in range(TOGETHER)]
        for given, what in (
            (make_addition(rows), "add"),
            (make_removal([f"{removed}-{k}" for k in range(TOGETHER)], "ignore"), "remove"),
        ):
            if what == "remove" and removed is None:
                continue
            name = group if what == "add" else removed
            print(f"ask {what} {name}", flush=True)
            kept.submit(given, answers.put)
            result = answers.get()
            if isinstance(result, Exception):
                raise result
            print(f"done {what} {name}", flush=True)


def wrong(index, present):
    """What is wrong after a kill; `present` says for each group whether it must be there (None: either)."""
    kept = DurableIndex(index)
    ids = set(kept.index)
    found = []
    for name, must in present.items():
        count = sum(f"{name}-{k}" in ids for k in range(TOGETHER))
        if count not in ((0, TOGETHER) if must is None else (TOGETHER,) if must else (0,)):
            found.append(f"{name}: {count} of {TOGETHER}, where it must be {must}")
        present[name] = count == TOGETHER
    if len(ids) != TOGETHER * sum(present.values()):
        found.append(f"{len(ids)} ids")
    if len(kept.index.match({"x": 10**12, "y": 0})) != sum(present.values()):
        found.append("matches are missing")
    kept._queue.put(None)  # as it is: no snapshot in peace
    kept._thread.join()
    kept._journal.close()
    return found


def main():
    index, present = Path(sys.argv[1]), {}
    for seed, line in enumerate(sys.stdin):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            os.close(reading)
            change(index, seed)
        os.close(writing)
        acknowledged = 0
        with os.fdopen(reading) as told:
            ends = None
            for said in told:
                state, what, name = said.split()
                must = what == "add"
                present[name] = (
                    must if state == "done" else None if name not in present or present[name] != must else must
                )
                acknowledged += state == "done"
                ends = ends or time.monotonic() + int(line) / 1000
                if time.monotonic() > ends:
                    os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(json.dumps({"wrong": wrong(index, present), "acknowledged": acknowledged}), flush=True)


if __name__ == "__main__":
    main()
