"""Are two checkouts timed alternately, whatever their modules are called?"""

import pytest
from bench.checkouts import Comparison

from tellwhen.workloads import BEGen

pytestmark = pytest.mark.late

FAKE_MODULE = """
import time
import numpy as np

now = 0.0
time.perf_counter = lambda: now  # so that the load of the machine does not matter

def take(seconds):
    global now
    now += seconds

class Reader:
    def match(self, events):
        take({seconds} * len(events))
        return np.arange(len(events) + 1), np.array(events)

class Engine:
    def insert(self, slots):
        print("engines may print")
        take(1)
    def upkeep(self):
        return None

    def reader(self):
        return Reader()

def create(name, store):
    if name != "scan":
        raise ValueError("no such engine")
    return Engine()
"""

MODULES = {
    "older": ("tellwhen/engines/planner.py", "tellwhen/workloads/loading.py", "tellwhen/compile/batch.py"),
    "newer": ("tellwhen/engines/__init__.py", "bench/loading.py", "tellwhen/containers/batches.py"),
}

FUNCTIONS = {
    "older": ("stored", "encoded", "one_by_one"),
    "newer": ("store_subscriptions", "encode_events", "split_events"),
}
"""Names in older checkouts, and those of this checkout."""


def make_checkout(root, layout, seconds, first=0):
    """A checkout that has what the comparison asks for, and nothing else."""
    engines, loading, batches = MODULES[layout]
    store, encode, split = FUNCTIONS[layout]
    texts = {
        engines: FAKE_MODULE.format(seconds=seconds),
        loading: f"{store} = lambda work, count: (None, [0] * count)\n"
        f"{encode} = lambda work, count, store: range({first}, {first} + count)",
        batches: f"{split} = lambda events: [[event] for event in events]",
        "tellwhen/workloads/__init__.py": "BEGen = dict",
    }
    for name, text in texts.items():
        file = root / "src" / name
        for folder in file.relative_to(root / "src").parents:
            (root / "src" / folder).mkdir(parents=True, exist_ok=True)
            if folder.name:
                (root / "src" / folder / "__init__.py").touch()
        file.write_text(text)
    return root


def compare_checkouts(a, b, engines=("scan",)):
    table = Comparison(a, None, 2, 4, b).measure_table("t", BEGen(), 1_000, 3, list(engines))
    return list(zip(*(column.cells for column in table.columns), strict=True))


def test_two_checkouts_are_compared_alternately(tmp_path):
    old, new = make_checkout(tmp_path / "a", "older", 0.01), make_checkout(tmp_path / "b", "newer", 0.03)
    build, singly, together = compare_checkouts(old, new)
    assert [row[:2] for row in (build, singly, together)] == [
        ("scan", "build"), ("scan", "one by one"), ("scan", "in a batch"),
    ]  # fmt: skip
    assert build[2:] == ("1 s", "1 s", "1.00", "0%", "same")
    for row in (singly, together):
        assert row[2:] == ("10,000 us", "30,000 us", "3.00", "0%", "slower")
    assert compare_checkouts(new, old)[1][6] == "faster"


@pytest.mark.slow
def test_checkouts_that_cannot_be_compared(tmp_path):
    old, new = make_checkout(tmp_path / "a", "older", 0.01), make_checkout(tmp_path / "b", "newer", 0.01, first=1)
    assert compare_checkouts(old, new) == [("scan", "the matches differ", "", "", "", "", "")]
    assert compare_checkouts(old, old, ["kindex"])[0][1] == "A: ValueError: no such engine"
    (tmp_path / "c").mkdir()
    with pytest.raises(RuntimeError, match="the process of .* ended with 1"):
        compare_checkouts(tmp_path / "c", new)
