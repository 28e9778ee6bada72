"""How is an answer written? As JSON that every reader takes."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json


def json_bytes(content: Any) -> bytes:
    """JSON has no infinity: null is in its place. In ASCII: some who read lines end them at any character for that."""
    return to_json(content, ensure_ascii=True, inf_nan_mode="null")
