"""Is a process alone while it measures?"""

import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from bench.turns import MemoryBudget, Turns

pytestmark = pytest.mark.late

WAIT = "import sys; sys.stdin.readline(); print('go', flush=True); sys.stdin.readline()"
WORK = "while True: pass"


def wait_for_state(process, wanted):
    """Wait until the kernel says that a process has one of these states; T is stopped."""
    for _ in range(200):
        if Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in wanted:
            return True
        time.sleep(0.05)
    return False


def run_process(turns, code, errors):
    return turns.run([sys.executable, "-c", code], Path.cwd(), errors.fileno())


def test_other_processes_stop_during_a_turn():
    turns = Turns()
    with tempfile.TemporaryFile() as errors, run_process(turns, WORK, errors) as other:
        with run_process(turns, WAIT, errors) as process:
            assert wait_for_state(other, "R")
            turns.begin(process)
            assert process.stdout.readline() == "go\n"
            assert wait_for_state(other, "T")
            assert turns.is_stopped(other)
            assert not turns.is_stopped(process)
        assert wait_for_state(other, "RS")  # the turn ends with its process
        assert not turns.is_stopped(other)


def test_no_process_starts_during_a_turn():
    turns = Turns()
    started = threading.Event()

    def start_another():
        with tempfile.TemporaryFile() as errors, run_process(turns, WORK, errors):
            started.set()

    with tempfile.TemporaryFile() as errors, run_process(turns, WAIT, errors) as process:
        turns.begin(process)
        thread = threading.Thread(target=start_another)
        thread.start()
        assert not started.wait(0.3)
        turns.end(process)
        assert started.wait(10)
        thread.join()


def test_stopped_processes_can_be_killed():
    turns = Turns()
    with (
        tempfile.TemporaryFile() as errors,
        run_process(turns, WORK, errors) as other,
        run_process(turns, WAIT, errors) as process,
    ):
        turns.begin(process)
        turns.kill_all()
        assert other.wait(10) < 0
        assert process.wait(10) < 0


def test_large_tasks_start_first_and_small_ones_use_the_rest_of_the_memory():
    budget = MemoryBudget(10, [(3, "small"), (99, "too large"), (6, "large"), (7, "larger")])
    first, second = iter(budget), iter(budget)
    assert next(first) == "too large"  # runs alone
    assert next(first) == "larger"
    assert next(second) == "small"  # the large task does not fit
    waiting = threading.Thread(target=lambda: next(second, None))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()  # the large task does not fit beside the larger one
    budget.clear()
    waiting.join(10)
    assert list(first) == []
