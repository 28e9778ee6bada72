"""What is in a stream of server-sent events? Fed with lines, it gives messages."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Message(NamedTuple):
    """`match`, with an `event` and the ids of its `matches`; or `lost`, with a `count` of messages that this reader was
    too slow for."""

    kind: str
    data: dict[str, Any]


class Reader:
    """Puts lines together."""

    def __init__(self) -> None:
        self._kind = "message"
        self._data: list[str] = []

    def feed(self, line: str) -> Message | None:
        """The message that ends with this line, if one does."""
        if line == "":
            found = Message(self._kind, json.loads("\n".join(self._data))) if self._data else None
            self._kind, self._data = "message", []
            return found
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        return None
