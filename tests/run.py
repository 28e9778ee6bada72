"""Run parts of the test suite at the same time: `python tests/run.py engines spark unit`.

- `engines`: the conformance suite, and the tests of single engines.
- `trees`: the same for the engines of A-Tree and PS-Tree, which are half of the kernels to compile. The marker `trees`,
  set by `conftest.py`, separates both parts.
- `spark`: the tests that need a Spark session.
- `unit`: all other tests, and the examples in docstrings and documents.
- `unchecked`: the conformance suite with optimized kernels and without bounds checks, as users run them.

In the other parts, kernels check the bounds of every array that they index, and are compiled with little optimization,
because optimizing takes longer than it saves. All parts share one cache, so most kernels are compiled once.

`--all` includes the slow tests. Other options are passed to pytest. With several parts, lines of progress appear at
once; the rest of a part's output follows when the part ends. The exit code is 0 if all parts succeeded.
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
    """The tests that pytest selects for a part, and the environment that it runs in."""

    paths: list[str]
    mark: str
    environment: dict[str, str]


CHECKED = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"}
ENGINE_TESTS = ["tests/conformance", "tests/unit/engines", "tests/unit/papers"]
UNIT_TESTS = [f"--ignore={path}" for path in ("tests/spark", *ENGINE_TESTS)]
PARTS = {
    "engines": Part(ENGINE_TESTS, "not trees", CHECKED),
    "trees": Part(ENGINE_TESTS, "trees", CHECKED),
    "spark": Part(["tests/spark"], "spark", CHECKED),
    "unit": Part(UNIT_TESTS, "not spark", CHECKED),
    "unchecked": Part(["tests/conformance"], "", {}),
}
PROGRESS = re.compile(r"[.FEsxX]+ *\[ *\d+%\]")
OUTCOME = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)")


class Result(NamedTuple):
    """Outcome of a part."""

    name: str
    code: int
    seconds: float
    closing: str  # the last line of pytest


def build_command(name: str, includes_slow: bool, options: list[str]) -> list[str]:
    """Return the command line of pytest for a part."""
    marks = " and ".join(mark for mark in (PARTS[name].mark, "" if includes_slow else "not slow") if mark)
    cache = f"cache_dir=.pytest_cache/{name}"  # one for each part, because parts run at the same time
    plugins = ["-p", "no:schemathesis"]  # no test needs this plugin, and loading it takes a second
    return [sys.executable, "-m", "pytest", *plugins, "-o", cache, "-m", marks, *PARTS[name].paths, *options]


NICENESS = {"spark": 0, "unit": 1}
"""Spark often waits, so it goes first when it does not. The unit tests are the longest part, so they go second."""


def build_nice_prefix(name: str) -> list[str]:
    """Return the prefix of a command that lowers the priority of a part."""
    return [] if shutil.which("nice") is None else ["nice", "-n", str(NICENESS.get(name, 6))]


def run_part(name: str, includes_slow: bool, options: list[str], printing: threading.Lock) -> Result:
    """Run a part beside others and print its output."""
    begin = time.monotonic()
    process = subprocess.Popen(
        build_nice_prefix(name) + build_command(name, includes_slow, options),
        cwd=ROOT,
        env=os.environ | PARTS[name].environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        if PROGRESS.fullmatch(line.strip()):
            with printing:
                print(f"{name:8}{line}", end="", flush=True)
        else:
            lines.append(line)
    code = process.wait()
    with printing:
        print(f"\n{name}\n{''.join(lines)}", flush=True)
    return Result(name, code, time.monotonic() - begin, lines[-1] if lines else "")


def summarize(results: list[Result], seconds: float) -> str:
    """Return one closing line for all parts, in the form that pytest uses."""
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
    includes_slow = "--all" in arguments
    options = [argument for argument in arguments if argument not in PARTS and argument != "--all"]
    if len(names) == 1:
        environment = os.environ | PARTS[names[0]].environment
        return subprocess.run(build_command(names[0], includes_slow, options), cwd=ROOT, env=environment).returncode
    begin = time.monotonic()
    printing = threading.Lock()
    # Four at once, even on two cores: Spark waits often, and a part waits for kernels that another one compiles.
    with ThreadPoolExecutor(max_workers=4) as pool:
        results = list(pool.map(lambda name: run_part(name, includes_slow, options, printing), names))
    print(summarize(results, time.monotonic() - begin))
    return int(any(result.code for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
