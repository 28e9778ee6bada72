"""How is a structure drawn? Small real indexes, read array by array, become the pictures of `docs/algorithms`.

`python -m docs.drawing` draws all of them again; a test compares them with what is committed. Every module here that
has a function `draw` makes one picture, which has the name of the module.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

PICTURES = Path(__file__).parents[1] / "pictures"


def drawings() -> dict[str, Callable[[], str]]:
    """What draws each picture, by its name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "__main__":
            draw = getattr(import_module(f"{__name__}.{module.name}"), "draw", None)
            if draw is not None:
                found[module.name.replace("_", "-")] = draw
    return found
