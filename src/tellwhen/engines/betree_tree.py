"""A BE-Tree that grows and shrinks: rows in, rows out, and the form that is matched (see engines/betree.py)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tellwhen.compile.growing import Growing
from tellwhen.compile.subscriptions import View
from tellwhen.compile.translate import Rows
from tellwhen.engines.base import prefixed, unprefixed
from tellwhen.engines.spaces import spaces
from tellwhen.kernels import betree_grow as grow
from tellwhen.kernels.arrays import I32, I64, BETreeIndex, BETreeNodes
from tellwhen.kernels.betree import N_COLUMNS

MOST = (1 << 30) - 1
"""What a window counts up to."""


class Tree:
    """Rows are numbered as they come; a row that is taken out leaves its number behind."""

    def __init__(self, view: View, max_cap: int, min_size: int) -> None:
        self.max_cap, self.min_size = max_cap, min_size
        every = np.arange(len(view.predicates.line), dtype=np.int32)
        self.cut_start, self.cuts, _, _ = spaces(view.predicates, every, view.lines)
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

    def add(self, view: View, rows: Rows, at_once: bool = False) -> None:
        """Insert rows: one by one, or all into the root, which is cut then."""
        first = self.slot.count
        self.slot.extend(rows.slot)
        self.start.extend(rows.start[1:] + self.code.count)
        self.code.extend(rows.predicate)
        for array in (self.node, self.next):
            array.extend(np.full(len(rows.slot), -1, dtype=np.int32))
        self._insert(view, np.arange(first, self.slot.count, dtype=np.int32), at_once)

    def _insert(self, view: View, rows: I32, at_once: bool = False) -> None:
        self._learn(view)
        scratch = (np.zeros(view.lines, dtype=np.int32) for _ in range(2))
        cnodes, pnodes, table, work = grow.insert(
            rows, at_once, *self.nodes, self.node.data, self.next.data, self.start.data, self.code.data,
            view.predicates.line, self.low.data, self.high.data, self.cut_start, self.max_cap, self.min_size, *scratch,
        )  # fmt: skip
        self.nodes = BETreeNodes(cnodes, pnodes, table, work, self.nodes.state)

    def _learn(self, view: View) -> None:
        """Bounds of predicates that have come since."""
        line, _, interval, low, high = view.predicates
        unknown = view.lines + 1 - len(self.cut_start)
        if unknown > 0:  # lines of one space
            self.cut_start = np.append(self.cut_start, np.full(unknown, self.cut_start[-1]))
        first, extra = self.low.count, len(line) - self.low.count
        arrays = [array.reserve(extra) for array in (self.low, self.high, self.exact)]
        grow.bound(self.cut_start, self.cuts, line, interval, low, high, first, *arrays)
        self.low.count = self.high.count = self.exact.count = len(line)

    def remove(self, view: View, rows: I32) -> None:
        """Take rows out for good."""
        self._insert(view, self._take_out(rows))

    def renew(self, view: View, rows: I32) -> None:
        """Take rows out and insert them again."""
        self._insert(view, np.union1d(rows, self._take_out(rows)).astype(np.int32))

    def _take_out(self, rows: I32) -> I32:
        """Returns more rows: those of p-nodes that have too few left are taken out too, to be inserted anew."""
        more = [rows]
        while len(more[-1]):
            rows = more[-1][np.argsort(self.node.view[more[-1]], kind="stable")]
            touched = np.empty(len(rows), dtype=np.int32)
            cnodes, pnodes, _, _, state = self.nodes
            lists = self.node.data, self.next.data
            count = grow.take_out(cnodes, pnodes, *lists, rows, self.max_cap, touched)
            grow.mend(cnodes, pnodes, state, *lists, touched[:count], self.max_cap)
            used = pnodes[: state[grow.P_USED]]
            few = (used[:, grow.PARENT] >= 0) & (cnodes[used[:, grow.TOP], grow.SIZE] < self.min_size)
            more.append(self._below(used[few, grow.TOP]))
        return np.concatenate(more[1:]) if len(more) > 1 else more[0]

    def _below(self, tops: I32) -> I32:
        """The rows in the subtrees of c-nodes."""
        room = int(self.nodes.cnodes[tops, grow.SIZE].sum())
        found = np.empty(room, dtype=np.int32)
        count = grow.rows_below(self.nodes.cnodes, self.nodes.pnodes, self.next.data, tops, found)
        return np.unique(found[:count])

    def note(self, node_of: I32, visits: I64, lost: I64) -> None:
        """What matching has seen at l-nodes."""
        cnodes = self.nodes.cnodes
        for column, counted in ((grow.SEEN, visits), (grow.FAILED, lost)):
            cnodes[node_of, column] = np.minimum(cnodes[node_of, column] + np.minimum(counted, MOST), MOST)

    def unfit(self, window: int, threshold: int) -> I32:
        """The rows of nodes that rank below the threshold, and whose window is over."""
        cnodes, pnodes, _, _, state = self.nodes
        p_gone, c_gone = np.zeros(len(pnodes), dtype=np.uint8), np.zeros(len(cnodes), dtype=np.uint8)
        grow.judge(cnodes, pnodes, state, window, threshold, np.zeros(len(pnodes)), p_gone, c_gone)
        alone = np.flatnonzero(c_gone[self.node.view] & (self.node.view >= 0)).astype(np.int32)
        return np.union1d(alone, self._below(pnodes[p_gone != 0, grow.TOP])).astype(np.int32)

    def lay_out(self, view: View, rank: I32) -> tuple[BETreeIndex, I32]:
        """The tree as matching reads it, and by node the c-node it was."""
        cnodes, pnodes, _, _, state = self.nodes
        live, used = int(state[grow.C_USED]), int(state[grow.P_USED])
        node_of, node = np.empty(live, dtype=np.int32), np.zeros((live + 1, N_COLUMNS), dtype=np.int32)
        pdir_line, pdir_top = np.empty(used, dtype=np.int32), np.empty(used, dtype=np.int32)
        words = np.empty(self.code.count + 2 * len(self), dtype=np.int32)
        nodes, directories, written = grow.lay_out(
            cnodes, pnodes, self.next.data, self.start.data, self.code.data, self.slot.data, view.predicates.line,
            self.low.data, self.high.data, self.exact.data, rank, node_of, node, pdir_line, pdir_top, words,
        )  # fmt: skip
        index = BETreeIndex(
            self.cut_start, self.cuts, node[: nodes + 1].copy(), pdir_line[:directories].copy(),
            pdir_top[:directories].copy(), words[:written].copy(),
        )  # fmt: skip
        return index, node_of[:nodes].copy()

    def alive(self) -> I32:
        """The rows in it."""
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
