"""How does a command end? With an exit code and, if it fails, one sentence that says where and what to do."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

import pyarrow as pa
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tellwhen.errors import TellwhenError

FAILED, STOPPED, CLOSED = 1, 130, 141
"""Exit codes: something is wrong with what was given; Ctrl-C; whoever read the output has gone. Other signals: 128 and
their number."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """As for whatever else is printed: not rich's own exit code."""
        raise BrokenPipeError


out = _Console(highlight=False)
told = _Console(stderr=True, highlight=False)
"""For people: results go to the standard output, all else here."""


def command(run: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A command whose errors are told in one sentence."""

    @wraps(run)
    def running(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
                stream.reconfigure(encoding="utf-8")  # whatever the locale is: trees are drawn with lines
        try:
            with _tidied(), _quiet():
                return run(*given, **named)
        except TellwhenError as error:
            fail(error)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain at its end
            raise typer.Exit(CLOSED) from None
        except KeyboardInterrupt:
            told.print("stopped")
            raise typer.Exit(STOPPED) from None
        except (OSError, pa.ArrowException) as error:
            fail(f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error)

    return running


LEVELS = {"tellwhen": logging.ERROR, "tellwhen.index.payloads": logging.WARNING, "tellwhen.spark": logging.WARNING}
"""A command shows a status of its own: no notice about compiling, and what is counted of events only at its end."""


@contextmanager
def _quiet() -> Iterator[None]:
    logs = {logging.getLogger(name): level for name, level in LEVELS.items()}
    before = {log: log.level for log in logs}
    try:
        for log, level in logs.items():
            log.setLevel(level)
        yield
    finally:
        for log, level in before.items():
            log.setLevel(level)


class _Ended(BaseException):
    """The process shall end."""

    def __init__(self, signal: int) -> None:
        self.signal = signal


def _end(signal: int, *_: object) -> NoReturn:
    raise _Ended(signal)


@contextmanager
def _tidied() -> Iterator[None]:
    """When a supervisor or the terminal ends it, half-written files are removed first, as on Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Not what is ignored: nohup would be in vain.
    heard = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, _end) for one in heard}
    try:
        yield
    except _Ended as ended:
        raise SystemExit(128 + ended.signal) from None
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def fail(reason: object) -> NoReturn:
    """End with an error."""
    told.print(f"[red]{escape(str(reason))}[/red]", soft_wrap=True)
    raise typer.Exit(FAILED)


class Doing:
    """What is shown of something that takes a while: what is done now, how much of it, and since when."""

    def __init__(self, shown: Progress, what: str) -> None:
        self._shown = shown
        self._task = shown.add_task(what, count="")
        self._count = 0

    def advance(self, some: int) -> None:
        """Some more are done."""
        self._count += some
        self.note(f"{self._count:,}")

    def note(self, how_far: str) -> None:
        """So far it is."""
        self._shown.update(self._task, count=how_far)

    def now(self, what: str) -> None:
        """Something else is done now, which nobody counts."""
        self._shown.update(self._task, description=what, count="")


@contextmanager
def progress(what: str) -> Iterator[Doing]:
    """Shows what is being done, where somebody sees it."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[count]}"), TimeElapsedColumn()
    with Progress(*columns, console=told, transient=True, disable=not told.is_terminal) as shown:
        yield Doing(shown, what)


def json_line(value: Any) -> None:
    """One line of JSON on the standard output."""
    print(json.dumps(value, ensure_ascii=False, default=str))
