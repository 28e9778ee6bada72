"""Are the pictures of the documentation those of the engines as they are now, and can one read them?"""

from itertools import combinations
from xml.etree import ElementTree

import pytest
from docs.drawing import PICTURES, drawings
from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.example import EVENT, SUBSCRIPTIONS
from docs.drawing.words import Words

import blocks
import tellwhen as tw

pytestmark = pytest.mark.late

CHEAP = "scan"
"""Its kernels are compiled for other tests anyway."""

CONJUNCTIONS = ["betree", "counting", "gryphon", "kindex", "opindex", "propagation", "pstbloom", "psthash", "scan"]
"""Engines whose pages show the same subscriptions."""

DRAWN = drawings()


def pictures():
    for name, draw in DRAWN.items():
        yield pytest.param(name, draw, id=name, marks=[] if name == CHEAP else [pytest.mark.slow])


@pytest.mark.parametrize(("name", "draw"), list(pictures()))
def test_a_picture_shows_the_index_as_it_is(name, draw):
    assert (PICTURES / f"{name}.svg").read_text() == draw(), "draw it again: python -m docs.drawing"


@pytest.mark.parametrize("name", CONJUNCTIONS)
def test_a_page_has_the_subscriptions_and_the_event_of_its_picture(name):
    text = (blocks.DOCS / "algorithms" / f"{name}.md").read_text()
    assert f"<!-- picture: {name} -->" in text
    for id_, expression in SUBSCRIPTIONS.items():
        assert f'...     "{id_}": "{expression}",\n' in text
    assert f">>> offer = {EVENT}".replace("'", '"') in text


# words


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("price <= 300", "price <= 300"),
        ("price < 300", "price < 300"),
        ("price > 1.5", "price > 1.5"),
        ("price BETWEEN 200 AND 500", "200 <= price <= 500"),
        ("city = 'Rome'", "city = 'Rome'"),
        ("city <> 'Rome'", "city <> 'Rome'"),
        ("NOT city = 'Rome'", "NOT city = 'Rome'"),
        ("brand IN ('Nikon', 'Leica')", "brand IN ('Leica', 'Nikon')"),
        ("brand NOT IN ('Nikon', 'Leica')", "brand NOT IN ('Leica', 'Nikon')"),
        ("brand LIKE 'Ni%'", "brand STARTS WITH 'Ni'"),
        ("brand ENDS WITH 'on'", "brand ENDS WITH 'on'"),
        ("brand CONTAINS 'k'", "brand MATCHES 'k'"),
        ("brand = 'L''Oca'", "brand = 'L''Oca'"),
        ("sold", "sold = TRUE"),
        ("sold IS NULL", "sold IS NULL"),
        ("since < DATE '2026-02-01'", "since < DATE '2026-02-01'"),
    ],
)
def test_a_predicate_is_said_as_a_user_writes_it(expression, said):
    words = Words(tw.Index("scan").add("a", expression))
    assert [words.predicate(p) for p in words.predicates(0)] == [said]


# boxes


def rectangles(drawn):
    """Left, top, right and bottom of each box."""
    found = []
    for one in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}rect"):
        x, y, width, height = (float(one.attrib[name]) for name in ("x", "y", "width", "height"))
        found.append((x, y, x + width, y + height))
    return found


@pytest.mark.parametrize("towards", ["right", "down"])
def test_boxes_do_not_overlap(towards):
    names = [f"{letter}{number}" for letter in "abc" for number in range(5)]
    boxes = [Box(name, name, [name * (k % 4)] * (k % 3)) for k, name in enumerate(names)]
    arrows = [Arrow(f"a{k}", f"b{k * 2 % 5}") for k in range(5)] + [Arrow(f"b{k}", f"c{k * 3 % 5}") for k in range(5)]
    drawn = rectangles(picture("boxes", boxes, arrows, towards))
    assert len(drawn) == len(boxes)
    for one, other in combinations(drawn, 2):
        is_beside = one[2] < other[0] or other[2] < one[0]
        is_above = one[3] < other[1] or other[3] < one[1]
        assert is_beside or is_above


def test_text_is_escaped():
    drawn = picture('a < "b"', [Box("x", "price <= 3 & more", ["<b>"], marked=[0])], [])
    texts = [one.text for one in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["price <= 3 & more", "<b>"]


def test_a_circle_is_refused():
    boxes = [Box("a", "a"), Box("b", "b")]
    with pytest.raises(ValueError, match="circle"):
        picture("a circle", boxes, [Arrow("a", "b"), Arrow("b", "a")])


def test_boxes_in_order_stay_in_order():
    boxes = [Box("top", "top"), *(Box(name, name) for name in "zyx")]
    picture("in order", boxes, [Arrow("top", name) for name in "xyz"], "right", in_order=True)
    assert [box.name for box in sorted(boxes[1:], key=lambda box: box.y)] == ["z", "y", "x"]


def test_what_an_event_visits_is_drawn_last():
    boxes = [Box("a", "a"), Box("b", "b", visited=True), Box("c", "c")]
    drawn = picture("visited", boxes, [Arrow("a", "b", visited=True), Arrow("a", "c")])
    assert drawn.index('<path d="') < drawn.index('<path class="visited" d="')
