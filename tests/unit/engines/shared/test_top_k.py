"""Heaps keep the k best matches."""

import numpy as np
import pytest

from tellwhen.engines.shared.kernels.top_k import offer_matches, sort_heaps

pytestmark = pytest.mark.late


def test_heaps():
    rng = np.random.default_rng(4)
    for _ in range(200):
        count, k = int(rng.integers(0, 50)), int(rng.integers(1, 12))
        slots, scores = rng.permutation(60)[:count].astype(np.int32), rng.integers(0, 5, 55).astype(float)
        elsewhere = np.packbits(rng.random(40) < 0.2, bitorder="little")
        heap, slot_heap, found = np.empty((1, k)), np.empty((1, k), dtype=np.int32), np.zeros(1, dtype=np.int64)
        offer_matches(
            np.array([0, count]), slots, np.zeros(1, dtype=np.int64), scores, elsewhere, heap, slot_heap, found
        )
        sort_heaps(heap, slot_heap, found)
        bits = np.unpackbits(elsewhere, bitorder="little")
        offered = [s for s in slots.tolist() if s >= 40 or not bits[s]]
        wanted = sorted((-(scores[s] if s < 55 else 0.0), s) for s in offered)[:k]
        assert [(-a, b) for a, b in zip(heap[0, : found[0]], slot_heap[0, : found[0]], strict=True)] == wanted
