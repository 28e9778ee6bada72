"""Equal predicates share one number, and a conjunction keeps a repeated predicate once."""

import itertools
import random

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.compile.kernels.intern import LONG_CONJUNCTION
from tellwhen.compile.store import Store
from tellwhen.kernels.arrays import Predicates

pytestmark = pytest.mark.late


@pytest.mark.parametrize("seed", range(40))
def test_only_equal_predicates_are_shared(seed):
    """Many that differ in one field, in small hash tables: each field is compared."""
    rng = random.Random(seed)
    a, b, c, d = sorted(rng.sample(range(-1000, 1000), 4))
    intervals = [((a, b),), ((a, c),), ((b, c),), ((a, b), (c, d)), ((a, b), (c, d + 1))]
    distinct = list(itertools.product((0, 1), (0, 1), intervals))  # domain, quantifier, intervals
    store, known = Store(), {}
    for _ in range(6):
        batch = rng.choices(distinct, k=10)
        ends = [end for *_, own in batch for end in own]
        literals = Predicates(
            np.array([domain for domain, _, _ in batch], np.int32),
            np.array([every for _, every, _ in batch], np.uint8),
            np.cumsum([0] + [len(own) for *_, own in batch]),
            np.array([low for low, _ in ends]),
            np.array([high for _, high in ends]),
        )
        code = np.arange(10, dtype=np.int32)
        slots = store.append_arrays(literals, np.zeros(10, np.uint8), np.arange(11), code)
        predicates, subscriptions = store.snapshot()[:2]
        for slot, predicate in zip(slots, batch, strict=True):
            number = known.setdefault(predicate, len(known))
            assert subscriptions.code[subscriptions.start[slot]] == number
            begin, end = predicates.start[number : number + 2]
            assert (predicates.domain[number], predicates.every[number]) == predicate[:2]
            assert list(zip(predicates.low[begin:end], predicates.high[begin:end], strict=True)) == list(predicate[2])
    assert len(store.snapshot().predicates.domain) == len(known)


@pytest.mark.parametrize("length", [2, LONG_CONJUNCTION, LONG_CONJUNCTION + 1, 3000])
def test_a_conjunction_keeps_a_repeated_predicate_once(length):
    """An engine that counts predicates would wait for the second one for ever."""
    rng = random.Random(length)
    index, known = tw.Index("scan").add("before", "n = 0 AND m = 1"), {}
    for i in range(3):
        numbers = [rng.randrange(length // 2 + 1) for _ in range(length)]
        text = " AND ".join(f"x{number} = {number}" for number in numbers)
        new = {f"program {i}": f"({text}) OR n = {i}", i: text}
        known |= new
        index.add_many(new)
        _, start, code, _ = index._shard.store.snapshot().subscriptions
        conjunction = code[start[-2] : start[-1]].tolist()
        assert len(conjunction) == len(set(conjunction)) == len(set(numbers))
    whole = {f"x{number}": number for number in range(length)}
    for event in (whole, whole | {"x0": -1}, {"n": 1}):
        assert set(index.match(event)) == {id_ for id_, text in known.items() if tw.parse(text).evaluate(event)}
