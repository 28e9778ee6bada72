"""Compilation of kernels, cached on disk under the source that each kernel depends on.

Numba renews the cache of a kernel when the kernel's own file changes, but not when a function that it calls changes in
another file: it would go on running the old one. So the kernels of a module are cached in a directory that is named
after a hash of that module and of all modules of this package that it imports. A change recompiles what depends on it.
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
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numba.core.errors
from numba.core import event, types
from numba.core.compiler_lock import global_compiler_lock

config: Any = numba.config
log = logging.getLogger("tellwhen")

PACKAGE = Path(__file__).parents[1]
IMPORT = re.compile(r"^from tellwhen((?:\.\w+)*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
SLOW_SECONDS = 1.0
"""Log a warning, once per process, when compiling has taken longer than this."""


# the cache on disk


def _list_directories() -> Iterator[Path]:
    """Yield the directories to cache in, in order of preference.

    NUMBA_CACHE_DIR, beside the code, the user's cache, and a directory of this user's for temporary files.
    """
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
    """Return whether the directory is among the temporary files of all users."""
    try:
        return Path(tempfile.gettempdir()) in directory.parents
    except OSError:
        return False


def _is_private(directory: Path) -> bool:
    """Return whether only this user can write to the directory. Code from a cache is executed, so others must not."""
    if not hasattr(os, "getuid"):
        return True
    status = directory.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _find_writable_directory() -> Path | None:
    for directory in _list_directories():
        if _is_writable(directory) and (not _is_temporary(directory) or _is_private(directory)):
            return directory
    return None


def find_cache_directory() -> Path | None:
    """Return the directory of compiled kernels, or None if no directory is writable."""
    directory = _find_writable_directory()
    return None if directory is None else directory / "kernels"


@cache
def _fingerprint(file: Path) -> str:
    """Hash the source of a module and of all modules that it imports from this package."""
    digest = hashlib.sha256(f"{numba.__version__} {config.BOUNDSCHECK} {config.OPT}".encode())
    # The version of the package: a class of arrays may have moved since, and what is cached names it.
    digest.update((PACKAGE / "__init__.py").read_bytes())
    for source in sorted(_collect_sources(file)):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _collect_sources(file: Path) -> set[Path]:
    sources, pending = set(), [file]
    while pending:
        source = pending.pop()
        if source not in sources:
            sources.add(source)
            pending += _list_imports(source)
    return sources


@cache
def _list_imports(file: Path) -> list[Path]:
    """List the modules of this package that a file imports, or imports names from."""
    found = []
    for dotted, names in IMPORT.findall(file.read_text(encoding="utf-8")):
        module = PACKAGE.joinpath(*dotted.split(".")[1:])
        found += [module.with_suffix(".py"), *(module / f"{name}.py" for name in re.findall(r"\w+", names))]
    return [path for path in found if path.is_file()]


@cache
def _find_directory(file: Path) -> Path | None:
    """Return the cache directory of a module's kernels, or None if no directory is writable."""
    writable = _find_writable_directory()
    if writable is None:
        return None
    name = Path("kernels") / f"{file.parents[1].name}-{file.parent.name}-{file.stem}-{_fingerprint(file)}"
    for other in _list_directories():
        # Compiled ahead of time, in an image perhaps, where nothing can be written now. Numba insists on writing.
        if other == writable:
            break
        if (other / name).is_dir() and not (writable / name).exists():
            _copy(other / name, writable / name)
    return writable / name


def _copy(source: Path, target: Path) -> None:
    """Copy a directory whole or not at all. Another process may do the same at the same time."""
    aside = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
    try:
        shutil.copytree(source, aside)
        aside.rename(target)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)


# compiling


class _Notice(event.Listener):
    """Logs a warning when compiling takes long, because the first call would otherwise block silently."""

    def __init__(self) -> None:
        self._depth = 0
        self._started = 0.0
        self._seconds = 0.0  # of all that was compiled so far
        self._timer: threading.Timer | None = None
        self._has_logged = False

    def on_start(self, started: event.Event) -> None:
        self._depth += 1
        if self._depth == 1 and not self._has_logged:
            self._started = time.perf_counter()
            self._timer = threading.Timer(max(0.0, SLOW_SECONDS - self._seconds), self._log)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, ended: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._seconds += time.perf_counter() - self._started
            self._timer.cancel()
            self._timer = None

    def _log(self) -> None:
        self._has_logged = True
        log.warning(
            "tellwhen: compiling kernels, once on this machine; `tellwhen warm` does it ahead of time (cache: %s)",
            _find_writable_directory() or "none, since no directory can be written: set NUMBA_CACHE_DIR",
        )


event.register("numba:compile", _Notice())


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    directory = _find_directory(Path(function.__code__.co_filename))
    # Numba looks at the setting when it decorates: restored at once, so that nobody else's cache moves.
    before = config.CACHE_DIR
    config.CACHE_DIR = str(directory or "")
    try:
        compiled = numba.njit(cache=directory is not None, nogil=True, **options)(function)
    finally:
        config.CACHE_DIR = before
    _compile_once_for_all_numbers(compiled)
    return compiled


def _compile_once_for_all_numbers(compiled: Any) -> None:
    """Make Numba compile a function for the type of a constant argument, not once more for each constant.

    In most cases Numba would not use the version for a constant, because type inference starts with the constant and
    ends with its type.
    """
    template_of = compiled.get_call_template

    def get_template(arguments: Iterable[Any], named: Mapping[str, Any]) -> Any:
        named = {name: types.unliteral(type_) for name, type_ in named.items()}
        return template_of([types.unliteral(type_) for type_ in arguments], named)

    compiled.get_call_template = get_template


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function of arrays. It releases the GIL while it runs."""
    return _compile(function)


def inline(function: Callable[..., Any]) -> Any:
    """Compile a part of kernels, which is always inlined."""
    return _compile(function, forceinline=True)


def is_compiled_or_cached(compiled: Any) -> bool:
    """Return whether the kernel can be called without compiling it first."""
    return bool(compiled.overloads) or _is_cached(compiled)


@cache
def _is_cached(compiled: Any) -> bool:
    """Return whether another process has compiled the kernel. The disk is read once."""
    directory = _find_directory(Path(compiled.py_func.__code__.co_filename))
    return directory is not None and any(directory.rglob(f"*.{compiled.__name__}-*.nbi"))


# Numba formats type errors while it compiles, also those that it catches. If colorama is installed, Numba replaces
# sys.stdout and sys.stderr meanwhile, for all threads: a thread that redirects them at this moment loses its output.
if hasattr(numba.core.errors, "ColorShell"):
    numba.core.errors.ColorShell = nullcontext

# A fork while another thread compiles would leave the child with a lock that nobody releases, and with half a function:
# the fork waits for it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
