"""Messages of live matches, and the parser of server-sent events that reads them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Message(NamedTuple):
    """A message about live matches, which `Client.listen` yields.

    Attributes
    ----------
    kind : str
        "match" for an event with its matches; "lost" if the service dropped messages, because this client read too
        slowly.
    data : dict
        For "match", the `event` and the ids of its `matches`. For "lost", the `count` of dropped messages.
    """

    kind: str
    data: dict[str, Any]


class MessageParser:
    """Parser of a stream of server-sent events, line by line."""

    def __init__(self) -> None:
        self._kind = "message"
        self._data: list[str] = []

    def feed(self, line: str) -> Message | None:
        """Read a line; return the message that the line completes, if any."""
        if line == "":
            message = Message(self._kind, json.loads("\n".join(self._data))) if self._data else None
            self._kind, self._data = "message", []
            return message
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        return None
