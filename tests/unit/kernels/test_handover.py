"""Arrays arrive in a kernel as they were packed, and wrong ones are refused."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tellwhen.kernels.arrays import I32, I64, U8, I32Matrix
from tellwhen.kernels.handover import allocate_arrays, borrow, pack, unpack
from tellwhen.kernels.jit import kernel


class Pair(NamedTuple):
    start: I64
    slot: I32


class Whole(NamedTuple):
    flags: U8
    pair: Pair
    table: I32Matrix
    count: int
    last: I64


@kernel
def sum_arrays(whole, events):
    """One number that depends on every array, on the shapes, and on where an event's arrays are."""
    whole, events = unpack(whole, Whole), borrow(events, Pair)
    total = whole.flags.sum() + 10 * whole.pair.start.sum() + 100 * whole.pair.slot.sum() + 1000 * whole.count
    total += 10_000 * whole.table[1, 2] + 100_000 * whole.table.shape[0] + 1_000_000 * whole.table.shape[1]
    whole.last[0] = whole.last.size
    events.slot[0] = 5
    return total + 10_000_000 * events.start.sum()


@kernel
def read(pair, at, which):
    """An element, perhaps beyond the end."""
    if which == 0:
        return unpack(pair, Pair).slot[at]
    return unpack(pair, Pair).start[at]


@kernel
def read_borrowed(pair, at):
    return borrow(pair, Pair).slot[at]


@kernel
def read_table(whole, row, column):
    return unpack(whole, Whole).table[row, column]


def run_apart(code, **variables):
    """Run code that may import this module in a new process, and return what it prints."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = os.environ | {"PYTHONPATH": path} | variables
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def whole(**changed):
    values = {
        "flags": np.array([1, 2], np.uint8),
        "pair": Pair(np.array([1, 1], np.int64), np.array([3], np.int32)),
        "table": np.arange(6, dtype=np.int32).reshape(2, 3),
        "count": 4,
        "last": np.zeros(7, np.int64),
    }
    return Whole(**values | changed)


def test_every_array_arrives():
    given, events = whole(), (np.array([1, 1]), np.array([0], np.int32))
    assert sum_arrays(pack(given), events) == 3 + 20 + 300 + 4000 + 50_000 + 200_000 + 3_000_000 + 20_000_000
    assert given.last[0] == 7
    assert events[1][0] == 5


def test_empty_arrays_arrive():
    nothing = Pair(np.zeros(0, np.int64), np.zeros(0, np.int32))
    given = whole(flags=np.zeros(0, np.uint8), pair=nothing)
    assert sum_arrays(pack(given), (np.zeros(0, np.int64), np.zeros(1, np.int32))) == 3_254_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("flags", np.zeros(2, np.int64)),
        ("flags", np.zeros((2, 2), np.uint8)),
        ("flags", np.zeros(4, np.uint8)[::2]),
        ("last", np.zeros(2, np.int32)),
        ("last", np.zeros(2, np.uint64)),
        ("table", np.zeros(6, np.int32)),
        ("table", np.zeros((2, 3), np.int64)),
        ("table", np.zeros((3, 2), np.int32).T),
        ("table", np.asfortranarray(np.zeros((2, 3), np.int32))),
    ],
)
def test_a_wrong_array_is_a_type_error(field, value):
    with pytest.raises(TypeError, match=f"Whole.{field} must be a contiguous array of"):
        pack(whole(**{field: value}))


def test_a_wrong_array_inside_a_kind_is_a_type_error():
    with pytest.raises(TypeError, match="Pair.slot must be a contiguous array of int32 with 1 dimensions"):
        pack(whole(pair=Pair(np.zeros(1, np.int64), np.zeros(1, np.int64))))


def test_a_field_without_a_layout_is_a_type_error():
    class Bare(NamedTuple):
        rows: np.ndarray

    with pytest.raises(TypeError, match="Bare.rows is declared as .* array type of kernels/arrays.py"):
        pack(Bare(np.zeros(1, np.int64)))


ALIASED = """
from typing import Any, TypeVar
import numpy as np, numpy.typing
from typing_extensions import TypeAliasType

Scalar = TypeVar("Scalar", bound=np.generic)
numpy.typing.NDArray = TypeAliasType("NDArray", np.ndarray[Any, np.dtype[Scalar]], type_params=(Scalar,))
from test_handover import Pair, pack, whole
from tellwhen.kernels.arrays import I32

assert "ndarray" not in repr(I32), "the array types do not use the alias"
assert len(pack(whole())) == 12
"""


def test_arrays_arrive_where_ndarray_is_an_alias():
    """NumPy 2.5 makes `NDArray` a `TypeAliasType` on Python 3.12 and newer: here it is one with any NumPy."""
    run_apart(ALIASED)


def test_kernels_alone_unpack():
    with pytest.raises(NotImplementedError):
        unpack(pack(whole()), Whole)
    with pytest.raises(NotImplementedError):
        borrow((), Pair)


def test_scratch_is_zero_and_long_enough():
    arrays = allocate_arrays(Pair(start=10, slot=0))
    assert [array.dtype for array in arrays] == [np.int64, np.int32]
    assert len(arrays.start) >= 10
    assert len(arrays.slot) >= 1
    assert not arrays.start.any()


def beyond_the_end():
    """Indexes that a kernel must refuse when it checks bounds: run in a process where it does."""
    pair = Pair(np.arange(2), np.arange(3, dtype=np.int32))
    assert read(pack(pair), 2, 0) == 2
    for call in (
        lambda: read(pack(pair), 3, 0),
        lambda: read(pack(pair), 2, 1),
        lambda: read_borrowed(tuple(pair), 3),
        lambda: read_table(pack(whole()), 2, 0),
        lambda: read_table(pack(whole()), 0, 3),
    ):
        with pytest.raises(IndexError):
            call()
    print("all refused")


def test_bounds_checks_see_the_lengths():
    output = run_apart("import test_handover; test_handover.beyond_the_end()", NUMBA_BOUNDSCHECK="1")
    assert output == "all refused\n"
