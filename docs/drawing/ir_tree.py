"""The nodes and blocks of an IR-tree, and the blocks that a point opens to find the best k intervals."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.example_scored import ADS, AGE, K, build_example, find_best_ads
from tellwhen.papers.ranked import IRTree
from tellwhen.papers.ranked.arrays import IRTreeArrays
from tellwhen.papers.ranked.kernels.ir_pool import ROOT
from tellwhen.papers.ranked.order import decode_scores

TITLE = "An IR-tree: an interval tree, with an R-tree of the intervals of each node in the order of their scores"


class Walk(NamedTuple):
    """A search: the nodes on the path to the point, the opened blocks, and the best intervals in order."""

    path: list[int]
    opened_blocks: set[int]
    best_numbers: list[int]


def draw() -> str:
    tree = build_example(IRTree)
    arrays: IRTreeArrays = tree.arrays
    walk = find_best(arrays)
    assert walk.best_numbers == find_best_ads(tree)
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    waiting = [int(arrays.counts[ROOT])]
    while waiting:
        node = waiting.pop(0)
        boxes.append(Box(f"n{node}", f"centre {arrays.centre[node]}", (), "node", node in walk.path))
        left, root, right = (int(field[node]) for field in (arrays.left, arrays.root, arrays.right))
        for child, label in ((left, "below"), (right, "above")):
            if child >= 0:
                arrows.append(Arrow(f"n{node}", f"n{child}", label, child in walk.path))
                waiting.append(child)
        arrows.append(Arrow(f"n{node}", f"b{root}", "", root in walk.opened_blocks))
        add_blocks(arrays, root, walk, boxes, arrows)
    return draw_graph(TITLE, boxes, arrows)


def list_entries(arrays: IRTreeArrays, block: int) -> range:
    first = int(arrays.first[block])
    return range(first, first + int(arrays.size[block]))


def add_blocks(arrays: IRTreeArrays, block: int, walk: Walk, boxes: list[Box], arrows: list[Arrow]) -> None:
    """Append the boxes and arrows of a block and of all blocks below it."""
    is_leaf = arrays.level[block] == 0
    lines, marked = [], []
    for line, at in enumerate(list_entries(arrays, block)):
        item = int(arrays.item[at])
        if is_leaf:
            lines.append(str(ADS[item]))
            marked += [line] if item in walk.best_numbers else []
        else:
            score = float(decode_scores(arrays.key[at : at + 1])[0])
            lines.append(f"{arrays.low[at]}-{arrays.high[at]}, up to {score}")
            arrows.append(Arrow(f"b{block}", f"b{item}", "", item in walk.opened_blocks))
            add_blocks(arrays, item, walk, boxes, arrows)
    boxes.append(Box(f"b{block}", "R-tree", lines, "leaf", block in walk.opened_blocks, marked_lines=marked))


def find_best(arrays: IRTreeArrays) -> Walk:
    """Find the K best intervals that contain `AGE`, with a heap of entries.

    The heap starts with the entries of the root blocks of all nodes on the path. A block is opened when it is the
    best entry.
    """
    path, node = [], int(arrays.counts[ROOT])
    while node >= 0:
        path.append(node)
        centre = int(arrays.centre[node])
        node = int(arrays.left[node]) if centre > AGE else int(arrays.right[node]) if centre < AGE else -1
    opened_blocks: set[int] = set()
    heap: list[tuple[int, int, int]] = []  # key, number of the interval or -1, entry; lower is better

    def open_block(block: int) -> None:
        opened_blocks.add(block)
        for at in list_entries(arrays, block):
            if arrays.low[at] <= AGE <= arrays.high[at]:
                number = int(arrays.item[at]) if arrays.level[block] == 0 else -1
                heapq.heappush(heap, (int(arrays.key[at]), number, int(arrays.item[at])))

    for node in path:
        open_block(int(arrays.root[node]))
    best_numbers: list[int] = []
    while heap and len(best_numbers) < K:
        _, number, item = heapq.heappop(heap)
        if number >= 0:
            best_numbers.append(number)
        else:
            open_block(item)
    return Walk(path, opened_blocks, best_numbers)
