"""Are working arrays lent to one caller at a time, and never used again when they are dirty?"""

import random
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.engines.shared import calls
from tellwhen.kernels.arrays import I32, I64, Runs
from tellwhen.testing.engine_checks import renew_scratch

pytestmark = pytest.mark.late


class Work(NamedTuple):
    """A kind of this test only."""

    marks: I64
    runs: Runs
    slots: I32


def sizes(marks, runs=1, slots=1):
    return Work(marks, Runs(runs, runs), slots)


@pytest.fixture(autouse=True)
def _empty():
    """Leave no set of this test behind."""
    yield
    calls._pools.pop(Work, None)


def test_a_set_is_lent_once():
    first, second = calls.take_scratch(sizes(3)), calls.take_scratch(sizes(3))
    assert first is not second
    assert not np.shares_memory(first.arrays.marks, second.arrays.marks)
    calls.release_memory(first)
    assert calls.take_scratch(sizes(3)) is first
    assert calls.take_scratch(sizes(3)) is not first


def test_a_set_that_is_too_small_is_renewed_as_a_whole():
    """No two arrays of a set have different histories."""
    for larger in (sizes(100), sizes(3, runs=100), sizes(3, slots=100)):
        scratch = calls.take_scratch(sizes(3))
        scratch.arrays.marks[:] = 7
        scratch.arrays.runs.begin[:] = 7
        scratch.arrays.slots[:] = 7
        calls.release_memory(scratch)
        renewed = calls.take_scratch(larger)
        lengths = (len(renewed.arrays.marks), len(renewed.arrays.runs.end), len(renewed.arrays.slots))
        assert all(have >= want for have, want in zip(lengths, (larger[0], larger[1][1], larger[2]), strict=True))
        assert not any(array.any() for array in (renewed.arrays.marks, *renewed.arrays.runs, renewed.arrays.slots))
        assert (renewed.packed[::2] == [array.ctypes.data for array in calls.flatten(renewed.arrays).values()]).all()


def test_one_array_can_be_renewed():
    scratch = calls.take_scratch(sizes(3))
    scratch.arrays.marks[:] = 7
    scratch.arrays.runs.begin[:] = 7
    scratch.renew("runs.begin", 50)
    assert scratch.arrays.runs.begin.tolist() == [0] * 50
    assert set(scratch.arrays.marks) == {7}
    assert (scratch.packed[::2] == [array.ctypes.data for array in calls.flatten(scratch.arrays).values()]).all()
    assert (scratch.packed[1::2] == [len(array) for array in calls.flatten(scratch.arrays).values()]).all()


def test_some_are_renewed_at_random():
    calls.drain_pools()  # what other tests have left would take some of the random numbers
    lent = [calls.take_scratch(sizes(3)) for _ in range(40)]
    for scratch in lent:
        scratch.arrays.marks[:] = 7
        calls.release_memory(scratch)
    renew_scratch(random.Random(1))
    kept = calls._pools[Work]
    assert 20 < len(kept) < 40
    assert 5 < sum(not scratch.arrays.marks.any() for scratch in kept) < 30


def test_a_set_is_dropped_when_its_kernel_fails():
    index = tw.Index("scan").add("a", "x = 1")
    index.match({"x": 1})
    call = index._contents.state.reader._call
    pool = calls._pools[type(call._sizes)]
    kept = len(pool)
    kernel = call._kernel

    def fails(*arguments):
        raise MemoryError

    call._kernel = fails
    with pytest.raises(MemoryError):
        index.match({"x": 1})
    assert len(pool) == kept - 1
    call._kernel = kernel
    assert index.match({"x": 1}) == ["a"]
    assert len(pool) >= kept


def test_threads_never_share_a_set():
    lent, doubled = set(), []

    def work():
        for _ in range(500):
            scratch = calls.take_scratch(sizes(3))
            if id(scratch) in lent:
                doubled.append(scratch)
            lent.add(id(scratch))
            time.sleep(0)  # another thread's turn
            lent.discard(id(scratch))
            calls.release_memory(scratch)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not doubled
    assert len({id(scratch) for scratch in calls._pools[Work]}) == len(calls._pools[Work]) <= 4
