"""Change and ask PS-Trees (PS-Tree, section 4; the layout is drawn in `arrays.PSTreeArrays`)."""

from __future__ import annotations

from tellwhen.kernels.evaluate import first_above
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import space_of


@kernel
def change(cut_start, cut, cut_ends, cut_covers, block, count, keys, ids, ends, covers, events, spare, left):
    """Merge sorted cuts into the blocks of their domains, which have room for them; returns how many ids are left.

    A cut comes with what it adds to the interval ends there, and to the predicates that cover what follows. A cut that
    is new splits its space: the new one copies the counters. A cut without ends goes: its space joins the one before.
    """
    for domain in range(cut_start.size - 1):
        k, j, end = 0, cut_start[domain], cut_start[domain + 1]
        if j == end:
            continue
        at, old = block[domain], count[domain]
        old_keys, old_ids = keys[at : at + old].copy(), ids[at : at + old].copy()
        covering, happened, added = 0, 0, 0
        while k < old or j < end:
            if k < old and (j == end or old_keys[k] <= cut[j]):
                space, key = old_ids[k], old_keys[k]
                covering, happened = covers[space], events[space]
                if j < end and cut[j] == key:
                    ends[space] += cut_ends[j]
                    added += cut_covers[j]
                    j += 1
                if ends[space] == 0 and k > 0:
                    # The larger counter: since a split copies it, the sum would double with every split and merge.
                    before = ids[at - 1]
                    events[before] = max(events[before], happened)
                    covers[space], events[space] = 0, 0
                    spare[left] = space
                    left += 1
                    k += 1
                    continue
                k += 1
            else:
                key = cut[j]
                added += cut_covers[j]
                j += 1
                if cut_ends[j - 1] == 0:
                    continue
                left -= 1
                space = spare[left]
                ends[space] = cut_ends[j - 1]
                events[space] = happened
            covers[space] = covering + added
            keys[at], ids[at] = key, space
            at += 1
        count[domain] = at - block[domain]
    return left


@inline
def place_of(block, count, keys, domain, point):
    """Where the space of a point stands: the last key that is not above it."""
    return first_above(keys, block[domain] + 1, block[domain] + count[domain], point) - 1


@kernel
def locate(block, count, keys, domain, point, place):
    """For every point the place of its space."""
    for i in range(domain.size):
        place[i] = place_of(block, count, keys, domain[i], point[i])


@kernel
def count_events(block, count, keys, ids, events, domain, low, high):
    """One more event in every space that an entry touches; entries on unknown domains are left out."""
    for i in range(domain.size):
        if domain[i] < block.size:
            for k in range(
                place_of(block, count, keys, domain[i], low[i]), place_of(block, count, keys, domain[i], high[i]) + 1
            ):
                events[ids[k]] += 1


@kernel
def cover(cut_start, cuts, used, domain, start, low, high, first, last):
    """The first and the last space of every interval of the predicates in use."""
    for p in used:
        for i in range(start[p], start[p + 1]):
            first[i] = space_of(cut_start, cuts, domain[p], low[i])
            last[i] = space_of(cut_start, cuts, domain[p], high[i])
