"""How do boxes and arrows become a picture? Layers from left to right or from top to bottom, as one SVG.

The colours are those of the page around the picture, light or dark; the values after the commas are for a picture by
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

Look = Literal["node", "leaf", "result", "plain"]

LETTER, LINE = 6.7, 17.0
"""Width of a letter and height of a line, in pixels, of the font in STYLE."""

MARGIN, PAD, GAP, LAYER_GAP, LABEL_GAP = 2, 9.0, 18.0, 40.0, 52.0
"""Around a picture, around a text, between the boxes of a layer, and between layers: without labels on the arrows, and
with some."""

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
    """A rectangle with a head and lines of text. `visited`: the event of the picture comes by here. `marked`: the
    indices of lines that this event finds, satisfies or counts."""

    name: str
    head: str
    lines: Sequence[str] = ()
    look: Look = "node"
    visited: bool = False
    x: float = 0
    y: float = 0
    marked: Collection[int] = ()
    edge: float = 0
    """Where its layer ends: arrows go straight until there, so that they do not cross its neighbours."""

    @property
    def width(self) -> float:
        return max(len(line) for line in (self.head, *self.lines, "")) * LETTER + 2 * PAD

    @property
    def height(self) -> float:
        return (1 + len(self.lines)) * LINE + PAD


@dataclass
class Arrow:
    """From one box to another."""

    source: str
    target: str
    label: str = ""
    visited: bool = False


def picture(
    title: str,
    boxes: Sequence[Box],
    arrows: Sequence[Arrow],
    towards: Literal["right", "down"] = "down",
    in_order: bool = False,
) -> str:
    """The drawing of a directed graph without cycles. The title is what a screen reader says of it.

    Boxes of a layer stand so that few arrows cross or, `in_order`, as they are given.
    """
    by_name = {box.name: box for box in boxes}
    layers = layered(boxes, arrows)
    if not in_order:
        put_in_order(layers, arrows)
    is_down = towards == "down"
    place(layers, arrows, is_down)
    visited_last = sorted(arrows, key=lambda arrow: arrow.visited)
    drawn = [_arrow(by_name[arrow.source], by_name[arrow.target], arrow, is_down) for arrow in visited_last]
    return framed(title, boxes, [*drawn, *map(drawn_box, boxes)])


def framed(title: str, boxes: Sequence[Box], drawn: Sequence[str]) -> str:
    """What is drawn as one SVG, as large as its boxes need."""
    width = max(box.x + box.width for box in boxes) + 2 * MARGIN
    height = max(box.y + box.height for box in boxes) + 2 * MARGIN
    return (
        f'<svg class="structure" xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {width:.0f} '
        f'{height:.0f}" width="{width:.0f}" role="img" aria-label="{escape(title)}">\n<style>{STYLE}</style>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def layered(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> list[list[Box]]:
    """Every box is behind all that lead to it."""
    depth = dict.fromkeys((box.name for box in boxes), 0)
    for _ in boxes:
        for arrow in arrows:
            depth[arrow.target] = max(depth[arrow.target], depth[arrow.source] + 1)
    if any(depth[arrow.target] <= depth[arrow.source] for arrow in arrows):
        raise ValueError("the arrows go round in a circle")
    layers: list[list[Box]] = [[] for _ in range(max(depth.values()) + 1)]
    for box in boxes:
        layers[depth[box.name]].append(box)
    return layers


def put_in_order(layers: list[list[Box]], arrows: Sequence[Arrow]) -> None:
    """Boxes stand near those they are joined to: fewer arrows cross."""
    joined: dict[str, list[str]] = {}
    for arrow in arrows:
        joined.setdefault(arrow.source, []).append(arrow.target)
        joined.setdefault(arrow.target, []).append(arrow.source)
    for sweep in range(6):
        rank = {box.name: n / max(1, len(layer) - 1) for layer in layers for n, box in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):

            def middle(box: Box, rank: dict[str, float] = rank) -> float:
                near = [rank[name] for name in joined.get(box.name, [])]
                return sum(near) / len(near) if near else rank[box.name]

            layer.sort(key=middle)
            rank.update((box.name, n / max(1, len(layer) - 1)) for n, box in enumerate(layer))


def place(layers: list[list[Box]], arrows: Sequence[Arrow], is_down: bool) -> None:
    def size(box: Box) -> float:
        return box.width if is_down else box.height

    longest = max(sum(size(box) + GAP for box in layer) for layer in layers)
    start: dict[str, float] = {}
    for layer in layers:
        at = (longest - sum(size(box) + GAP for box in layer)) / 2
        for box in layer:
            start[box.name] = at
            at += size(box) + GAP
    joined: dict[str, list[str]] = {}
    for arrow in arrows:
        joined.setdefault(arrow.source, []).append(arrow.target)
        joined.setdefault(arrow.target, []).append(arrow.source)
    sizes = {box.name: size(box) for layer in layers for box in layer}
    for _ in range(8):  # each towards the middle of its neighbours, as far as the order allows
        for layer in layers:
            for n, box in enumerate(layer):
                near = joined.get(box.name)
                if not near:
                    continue
                wanted = sum(start[name] + sizes[name] / 2 for name in near) / len(near) - size(box) / 2
                low = start[layer[n - 1].name] + sizes[layer[n - 1].name] + GAP if n else 0
                high = start[layer[n + 1].name] - GAP - size(box) if n + 1 < len(layer) else longest - size(box)
                start[box.name] = min(max(wanted, low), max(low, high))
    first, depth = min(start.values()), 0.0
    labels = max([len(arrow.label) for arrow in arrows], default=0)
    between = LAYER_GAP if not labels else LABEL_GAP if is_down else max(LABEL_GAP, labels * LETTER + 24)
    for layer in layers:
        for box in layer:
            along = start[box.name] - first
            box.x, box.y = (along, depth) if is_down else (depth, along)
        depth += max(box.height if is_down else box.width for box in layer)
        for box in layer:
            box.edge = depth
        depth += between


def drawn_box(box: Box) -> str:
    classes = f"{box.look} visited" if box.visited else box.look
    lines = [f'<text class="head" x="{box.x + PAD:.1f}" y="{box.y + LINE:.1f}">{escape(box.head)}</text>']
    for number, line in enumerate(box.lines):
        marked = ' class="marked"' if number in box.marked else ""
        y = box.y + (number + 2) * LINE
        lines.append(f'<text{marked} x="{box.x + PAD:.1f}" y="{y:.1f}">{escape(line)}</text>')
    size = f'width="{box.width:.1f}" height="{box.height:.1f}" rx="4"'
    return f'<g class="{classes}"><rect x="{box.x:.1f}" y="{box.y:.1f}" {size}/>{"".join(lines)}</g>'


def _arrow(source: Box, target: Box, arrow: Arrow, is_down: bool) -> str:
    if is_down:
        x0, y0, x1, y1 = source.x + source.width / 2, source.y + source.height, target.x + target.width / 2, target.y
        middle = (source.edge + y1) / 2
        curve = f"M{x0:.1f},{y0:.1f} V{source.edge:.1f} C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    else:
        x0, y0, x1, y1 = source.x + source.width, source.y + source.height / 2, target.x, target.y + target.height / 2
        middle = (source.edge + x1) / 2
        curve = f"M{x0:.1f},{y0:.1f} H{source.edge:.1f} C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
    drawn = f'<path{" class=" + chr(34) + "visited" + chr(34) if arrow.visited else ""} d="{curve}"/>'
    if arrow.label:
        begin_x, begin_y = (x0, source.edge) if is_down else (source.edge, y0)
        x, y = (begin_x + 3 * x1) / 4, (begin_y + 3 * y1) / 4 - 3
        drawn += f'<text class="label" text-anchor="middle" x="{x:.1f}" y="{y:.1f}">{escape(arrow.label)}</text>'
    return drawn
