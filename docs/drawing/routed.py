"""How does an arrow pass by the boxes between its ends? Through a lane of its own in every layer that it crosses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Literal

from docs.drawing.boxes import LETTER, Arrow, Box, drawn_box, framed, layered, place, put_in_order

LANE = 6.0
"""How broad a lane is, in pixels."""

ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Where on its bend the label of an arrow may be, best first: it does not cover another one if that can be."""

FONT = 12.0
"""Height of a label, in pixels."""

Point = tuple[float, float]


@dataclass
class Lane(Box):
    """Room for an arrow between boxes. It is as deep as its layer."""

    depth: float = 0
    is_down: bool = False

    @property
    def width(self) -> float:
        return LANE if self.is_down else self.depth

    @property
    def height(self) -> float:
        return self.depth if self.is_down else LANE


def picture(
    title: str,
    boxes: Sequence[Box],
    arrows: Sequence[Arrow],
    towards: Literal["right", "down"] = "down",
    apart: float = 0,
    results_last: bool = False,
) -> str:
    """As `boxes.picture`, but no arrow runs below a box. Layers are further apart, if that is wanted, and all results
    are in the last one, with the labels before them."""
    is_down = towards == "down"
    layers = layered(boxes, arrows)
    if results_last:
        results = [box for box in boxes if box.look == "result"]
        layers = [[box for box in layer if box not in results] for layer in layers[:-1]] + [results]
    ways = [(arrow, _lanes(arrow, layers, is_down)) for arrow in arrows]
    steps = [step for arrow, lanes in ways for step in _steps(arrow, lanes)]
    put_in_order(layers, steps)
    place(layers, steps, is_down)
    by_name = {box.name: box for layer in layers for box in layer}
    for number, layer in enumerate(layers):
        for box in layer:
            box.x, box.y = (box.x, box.y + number * apart) if is_down else (box.x + number * apart, box.y)
    ends = {box.name: max(map(_end(is_down), layer)) for layer in layers for box in layer}
    curves, labels = [], Labels()
    for arrow, lanes in sorted(ways, key=lambda way: way[0].visited):  # those that are visited above the others
        stops = [by_name[name] for name in (arrow.source, *lanes, arrow.target)]
        bends = _bends(stops, [ends[stop.name] for stop in stops], is_down)
        curves.append(_curve(bends, arrow.visited))
        labels.put(arrow.label, bends[-1 if results_last else 0])
    return framed(title, list(by_name.values()), [*curves, *labels.drawn, *map(drawn_box, boxes)])


def _lanes(arrow: Arrow, layers: list[list[Box]], is_down: bool) -> list[str]:
    """Add a lane to every layer between the ends of an arrow; returns their names."""
    layer_of = {box.name: number for number, layer in enumerate(layers) for box in layer}
    names = []
    for number in range(layer_of[arrow.source] + 1, layer_of[arrow.target]):
        depth = max((box.height if is_down else box.width) for box in layers[number])
        name = f"{arrow.source} {arrow.target} {arrow.label} {number}"
        layers[number].append(Lane(name, "", depth=depth, is_down=is_down))
        names.append(name)
    return names


def _steps(arrow: Arrow, lanes: list[str]) -> list[Arrow]:
    stops = [arrow.source, *lanes, arrow.target]
    return [Arrow(one, other, arrow.label) for one, other in pairwise(stops)]


def _end(is_down: bool) -> Callable[[Box], float]:
    """Where a box ends, in the direction of the arrows."""
    return (lambda box: box.y + box.height) if is_down else (lambda box: box.x + box.width)


def _bends(stops: list[Box], ends: list[float], is_down: bool) -> list[list[Point]]:
    """An arrow bends only between layers: from where a box ends, to where its layer ends, and with a curve of three
    more points to the next stop."""
    found = []
    for number, (one, other) in enumerate(pairwise(stops)):
        from_, to = _middle(one, is_down), _middle(other, is_down)
        begin, end = ends[number], other.y if is_down else other.x
        half = (begin + end) / 2
        along = [(_end(is_down)(one), from_), (begin, from_), (half, from_), (half, to), (end, to)]
        found.append([(b, a) if is_down else (a, b) for a, b in along])
    return found


def _curve(bends: list[list[Point]], is_visited: bool) -> str:
    path = ""
    for bend in bends:
        box_end, begin, *curved = (f"{x:.1f},{y:.1f}" for x, y in bend)
        path += f"{'L' if path else 'M'}{box_end} L{begin} C{' '.join(curved)} "
    visited = ' class="visited"' if is_visited else ""
    return f'<path{visited} d="{path.strip()}"/>'


class Labels:
    """The labels of arrows, which keep out of each other's way."""

    def __init__(self) -> None:
        self.drawn: list[str] = []
        self._taken: list[tuple[float, float, float]] = []  # x, y and half the width

    def put(self, text: str, bend: list[Point]) -> None:
        if not text:
            return
        half = len(text) * LETTER / 2
        places = [_on(bend[1:], t) for t in ALONG]
        x, y = next((place for place in places if self._is_free(*place, half)), places[0])
        self._taken.append((x, y, half))
        self.drawn.append(f'<text class="label" text-anchor="middle" x="{x:.1f}" y="{y + 4:.1f}">{escape(text)}</text>')

    def _is_free(self, x: float, y: float, half: float) -> bool:
        return all(abs(x - other) > half + width or abs(y - at) > FONT for other, at, width in self._taken)


def _on(curve: list[Point], t: float) -> Point:
    """A point of a cubic Bezier curve."""
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (sum(w * point[k] for w, point in zip(weights, curve, strict=True)) for k in (0, 1))
    return x, y


def _middle(box: Box, is_down: bool) -> float:
    return box.x + box.width / 2 if is_down else box.y + box.height / 2
