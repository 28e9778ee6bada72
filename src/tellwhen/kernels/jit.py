"""How is a kernel compiled? Once for every state of the source it depends on, and kept on disk.

Numba renews the cache of a kernel when the kernel's own file changes, but not when a function that it calls changes in
another file: it would go on running the old one. So the kernels of a module are cached in a directory named after the
content of that module and of all modules of this package that it imports. Changing one recompiles what depends on it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import stat
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import event, types
from numba.core.compiler_lock import global_compiler_lock

config: Any = numba.config
log = logging.getLogger("tellwhen")

PACKAGE = Path(__file__).parents[1]
IMPORT = re.compile(r"^from tellwhen((?:\.\w+)*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
SLOW_SECONDS = 1.0
"""Compiling for longer than this is reported, once per process."""


# where compiled kernels are kept


def _places() -> Iterator[Path]:
    """Where the user says, beside the code, in the user's cache, or in one place of this user's for temporary files."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield PACKAGE / "__pycache__"
    with suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "tellwhen"
    with suppress(OSError):  # no directory for temporary files
        yield Path(tempfile.gettempdir()) / f"tellwhen-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"


def _is_writable(directory: Path) -> bool:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _is_temporary(directory: Path) -> bool:
    """Is it among the temporary files of all users?"""
    try:
        return Path(tempfile.gettempdir()) in directory.parents
    except OSError:
        return False


def _is_private(directory: Path) -> bool:
    """Only this user can have put something there: what is loaded from a cache is run."""
    if not hasattr(os, "getuid"):
        return True
    found = directory.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _writable_place() -> Path | None:
    for place in _places():
        if _is_writable(place) and (not _is_temporary(place) or _is_private(place)):
            return place
    return None


def cache_directory() -> Path | None:
    """Where compiled kernels are kept; None if no directory can be written."""
    place = _writable_place()
    return None if place is None else place / "kernels"


@cache
def _fingerprint(file: Path) -> str:
    """A hash of a module's source and of all that it imports from this package."""
    digest = hashlib.sha256(f"{numba.__version__} {config.BOUNDSCHECK} {config.OPT}".encode())
    # The version of the package: a class of arrays may have moved since, and what is cached names it.
    digest.update((PACKAGE / "__init__.py").read_bytes())
    for source in sorted(_with_imports(file)):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _with_imports(file: Path) -> set[Path]:
    found, todo = set(), [file]
    while todo:
        source = todo.pop()
        if source not in found:
            found.add(source)
            todo += _imports(source)
    return found


@cache
def _imports(file: Path) -> list[Path]:
    """The modules of this package that a file imports from, or imports."""
    found = []
    for dotted, names in IMPORT.findall(file.read_text(encoding="utf-8")):
        module = PACKAGE.joinpath(*dotted.split(".")[1:])
        found += [module.with_suffix(".py"), *(module / f"{name}.py" for name in re.findall(r"\w+", names))]
    return [path for path in found if path.is_file()]


@cache
def _directory(file: Path) -> Path | None:
    """Where the kernels of a module are cached; None if nothing can be written anywhere."""
    place = _writable_place()
    if place is None:
        return None
    name = Path("kernels") / f"{file.parents[1].name}-{file.parent.name}-{file.stem}-{_fingerprint(file)}"
    for other in _places():
        # Compiled ahead of time, in an image perhaps, where nothing can be written now. Numba insists on writing.
        if other == place:
            break
        if (other / name).is_dir() and not (place / name).exists():
            _copy(other / name, place / name)
    return place / name


def _copy(source: Path, target: Path) -> None:
    """Whole or not at all; another process may do the same at the same time."""
    aside = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
    try:
        shutil.copytree(source, aside)
        aside.rename(target)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)


# compiling


class _Notice(event.Listener):
    """Says what is going on when compiling takes long: the first call of a new user would otherwise be silent."""

    def __init__(self) -> None:
        self._depth = 0
        self._started = 0.0
        self._seconds = 0.0  # of all that was compiled so far
        self._timer: threading.Timer | None = None
        self._is_said = False

    def on_start(self, started: event.Event) -> None:
        self._depth += 1
        if self._depth == 1 and not self._is_said:
            self._started = time.perf_counter()
            self._timer = threading.Timer(max(0.0, SLOW_SECONDS - self._seconds), self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, ended: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._seconds += time.perf_counter() - self._started
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        self._is_said = True
        log.warning(
            "tellwhen: compiling kernels, once on this machine; `tellwhen warm` does it ahead of time (cache: %s)",
            _writable_place() or "none, since no directory can be written: set NUMBA_CACHE_DIR",
        )


event.register("numba:compile", _Notice())


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    directory = _directory(Path(function.__code__.co_filename))
    # Numba looks at the setting when it decorates: restored at once, so that nobody else's cache moves.
    before = config.CACHE_DIR
    config.CACHE_DIR = str(directory or "")
    try:
        made = numba.njit(cache=directory is not None, nogil=True, **options)(function)
    finally:
        config.CACHE_DIR = before
    _compile_no_literals(made)
    return made


def _compile_no_literals(compiled: Any) -> None:
    """Compile a function once for all numbers. Numba would also compile it for each constant that it is called with,
    and then, in most cases, not use that: type inference starts with the constant and ends with a number."""
    template_of = compiled.get_call_template

    def of_types(arguments: Iterable[Any], named: Mapping[str, Any]) -> Any:
        named = {name: types.unliteral(type_) for name, type_ in named.items()}
        return template_of([types.unliteral(type_) for type_ in arguments], named)

    compiled.get_call_template = of_types


def kernel(function: Callable[..., Any]) -> Any:
    """A function of arrays, compiled, that lets other threads run."""
    return _compiled(function)


def inline(function: Callable[..., Any]) -> Any:
    """A part of kernels, always compiled into them."""
    return _compiled(function, forceinline=True)


def is_compiled(compiled: Any) -> bool:
    """Can the kernel be called without compiling it first?"""
    return bool(compiled.overloads) or _is_cached(compiled)


@cache
def _is_cached(compiled: Any) -> bool:
    """Was it compiled by another process, before this one asked? The disk is looked at once."""
    directory = _directory(Path(compiled.py_func.__code__.co_filename))
    return directory is not None and any(directory.rglob(f"*.{compiled.__name__}-*.nbi"))


# A fork while another thread compiles would leave the child with a lock that nobody releases, and with half a function:
# the fork waits for it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
