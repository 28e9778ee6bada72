"""Heap of the heads of several score-ordered lists, in the words of a cursor, by which the cursor merges the lists.

    words  ... | key tie source | key tie source | ...    from `at` on; the best head is first

A head is the next element of a list. It is better if its key is lower, or of equal keys its tie. The source is the
number of the list. Replacing the best head by the next one of its list is the decrease-key of section 2.2.1: it sifts
once, where removing and pushing would sift twice.
"""

from __future__ import annotations

from tellwhen.kernels.jit import inline

HEAD = 3
"""Words of a head."""


@inline
def is_head_better(words, i, key, tie):
    """Return whether the head at word i is better than a head (key, tie)."""
    return words[i] < key or (words[i] == key and words[i + 1] < tie)


@inline
def write_head(words, i, key, tie, source):
    """Write a head to word i."""
    words[i] = key
    words[i + 1] = tie
    words[i + 2] = source


@inline
def push_head(words, at, size, key, tie, source):
    """Push a head onto the heap; return the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        i = at + HEAD * parent
        if is_head_better(words, i, key, tie):
            break
        write_head(words, at + HEAD * child, words[i], words[i + 1], words[i + 2])
        child = parent
    write_head(words, at + HEAD * child, key, tie, source)
    return size + 1


@inline
def replace_best_head(words, at, size, key, tie, source):
    """Replace the best head by another head."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        i = at + HEAD * child
        if child + 1 < size and is_head_better(words, i + HEAD, words[i], words[i + 1]):
            i += HEAD
            child += 1
        if not is_head_better(words, i, key, tie):
            break
        write_head(words, at + HEAD * hole, words[i], words[i + 1], words[i + 2])
        hole = child
    write_head(words, at + HEAD * hole, key, tie, source)


@inline
def drop_best_head(words, at, size):
    """Remove the best head, whose list has ended; return the new size."""
    size -= 1
    i = at + HEAD * size
    replace_best_head(words, at, size, words[i], words[i + 1], words[i + 2])
    return size


@inline
def replace_or_drop_best_head(words, at, size, key, source):
    """Replace the best head by the next element of its list, or remove the head if the list has ended.

    `key` is the key of the next element, negative at the end of the list. Return the new size of the heap.
    """
    if key < 0:
        return drop_best_head(words, at, size)
    replace_best_head(words, at, size, key, 0, source)
    return size
