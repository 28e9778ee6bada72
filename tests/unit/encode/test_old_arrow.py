"""Values that older versions of PyArrow cannot convert are converted without it."""

import pyarrow as pa
import pytest

from tellwhen.encode.columns import cast_view
from tellwhen.encode.computed import _convert_maps


def test_maps_become_dicts():
    kind = pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.map_(pa.string(), pa.int64())))), ("n", pa.int64())])
    values = [{"m": [("a", [[("x", 1)], None]), ("b", None)], "n": 2}, {"m": None, "n": None}, None]
    column = pa.array(values, kind)
    wanted = [{"m": {"a": [{"x": 1}, None], "b": None}, "n": 2}, {"m": None, "n": None}, None]
    assert [_convert_maps(value, kind) for value in column.to_pylist()] == wanted
    assert _convert_maps(["plain"], pa.list_(pa.string())) == ["plain"]


class WithoutCast:
    """A column whose cast is not implemented."""

    def __init__(self, column):
        self.type, self.to_pylist = column.type, column.to_pylist

    def cast(self, _):
        raise pa.ArrowNotImplementedError("no cast")


@pytest.mark.parametrize(
    ("column", "target"),
    [
        (pa.array(["a", None], pa.string_view()), pa.large_string()),
        (pa.array([b"a", None], pa.binary_view()), pa.large_binary()),
    ],
)
def test_views_are_converted_without_a_cast(column, target):
    assert cast_view(column) == cast_view(WithoutCast(column)) == pa.array(column.to_pylist(), target)
