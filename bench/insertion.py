"""`python -m bench.insertion`: the time to grow the graph of `atree`, which must not have a quadratic term.

Expressions of ABE-Gen are inserted in tenths on one core, after they were parsed. Each tenth should take as long as the
first, and a million expressions at most 60 seconds in total.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.loading import store_subscriptions
from bench.timing import time_run
from tellwhen.engines.atree.forest import ForestBuilder
from tellwhen.engines.atree.kernels.plant import ADJUSTED
from tellwhen.engines.atree.layout import Switches, lay_out_index
from tellwhen.engines.shared.selectivity import estimate_chances
from tellwhen.kernels.arrays import Snapshot
from tellwhen.workloads import ABEGen

TENTHS = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.insertion", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="expressions; default: a million")
    count = parser.parse_args().count
    store, slots = store_subscriptions(ABEGen(total=count), count)
    _insert_tenths(store.snapshot(), slots[:100])  # compiles the kernels
    Console(width=100).print(_make_table(store.snapshot(), slots))


def _make_table(snapshot: Snapshot, slots: np.ndarray) -> Table:
    forest, roots, seconds = _insert_tenths(snapshot, slots)
    chance = estimate_chances(snapshot.predicates, None)
    switches = Switches(zero_suppression=True, on_demand=True, random_access=False, in_one_tree=False)
    layout_seconds = time_run(lambda: lay_out_index(forest, snapshot, slots, roots, chance, switches))
    first, second = sum(seconds[: TENTHS // 2]), sum(seconds[TENTHS // 2 :])
    table = Table("what", "seconds", title=f"{len(slots):,} expressions of ABE-Gen, CPU time of one core")
    for number, tenth in enumerate(seconds, start=1):
        table.add_row(f"tenth {number}", f"{tenth:.2f}")
    table.add_row("second half / first half (goal 1.5)", f"{second / first:.2f}")
    table.add_row("inserted (goal 60)", f"{first + second:.1f}")
    table.add_row("laid out for matching, elapsed", f"{layout_seconds:.1f}")
    return table


def _insert_tenths(snapshot: Snapshot, slots: np.ndarray) -> tuple[ForestBuilder, np.ndarray, list[float]]:
    """Insert the expressions; return the graph, the nodes of the expressions, and the seconds of each tenth."""
    forest, roots, seconds = ForestBuilder(ADJUSTED, is_binary=False), [], []
    for tenth in np.array_split(slots, TENTHS):
        begin = time.process_time()
        roots.append(forest.add(snapshot, tenth))
        seconds.append(time.process_time() - begin)
    return forest, np.concatenate(roots), seconds


if __name__ == "__main__":
    main()
