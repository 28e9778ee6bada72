"""Tables of matches: the order of their rows."""

import random

import pyarrow as pa
import pytest

import tellwhen as tw


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("engine", ["auto", "scan", "counting"])
def test_matches_of_many_events_are_in_the_order_of_match(engine, threads):
    rng = random.Random(3)
    index = tw.Index(engine)
    for n in rng.sample(range(3_000), 3_000):
        index.add(n, f"x > {rng.randrange(50)} AND y IN ({rng.randrange(3)}, 7)", payload={"half": n % 2})
    for n in rng.sample(range(3_000), 500):
        index.add(n, f"x < {rng.randrange(50)}", payload={"half": n % 2}, replace=True)
    events = [{"x": rng.randrange(50), "y": rng.randrange(3)} for _ in range(300)]
    for where in (None, {"half": 1}):
        expected = [(e, id_) for e, event in enumerate(events) for id_ in index.match(event, where=where)]
        for form in (events, pa.Table.from_pylist(events)):
            rows = index.match_many(form, where=where, threads=threads).to_pydict()
            assert list(zip(rows["event_id"], rows["subscription_id"], strict=True)) == expected
