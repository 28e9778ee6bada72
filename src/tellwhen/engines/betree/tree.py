"""A BE-Tree that grows and shrinks: conjunctions in, conjunctions out, and the form that is matched (see engines/betree.py)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.compile.store import Snapshot
from tellwhen.containers.growing import Growing
from tellwhen.engines.base import prefixed, unprefixed
from tellwhen.engines.betree import grow
from tellwhen.engines.betree.arrays import BETreeIndex, BETreeNodes
from tellwhen.engines.betree.match import N_COLUMNS
from tellwhen.engines.shared.spaces import spaces
from tellwhen.kernels.arrays import I32, I64

MOST = (1 << 30) - 1
"""What a window counts up to."""


class Tree:
    """Conjunctions are numbered as they come; a conjunction that is taken out leaves its number behind."""

    def __init__(self, snapshot: Snapshot, max_cap: int, min_size: int) -> None:
        self.max_cap, self.min_size = max_cap, min_size
        every = np.arange(len(snapshot.predicates.domain), dtype=np.int32)
        self.cut_start, self.cuts, _, _ = spaces(snapshot.predicates, every, snapshot.domains)
        self.known = len(every)  # predicates that made the spaces
        self.slot, self.start, self.code = Growing(np.int32), Growing(np.int64, [0]), Growing(np.int32)
        self.node, self.next = Growing(np.int32), Growing(np.int32)
        self.low, self.high, self.exact = Growing(np.int32), Growing(np.int32), Growing(np.uint8)
        state = np.zeros(6, dtype=np.int64)
        state[[grow.C_FREE, grow.P_FREE]] = -1
        cnodes, _ = grow.new_cnode(np.zeros((16, grow.C_COLUMNS), np.int32), state, -1, 0, 0, -1, -1, max_cap)
        pnodes, table, work = np.zeros((16, grow.P_COLUMNS), np.int32), np.zeros(16, np.int32), np.zeros(16, np.int32)
        self.nodes = BETreeNodes(cnodes, pnodes, table, work, state)

    def __len__(self) -> int:
        return int(self.nodes.cnodes[0, grow.SIZE])

    def add(self, snapshot: Snapshot, conjunctions: Conjunctions, at_once: bool = False) -> None:
        """Insert conjunctions: one by one, or all into the root, which is cut then."""
        first = self.slot.count
        self.slot.extend(conjunctions.slot)
        self.start.extend(conjunctions.start[1:] + self.code.count)
        self.code.extend(conjunctions.predicate)
        for array in (self.node, self.next):
            array.extend(np.full(len(conjunctions.slot), -1, dtype=np.int32))
        self._insert(snapshot, np.arange(first, self.slot.count, dtype=np.int32), at_once)

    def _insert(self, snapshot: Snapshot, conjunctions: I32, at_once: bool = False) -> None:
        self._learn(snapshot)
        scratch = (np.zeros(snapshot.domains, dtype=np.int32) for _ in range(2))
        cnodes, pnodes, table, work = grow.insert(
            conjunctions, at_once, *self.nodes, self.node.data, self.next.data, self.start.data, self.code.data,
            snapshot.predicates.domain, self.low.data, self.high.data, self.cut_start, self.max_cap, self.min_size, *scratch,
        )  # fmt: skip
        self.nodes = BETreeNodes(cnodes, pnodes, table, work, self.nodes.state)

    def _learn(self, snapshot: Snapshot) -> None:
        """Bounds of predicates that have come since."""
        domain, _, interval, low, high = snapshot.predicates
        unknown = snapshot.domains + 1 - len(self.cut_start)
        if unknown > 0:  # domains of one space
            self.cut_start = np.append(self.cut_start, np.full(unknown, self.cut_start[-1]))
        first, extra = self.low.count, len(domain) - self.low.count
        arrays = [array.reserve(extra) for array in (self.low, self.high, self.exact)]
        grow.bound(self.cut_start, self.cuts, domain, interval, low, high, first, *arrays)
        self.low.count = self.high.count = self.exact.count = len(domain)

    def remove(self, snapshot: Snapshot, conjunctions: I32) -> None:
        """Take conjunctions out for good."""
        self._insert(snapshot, self._take_out(conjunctions))

    def renew(self, snapshot: Snapshot, conjunctions: I32) -> None:
        """Take conjunctions out and insert them again."""
        self._insert(snapshot, np.union1d(conjunctions, self._take_out(conjunctions)).astype(np.int32))

    def _take_out(self, conjunctions: I32) -> I32:
        """Returns more conjunctions: those of p-nodes that have too few left are taken out too, to be inserted anew."""
        more = [conjunctions]
        while len(more[-1]):
            conjunctions = more[-1][np.argsort(self.node.view[more[-1]], kind="stable")]
            touched = np.empty(len(conjunctions), dtype=np.int32)
            cnodes, pnodes, _, _, state = self.nodes
            lists = self.node.data, self.next.data
            count = grow.take_out(cnodes, pnodes, *lists, conjunctions, self.max_cap, touched)
            grow.mend(cnodes, pnodes, state, *lists, touched[:count], self.max_cap)
            used = pnodes[: state[grow.P_USED]]
            few = (used[:, grow.PARENT] >= 0) & (cnodes[used[:, grow.TOP], grow.SIZE] < self.min_size)
            more.append(self._below(used[few, grow.TOP]))
        return np.concatenate(more[1:]) if len(more) > 1 else more[0]

    def _below(self, tops: I32) -> I32:
        """The conjunctions in the subtrees of c-nodes."""
        room = int(self.nodes.cnodes[tops, grow.SIZE].sum())
        found = np.empty(room, dtype=np.int32)
        count = grow.conjunctions_below(self.nodes.cnodes, self.nodes.pnodes, self.next.data, tops, found)
        return np.unique(found[:count])

    def note(self, node_of: I32, visits: I64, lost: I64) -> None:
        """What matching has seen at l-nodes."""
        cnodes = self.nodes.cnodes
        for column, counted in ((grow.SEEN, visits), (grow.FAILED, lost)):
            cnodes[node_of, column] = np.minimum(cnodes[node_of, column] + np.minimum(counted, MOST), MOST)

    def unfit(self, window: int, threshold: int) -> I32:
        """The conjunctions of nodes that rank below the threshold, and whose window is over."""
        cnodes, pnodes, _, _, state = self.nodes
        p_gone, c_gone = np.zeros(len(pnodes), dtype=np.uint8), np.zeros(len(cnodes), dtype=np.uint8)
        grow.judge(cnodes, pnodes, state, window, threshold, np.zeros(len(pnodes)), p_gone, c_gone)
        alone = np.flatnonzero(c_gone[self.node.view] & (self.node.view >= 0)).astype(np.int32)
        return np.union1d(alone, self._below(pnodes[p_gone != 0, grow.TOP])).astype(np.int32)

    def lay_out(self, snapshot: Snapshot, rank: I32) -> tuple[BETreeIndex, I32]:
        """The tree as matching reads it, and by node the c-node it was."""
        cnodes, pnodes, _, _, state = self.nodes
        live, used = int(state[grow.C_USED]), int(state[grow.P_USED])
        node_of, node = np.empty(live, dtype=np.int32), np.zeros((live + 1, N_COLUMNS), dtype=np.int32)
        pdir_domain, pdir_top = np.empty(used, dtype=np.int32), np.empty(used, dtype=np.int32)
        words = np.empty(self.code.count + 2 * len(self), dtype=np.int32)
        nodes, directories, written = grow.lay_out(
            cnodes, pnodes, self.next.data, self.start.data, self.code.data, self.slot.data, snapshot.predicates.domain,
            self.low.data, self.high.data, self.exact.data, rank, node_of, node, pdir_domain, pdir_top, words,
        )  # fmt: skip
        index = BETreeIndex(
            self.cut_start, self.cuts, node[: nodes + 1].copy(), pdir_domain[:directories].copy(),
            pdir_top[:directories].copy(), words[:written].copy(),
        )  # fmt: skip
        return index, node_of[:nodes].copy()

    def alive(self) -> I32:
        """The conjunctions in it."""
        return np.flatnonzero(self.node.view >= 0).astype(np.int32)

    def arrays(self) -> dict[str, np.ndarray]:
        names = ("slot", "start", "code", "node", "next", "low", "high", "exact")
        facts = np.array([self.max_cap, self.min_size, self.known])
        return {name: getattr(self, name).view for name in names} | {"facts": facts} | prefixed("nodes", self.nodes)

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray], index: BETreeIndex) -> Tree:
        tree = cls.__new__(cls)
        tree.max_cap, tree.min_size, tree.known = arrays["facts"].tolist()
        tree.cut_start, tree.cuts = index.cut_start, index.cuts
        for name in ("slot", "start", "code", "node", "next", "low", "high", "exact"):
            setattr(tree, name, Growing(arrays[name].dtype, arrays[name]))
        tree.nodes = unprefixed("nodes", BETreeNodes, arrays)
        return tree
