"""Draw all pictures again: `python -m docs.drawing`."""

from __future__ import annotations

from docs.drawing import PICTURES, find_drawings

for name, draw in find_drawings().items():
    (PICTURES / f"{name}.svg").write_text(draw())
    print(f"docs/pictures/{name}.svg")
