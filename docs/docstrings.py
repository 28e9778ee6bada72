"""How do the docstrings of the source become a reference? Their examples, lines with >>>, become blocks of code."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*(?:\n+>>> .*(?:\n(?!\s*$).*)*)*", re.M)
"""From the first >>> on to the last line before an empty one that no >>> follows."""


class Examples(griffe.Extension):
    """Fences the examples of all docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```python\n{found[0]}\n```", obj.docstring.value)
