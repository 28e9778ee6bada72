"""Fences around the examples in docstrings, so that the reference shows each example (lines with >>>) as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*(?:\n+>>> .*(?:\n(?!\s*$).*)*)*", re.M)
"""Matches from the first >>> to the last line before an empty line without a >>> after it."""


class Examples(griffe.Extension):
    """Extension of Griffe that fences the examples of all docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda example: f"```python\n{example[0]}\n```", obj.docstring.value)
