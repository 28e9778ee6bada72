"""Forest -> the index that events are matched with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.engines.atree.arrays import (
    ATOMS,
    KIND,
    LEVEL,
    LINK_WORDS,
    LINKS,
    NODE_END,
    OTHERS,
    RECORD,
    SLOTS,
    ATreeIndex,
)
from tellwhen.engines.atree.forest import Grown
from tellwhen.engines.atree.kernels.layout import (
    COST_RATIO,
    OFTEN,
    choose_access,
    find_asked,
    find_chances,
    sort_others,
    write_links,
    write_slots,
)
from tellwhen.engines.atree.kernels.plant import ALWAYS
from tellwhen.engines.shared.kernels.tree import LEAF, OR_NODE
from tellwhen.engines.shared.stabbing import build_for
from tellwhen.kernels.arrays import F64, I32, I64, U64, Snapshot

Flags = NDArray[np.bool_]


class Switches(NamedTuple):
    """What the paper's experiments turn off."""

    zero_suppression: bool
    on_demand: bool
    random_access: bool
    in_one_tree: bool


class _Inner(NamedTuple):
    """The inner nodes, level by level."""

    order: I32  # nodes of the forest
    number: I32  # by node of the forest: its number among them
    chance: F64
    access: I32  # by AND: the child that leads to it


def laid_out(grown: Grown, snapshot: Snapshot, slots: I32, roots: I32, chances: F64, switches: Switches) -> ATreeIndex:
    """The index of a forest: roots[k] is the node of slots[k], chances[p] how probable predicate p is."""
    nodes = grown.forest.nodes[: grown.forest.counters[NODE_END]]
    kind, predicates = nodes[:, KIND], len(snapshot.predicates.domain)
    inner = _inner(grown, nodes, chances, switches)
    is_node = roots >= 0
    source = np.where(kind == LEAF, nodes[:, ATOMS], predicates + inner.number)[roots[is_node]]
    is_found, is_stabbed = _found(grown, inner, source, chances, switches)
    leaves = nodes[kind == LEAF, ATOMS]
    is_or = (kind[inner.order] == OR_NODE).astype(np.uint8)

    sizes = np.zeros((predicates + len(inner.order), RECORD), dtype=np.int64)
    sizes[:, SLOTS] = np.bincount(source, minlength=len(sizes))
    record_start, words = np.zeros(len(sizes) + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    given = grown.packed.addresses, inner.order, inner.number, inner.access, (is_found, is_stabbed), chances
    modes = switches.on_demand, not switches.zero_suppression
    write_links(*given, *modes, sizes, record_start, words)
    np.cumsum(RECORD + sizes[:, OTHERS] + sizes[:, SLOTS] + LINK_WORDS * sizes[:, LINKS], out=record_start[1:])
    words = np.zeros(record_start[-1], dtype=np.int32)
    write_links(*given, *modes, sizes, record_start, words)
    write_slots(source, slots[is_node], sizes, record_start, words)
    is_read = np.zeros(len(is_or) // 64 + 1, dtype=np.uint64)
    sort_others(record_start, words, is_or, chances, inner.chance, is_read)

    by_domain_start, by_domain = np.zeros(1, dtype=np.int64), leaves[:0]
    if not switches.zero_suppression:
        by_domain_start, by_domain = _grouped(snapshot.predicates.domain[leaves], leaves, snapshot.domains)
    levels = nodes[inner.order, LEVEL]
    return ATreeIndex(
        build_for(snapshot.predicates, snapshot.domains, leaves[is_stabbed[leaves]], switches.in_one_tree),
        record_start,
        words,
        slots[roots == ALWAYS],
        np.searchsorted(levels, np.arange(2, levels.max(initial=1) + 2)),
        is_or,
        _bits(sizes[:predicates, SLOTS] + sizes[:predicates, LINKS] > 0),
        is_read,
        by_domain_start,
        by_domain,
    )


def _inner(grown: Grown, nodes: np.ndarray, leaf_chance: F64, switches: Switches) -> _Inner:
    inner = np.flatnonzero((nodes[:, KIND] >= 0) & (nodes[:, KIND] != LEAF))
    order = inner[np.argsort(nodes[inner, LEVEL], kind="stable")].astype(np.int32)
    number = np.zeros(len(nodes), dtype=np.int32)
    number[order] = np.arange(len(order))
    chance, access = np.empty(len(order)), np.empty(len(order), dtype=np.int32)
    draw = np.random.default_rng(0).random(len(order) if switches.random_access else 0)
    find_chances(grown.packed.addresses, order, number, leaf_chance, chance)
    choose_access(grown.packed.addresses, order, number, leaf_chance, chance, draw, access)
    return _Inner(order, number, chance, access)


def _found(grown: Grown, inner: _Inner, source: I64, leaf_chance: F64, switches: Switches) -> tuple[Flags, Flags]:
    """By inner node: is it found, or only asked? By predicate: is it found by stabbing, or only tested?"""
    order, number, chance, access = inner
    is_found, leaf_found = np.zeros(len(order), dtype=np.bool_), np.zeros(len(leaf_chance), dtype=np.bool_)
    if not (switches.zero_suppression and switches.on_demand):
        return ~is_found, ~leaf_found
    is_found[source[source >= len(leaf_found)] - len(leaf_found)] = True
    leaf_found[source[source < len(leaf_found)]] = True
    asks, leaf_asks = np.zeros(len(order)), np.zeros(len(leaf_found))
    given = grown.packed.addresses, order, number, leaf_chance, chance, access
    find_asked(*given, is_found, leaf_found, asks, leaf_asks)
    return is_found, leaf_found | (leaf_chance <= np.maximum(OFTEN, COST_RATIO * leaf_asks))


def _bits(flags: Flags) -> U64:
    """A bit for each."""
    padded = np.zeros(64 * (len(flags) // 64 + 1), dtype=np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64)


def _grouped(owner: I32, value: I32, owners: int) -> tuple[I64, I32]:
    """The values of every owner, as lists."""
    start = np.zeros(owners + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=owners), out=start[1:])
    return start, value[np.argsort(owner, kind="stable")]
