"""The best k of what is found: a heap for each event, whose root is the worst of them.

One total order ranks everything: the higher score first and, of equal scores, the lower slot.
"""

from __future__ import annotations

from tellwhen.kernels.jit import inline, kernel


@inline
def is_better(score, slot, other_score, other_slot):
    """Does the first one rank before the other?"""
    return score > other_score or (score == other_score and slot < other_slot)


@inline
def sink(scores, slots, at, end):
    """Move the element at `at` down to its place in a heap that ends at `end`."""
    score, slot = scores[at], slots[at]
    while True:
        child = 2 * at + 1
        if child >= end:
            break
        if child + 1 < end and is_better(scores[child], slots[child], scores[child + 1], slots[child + 1]):
            child += 1
        if not is_better(score, slot, scores[child], slots[child]):
            break
        scores[at], slots[at] = scores[child], slots[child]
        at = child
    scores[at], slots[at] = score, slot


@inline
def rise(scores, slots, at):
    """Move the element at `at` up to its place."""
    score, slot = scores[at], slots[at]
    while at > 0:
        parent = (at - 1) >> 1
        if not is_better(scores[parent], slots[parent], score, slot):
            break
        scores[at], slots[at] = scores[parent], slots[parent]
        at = parent
    scores[at], slots[at] = score, slot


@inline
def keep(scores, slots, count, score, slot):
    """Offer one to a heap of `count` elements; returns how many it has now."""
    if count < slots.size:
        scores[count], slots[count] = score, slot
        rise(scores, slots, count)
        return count + 1
    if count and is_better(score, slot, scores[0], slots[0]):
        scores[0], slots[0] = score, slot
        sink(scores, slots, 0, count)
    return count


@kernel
def keep_best(start, slot, row, score, elsewhere, best_score, best_slot, count):
    """Offer the matches of event e to the heap of row[e]. A slot beyond the scores has 0; one that has a bit in
    `elsewhere` is offered by another tier."""
    for e in range(row.size):
        r = row[e]
        scores, slots, kept = best_score[r], best_slot[r], count[r]
        for i in range(start[e], start[e + 1]):
            s = slot[i]
            if s >> 3 < elsewhere.size and elsewhere[s >> 3] >> (s & 7) & 1:
                continue
            kept = keep(scores, slots, kept, score[s] if s < score.size else 0.0, s)
        count[r] = kept


@inline
def best_first(scores, slots, count):
    """A heap becomes a list: the worst goes to the end, again and again."""
    for end in range(count - 1, 0, -1):
        scores[0], scores[end] = scores[end], scores[0]
        slots[0], slots[end] = slots[end], slots[0]
        sink(scores, slots, 0, end)


@kernel
def sort_best(best_score, best_slot, count):
    """Each heap becomes a list, the best first."""
    for r in range(count.size):
        best_first(best_score[r], best_slot[r], count[r])
