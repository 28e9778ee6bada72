"""`tellwhen shell`: paste an event, see what it matches, and ask why not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import tellwhen as tw
from tellwhen.cli.console_output import command, out, told
from tellwhen.cli.match_commands import IndexPath, known_id
from tellwhen.errors import TellwhenError, pluralize

HELP = """paste an event as JSON to see what it matches; then
  why [not] ID    why the subscription matches it, or why not
  top [K]         the best K, with their scores
  show ID         the expression of a subscription
  add ID EXPR     add a subscription, or replace one, for this session only
  find NAME       subscriptions that mention an attribute
  help, quit"""

SHOWN = 20


@command
def shell(index: IndexPath) -> None:
    """Paste events, see their matches, and ask why not.

    Example: tellwhen shell index
    """
    session = Session(tw.Index.load(index))
    told.print(f"{session.index}; help tells what to ask", markup=False)
    with suppress(ImportError):
        import readline  # noqa: F401  lines can be edited and come back with the arrow keys
    while True:
        try:
            line = _asked()
        except EOFError:
            told.print()
            return
        except KeyboardInterrupt:  # only the line is given up
            told.print()
            continue
        if line in ("quit", "exit"):
            return
        if line:
            out.print(session.answer(line), markup=False, soft_wrap=True)


def _asked() -> str:
    """What is typed: a line, or an event that goes over several."""
    is_seen = sys.stdin.isatty()
    line = input("> " if is_seen else "").strip()
    while line.startswith("{") and not _is_whole(line):
        try:
            line += "\n" + input("  " if is_seen else "")
        except EOFError:
            break
    return line


def _is_whole(text: str) -> bool:
    """Is it JSON, or so broken that more of it would not help?"""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos < len(text.rstrip())
    except RecursionError:
        return True
    return True


class Session:
    """An index, and the event that was pasted last."""

    def __init__(self, index: tw.Index) -> None:
        self.index = index
        self.event: dict[str, Any] | None = None

    def answer(self, line: str) -> str:
        """What is said to a line."""
        word, _, rest = line.partition(" ")
        known: dict[str, Callable[[str], str]] = {
            "why": self._why, "top": self._top, "show": self._show, "add": self._add, "find": self._find,
            "help": lambda _: HELP,
        }  # fmt: skip
        try:
            if line.startswith("{"):
                return self._event(line)
            if word not in known:
                return f"{word} is no event, and nothing that can be asked; help tells what can"
            return known[word](rest.strip())
        except (TellwhenError, RecursionError) as error:
            return str(error)

    def _event(self, line: str) -> str:
        try:
            self.event = json.loads(line)
        except ValueError as error:
            return f"this is no JSON: {error}"
        ids = self.index.match(self.event or {})
        return "\n".join([pluralize(len(ids), "match", "matches"), *self._listed(ids)])

    def _listed(self, ids: list[Any]) -> list[str]:
        more = [f"... and {len(ids) - SHOWN:,} more"] if len(ids) > SHOWN else []
        return [f"  {id_}: {self.index[id_]}" for id_ in ids[:SHOWN]] + more

    def _why(self, id_: str) -> str:
        if self.event is None:
            return "paste an event first"
        if id_.startswith("not ") and id_ not in self.index:
            id_ = id_.removeprefix("not ").strip()
        return str(self.index.explain(known_id(self.index, id_), self.event))

    def _top(self, k: str) -> str:
        if self.event is None:
            return "paste an event first"
        if k and not (k.isdecimal() and len(k) < 10):
            return f"top takes a whole number, not {k}"
        best = self.index.top_k(self.event, int(k or 10))
        return "\n".join(f"  {score:g}  {id_}: {self.index[id_]}" for id_, score in best) or "nothing matches"

    def _show(self, id_: str) -> str:
        return str(self.index[known_id(self.index, id_)])

    def _add(self, rest: str) -> str:
        id_, _, expression = rest.partition(" ")
        self.index.add(id_, expression, replace=True)
        return f"{pluralize(len(self.index), 'subscription')}"

    def _find(self, name: str) -> str:
        return "\n".join(self._listed(self.index.inspect.find_mentions(name))) or "none"
