"""Graphs whose arrows run in lanes between the boxes of each layer they cross, so that no arrow runs behind a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Literal

from docs.drawing.boxes import (
    LETTER_WIDTH,
    Arrow,
    Box,
    assign_layers,
    order_layers,
    place_boxes,
    render_box,
    wrap_in_svg,
)

LANE_WIDTH = 6.0
"""Space for an arrow between two boxes, in pixels."""

LABEL_POSITIONS = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Positions of a label on the curve of its arrow, from 0 to 1. The first one is taken where no other label is near."""

LABEL_HEIGHT = 12.0
"""Height of a label, in pixels."""

Point = tuple[float, float]


@dataclass
class Lane(Box):
    """An invisible box that keeps space for an arrow between boxes. It is as deep as its layer."""

    depth: float = 0
    is_down: bool = False

    @property
    def width(self) -> float:
        return LANE_WIDTH if self.is_down else self.depth

    @property
    def height(self) -> float:
        return self.depth if self.is_down else LANE_WIDTH


def draw_routed_graph(
    title: str,
    boxes: Sequence[Box],
    arrows: Sequence[Arrow],
    towards: Literal["right", "down"] = "down",
    extra_gap: float = 0,
    results_last: bool = False,
) -> str:
    """Return the SVG of a directed graph without cycles, with arrows that avoid boxes.

    Parameters
    ----------
    title
        Text for screen readers.
    extra_gap
        Additional space between layers, in pixels.
    results_last
        Whether all boxes with the look "result" are in the last layer, with the labels of arrows in front of it.
    """
    is_down = towards == "down"
    layers = assign_layers(boxes, arrows)
    if results_last:
        results = [box for box in boxes if box.look == "result"]
        layers = [[box for box in layer if box not in results] for layer in layers[:-1]] + [results]
    routes = [(arrow, _add_lanes(arrow, layers, is_down)) for arrow in arrows]
    steps = [step for arrow, lanes in routes for step in _split_arrow(arrow, lanes)]
    order_layers(layers, steps)
    place_boxes(layers, steps, is_down)
    boxes_by_name = {box.name: box for layer in layers for box in layer}
    for number, layer in enumerate(layers):
        for box in layer:
            offset = number * extra_gap
            box.x, box.y = (box.x, box.y + offset) if is_down else (box.x + offset, box.y)
    layer_ends = {box.name: max(_get_end(other, is_down) for other in layer) for layer in layers for box in layer}
    curves, labels = [], LabelPlacer()
    for arrow, lanes in sorted(routes, key=lambda route: route[0].is_visited):  # visited arrows above the others
        stops = [boxes_by_name[name] for name in (arrow.source, *lanes, arrow.target)]
        bends = _compute_bends(stops, [layer_ends[stop.name] for stop in stops], is_down)
        curves.append(_render_curve(bends, arrow.is_visited))
        labels.add(arrow.label, bends[-1 if results_last else 0])
    return wrap_in_svg(title, list(boxes_by_name.values()), [*curves, *labels.elements, *map(render_box, boxes)])


def _add_lanes(arrow: Arrow, layers: list[list[Box]], is_down: bool) -> list[str]:
    """Add a lane to every layer between the ends of an arrow; return the names of the lanes."""
    layer_numbers = {box.name: number for number, layer in enumerate(layers) for box in layer}
    names = []
    for number in range(layer_numbers[arrow.source] + 1, layer_numbers[arrow.target]):
        depth = max((box.height if is_down else box.width) for box in layers[number])
        name = f"{arrow.source} {arrow.target} {arrow.label} {number}"
        layers[number].append(Lane(name, "", depth=depth, is_down=is_down))
        names.append(name)
    return names


def _split_arrow(arrow: Arrow, lanes: list[str]) -> list[Arrow]:
    """Return the arrows from the source through all lanes to the target."""
    stops = [arrow.source, *lanes, arrow.target]
    return [Arrow(source, target, arrow.label) for source, target in pairwise(stops)]


def _get_end(box: Box, is_down: bool) -> float:
    """Return the coordinate of a box's end in the direction of the arrows."""
    return box.y + box.height if is_down else box.x + box.width


def _compute_bends(stops: list[Box], layer_ends: list[float], is_down: bool) -> list[list[Point]]:
    """Return five points for each step of an arrow, which bends only between layers.

    A step goes straight from the end of a box to the end of its layer, and from there along a cubic Bezier curve, the
    last four points, to the next stop.
    """
    bends = []
    for number, (source, target) in enumerate(pairwise(stops)):
        source_middle, target_middle = _get_middle(source, is_down), _get_middle(target, is_down)
        begin, end = layer_ends[number], target.y if is_down else target.x
        half = (begin + end) / 2
        points = [
            (_get_end(source, is_down), source_middle),
            (begin, source_middle),
            (half, source_middle),
            (half, target_middle),
            (end, target_middle),
        ]
        bends.append([(across, along) if is_down else (along, across) for along, across in points])
    return bends


def _render_curve(bends: list[list[Point]], is_visited: bool) -> str:
    path = ""
    for bend in bends:
        box_end, begin, *curve = (f"{x:.1f},{y:.1f}" for x, y in bend)
        path += f"{'L' if path else 'M'}{box_end} L{begin} C{' '.join(curve)} "
    visited = ' class="visited"' if is_visited else ""
    return f'<path{visited} d="{path.strip()}"/>'


class LabelPlacer:
    """The labels of arrows, placed so that they do not cover each other where this is possible."""

    def __init__(self) -> None:
        self.elements: list[str] = []
        self._placed_labels: list[tuple[float, float, float]] = []  # x, y and half the width

    def add(self, text: str, bend: list[Point]) -> None:
        """Place a label on the curve of a bend; do nothing if the text is empty."""
        if not text:
            return
        half = len(text) * LETTER_WIDTH / 2
        places = [_interpolate(bend[1:], t) for t in LABEL_POSITIONS]
        x, y = next((place for place in places if self._is_free(*place, half)), places[0])
        self._placed_labels.append((x, y, half))
        element = f'<text class="label" text-anchor="middle" x="{x:.1f}" y="{y + 4:.1f}">{escape(text)}</text>'
        self.elements.append(element)

    def _is_free(self, x: float, y: float, half: float) -> bool:
        return all(
            abs(x - other_x) > half + other_half or abs(y - other_y) > LABEL_HEIGHT
            for other_x, other_y, other_half in self._placed_labels
        )


def _interpolate(curve: list[Point], t: float) -> Point:
    """Return the point of a cubic Bezier curve at `t`, from 0 to 1."""
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (sum(w * point[k] for w, point in zip(weights, curve, strict=True)) for k in (0, 1))
    return x, y


def _get_middle(box: Box, is_down: bool) -> float:
    """Return the coordinate of a box's middle across the direction of the arrows."""
    return box.x + box.width / 2 if is_down else box.y + box.height / 2
