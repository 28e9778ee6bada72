"""The command `shell`: paste an event, see its matches, and ask why a subscription does not match."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import tellwhen as tw
from tellwhen.cli.console_output import command, err, out
from tellwhen.cli.match_commands import IndexPath, resolve_id
from tellwhen.errors import TellwhenError, pluralize

HELP = """paste an event as JSON to see what it matches; then
  why [not] ID    why the subscription matches it, or why not
  top [K]         the best K, with their scores
  show ID         the expression of a subscription
  add ID EXPR     add a subscription, or replace one, for this session only
  find NAME       subscriptions that mention an attribute
  help, quit"""

MATCHES_SHOWN = 20


@command
def shell(index: IndexPath) -> None:
    """Read events from the terminal; print their matches, and explain why a subscription does not match.

    Example: tellwhen shell index
    """
    session = Session(tw.Index.load(index))
    err.print(f"{session.index}; type help for the commands", markup=False)
    with suppress(ImportError):
        import readline  # noqa: F401  enables editing of lines and a history
    while True:
        try:
            line = _read_command()
        except EOFError:
            err.print()
            return
        except KeyboardInterrupt:  # drop the line and go on
            err.print()
            continue
        if line in ("quit", "exit"):
            return
        if line:
            out.print(session.answer(line), markup=False, soft_wrap=True)


def _read_command() -> str:
    """Read a line, or several lines if they begin an event."""
    is_terminal = sys.stdin.isatty()
    line = input("> " if is_terminal else "").strip()
    while line.startswith("{") and not _is_complete(line):
        try:
            line += "\n" + input("  " if is_terminal else "")
        except EOFError:
            break
    return line


def _is_complete(text: str) -> bool:
    """Return whether a text is JSON, or is broken before its end, so that more lines would not mend it."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos < len(text.rstrip())
    except RecursionError:
        return True
    return True


class Session:
    """An index and the last event."""

    def __init__(self, index: tw.Index) -> None:
        self.index = index
        self.event: dict[str, Any] | None = None

    def answer(self, line: str) -> str:
        """Run a command or match an event; return the text to print."""
        word, _, rest = line.partition(" ")
        commands: dict[str, Callable[[str], str]] = {
            "why": self._explain, "top": self._rank, "show": self._show, "add": self._add, "find": self._find,
            "help": lambda _: HELP,
        }  # fmt: skip
        try:
            if line.startswith("{"):
                return self._match_event(line)
            if word not in commands:
                return f"{word} is neither a command nor a JSON event; type help for the commands"
            return commands[word](rest.strip())
        except (TellwhenError, RecursionError) as error:
            return str(error)

    def _match_event(self, line: str) -> str:
        try:
            self.event = json.loads(line)
        except ValueError as error:
            return f"the event is not valid JSON: {error}"
        ids = self.index.match(self.event or {})
        return "\n".join([pluralize(len(ids), "match", "matches"), *self._list_subscriptions(ids)])

    def _list_subscriptions(self, ids: list[Any]) -> list[str]:
        more = [f"... and {len(ids) - MATCHES_SHOWN:,} more"] if len(ids) > MATCHES_SHOWN else []
        return [f"  {id_}: {self.index[id_]}" for id_ in ids[:MATCHES_SHOWN]] + more

    def _explain(self, id_: str) -> str:
        if self.event is None:
            return "paste an event first"
        if id_.startswith("not ") and id_ not in self.index:
            id_ = id_.removeprefix("not ").strip()
        return str(self.index.explain(resolve_id(self.index, id_), self.event))

    def _rank(self, k: str) -> str:
        if self.event is None:
            return "paste an event first"
        if k and not (k.isdecimal() and len(k) < 10):
            return f"top takes a whole number, not {k}"
        best = self.index.top_k(self.event, int(k or 10))
        return "\n".join(f"  {score:g}  {id_}: {self.index[id_]}" for id_, score in best) or "no match"

    def _show(self, id_: str) -> str:
        return str(self.index[resolve_id(self.index, id_)])

    def _add(self, rest: str) -> str:
        id_, _, expression = rest.partition(" ")
        self.index.add(id_, expression, replace=True)
        return f"{pluralize(len(self.index), 'subscription')}"

    def _find(self, name: str) -> str:
        return "\n".join(self._list_subscriptions(self.index.inspect.find_mentions(name))) or "none"
