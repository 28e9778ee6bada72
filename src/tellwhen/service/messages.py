"""What is told to those who listen? Messages of server-sent events, each written once for all who hear of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tellwhen.service.json_output import json_bytes


class News:
    """An event, and the ids of what it matched."""

    def __init__(self, event: Mapping[str, Any], matches: list[Any]) -> None:
        self.event, self.matches = event, matches

    @cached_property
    def written(self) -> bytes:
        return message("match", {"event": self.event, "matches": self.matches})


def message(kind: str, data: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), json_bytes(data))
