"""Layout of a growing tree as the tree that is matched: nodes depth first, without subsumed predicates."""

from __future__ import annotations

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.shared.stabbing import build_predicate_stabbing
from tellwhen.kernels.arrays import I32, I64, Snapshot
from tellwhen.papers.be_tree.betree.arrays import (
    COUNT_COLUMNS,
    DIRECTORY,
    DOMAIN,
    FREED,
    HIGH,
    LEFT,
    LOW,
    MIDDLE,
    NODE_COLUMNS,
    RIGHT,
    WORDS,
    BETreeIndex,
    Nodes,
    TreeConjunctions,
    TreePredicates,
)
from tellwhen.papers.be_tree.betree.kernels.layout import (
    MinimalIntervals,
    WordsOutput,
    find_minimal_intervals,
    order_depth_first,
    write_words,
)


def lay_out(
    nodes: Nodes, conjunctions: TreeConjunctions, predicates: TreePredicates, cuts: I64, snapshot: Snapshot
) -> BETreeIndex:
    """Return an index of the conjunctions in the tree. The index shares no arrays that the tree changes."""
    cnodes, size = nodes.cnodes[: nodes.state["cnodes"][0]], int(nodes.cnodes["size"][0])
    directory_start, directory = _sort_directories(nodes)
    cnode = np.zeros(np.count_nonzero(cnodes["domain"] != FREED), dtype=np.int32)
    output = WordsOutput(
        begin=np.zeros(len(cnode) + 1, dtype=np.int64),
        words=np.empty(len(conjunctions.predicate) + 2 * size, dtype=np.int32),
        is_used=np.zeros(len(snapshot.predicates.domain), dtype=np.bool_),
    )
    intervals = MinimalIntervals(
        low=np.full(len(cnodes), np.iinfo(np.int32).max, dtype=np.int32), high=np.full(len(cnodes), -1, dtype=np.int32)
    )
    if size:  # an engine without subscriptions compiles no kernels
        order_depth_first(nodes, directory_start, directory, cnode)
        find_minimal_intervals(nodes, conjunctions, predicates, cnode, intervals)
        write_words(nodes, conjunctions, predicates, intervals, cnode, output)
    directory_start, which = gather(directory_start, cnode)
    number = np.full(len(cnodes) + 1, -1, dtype=np.int32)
    number[cnode] = np.arange(len(cnode))  # the last element stays -1, so that a missing half (-1) is -1 again

    table = np.zeros((len(cnode) + 1, NODE_COLUMNS), dtype=np.int32)
    table[:-1, DOMAIN], table[:-1, MIDDLE] = cnodes["domain"][cnode], (cnodes["low"] + cnodes["high"])[cnode] // 2
    table[:-1, LOW], table[:-1, HIGH] = intervals.low[cnode], intervals.high[cnode]
    for column, name in ((LEFT, "left"), (RIGHT, "right")):
        table[:-1, column] = number[cnodes[name][cnode]]
    table[:, WORDS], table[:, DIRECTORY] = output.begin, directory_start
    return BETreeIndex(
        predicates.cut_start,
        cuts,
        table,
        pnode_domain=nodes.pnodes["domain"][directory[which]],
        pnode_top=number[nodes.pnodes["top"][directory[which]]],
        words=output.words[: output.begin[-1]].copy(),
        stabbing=build_predicate_stabbing(
            snapshot.predicates, snapshot.domains, np.flatnonzero(output.is_used).astype(np.int32)
        ),
        cnode=cnode,
        above=number[_find_nodes_above(nodes)[cnode]],
        counts=np.zeros((len(cnode), COUNT_COLUMNS), dtype=np.int64),
    )


def _find_nodes_above(nodes: Nodes) -> I32:
    """Return for each c-node the bucket that it is a half of, or else the parent of its p-node; -1 for the root."""
    cnodes = nodes.cnodes[: nodes.state["cnodes"][0]]
    return np.where(cnodes["whole"] >= 0, cnodes["whole"], nodes.pnodes["parent"][cnodes["pnode"]])


def _sort_directories(nodes: Nodes) -> tuple[I64, I32]:
    """Sort the p-nodes by c-node and domain; return where the p-nodes of each c-node begin, and the p-nodes."""
    parent, domain = nodes.pnodes["parent"], nodes.pnodes["domain"]
    used = np.flatnonzero(parent[: nodes.state["pnodes"][0]] >= 0)
    directory = used[np.lexsort((domain[used], parent[used]))].astype(np.int32)
    return np.searchsorted(parent[directory], np.arange(nodes.state["cnodes"][0] + 1)), directory
