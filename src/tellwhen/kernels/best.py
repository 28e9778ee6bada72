"""Heap of the k best matches of an event, with the worst of them at the root.

One total order ranks matches: the higher score first and, of equal scores, the lower slot.
"""

from __future__ import annotations

from tellwhen.kernels.jit import inline


@inline
def is_better(score, slot, other_score, other_slot):
    """Return whether the first match ranks before the other."""
    return score > other_score or (score == other_score and slot < other_slot)


@inline
def sift_down(scores, slots, at, end):
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
def sift_up(scores, slots, at):
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
def offer(scores, slots, count, score, slot):
    """Offer a match to a heap of `count` elements. Return the new count."""
    if count < slots.size:
        scores[count], slots[count] = score, slot
        sift_up(scores, slots, count)
        return count + 1
    if count and is_better(score, slot, scores[0], slots[0]):
        scores[0], slots[0] = score, slot
        sift_down(scores, slots, 0, count)
    return count


@inline
def sort_heap(scores, slots, count):
    """Sort a heap, the best match first, by moving the worst to the end again and again."""
    for end in range(count - 1, 0, -1):
        scores[0], scores[end] = scores[end], scores[0]
        slots[0], slots[end] = slots[end], slots[0]
        sift_down(scores, slots, 0, end)
