"""Turns of processes: one process measures, and all other processes of the run are stopped meanwhile.

Many points are prepared at the same time: workloads are generated, truths found, engines built. None of this is timed.
A process that is ready to measure asks for its turn. During a turn no other process of the run uses a core, a cache or
the memory bus.
"""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Task = Any


class Turns:
    """The running processes. At most one of them has the turn."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._owner: subprocess.Popen[str] | None = None

    @contextmanager
    def run(self, command: list[str], folder: Path, errors: int) -> Iterator[subprocess.Popen[str]]:
        """Start a process when no other has the turn; at the end of the block, kill the process and end its turn."""
        with self._turn, self._lock:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder
            )
            self._processes.add(process)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            with self._lock:
                self._processes.discard(process)
            self.end(process)

    def begin(self, process: subprocess.Popen[str]) -> None:
        """Wait until no process has the turn, stop all others, and write the line that this process waits for."""
        self._turn.acquire()
        with self._lock:
            self._owner = process
            self._signal_others(signal.SIGSTOP)
        assert process.stdin is not None
        try:
            process.stdin.write("\n")
            process.stdin.flush()
        except BrokenPipeError:  # the process has ended; whoever watches it will notice
            pass

    def end(self, process: subprocess.Popen[str]) -> None:
        """End the turn of a process and let all others go on. Do nothing if the process does not have the turn."""
        with self._lock:
            if self._owner is not process:
                return
            self._signal_others(signal.SIGCONT)
            self._owner = None
        self._turn.release()

    def is_stopped(self, process: subprocess.Popen[str]) -> bool:
        """Return whether another process has the turn."""
        owner = self._owner
        return owner is not None and owner is not process

    def kill_all(self) -> None:
        """Kill all processes. The threads that read their output then see its end."""
        with self._lock:
            for process in self._processes:
                process.kill()

    def _signal_others(self, number: signal.Signals) -> None:
        for process in self._processes:
            if process is not self._owner and process.poll() is None:
                process.send_signal(number)


class MemoryBudget:
    """Queue that gives out a task only if it fits into memory beside the tasks that are running.

    The largest tasks start first, because they take longest; smaller tasks use the memory that remains. A task larger
    than the memory runs alone.
    """

    def __init__(self, size: float, tasks: Iterable[tuple[float, Task]]) -> None:
        self._size = self._free = size
        self._tasks = sorted(((min(need, size), task) for need, task in tasks), key=lambda pair: -pair[0])
        self._condition = threading.Condition()

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks for one worker; the memory of a task is free again when the worker asks for the next one."""
        while True:
            with self._condition:
                self._condition.wait_for(lambda: not self._tasks or self._find_fitting() is not None)
                if not self._tasks:
                    return
                need, task = self._tasks.pop(self._find_fitting() or 0)
                self._free -= need
            try:
                yield task
            finally:
                with self._condition:
                    self._free += need
                    self._condition.notify_all()

    def clear(self) -> None:
        """Drop the tasks that have not started."""
        with self._condition:
            self._tasks.clear()
            self._condition.notify_all()

    def _find_fitting(self) -> int | None:
        return next((number for number, (need, _) in enumerate(self._tasks) if need <= self._free), None)
