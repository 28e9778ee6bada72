"""Does the naive scan find what `scan` finds?"""

import random

import pytest
from bench.engines import make, parse_engine_names

import tellwhen as tw
from tellwhen.compile.store import Store
from tellwhen.encode.events import encode
from tellwhen.testing.engine_checks import random_event, random_expression

pytestmark = pytest.mark.late


@pytest.mark.slow
def test_the_naive_scan_is_right():
    """It is no engine of the package, so the conformance suite does not see it."""
    rng = random.Random(1)
    store = Store()
    slots, _ = store.append(store.compile([random_expression(rng) for _ in range(200)]))
    events, _ = encode([random_event(rng) for _ in range(100)], store.attributes, tw.Schema())
    rivals = [make(name, store) for name in ("naive", "scan")]
    for some in (slots[:120], slots[120:]):
        for rival in rivals:
            rival.insert(some)
    store.remove(slots[::7])
    found, wanted = (rival.reader().match(events) for rival in rivals)
    for e in range(100):
        mine, right = (m.slot[m.start[e] : m.start[e + 1]].tolist() for m in (found, wanted))
        assert sorted(mine) == sorted(right)
    assert len(wanted.slot) > 100
    rivals[0].delete(slots[::7])
    assert len(rivals[0]) == 200 - 29
    assert "naive" not in [info.name for info in tw.list_engines()]
    assert parse_engine_names("naive") == ["naive"]
