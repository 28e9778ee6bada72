"""Output, progress, errors and exit codes of commands."""

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

EXIT_FAILED, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 1, 130, 141
"""Exit codes: faulty input; Ctrl-C; the reader of the output has closed it. Another signal: 128 + its number."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError`, as `print` does, instead of ending with the exit code of rich."""
        raise BrokenPipeError


out = _Console(highlight=False)
"""Console for results."""
err = _Console(stderr=True, highlight=False)
"""Console for messages to people: errors, progress and summaries."""


def command(run: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a command so that it reports an error in one sentence and ends with an exit code."""

    @wraps(run)
    def run_command(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
                stream.reconfigure(encoding="utf-8")  # whatever the locale is, because trees have box characters
        try:
            with _exit_on_signals(), _mute_logs():
                return run(*args, **kwargs)
        except TellwhenError as error:
            fail(error)
        except BrokenPipeError:
            # Otherwise Python reports the closed pipe again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(EXIT_BROKEN_PIPE) from None
        except KeyboardInterrupt:
            err.print("stopped")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except (OSError, pa.ArrowException) as error:
            fail(f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error)

    return run_command


LOG_LEVELS = {"tellwhen": logging.ERROR, "tellwhen.index.payloads": logging.WARNING, "tellwhen.spark": logging.WARNING}
"""Levels during a command, which shows its own progress, and counts of faulty values only at its end."""


@contextmanager
def _mute_logs() -> Iterator[None]:
    logs = {logging.getLogger(name): level for name, level in LOG_LEVELS.items()}
    before = {log: log.level for log in logs}
    try:
        for log, level in logs.items():
            log.setLevel(level)
        yield
    finally:
        for log, level in before.items():
            log.setLevel(level)


class _Terminated(BaseException):
    """Raised when a signal asks the process to end."""

    def __init__(self, signal: int) -> None:
        self.signal = signal


def _raise_terminated(signal: int, *_: object) -> NoReturn:
    raise _Terminated(signal)


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exit that removes half-written files first, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A signal that is ignored stays ignored, so that nohup works.
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, _raise_terminated) for number in numbers}
    try:
        yield
    except _Terminated as terminated:
        raise SystemExit(128 + terminated.signal) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def fail(reason: object) -> NoReturn:
    """Print the reason in red and end the command with `EXIT_FAILED`."""
    err.print(f"[red]{escape(str(reason))}[/red]", soft_wrap=True)
    raise typer.Exit(EXIT_FAILED)


class ProgressLine:
    """One line of progress: the current step, how far it is, and the time since the start."""

    def __init__(self, display: Progress, step: str) -> None:
        self._display = display
        self._task = display.add_task(step, count="")
        self._count = 0

    def advance(self, count: int) -> None:
        """Add to the number of items that are done."""
        self._count += count
        self.show_amount(f"{self._count:,}")

    def show_amount(self, amount: str) -> None:
        """Show how far the current step is."""
        self._display.update(self._task, count=amount)

    def start_step(self, step: str) -> None:
        """Show the name of the next step, which is not counted."""
        self._display.update(self._task, description=step, count="")


@contextmanager
def show_progress(step: str) -> Iterator[ProgressLine]:
    """Show a line of progress while the block runs, if the standard error is a terminal."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[count]}"), TimeElapsedColumn()
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as display:
        yield ProgressLine(display, step)


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(json.dumps(value, ensure_ascii=False, default=str))
