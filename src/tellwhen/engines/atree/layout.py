"""Forest -> the index that events are matched with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.kernels.tree import LEAF, OR_NODE
from tellwhen.engines.atree.arrays import (
    ATOMS,
    KIND,
    LEVEL,
    LINK_WORDS,
    LINKS,
    NODE_END,
    RECORD,
    SLOTS,
    TESTS,
    ATreeIndex,
)
from tellwhen.engines.atree.build_arrays import EvaluationPlan, InnerNodes, Propagation, Reach, Records
from tellwhen.engines.atree.forest import ForestBuilder
from tellwhen.engines.atree.kernels.layout import (
    COST_RATIO,
    FREQUENT_CHANCE,
    choose_access_children,
    compute_chances,
    count_links,
    mark_reached_nodes,
    sort_tests,
    write_links,
    write_slots,
)
from tellwhen.engines.atree.kernels.plant import ALWAYS
from tellwhen.engines.shared.stabbing import build_predicate_stabbing
from tellwhen.kernels.arrays import F64, I32, I64, U64, Flags, I32Matrix, Snapshot
from tellwhen.kernels.handover import pack


class Switches(NamedTuple):
    """Optimisations that the paper's experiments turn off."""

    zero_suppression: bool
    on_demand: bool
    random_access: bool
    in_one_tree: bool


def lay_out_index(
    forest: ForestBuilder, snapshot: Snapshot, slots: I32, roots: I32, chances: F64, switches: Switches
) -> ATreeIndex:
    """Convert a forest to the arrays for matching.

    roots[k] is the node of slots[k], or ALWAYS or IMPOSSIBLE; chances[p] is the probability of predicate p.
    """
    nodes = forest.forest.nodes[: forest.forest.counters[NODE_END]]
    kind, predicates = nodes[:, KIND], len(snapshot.predicates.domain)
    inner = _number_inner_nodes(forest, nodes, chances, switches)
    is_node = roots >= 0
    source = np.where(kind == LEAF, nodes[:, ATOMS], predicates + inner.number)[roots[is_node]]
    plan = _plan_evaluation(forest, inner, source, chances, switches)
    records = _write_records(forest, inner, source, slots[is_node], chances, plan, switches)
    is_or = (kind[inner.order] == OR_NODE).astype(np.uint8)
    is_read = np.zeros(len(is_or) // 64 + 1, dtype=np.uint64)
    sort_tests(pack(records), is_or, chances, inner.chance, is_read)

    leaves = nodes[kind == LEAF, ATOMS]
    by_domain_start, by_domain = np.zeros(1, dtype=np.int64), leaves[:0]
    if not switches.zero_suppression:
        by_domain_start, by_domain = _group_by_owner(snapshot.predicates.domain[leaves], leaves, snapshot.domains)
    levels, sizes = nodes[inner.order, LEVEL], records.sizes[:predicates]
    return ATreeIndex(
        build_predicate_stabbing(
            snapshot.predicates, snapshot.domains, leaves[plan.is_stabbed[leaves]], switches.in_one_tree
        ),
        records.start,
        records.words,
        slots[roots == ALWAYS],
        np.searchsorted(levels, np.arange(2, levels.max(initial=1) + 2)),
        is_or,
        _pack_bits(sizes[:, SLOTS] + sizes[:, LINKS] > 0),
        is_read,
        by_domain_start,
        by_domain,
    )


def _number_inner_nodes(forest: ForestBuilder, nodes: I32Matrix, leaf_chance: F64, switches: Switches) -> InnerNodes:
    inner = np.flatnonzero((nodes[:, KIND] >= 0) & (nodes[:, KIND] != LEAF))
    order = inner[np.argsort(nodes[inner, LEVEL], kind="stable")].astype(np.int32)
    number = np.zeros(len(nodes), dtype=np.int32)
    number[order] = np.arange(len(order))
    numbered = InnerNodes(order, number, np.empty(len(order)), np.empty(len(order), dtype=np.int32))
    draw = np.random.default_rng(0).random(len(order) if switches.random_access else 0)
    compute_chances(forest.packed.addresses, pack(numbered), leaf_chance)
    choose_access_children(forest.packed.addresses, pack(numbered), leaf_chance, draw)
    return numbered


def _plan_evaluation(
    forest: ForestBuilder, inner: InnerNodes, source: I64, leaf_chance: F64, switches: Switches
) -> EvaluationPlan:
    """Decide which inner nodes links lead to and which predicates are stabbed; the rest are evaluated on demand."""
    nodes, predicates = len(inner.order), len(leaf_chance)
    if not (switches.zero_suppression and switches.on_demand):
        return EvaluationPlan(np.ones(nodes, dtype=np.bool_), np.ones(predicates, dtype=np.bool_))
    reach = Reach(
        np.zeros(nodes, dtype=np.bool_), np.zeros(predicates, dtype=np.bool_), np.zeros(nodes), np.zeros(predicates)
    )
    reach.is_reached[source[source >= predicates] - predicates] = True
    reach.is_leaf_stabbed[source[source < predicates]] = True
    mark_reached_nodes(forest.packed.addresses, pack(inner), leaf_chance, pack(reach))
    is_rare = leaf_chance <= np.maximum(FREQUENT_CHANCE, COST_RATIO * reach.leaf_tests)
    return EvaluationPlan(reach.is_reached, reach.is_leaf_stabbed | is_rare)


def _write_records(
    forest: ForestBuilder,
    inner: InnerNodes,
    source: I64,
    slots: I32,
    leaf_chance: F64,
    plan: EvaluationPlan,
    switches: Switches,
) -> Records:
    """Write the records of all predicates and inner nodes; slots[k] belongs to record source[k]."""
    propagation = Propagation(int(switches.on_demand), int(not switches.zero_suppression))
    arguments = forest.packed.addresses, pack(inner), leaf_chance, pack(plan), pack(propagation)
    sizes = np.zeros((len(leaf_chance) + len(inner.order), RECORD), dtype=np.int64)
    sizes[:, SLOTS] = np.bincount(source, minlength=len(sizes))
    count_links(*arguments, sizes)
    lengths = RECORD + sizes[:, TESTS] + sizes[:, SLOTS] + LINK_WORDS * sizes[:, LINKS]
    start = np.concatenate([[0], np.cumsum(lengths)])
    records = Records(sizes, start, np.zeros(start[-1], dtype=np.int32))
    write_links(*arguments, pack(records))
    write_slots(source, slots, pack(records))
    return records


def _pack_bits(flags: Flags) -> U64:
    """Pack the flags into bits of 64-bit words."""
    padded = np.zeros(64 * (len(flags) // 64 + 1), dtype=np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64)


def _group_by_owner(owner: I32, value: I32, owners: int) -> tuple[I64, I32]:
    """Return the values of every owner, as lists."""
    start = np.zeros(owners + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=owners), out=start[1:])
    return start, value[np.argsort(owner, kind="stable")]
