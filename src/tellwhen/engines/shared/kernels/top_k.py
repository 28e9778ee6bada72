"""Heaps of the best matches, one for each event of a batch."""

from __future__ import annotations

from tellwhen.kernels.best import offer, sort_heap
from tellwhen.kernels.jit import kernel


@kernel
def offer_matches(start, slot, row, score, elsewhere, best_score, best_slot, count):
    """Offer the matches of every event e to the heap of row[e].

    A slot behind the end of `score` has the score 0. A slot with a bit in `elsewhere` is skipped, because another tier
    offers it.
    """
    for e in range(row.size):
        r = row[e]
        scores, slots, kept = best_score[r], best_slot[r], count[r]
        for i in range(start[e], start[e + 1]):
            s = slot[i]
            if s >> 3 < elsewhere.size and elsewhere[s >> 3] >> (s & 7) & 1:
                continue
            kept = offer(scores, slots, kept, score[s] if s < score.size else 0.0, s)
        count[r] = kept


@kernel
def sort_heaps(best_score, best_slot, count):
    """Sort the heap of every event, the best match first."""
    for r in range(count.size):
        sort_heap(best_score[r], best_slot[r], count[r])
