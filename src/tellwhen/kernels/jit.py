"""How is a kernel compiled? Once for every state of this folder's source, and kept on disk.

Numba renews a kernel's cache when the kernel's own file changes, but not when a function it calls changes in another
file: it would go on running the old one. So the cache directory is named after the content of the whole folder.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

config: Any = numba.config


def _fingerprint() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {config.BOUNDSCHECK}".encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _cache_directory() -> str:
    """Where the user says, beside the code, in the user's cache, or for this process only."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    places = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    places += [Path(__file__).parent / "__pycache__", home / "tellwhen"]
    name = f"kernels-{_fingerprint()}"
    return next((str(place / name) for place in places if _writable(place / name)), tempfile.mkdtemp())


CACHE = _cache_directory()


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    # Numba looks at the setting when it decorates: restored at once, so that nobody else's cache moves.
    before = config.CACHE_DIR
    config.CACHE_DIR = CACHE
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    finally:
        config.CACHE_DIR = before


def kernel(function: Callable[..., Any]) -> Any:
    """A function of arrays, compiled, that other threads can run beside."""
    return _compiled(function)


def inline(function: Callable[..., Any]) -> Any:
    """A part of kernels, always compiled into them. It reads and writes arrays, but makes and returns none.

    So that it need not count references to those it is given, which would cost more than most such parts do.
    """
    return _compiled(function, forceinline=True, _nrt=False)
