"""In which order does a SOPT-R-tree have its intervals, and which of its nodes does a point visit for the best k?"""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example_scored import ADS, AGE, K, best, example
from tellwhen.papers.ranked import SOPTRTree
from tellwhen.papers.ranked.arrays import RTreeArrays

TITLE = "A SOPT-R-tree: all intervals that contain a point lie in the order of their scores, from left to right"


def draw() -> str:
    tree = example(SOPTRTree)
    arrays: RTreeArrays = tree.arrays
    visited, found = walk(arrays)
    assert found == best(tree)
    boxes, arrows = [], []
    top = len(arrays.level_start) - 2
    for level in range(top, 0, -1):
        for node in range(int(arrays.level_start[level]), int(arrays.level_start[level + 1])):
            boxes.append(node_box(arrays, level, node, node in visited, found))
            if level > 1:
                arrows += [
                    Arrow(str(node), str(child), visited=child in visited) for child in children(arrays, level, node)
                ]
    return picture(TITLE, boxes, arrows, in_order=True)


def children(arrays: RTreeArrays, level: int, node: int) -> range:
    """The neighbours of the level below that make up a node."""
    below, above = int(arrays.level_start[level - 1]), int(arrays.level_start[level])
    first = below + (node - above) * arrays.fan_out
    return range(first, min(first + arrays.fan_out, above))


def contains(arrays: RTreeArrays, at: int) -> bool:
    return bool(arrays.low[at] <= AGE <= arrays.high[at])


def walk(arrays: RTreeArrays) -> tuple[set[int], list[int]]:
    """From left to right, down into every node that contains the point, until k are found."""
    top = len(arrays.level_start) - 2
    visited: set[int] = set()
    found: list[int] = []
    waiting = [(top, int(arrays.level_start[top]))]
    while waiting and len(found) < K:
        level, at = waiting.pop()
        if not contains(arrays, at):
            continue
        if level == 0:
            found.append(int(arrays.number[at]))
        else:
            visited.add(at)
            waiting += [(level - 1, child) for child in reversed(children(arrays, level, at))]
    return visited, found


def node_box(arrays: RTreeArrays, level: int, node: int, is_visited: bool, found: list[int]) -> Box:
    head = f"{arrays.low[node]}-{arrays.high[node]}"
    if level > 1:
        return Box(str(node), head, (), "node", is_visited)
    numbers = [int(arrays.number[at]) for at in children(arrays, level, node)]
    marked = [k for k, number in enumerate(numbers) if number in found]
    return Box(str(node), head, [str(ADS[number]) for number in numbers], "leaf", is_visited, marked=marked)
