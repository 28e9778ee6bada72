"""The operators and operands with which predicates are written, numbered by rank (OpIndex, sections 4.2 and 6.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.kernels.arrays import HIGHEST, I64, LOWEST, Predicates
from tellwhen.papers.op_index.arrays import OPERATORS, ORDERED_OPERATORS, PREFIX, Operands, PrefixTrie
from tellwhen.papers.op_index.kernels.trie import CROSSES, link_parents


class Prefixes(NamedTuple):
    """The intervals of predicates that are prefixes, and their operands."""

    interval: I64  # |3 8 9|    index of the interval among those of the predicates
    operand: I64  # |1 0 1|    its node in the trie
    domain: I64  # |4|4|      by node
    key: I64  # |20|22|    by node: first point
    trie: PrefixTrie


def collect_prefixes(predicates: Predicates, is_string: NDArray[np.bool_]) -> Prefixes:
    """Return the intervals that go into the trie: of predicates with a single interval, which has two ends, on strings.

    `STARTS WITH`, `ENDS WITH` and `LIKE` are such intervals, and so is BETWEEN for strings. A BETWEEN may cross
    another interval, which neither contains it nor is inside it: then the later of the two is left out.
    """
    low, high, intervals = predicates.low, predicates.high, np.diff(predicates.start)
    domain = np.repeat(predicates.domain, intervals).astype(np.int64)
    has_two_ends = (low != LOWEST) & (high != HIGHEST) & (low < high)
    interval = np.flatnonzero(has_two_ends & is_string[domain] & np.repeat(intervals == 1, intervals))
    interval = interval[np.lexsort((-high[interval], low[interval], domain[interval]))]
    is_new = np.ones(len(interval), dtype=bool)
    before, after = interval[:-1], interval[1:]
    is_new[1:] = (domain[before] != domain[after]) | (low[before] != low[after]) | (high[before] != high[after])
    distinct = interval[is_new]
    parent, depth = link_parents(domain[distinct], low[distinct], high[distinct])
    is_nested = parent != CROSSES
    node = np.cumsum(is_nested) - 1  # by distinct interval: its node in the trie, if it is nested
    nodes, parent = distinct[is_nested], parent[is_nested]
    parent = np.where(parent < 0, -1, node[parent]).astype(np.int32)
    position = np.cumsum(is_new) - 1  # by interval: its position among the distinct ones
    is_in_trie = is_nested[position]
    trie = PrefixTrie(high[nodes], parent, int(depth))
    return Prefixes(interval[is_in_trie], node[position[is_in_trie]], domain[nodes], low[nodes], trie)


def make_operands(ordered_start: I64, ordered_keys: I64, prefixes: Prefixes) -> Operands:
    """Return the operands of all operators: those of the ordered ones, and then those of PREFIX."""
    domains = (len(ordered_start) - 1) // ORDERED_OPERATORS
    prefix_start = len(ordered_keys) + np.searchsorted(prefixes.domain, np.arange(1, domains + 1))
    start = np.concatenate([ordered_start, prefix_start])
    domain = np.repeat(np.tile(np.arange(domains, dtype=np.int32), OPERATORS), np.diff(start))
    assert PREFIX == ORDERED_OPERATORS
    return Operands(start, np.concatenate([ordered_keys, prefixes.key]), domain, prefixes.trie)
