"""Run parts of the test suite at the same time: `python tests/run.py engines spark unit`.

- `engines`: the conformance suite, and the tests of single engines.
- `trees`: the same for the engines that came with A-Tree, and those of PS-Tree, on which `translation` rests: half of
  the kernels to compile.
- `spark`: whatever needs a Spark session.
- `unit`: everything else, with the examples in docstrings and documents.
- `unchecked`: the conformance suite with kernels as users run them; so do some tests of `unit`, in their own processes.

In all others, kernels check the bounds of every array that they index, and are compiled without optimizing them much,
which would take longer than it saves. They use the same cache: most kernels are compiled once.

`--all` takes the slow tests too. Other options are passed on to pytest. With several parts, lines of progress appear as
they come; the rest of a part's output follows when it has ended. The exit code is 0 if all parts succeeded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Part(NamedTuple):
    """What pytest is given for a part."""

    options: list[str]
    marked: str
    environment: dict[str, str]


CHECKED = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"}
TREES = ("atree", "bdd", "bop", "dewey", "intervalid", "pstbloom", "psthash", "translation")
OF_TREES = [
    f"tests/unit/test_{name}.py"
    for name in ("atree", "bdd", "pst_engines", "pst_papers", "translation", "tree_engines")
]
OF_ENGINES = ["tests/conformance", *(f"tests/unit/test_{name}.py" for name in ("betree", "cover"))]
OTHERS = [f"--ignore={path}" for path in (*OF_ENGINES, *OF_TREES)]
NAMED = " or ".join((*TREES, "pst_engines", "pst_papers", "tree_engines"))
PARTS = {
    "engines": Part([*OF_ENGINES, "-k", f"not ({NAMED})"], "", CHECKED),
    "trees": Part(["tests/conformance", *OF_TREES, "-k", NAMED], "", CHECKED),
    "spark": Part(["tests/spark"], "spark", CHECKED),
    "unit": Part(["--ignore=tests/spark", *OTHERS], "not spark", CHECKED),
    "unchecked": Part(["tests/conformance"], "", {}),
}
PROGRESS = re.compile(r"[.FEsxX]+ *\[ *\d+%\]")
OUTCOME = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)")


class Result(NamedTuple):
    """How a part ended."""

    name: str
    code: int
    seconds: float
    closing: str  # the last line of pytest


def command(name: str, slow: bool, more: list[str]) -> list[str]:
    """The call of pytest."""
    marked = " and ".join(mark for mark in (PARTS[name].marked, "" if slow else "not slow") if mark)
    cache = f"cache_dir=.pytest_cache/{name}"  # one each: they run at the same time
    quick = ["-p", "no:schemathesis"]  # whose plugin no test needs, and which takes a second to load
    return [sys.executable, "-m", "pytest", *quick, "-o", cache, "-m", marked, *PARTS[name].options, *more]


NICENESS = {"spark": 0, "unit": 1}
"""Spark waits often: when it does not, it goes first. The unit tests are the longest part: two others should be left at
the end, for two cores."""


def beside(name: str) -> list[str]:
    """How a part is started that runs beside others."""
    return [] if shutil.which("nice") is None else ["nice", "-n", str(NICENESS.get(name, 6))]


def run(name: str, slow: bool, more: list[str], printing: threading.Lock) -> Result:
    """Run a part and show its output."""
    begin = time.monotonic()
    process = subprocess.Popen(
        beside(name) + command(name, slow, more),
        cwd=ROOT,
        env=os.environ | PARTS[name].environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    kept = []
    assert process.stdout is not None
    for line in process.stdout:
        if PROGRESS.fullmatch(line.strip()):
            with printing:
                print(f"{name:8}{line}", end="", flush=True)
        else:
            kept.append(line)
    code = process.wait()
    with printing:
        print(f"\n{name}\n{''.join(kept)}", flush=True)
    return Result(name, code, time.monotonic() - begin, kept[-1] if kept else "")


def total(results: list[Result], seconds: float) -> str:
    """One closing line for all parts, in the form that pytest gives to one."""
    count: Counter[str] = Counter()
    for result in results:
        for number, outcome in OUTCOME.findall(result.closing):
            count["errors" if outcome == "error" else outcome] += int(number)
    outcomes = ", ".join(f"{number} {outcome}" for outcome, number in count.items()) or "no tests ran"
    each = ", ".join(f"{result.name} {result.seconds:.0f} s" for result in results)
    failed = [f"{result.name} failed (exit code {result.code})" for result in results if result.code]
    return "; ".join([f"{outcomes} in {seconds:.0f} s: {each}", *failed])


def main(arguments: list[str]) -> int:
    names = [name for name in PARTS if name in arguments] or list(PARTS)
    slow = "--all" in arguments
    more = [argument for argument in arguments if argument not in PARTS and argument != "--all"]
    if len(names) == 1:
        environment = os.environ | PARTS[names[0]].environment
        return subprocess.run(command(names[0], slow, more), cwd=ROOT, env=environment).returncode
    begin = time.monotonic()
    printing = threading.Lock()
    # Four at once, even on two cores: Spark waits often, and a part waits for kernels that another one compiles.
    with ThreadPoolExecutor(max_workers=4) as pool:
        results = list(pool.map(lambda name: run(name, slow, more, printing), names))
    print(total(results, time.monotonic() - begin))
    return int(any(result.code for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
