"""The background thread of an index: it ends when there is no more work, and a later change starts another one.

The thread takes a piece of work from the index, runs it without any lock, and hands it back. While the work runs, the
thread has no reference to the index, so that an unused index can be freed. When the process exits, the thread stops
after the step that it is running.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

from tellwhen.index.maintenance.upkeep import ShardUpkeep

log = logging.getLogger("tellwhen")

TakeWork = Callable[[], ShardUpkeep | None]
"""Returns the next piece of work; None if there is no more, after which the thread ends."""

FinishWork = Callable[[ShardUpkeep], bool]
"""Applies the result of a piece of work to the index; returns False if the work must first run another round."""

_running: set[threading.Thread] = set()
_is_exiting = threading.Event()


def start(take: TakeWork, finish: FinishWork) -> threading.Thread | None:
    """Start a thread that runs work until there is no more.

    Parameters
    ----------
    take, finish
        Bound methods of the index; the thread has only weak references to them.

    Returns
    -------
    Thread or None
        None if the system starts no more threads. The next change tries again.
    """
    thread = threading.Thread(
        target=_run_work, args=(WeakMethod(take), WeakMethod(finish)), name="tellwhen upkeep", daemon=True
    )
    _running.add(thread)
    try:
        thread.start()
    except BaseException as error:
        _running.discard(thread)
        if not isinstance(error, RuntimeError):
            raise
        log.warning("tellwhen: no thread can be started for the upkeep of an index: %s; matching may be slow", error)
        return None
    return thread


def _run_work(take: WeakMethod[TakeWork], finish: WeakMethod[FinishWork]) -> None:
    try:
        while not _is_exiting.is_set() and (work := _call(take)) is not None:
            work.run()
            while _call(finish, work) is False and not _is_exiting.is_set():
                work.run()
    except ProcessExit:
        pass
    except Exception:
        # The index is unchanged; only matching is slower than it could be.
        log.exception("tellwhen: the upkeep of an index failed; call rebuild() to do it now")
    finally:
        _running.discard(threading.current_thread())


def _call(method: WeakMethod[Any], *arguments: Any) -> Any:
    """Call a method and return its result; None if the object was freed."""
    bound_method = method()
    return None if bound_method is None else bound_method(*arguments)


class ProcessExit(Exception):
    """Signal that upkeep ends because the process exits."""


def raise_if_exiting() -> None:
    """Raise ProcessExit if the process is exiting."""
    if _is_exiting.is_set():
        raise ProcessExit


@atexit.register
def _join_threads() -> None:
    """Wait for all threads: one that runs compiled code when the interpreter exits would crash the process."""
    _is_exiting.set()
    for thread in list(_running):
        thread.join()
