"""The committed pictures of the documentation are those of the current engines."""

import pytest
from docs.drawing import PICTURES, find_drawings
from docs.drawing.example import EVENT, SUBSCRIPTIONS

import page_blocks

pytestmark = pytest.mark.late

QUICK_DRAWING = "scan"
"""The picture of an engine whose kernels are compiled for other tests anyway."""

CONJUNCTION_ENGINES = [
    "betree",
    "counting",
    "gryphon",
    "kindex",
    "opindex",
    "propagation",
    "pstbloom",
    "psthash",
    "scan",
]
"""Engines whose pages show the same subscriptions."""

DRAWINGS = find_drawings()


def make_drawing_params():
    for name, draw in DRAWINGS.items():
        yield pytest.param(name, draw, id=name, marks=[] if name == QUICK_DRAWING else [pytest.mark.slow])


@pytest.mark.parametrize(("name", "draw"), list(make_drawing_params()))
def test_a_picture_shows_the_index_as_it_is(name, draw):
    assert (PICTURES / f"{name}.svg").read_text() == draw(), "draw it again: python -m docs.drawing"


@pytest.mark.parametrize("name", CONJUNCTION_ENGINES)
def test_a_page_has_the_subscriptions_and_the_event_of_its_picture(name):
    text = (page_blocks.DOCS / "algorithms" / f"{name}.md").read_text()
    assert f"<!-- picture: {name} -->" in text
    for id_, expression in SUBSCRIPTIONS.items():
        assert f'...     "{id_}": "{expression}",\n' in text
    assert f">>> offer = {EVENT}".replace("'", '"') in text
