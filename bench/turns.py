"""Turns of processes: one process measures, and all other processes of the run are stopped meanwhile.

Many points are prepared at the same time: workloads are generated, truths found, engines built. Preparing needs no
clock. A process that is ready to measure asks for its turn. During a turn nothing of this run uses a core, a cache or
the memory bus.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Turns:
    """Set of running processes, of which at most one has the turn."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._change = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._owner: object = None

    @contextmanager
    def run(self, command: list[str], folder: Path, errors: int) -> Iterator[subprocess.Popen[str]]:
        """Run a process between turns; at the end, kill the process and end its turn."""
        with self._turn, self._change:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder
            )
            self._processes.add(process)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            with self._change:
                self._processes.discard(process)
            self.end(process)

    def begin(self, process: subprocess.Popen[str]) -> None:
        """Wait for the turn of a process, stop all other processes, and let the process go on."""
        self._take(process)
        assert process.stdin is not None
        try:
            process.stdin.write("\n")
            process.stdin.flush()
        except BrokenPipeError:  # the process has ended; whoever watches it will notice
            pass

    def end(self, owner: object) -> None:
        """End the turn of a process, if it has the turn, and let all other processes go on."""
        with self._change:
            if self._owner is not owner:
                return
            self._signal_others(signal.SIGCONT)
            self._owner = None
        self._turn.release()

    def is_stopped(self, process: subprocess.Popen[str]) -> bool:
        """Return whether another process has the turn."""
        owner = self._owner
        return owner is not None and owner is not process

    def kill_all(self) -> None:
        """Kill all processes; those that watch them see them end."""
        with self._change:
            for process in self._processes:
                process.kill()

    def _take(self, owner: object) -> None:
        self._turn.acquire()
        with self._change:
            self._owner = owner
            self._signal_others(signal.SIGSTOP)

    def _signal_others(self, number: signal.Signals) -> None:
        for process in self._processes:
            if process is not self._owner and process.poll() is None:
                process.send_signal(number)


class MemoryBudget:
    """Memory that points may use together. A point that needs more than the whole budget runs alone."""

    def __init__(self, size: float) -> None:
        self._size = size
        self._free = size
        self._change = threading.Condition()

    @contextmanager
    def reserve(self, size: float) -> Iterator[None]:
        """Wait until the budget has room for `size` bytes, and keep them reserved."""
        size = min(size, self._size)
        with self._change:
            self._change.wait_for(lambda: self._free >= size)
            self._free -= size
        try:
            yield
        finally:
            with self._change:
                self._free += size
                self._change.notify_all()


def read_memory_size() -> int:
    """Return the bytes of memory of this machine, or of its container if that has less."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(size, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no container, or no limit
        return size
