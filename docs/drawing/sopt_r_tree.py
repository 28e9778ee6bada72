"""The nodes of a SOPT-R-tree, and those that a point visits until the best k intervals are found."""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.example_scored import ADS, AGE, K, build_example, find_best_ads
from tellwhen.papers.ranked import SOPTRTree
from tellwhen.papers.ranked.arrays import RTreeArrays

TITLE = "A SOPT-R-tree: all intervals that contain a point lie in the order of their scores, from left to right"


def draw() -> str:
    tree = build_example(SOPTRTree)
    arrays: RTreeArrays = tree.arrays
    visited, best_numbers = find_best(arrays)
    assert best_numbers == find_best_ads(tree)
    boxes, arrows = [], []
    top = len(arrays.level_start) - 2
    for level in range(top, 0, -1):
        for node in range(int(arrays.level_start[level]), int(arrays.level_start[level + 1])):
            boxes.append(make_node_box(arrays, level, node, node in visited, best_numbers))
            if level > 1:
                arrows += [
                    Arrow(str(node), str(child), is_visited=child in visited)
                    for child in list_children(arrays, level, node)
                ]
    return draw_graph(TITLE, boxes, arrows, in_order=True)


def list_children(arrays: RTreeArrays, level: int, node: int) -> range:
    """Return the children of a node: adjacent nodes of the level below."""
    below, above = int(arrays.level_start[level - 1]), int(arrays.level_start[level])
    first = below + (node - above) * arrays.fan_out
    return range(first, min(first + arrays.fan_out, above))


def contains_age(arrays: RTreeArrays, at: int) -> bool:
    return bool(arrays.low[at] <= AGE <= arrays.high[at])


def find_best(arrays: RTreeArrays) -> tuple[set[int], list[int]]:
    """Return the visited nodes, and the numbers of the K best intervals that contain `AGE`.

    The search goes from left to right into every node that contains the point.
    """
    top = len(arrays.level_start) - 2
    visited: set[int] = set()
    best_numbers: list[int] = []
    waiting = [(top, int(arrays.level_start[top]))]
    while waiting and len(best_numbers) < K:
        level, at = waiting.pop()
        if not contains_age(arrays, at):
            continue
        if level == 0:
            best_numbers.append(int(arrays.number[at]))
        else:
            visited.add(at)
            waiting += [(level - 1, child) for child in reversed(list_children(arrays, level, at))]
    return visited, best_numbers


def make_node_box(arrays: RTreeArrays, level: int, node: int, is_visited: bool, best_numbers: list[int]) -> Box:
    head = f"{arrays.low[node]}-{arrays.high[node]}"
    if level > 1:
        return Box(str(node), head, (), "node", is_visited)
    numbers = [int(arrays.number[at]) for at in list_children(arrays, level, node)]
    marked = [k for k, number in enumerate(numbers) if number in best_numbers]
    return Box(str(node), head, [str(ADS[number]) for number in numbers], "leaf", is_visited, marked_lines=marked)
