"""Server-sent events for listeners."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tellwhen.service.json_output import encode_json


class MatchMessage:
    """A published event and the ids of its matches. All listeners with the same matches share one message."""

    def __init__(self, event: Mapping[str, Any], matches: list[Any]) -> None:
        self.event, self.matches = event, matches

    @cached_property
    def encoded(self) -> bytes:
        """The message as a server-sent event, encoded at the first use."""
        return encode_message("match", {"event": self.event, "matches": self.matches})


def encode_message(kind: str, data: Any) -> bytes:
    """Return a server-sent event with data in JSON."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode_json(data))
