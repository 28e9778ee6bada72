"""Messages of a process that measures a point to its parent process, each a line of JSON.

A message begins or ends a turn, announces a step (`make_step`), or has a result: {"row": {"engine": ..., ...}}.
"""

from __future__ import annotations

from typing import Any

from bench.machine import read_resident_bytes

BEGIN_TURN: dict[str, Any] = {"turn": "begin"}
"""The process asks to be the only active one, and then waits for a line on stdin."""

END_TURN: dict[str, Any] = {"turn": "end"}
"""The other processes may be active again."""


def make_step(what: str, engine: str | None = None) -> dict[str, Any]:
    """Return the message that announces a step of a measurement, with the memory that is in use before the step."""
    return {"doing": what, "engine": engine, "resident": read_resident_bytes()}
