"""What is told to those who listen? Messages of server-sent events, each written once for all who hear of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic_core import from_json, to_json


class News:
    """An event, and the ids of what it matched."""

    def __init__(self, event: Mapping[str, Any], matches: list[Any]) -> None:
        self.event, self.matches = event, matches

    @cached_property
    def written(self) -> bytes:
        return message("match", {"event": self.event, "matches": self.matches})


def message(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {_json(data)}\n\n".encode()


def _json(data: Any) -> str:
    """JSON has no infinity: null is in its place, as in other answers."""
    try:
        return json.dumps(data, allow_nan=False)
    except ValueError:
        return json.dumps(from_json(to_json(data, inf_nan_mode="null")))
