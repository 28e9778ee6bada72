"""How is a process run that may hang, crash, or use up all memory? With limits, after which it is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.machine import resident

ROOT = Path(__file__).parents[2]


class Ended(NamedTuple):
    """`status` is ok, failed, over time or over memory; `detail` says more; `output` is what it printed."""

    status: str
    detail: str
    output: str


def run(command: Sequence[str], seconds: float, megabytes: float) -> Ended:
    """Run a command until it ends or exceeds a limit."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(command, stdout=output, stderr=errors, cwd=ROOT, start_new_session=True)
        except OSError as error:
            return Ended("failed", f"{command[0]}: {error.strerror}", "")
        try:
            status, detail = _watched(process, seconds, megabytes)
        finally:
            # It has a session of its own, so its children are killed too.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        errors.seek(0)
        said = output.read()
        if status == "failed":
            detail = telling(errors.read() + said) or detail
        return Ended(status, detail, said)


def _watched(process: subprocess.Popen[bytes], seconds: float, megabytes: float) -> tuple[str, str]:
    end = time.monotonic() + seconds
    while True:
        try:
            code = process.wait(timeout=0.1)
            return ("ok", "") if code == 0 else ("failed", f"ended with {code}")
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                return "over time", f"more than {seconds:g} s"
            if resident(process.pid) > megabytes * 1e6:
                return "over memory", f"more than {megabytes:,.0f} MB"


def telling(text: str) -> str:
    """The line that says what went wrong: the first one that a compiler marks as an error, or else the last one."""
    plain = re.sub(r"\x1b\[[0-9;]*m|https?://\S+", "", text)  # without colours and addresses
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    marked = (line for line in lines if line.startswith(("error", "[ERROR]")) or ": error:" in line)
    return next(marked, lines[-1] if lines else "")[:300]
