"""A growing tree -> the tree that is matched: nodes depth first, and only the predicates that are left to test."""

from __future__ import annotations

import numpy as np

from tellwhen.containers.csr import gather
from tellwhen.engines.shared.stabbing import build_predicate_stabbing
from tellwhen.kernels.arrays import I32, I64, Snapshot
from tellwhen.papers.be_tree.betree.arrays import (
    DIRECTORY,
    DOMAIN,
    FREED,
    HIGH,
    LEFT,
    LOW,
    NODE_COLUMNS,
    RIGHT,
    WORDS,
    BETreeIndex,
    Nodes,
    TreeConjunctions,
    TreePredicates,
)
from tellwhen.papers.be_tree.betree.kernels.layout import depth_first, write_words


def lay_out(
    nodes: Nodes, conjunctions: TreeConjunctions, predicates: TreePredicates, cuts: I64, snapshot: Snapshot
) -> BETreeIndex:
    """The index of the conjunctions in the tree. What the tree changes later is not shared with it."""
    cnodes, size = nodes.cnodes[: nodes.state["cnodes"][0]], int(nodes.cnodes["size"][0])
    directory_start, directory = _directories(nodes)
    cnode = np.zeros(np.count_nonzero(cnodes["domain"] != FREED), dtype=np.int32)
    begin = np.zeros(len(cnode) + 1, dtype=np.int64)
    words = np.empty(len(conjunctions.predicate) + 2 * size, dtype=np.int32)
    is_used = np.zeros(len(snapshot.predicates.domain), dtype=np.bool_)
    if size:  # an engine without subscriptions compiles no kernels
        depth_first(nodes, directory_start, directory, cnode)
        write_words(nodes, conjunctions, predicates, cnode, begin, words, is_used)
    directory_start, which = gather(directory_start, cnode)
    number = np.full(len(cnodes) + 1, -1, dtype=np.int32)
    number[cnode] = np.arange(len(cnode))  # the last one stays -1: what is not there is -1 again

    laid = np.zeros((len(cnode) + 1, NODE_COLUMNS), dtype=np.int32)
    for column, name in ((DOMAIN, "domain"), (LOW, "low"), (HIGH, "high")):
        laid[:-1, column] = cnodes[name][cnode]
    for column, name in ((LEFT, "left"), (RIGHT, "right")):
        laid[:-1, column] = number[cnodes[name][cnode]]
    laid[:, WORDS], laid[:, DIRECTORY] = begin, directory_start
    return BETreeIndex(
        predicates.cut_start,
        cuts,
        laid,
        pnode_domain=nodes.pnodes["domain"][directory[which]],
        pnode_top=number[nodes.pnodes["top"][directory[which]]],
        words=words[: begin[-1]].copy(),
        stabbing=build_predicate_stabbing(
            snapshot.predicates, snapshot.domains, np.flatnonzero(is_used).astype(np.int32)
        ),
        cnode=cnode,
        counts=np.zeros((len(cnode), 2), dtype=np.int64),
    )


def _directories(nodes: Nodes) -> tuple[I64, I32]:
    """The p-nodes by c-node, those of one c-node by domain: where those of each c-node begin, and the p-nodes."""
    parent, domain = nodes.pnodes["parent"], nodes.pnodes["domain"]
    used = np.flatnonzero(parent[: nodes.state["pnodes"][0]] >= 0)
    directory = used[np.lexsort((domain[used], parent[used]))].astype(np.int32)
    return np.searchsorted(parent[directory], np.arange(nodes.state["cnodes"][0] + 1)), directory
