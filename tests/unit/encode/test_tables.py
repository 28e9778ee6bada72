"""Tables are encoded to the same points as dicts."""

import datetime as dt
import itertools
import math
import random

import numpy as np
import pyarrow as pa
import pytest

import tellwhen as tw
from tellwhen.encode.events import encode
from tellwhen.encode.tables import encode_table
from tellwhen.language.limits import INTEGER_MAX

pytestmark = pytest.mark.late


COLUMNS = {
    "n": (pa.int64(), lambda rng: rng.choice([0, 1, -5, 2**53 + 1, INTEGER_MAX, -INTEGER_MAX, 2**63 - 1, -(2**63)])),
    "u": (pa.uint64(), lambda rng: rng.choice([0, 7, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1])),
    "f": (pa.float64(), lambda rng: rng.choice([0.0, -0.0, 1.5, 2.0**62, -(2.0**62), math.inf, -math.inf, 1e-300])),
    "b": (pa.bool_(), lambda rng: rng.random() < 0.5),
    "s": (pa.string(), lambda rng: rng.choice(["", "a", "ab", "zz", "é"])),
    "t": (pa.timestamp("ns"), lambda rng: dt.datetime(2026, 1, 1) + dt.timedelta(microseconds=rng.randrange(3))),
    "l": (pa.list_(pa.int64()), lambda rng: [rng.randrange(3) for _ in range(rng.randrange(4))]),
    "k": (pa.list_(pa.string()), lambda rng: rng.choices(["a", "b", "ab"], k=rng.randrange(4))),
}


@pytest.mark.parametrize("seed", range(20))
def test_tables_become_the_same_points_as_dicts(seed):
    index = tw.Index().add_many(enumerate([
        "n < 3 AND n > 0.5", "u < 3 AND u > 0.5", "f < 3 AND f <> 0.5", "b", "l = 1 AND l < 1.5", "n IS NULL",
        "s > 'a' AND s ENDS WITH 'b' AND s CONTAINS 'a'", "k = 'a' OR k ENDS WITH 'b'", "k IS NULL",
        "t < TIMESTAMP '2026-01-01 00:00:00.000001'",
    ]))  # fmt: skip
    rng = random.Random(seed)
    events = [{n: draw(rng) for n, (_, draw) in COLUMNS.items() if rng.random() < 0.8} for _ in range(rng.randrange(9))]
    columns = {name: pa.array([event.get(name) for event in events], kind) for name, (kind, _) in COLUMNS.items()}
    attributes = index._contents.state.attributes
    wanted, _ = encode(events, attributes, index.schema)
    found, _ = encode_table(pa.table(columns), len(events), attributes, index.schema)
    for one in (wanted, found):
        assert one.start.dtype == one.low.dtype == np.int64
        assert (one.domain.dtype, one.single_valued.dtype) == (np.int32, np.uint8)
    assert found.start.tolist() == wanted.start.tolist()
    assert found.single_valued.tolist() == wanted.single_valued.tolist()
    for begin, end in itertools.pairwise(wanted.start):
        entries = [sorted(zip(one.domain[begin:end], one.low[begin:end], strict=True)) for one in (wanted, found)]
        assert entries[0] == entries[1]
