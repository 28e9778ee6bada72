"""Forest -> the index that events are matched with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.engines.atree.arrays import ATOMS, KIND, LEVEL, NODE_END, ATreeIndex, Links
from tellwhen.engines.atree.forest import Grown
from tellwhen.engines.atree.kernels.layout import choose_children, find_chances, sort_others, write_links
from tellwhen.engines.atree.kernels.plant import ALWAYS
from tellwhen.engines.shared.kernels.tree import LEAF, OR_NODE
from tellwhen.engines.shared.stabbing import build_for
from tellwhen.kernels.arrays import F64, I32, I64, Snapshot


class Switches(NamedTuple):
    """What the paper's experiments turn off."""

    zero_suppression: bool
    on_demand: bool
    random_access: bool


def laid_out(grown: Grown, snapshot: Snapshot, slots: I32, roots: I32, chances: F64, switches: Switches) -> ATreeIndex:
    """The index of a forest: roots[k] is the node of slots[k], chances[p] how probable predicate p is."""
    nodes = grown.forest.nodes[: grown.forest.counters[NODE_END]]
    kind, predicates = nodes[:, KIND], len(snapshot.predicates.domain)
    inner = np.flatnonzero((kind >= 0) & (kind != LEAF))
    order = inner[np.argsort(nodes[inner, LEVEL], kind="stable")].astype(np.int32)
    number = np.zeros(len(nodes), dtype=np.int32)
    number[order] = np.arange(len(order))
    leaves = nodes[kind == LEAF, ATOMS]
    links, other_start, others = _linked(grown, order, number, predicates, chances, switches)
    source = np.where(kind == LEAF, nodes[:, ATOMS], predicates + number)[np.maximum(roots, 0)]
    slot_start, slot = _grouped(source[roots >= 0], slots[roots >= 0], predicates + len(order))
    by_domain_start, by_domain = np.zeros(1, dtype=np.int64), leaves[:0]
    if not switches.zero_suppression:
        by_domain_start, by_domain = _grouped(snapshot.predicates.domain[leaves], leaves, snapshot.domains)
    return ATreeIndex(
        build_for(snapshot.predicates, snapshot.domains, leaves),
        links,
        other_start,
        others,
        slot_start,
        slot,
        slots[roots == ALWAYS],
        (kind[order] == OR_NODE).astype(np.uint8),
        by_domain_start,
        by_domain,
    )


def _linked(
    grown: Grown, order: I32, number: I32, predicates: int, leaf_chance: F64, switches: Switches
) -> tuple[Links, I64, I32]:
    """The links of all nodes, and the other children of inner ones."""
    forest = grown.packed.addresses
    chance = np.empty(len(order))
    access, guard = np.empty(len(order), dtype=np.int32), np.empty(len(order), dtype=np.int32)
    draw = np.random.default_rng(0).random(len(order) if switches.random_access else 0)
    find_chances(forest, order, number, leaf_chance, chance)
    choose_children(forest, order, number, leaf_chance, chance, draw, access, guard)
    given = forest, order, number, access, guard, switches.on_demand, not switches.zero_suppression
    # One more than the lists in front, which `write_links` moves on to the starts of the next lists.
    starts = np.zeros(predicates + len(order) + 2, dtype=np.int64), np.zeros(len(order) + 2, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int32)
    write_links(*given, starts, nothing, nothing, nothing)
    for start in starts:
        np.cumsum(start, out=start)
    link_start, other_start = starts
    target, guards = np.empty(link_start[-1], dtype=np.int32), np.empty(link_start[-1], dtype=np.int32)
    others = np.empty(other_start[-1], dtype=np.int32)
    if len(target):
        write_links(*given, starts, target, guards, others)
    sort_others(other_start[:-1], others, leaf_chance, chance)
    return Links(link_start[:-1], target, guards), other_start[:-1], others


def _grouped(owner: I32, value: I32, owners: int) -> tuple[I64, I32]:
    """The values of every owner, as lists."""
    start = np.zeros(owners + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=owners), out=start[1:])
    return start, value[np.argsort(owner, kind="stable")]
