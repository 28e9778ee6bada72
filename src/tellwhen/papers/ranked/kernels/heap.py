"""How are several score-ordered lists merged? By a small heap of their heads, in the words of a cursor.

    words  ... | key tie source | key tie source | ...    from `at` on; the best head is first

A head is better if its key is lower, or its tie with an equal key. The source is the list that it comes from. Replacing
the best head by the next one of its list is the decrease-key of section 2.2.1: one way down, instead of two.
"""

from __future__ import annotations

from tellwhen.kernels.jit import inline

HEAD = 3
"""Words of a head."""


@inline
def is_better(words, i, key, tie):
    """Is the head at word i better than (key, tie)?"""
    return words[i] < key or (words[i] == key and words[i + 1] < tie)


@inline
def put(words, i, key, tie, source):
    """Write a head to word i."""
    words[i] = key
    words[i + 1] = tie
    words[i + 2] = source


@inline
def push(words, at, size, key, tie, source):
    """Add a head; returns the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        i = at + HEAD * parent
        if is_better(words, i, key, tie):
            break
        put(words, at + HEAD * child, words[i], words[i + 1], words[i + 2])
        child = parent
    put(words, at + HEAD * child, key, tie, source)
    return size + 1


@inline
def replace_top(words, at, size, key, tie, source):
    """Put another head in the place of the best one."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        i = at + HEAD * child
        if child + 1 < size and is_better(words, i + HEAD, words[i], words[i + 1]):
            i += HEAD
            child += 1
        if not is_better(words, i, key, tie):
            break
        put(words, at + HEAD * hole, words[i], words[i + 1], words[i + 2])
        hole = child
    put(words, at + HEAD * hole, key, tie, source)


@inline
def drop_top(words, at, size):
    """Remove the best head, whose list has ended; returns the new size."""
    size -= 1
    i = at + HEAD * size
    replace_top(words, at, size, words[i], words[i + 1], words[i + 2])
    return size


@inline
def replenish(words, at, size, key, source):
    """The best head was taken: put the next of its list in its place, or -1 if it has ended; returns the new size."""
    if key < 0:
        return drop_top(words, at, size)
    replace_top(words, at, size, key, 0, source)
    return size
