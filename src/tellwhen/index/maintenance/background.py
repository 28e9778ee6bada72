"""How is an index kept up without anybody waiting? By a thread that lives while there is something to do.

The thread takes a piece of work from the index, runs it without any lock, and hands it back. Meanwhile it holds no
reference to the index, so that an index that is no longer used can be freed. When the process ends, the thread stops
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

Taking = Callable[[], ShardUpkeep | None]
"""Gives the next piece of work. After None the thread ends, and a later change starts another."""

Finishing = Callable[[ShardUpkeep], bool]
"""Takes over what was done; False if there is more to run first."""

_running: set[threading.Thread] = set()
_is_exiting = threading.Event()


def start(take: Taking, finish: Finishing) -> threading.Thread | None:
    """Start a thread that works until there is nothing left to do. `take` and `finish` are methods of the index.

    None if no thread can be started: the next change tries again.
    """
    thread = threading.Thread(
        target=_work, args=(WeakMethod(take), WeakMethod(finish)), name="tellwhen upkeep", daemon=True
    )
    _running.add(thread)
    try:
        thread.start()
    except BaseException as error:
        _running.discard(thread)
        if not isinstance(error, RuntimeError):
            raise
        log.warning("tellwhen: an index is not kept up, since no thread can be started: %s", error)
        return None
    return thread


def _work(take: WeakMethod[Taking], finish: WeakMethod[Finishing]) -> None:
    try:
        while not _is_exiting.is_set() and (work := _called(take)) is not None:
            work.run()
            while _called(finish, work) is False and not _is_exiting.is_set():
                work.run()
    except Exception:
        # Nothing is lost: the index is as it was, and matching is only slower than it could be.
        log.exception("tellwhen: an index could not be kept up; rebuild() does it in the foreground")
    finally:
        _running.discard(threading.current_thread())


def _called(method: WeakMethod[Any], *arguments: Any) -> Any:
    """What it returns; None if its object is gone."""
    there = method()
    return None if there is None else there(*arguments)


@atexit.register
def _wait() -> None:
    """A thread that is in compiled code when the interpreter ends would crash the process."""
    _is_exiting.set()
    for thread in list(_running):
        thread.join()
