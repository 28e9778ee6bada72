"""Drawings of small real indexes: their arrays are read and become the pictures of `docs/algorithms`.

`python -m docs.drawing` draws all pictures again; a test compares them with the committed files. A module here that
has a function `draw` makes one picture, which has the name of the module.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

PICTURES = Path(__file__).parents[1] / "pictures"


def find_drawings() -> dict[str, Callable[[], str]]:
    """Return the function that draws each picture, by the name of the picture."""
    functions = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "__main__":
            draw = getattr(import_module(f"{__name__}.{module.name}"), "draw", None)
            if draw is not None:
                functions[module.name.replace("_", "-")] = draw
    return functions
