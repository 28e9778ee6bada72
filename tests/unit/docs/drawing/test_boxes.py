"""Boxes and arrows of a graph are drawn apart, in order, and with escaped text."""

from itertools import combinations
from xml.etree import ElementTree

import pytest
from docs.drawing.boxes import Arrow, Box, draw_graph


def read_rectangles(svg):
    """Return (left, top, right, bottom) of each box."""
    rectangles = []
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect"):
        x, y, width, height = (float(element.attrib[name]) for name in ("x", "y", "width", "height"))
        rectangles.append((x, y, x + width, y + height))
    return rectangles


@pytest.mark.parametrize("towards", ["right", "down"])
def test_boxes_do_not_overlap(towards):
    names = [f"{letter}{number}" for letter in "abc" for number in range(5)]
    boxes = [Box(name, name, [name * (k % 4)] * (k % 3)) for k, name in enumerate(names)]
    arrows = [Arrow(f"a{k}", f"b{k * 2 % 5}") for k in range(5)] + [Arrow(f"b{k}", f"c{k * 3 % 5}") for k in range(5)]
    rectangles = read_rectangles(draw_graph("boxes", boxes, arrows, towards))
    assert len(rectangles) == len(boxes)
    for one, other in combinations(rectangles, 2):
        is_beside = one[2] < other[0] or other[2] < one[0]
        is_above = one[3] < other[1] or other[3] < one[1]
        assert is_beside or is_above


def test_text_is_escaped():
    svg = draw_graph('a < "b"', [Box("x", "price <= 3 & more", ["<b>"], marked_lines=[0])], [])
    texts = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["price <= 3 & more", "<b>"]


def test_a_cycle_raises():
    boxes = [Box("a", "a"), Box("b", "b")]
    with pytest.raises(ValueError, match="cycle"):
        draw_graph("a cycle", boxes, [Arrow("a", "b"), Arrow("b", "a")])


def test_boxes_in_order_stay_in_order():
    boxes = [Box("top", "top"), *(Box(name, name) for name in "zyx")]
    draw_graph("in order", boxes, [Arrow("top", name) for name in "xyz"], "right", in_order=True)
    assert [box.name for box in sorted(boxes[1:], key=lambda box: box.y)] == ["z", "y", "x"]


def test_visited_arrows_are_drawn_last():
    boxes = [Box("a", "a"), Box("b", "b", is_visited=True), Box("c", "c")]
    svg = draw_graph("visited", boxes, [Arrow("a", "b", is_visited=True), Arrow("a", "c")])
    assert svg.index('<path d="') < svg.index('<path class="visited" d="')
