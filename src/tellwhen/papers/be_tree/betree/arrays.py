"""The arrays of `betree`, drawn: the tree that grows, and the tree that is matched.

In the growing tree (Figure 1 of the paper), a *p-node* partitions by attribute, and a *c-node* clusters by value. The
p-nodes of a c-node are its *p-directory*. A c-node and its bucket are one record, so the paper's *c-directory*, the
buckets below a p-node, is the tree of `left` and `right`. The conjunctions of a c-node that are not further below are
its *l-node*:

    cnodes[0], the root
      | first                           | directory
      conjunctions 9 -> 4 -> -1         pnodes[0], domain 7   --next-->   pnodes[1], domain 2   --next-->   -1
                                          | top                             | top
                                        cnodes[1], spaces 30..37          cnodes[2], spaces 10..12
                                          | left           | right          | first
                                        cnodes[3]        cnodes[4]          conjunctions 5 -> 1 -> -1
                                        30..33           34..37

Bounds of buckets are numbers of predicate spaces (`engines/shared/spaces.py`), so every domain is discrete and finite,
whatever its type. Domain d has the spaces cut_start[d] + d to cut_start[d+1] + d. The left half of low..high ends with
(low + high) // 2.

Invariants (`verify.py` checks them): on a path from the root an attribute is used once; a conjunction has a predicate
inside every bucket of its path, and is in the smallest bucket that encloses it; `size` is the number of conjunctions in
the subtree, never 0 below the root, and at least min_size below a p-node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.kernels.arrays import F64, I32, I64, U8, U64, I32Matrix, I64Matrix, Runs, Stabbing, keeps

NO_DOMAIN, FREED = -1, -2
"""Values in place of a domain: of the root, and of a freed c-node."""

CNODE = np.dtype(
    [
        ("domain", np.int32),  # bucket: its domain
        ("low", np.int32),  # bucket: its first space
        ("high", np.int32),  # bucket: its last space
        ("left", np.int32),  # bucket: its lower half, -1 while nothing is in it
        ("right", np.int32),  # bucket: its upper half
        ("is_split", np.int32),  # bucket: 1 if a half takes what it encloses
        ("whole", np.int32),  # the bucket that it is a half of, -1 for none; if freed: the next freed c-node
        ("pnode", np.int32),  # the p-node above, -1 for the root
        ("first", np.int32),  # l-node: its first conjunction, -1 for none
        ("count", np.int32),  # l-node: its conjunctions
        ("capacity", np.int32),  # l-node: conjunctions that it has room for, a multiple of max_cap
        ("directory", np.int32),  # p-directory: its first p-node, -1 for none
        ("size", np.int32),  # conjunctions in the whole subtree
        ("changes", np.int32),  # conjunctions inserted into or removed from the subtree, in its current window
        ("leaf_changes", np.int32),  # the same for the l-node, in the window of the l-node
        ("unused", np.int32),  # a c-node is one cache line
    ]
)

WINDOW = np.dtype(
    [
        ("visits", np.int32),  # of the c-node: events that visited it
        ("missed", np.int32),  # of the c-node: visits that found no match in the subtree
        ("failed", np.int32),  # of the c-node: predicates tested for conjunctions of the subtree that did not match
        ("leaf_visits", np.int32),  # of the l-node: events that visited the c-node
        ("leaf_failed", np.int32),  # of the l-node: predicates tested for its conjunctions that did not match
        ("loss", np.float32),  # of the c-node: missed visits per visit, in the last complete window; -1 if none
        ("leaf_loss", np.float32),  # of the l-node: failed tests per visit, in the last complete window; -1 if none
    ]
)
"""The current windows of a c-node and of its l-node (section 5), and their losses in the windows before."""

PNODE = np.dtype(
    [
        ("domain", np.int32),
        ("parent", np.int32),  # the c-node above, -1 for a freed p-node
        ("top", np.int32),  # the c-node whose bucket is the whole domain
        ("next", np.int32),  # the next p-node of the p-directory, or the next freed one; -1 at the end
        ("loss", np.int32),  # failed tests below per event that visited the p-node, in the last window
    ]
)

STATE = np.dtype(
    [
        ("max_cap", np.int64),  # conjunctions of an l-node before it overflows
        ("min_size", np.int64),  # minimum of conjunctions below a p-node
        ("known", np.int64),  # predicates whose intervals have cut the spaces: the first `known` ones
        ("cnodes", np.int64),  # c-nodes in use or freed; the rows of `cnodes` behind them are unused
        ("pnodes", np.int64),  # p-nodes in use or freed
        ("freed_cnode", np.int64),  # the first freed one, -1 for none
        ("freed_pnode", np.int64),
        ("tabled", np.int64),  # elements of `table` that are not 0
        ("waiting", np.int64),  # c-nodes on `stack`
        ("wanted", np.int64),  # new p-nodes for which a kernel last asked for room
        ("events", np.int64),  # in the window of the root: events
        ("matches", np.int64),  # in the window of the root: conjunctions that matched
    ]
)


class Nodes(NamedTuple):
    """The nodes of a growing tree.

    A kernel that finds an array full stops. Python then makes the array longer and calls the kernel again.
    """

    cnodes: NDArray[np.void]  # records of CNODE; the root is 0
    windows: NDArray[np.void]  # by c-node: records of WINDOW
    pnodes: NDArray[np.void]  # records of PNODE
    table: I32  # |0|4|0|1|     p-node + 1, hashed by parent and domain, with linear probing; a power of two long
    stack: I32  # |5 9 ...|     c-nodes whose l-node may overflow: the first `waiting`
    state: NDArray[np.void]  # one record of STATE


class TreeConjunctions(NamedTuple):
    """The conjunctions of a growing tree, numbered in the order of insertion. Numbers are not reused."""

    slot: I32  # |4|-8|-8|      -1 - slot for one of several
    start: I64  # |0|3|5|9|      predicates of conjunction k are predicate[start[k]:start[k+1]]
    predicate: I32  # |2 17 5|5 9|...
    node: I32  # |0|3|-1|       the c-node whose l-node has the conjunction, -1 for none
    next: I32  # |9|-1|-1|      the next conjunction of that l-node, -1 at the end


class Bounds(NamedTuple):
    """The bounds of each predicate in spaces (Table 1), and its rank."""

    low: I32  # |10|30|    the first space that the predicate touches
    high: I32  # |11|37|    the last space that the predicate touches
    is_exact: U8  # |1|0|      1 if the predicate is one interval of whole spaces, those from low to high
    rank: I32  # |1|0|      rank by selectivity: the lowest is tested first


class TreePredicates(NamedTuple):
    """The predicates and spaces that the kernels of a growing tree read."""

    domain: I32
    cut_start: I64  # domain d has cut_start[d+1] - cut_start[d] cuts, and one more space
    loss: F64  # by domain: as in TreeArrays
    bounds: Bounds


class TreeArrays(NamedTuple):
    """A growing tree as it is saved. The cuts of its spaces are saved with the index."""

    nodes: Nodes
    conjunctions: TreeConjunctions
    bounds: Bounds
    loss: F64  # |0|.25|0|  by domain: failed tests per visit and conjunction of the p-node measured last; at most 1


DOMAIN, LOW, HIGH, MIDDLE, LEFT, RIGHT, WORDS, DIRECTORY, NODE_COLUMNS = range(9)
"""Columns of `BETreeIndex.nodes`. LOW to HIGH is the *minimal interval* of the bucket, the smallest one that encloses
its conjunctions (section 4.3). MIDDLE is the last space of the left half. LEFT and RIGHT are the halves, -1 for none.
WORDS and DIRECTORY are where the words and the p-nodes of the node begin; they end where those of the next begin."""

VISITS, FAILED, PASSED, HITS, COUNT_COLUMNS = range(5)
"""Columns of `BETreeIndex.counts`. They are side by side because a visit changes several: one cache line."""


class BETreeIndex(NamedTuple):
    """A tree that is matched, laid out from a growing one. Nodes are numbered depth first; the root is node 0.

    A conjunction is a sequence of words: the number of its predicates, its slot (-1 - slot for one of several), and its
    predicates. Readers count in `counts`, and the growing tree adjusts itself by these counts.
    """

    cut_start: I64  # |0|3|3|            cuts of domain d are cuts[cut_start[d]:cut_start[d+1]], ascending
    cuts: I64  # |20 31 32|         a space begins with its cut
    nodes: I32Matrix  # [nodes + 1, columns]; the last row only ends the words and the p-nodes of the row before
    pnode_domain: I32  # |2 5 9|4|          by p-node: its domain, ascending within a node
    pnode_top: I32  # |1 6 8|2|          by p-node: the node of its top bucket
    words: I32  # |2 17 5 9|0 -6|    conjunctions, node by node
    stabbing: Stabbing  # its members are the predicates in `words`
    cnode: I32  # |0|1|3|4|2|        by node: the c-node of the growing tree
    above: I32  # |-1|0|1|1|0|       by node: the bucket that it is a half of, or else the node of its p-node
    counts: I64Matrix  # [nodes, 4]: events that visited the node; predicates tested for conjunctions of its l-node that
    # did not match; conjunctions of its l-node that matched; visits that found a match in the subtree


@keeps("first_entry", "truth", "stamps", "hits", "effort")
class BETreeScratch(NamedTuple):
    """Working arrays of a match."""

    runs: Runs
    first_entry: I32  # zero between events
    truth: U64  # zero between events
    satisfied: I32
    queue: I32  # nodes that the event visits, then nodes to visit
    leaf: I32  # those of them with conjunctions
    stamps: I64
    hits: I64  # by node: the time of the last match in the subtree; the last element is the clock
    effort: I64
