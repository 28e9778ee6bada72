"""Processes that may hang, crash or use up all memory: they are killed when they exceed a limit."""

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

from bench.machine import read_resident_bytes

ROOT = Path(__file__).parents[2]


class ProcessResult(NamedTuple):
    """Outcome of a process.

    `status` is ok, failed, over time or over memory; `detail` is text about a failure; `output` is what the process
    printed.
    """

    status: str
    detail: str
    output: str


def run(command: Sequence[str], seconds: float, megabytes: float) -> ProcessResult:
    """Run a command until it ends or exceeds a limit."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(command, stdout=output, stderr=errors, cwd=ROOT, start_new_session=True)
        except OSError as error:
            return ProcessResult("failed", f"{command[0]}: {error.strerror}", "")
        try:
            status, detail = _watch(process, seconds, megabytes)
        finally:
            # The process has a session of its own, so killing its group kills its children too.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        errors.seek(0)
        printed = output.read()
        if status == "failed":
            detail = find_error_line(errors.read() + printed) or detail
        return ProcessResult(status, detail, printed)


def _watch(process: subprocess.Popen[bytes], seconds: float, megabytes: float) -> tuple[str, str]:
    end = time.monotonic() + seconds
    while True:
        try:
            code = process.wait(timeout=0.1)
            return ("ok", "") if code == 0 else ("failed", f"ended with {code}")
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                return "over time", f"more than {seconds:g} s"
            if read_resident_bytes(process.pid) > megabytes * 1e6:
                return "over memory", f"more than {megabytes:,.0f} MB"


def find_error_line(text: str) -> str:
    """Return the first line that a compiler marks as an error, otherwise the last line."""
    plain = re.sub(r"\x1b\[[0-9;]*m|https?://\S+", "", text)  # removes colours and URLs
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    error_lines = (line for line in lines if line.startswith(("error", "[ERROR]")) or ": error:" in line)
    return next(error_lines, lines[-1] if lines else "")[:300]
