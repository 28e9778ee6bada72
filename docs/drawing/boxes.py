"""Directed graphs of boxes and arrows as SVG, in layers from left to right or from top to bottom.

The colours are those of the page around the picture, light or dark; the values after the commas are for a picture by
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

Look = Literal["node", "leaf", "result", "plain"]
"""The CSS class of a box, which gives it its colours."""

LETTER_WIDTH, LINE_HEIGHT = 6.7, 17.0
"""Size of a letter and of a line of text, in pixels, in the font of `STYLE`."""

PICTURE_MARGIN, BOX_PADDING, BOX_GAP = 2, 9.0, 18.0
"""Space around a picture, around the text in a box, and between the boxes of a layer, in pixels."""

LAYER_GAP, LABELLED_LAYER_GAP = 40.0, 52.0
"""Space between layers, in pixels: if no arrow has a label, and if some have."""

ORDERING_SWEEPS, PLACEMENT_SWEEPS = 6, 8
"""Number of passes over all layers to reorder boxes, and to align them with their neighbours."""

STYLE = """
svg.structure text { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  fill: var(--md-default-fg-color, #1d2433); white-space: pre; }
svg.structure .head { font-weight: 700; }
svg.structure .label { fill: var(--md-default-fg-color--light, #5b6474); stroke: var(--md-default-bg-color, #fff);
  stroke-width: 4px; paint-order: stroke; }
svg.structure .marked { fill: #b45309; font-weight: 700; }
[data-md-color-scheme="slate"] svg.structure .marked { fill: #f0a868; }
svg.structure rect { fill: var(--md-code-bg-color, #f4f5f7); stroke: var(--md-default-fg-color--lighter, #b8bfca); }
svg.structure .node rect { stroke: #3b82c4; }
svg.structure .leaf rect { stroke: #2fa37c; }
svg.structure .result rect { stroke: #c25c9a; }
svg.structure .visited rect { stroke-width: 2.5; fill: var(--md-accent-fg-color--transparent, #fff3e0); }
svg.structure path { fill: none; stroke: var(--md-default-fg-color--light, #8d95a3); }
svg.structure path.visited { stroke: #e07b39; stroke-width: 2.5; }
"""


@dataclass
class Box:
    """A rectangle with a head and lines of text.

    `is_visited` says whether the event of the picture visits the box; `marked_lines` are the indices of the lines that
    the event finds, satisfies or counts.
    """

    name: str
    head: str
    lines: Sequence[str] = ()
    look: Look = "node"
    is_visited: bool = False
    x: float = 0
    y: float = 0
    marked_lines: Collection[int] = ()
    layer_end: float = 0
    """Coordinate of the end of its layer. Arrows bend only behind it, so that they do not cross neighbouring boxes."""

    @property
    def width(self) -> float:
        return max(len(line) for line in (self.head, *self.lines, "")) * LETTER_WIDTH + 2 * BOX_PADDING

    @property
    def height(self) -> float:
        return (1 + len(self.lines)) * LINE_HEIGHT + BOX_PADDING


@dataclass
class Arrow:
    """An arrow from the box named `source` to the box named `target`."""

    source: str
    target: str
    label: str = ""
    is_visited: bool = False


def draw_graph(
    title: str,
    boxes: Sequence[Box],
    arrows: Sequence[Arrow],
    towards: Literal["right", "down"] = "down",
    in_order: bool = False,
) -> str:
    """Return the SVG of a directed graph without cycles, with its title as text for screen readers.

    The boxes of a layer are in the given order if `in_order`, and otherwise ordered so that few arrows cross.
    """
    boxes_by_name = {box.name: box for box in boxes}
    layers = assign_layers(boxes, arrows)
    if not in_order:
        order_layers(layers, arrows)
    is_down = towards == "down"
    place_boxes(layers, arrows, is_down)
    visited_last = sorted(arrows, key=lambda arrow: arrow.is_visited)
    elements = [
        _render_arrow(boxes_by_name[arrow.source], boxes_by_name[arrow.target], arrow, is_down)
        for arrow in visited_last
    ]
    return wrap_in_svg(title, boxes, [*elements, *map(render_box, boxes)])


def wrap_in_svg(title: str, boxes: Sequence[Box], elements: Sequence[str]) -> str:
    """Return an SVG of these elements, large enough for the boxes."""
    width = max(box.x + box.width for box in boxes) + 2 * PICTURE_MARGIN
    height = max(box.y + box.height for box in boxes) + 2 * PICTURE_MARGIN
    view = f"{-PICTURE_MARGIN} {-PICTURE_MARGIN} {width:.0f} {height:.0f}"
    return (
        f'<svg class="structure" xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{width:.0f}" role="img" '
        f'aria-label="{escape(title)}">\n<style>{STYLE}</style>\n' + "\n".join(elements) + "\n</svg>\n"
    )


def assign_layers(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> list[list[Box]]:
    """Distribute boxes to layers, so that every arrow leads to a later layer.

    Raises
    ------
    ValueError
        If arrows form a cycle.
    """
    depth = dict.fromkeys((box.name for box in boxes), 0)
    for _ in boxes:
        for arrow in arrows:
            depth[arrow.target] = max(depth[arrow.target], depth[arrow.source] + 1)
    if any(depth[arrow.target] <= depth[arrow.source] for arrow in arrows):
        raise ValueError("a drawn graph must have no cycle, but these arrows form one")
    layers: list[list[Box]] = [[] for _ in range(max(depth.values()) + 1)]
    for box in boxes:
        layers[depth[box.name]].append(box)
    return layers


def order_layers(layers: list[list[Box]], arrows: Sequence[Arrow]) -> None:
    """Reorder the boxes of each layer in place: boxes near their neighbours, so that few arrows cross."""
    neighbours = _find_neighbours(arrows)
    for sweep in range(ORDERING_SWEEPS):
        rank = {box.name: n / max(1, len(layer) - 1) for layer in layers for n, box in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):

            def average_rank(box: Box, rank: dict[str, float] = rank) -> float:
                ranks = [rank[name] for name in neighbours.get(box.name, [])]
                return sum(ranks) / len(ranks) if ranks else rank[box.name]

            layer.sort(key=average_rank)
            rank.update((box.name, n / max(1, len(layer) - 1)) for n, box in enumerate(layer))


def _find_neighbours(arrows: Sequence[Arrow]) -> dict[str, list[str]]:
    """Return the names of the boxes at the other ends of each box's arrows."""
    neighbours: dict[str, list[str]] = {}
    for arrow in arrows:
        neighbours.setdefault(arrow.source, []).append(arrow.target)
        neighbours.setdefault(arrow.target, []).append(arrow.source)
    return neighbours


def place_boxes(layers: list[list[Box]], arrows: Sequence[Arrow], is_down: bool) -> None:
    """Set the coordinates of all boxes."""
    start = _align_boxes(layers, arrows, is_down)
    first, depth = min(start.values()), 0.0
    label_length = max([len(arrow.label) for arrow in arrows], default=0)
    gap = LAYER_GAP
    if label_length:
        gap = LABELLED_LAYER_GAP if is_down else max(LABELLED_LAYER_GAP, label_length * LETTER_WIDTH + 24)
    for layer in layers:
        for box in layer:
            offset = start[box.name] - first
            box.x, box.y = (offset, depth) if is_down else (depth, offset)
        depth += max(box.height if is_down else box.width for box in layer)
        for box in layer:
            box.layer_end = depth
        depth += gap


def _align_boxes(layers: list[list[Box]], arrows: Sequence[Arrow], is_down: bool) -> dict[str, float]:
    """Return the coordinate of each box along its layer, near the middle of its neighbours."""

    def get_size(box: Box) -> float:
        return box.width if is_down else box.height

    longest = max(sum(get_size(box) + BOX_GAP for box in layer) for layer in layers)
    start: dict[str, float] = {}
    for layer in layers:
        offset = (longest - sum(get_size(box) + BOX_GAP for box in layer)) / 2
        for box in layer:
            start[box.name] = offset
            offset += get_size(box) + BOX_GAP
    neighbours = _find_neighbours(arrows)
    sizes = {box.name: get_size(box) for layer in layers for box in layer}
    for _ in range(PLACEMENT_SWEEPS):
        for layer in layers:
            for n, box in enumerate(layer):
                names = neighbours.get(box.name)
                if not names:
                    continue
                target = sum(start[name] + sizes[name] / 2 for name in names) / len(names) - get_size(box) / 2
                low = start[layer[n - 1].name] + sizes[layer[n - 1].name] + BOX_GAP if n else 0
                end = start[layer[n + 1].name] - BOX_GAP if n + 1 < len(layer) else longest
                start[box.name] = min(max(target, low), max(low, end - get_size(box)))
    return start


def render_box(box: Box) -> str:
    """Return the SVG element of a box at its coordinates."""
    classes = f"{box.look} visited" if box.is_visited else box.look
    x = f"{box.x + BOX_PADDING:.1f}"
    texts = [f'<text class="head" x="{x}" y="{box.y + LINE_HEIGHT:.1f}">{escape(box.head)}</text>']
    for number, line in enumerate(box.lines):
        marked = ' class="marked"' if number in box.marked_lines else ""
        y = box.y + (number + 2) * LINE_HEIGHT
        texts.append(f'<text{marked} x="{x}" y="{y:.1f}">{escape(line)}</text>')
    size = f'width="{box.width:.1f}" height="{box.height:.1f}" rx="4"'
    return f'<g class="{classes}"><rect x="{box.x:.1f}" y="{box.y:.1f}" {size}/>{"".join(texts)}</g>'


def _render_arrow(source: Box, target: Box, arrow: Arrow, is_down: bool) -> str:
    end = source.layer_end
    if is_down:
        x0, y0, x1, y1 = source.x + source.width / 2, source.y + source.height, target.x + target.width / 2, target.y
        middle = (end + y1) / 2
        curve = f"M{x0:.1f},{y0:.1f} V{end:.1f} C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    else:
        x0, y0, x1, y1 = source.x + source.width, source.y + source.height / 2, target.x, target.y + target.height / 2
        middle = (end + x1) / 2
        curve = f"M{x0:.1f},{y0:.1f} H{end:.1f} C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
    visited = ' class="visited"' if arrow.is_visited else ""
    element = f'<path{visited} d="{curve}"/>'
    if arrow.label:
        bend_x, bend_y = (x0, end) if is_down else (end, y0)
        x, y = (bend_x + 3 * x1) / 4, (bend_y + 3 * y1) / 4 - 3
        element += f'<text class="label" text-anchor="middle" x="{x:.1f}" y="{y:.1f}">{escape(arrow.label)}</text>'
    return element
