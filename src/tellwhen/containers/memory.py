"""Return of freed memory to the operating system."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any


@cache
def _find_malloc_trim() -> Any:
    with suppress(OSError, AttributeError):
        return ctypes.CDLL(None).malloc_trim
    return None


def release_memory() -> None:
    """Return freed memory to the operating system after a large build.

    glibc keeps what lies between live arrays, which is several times the size of an index.
    """
    trim = _find_malloc_trim()
    if trim is not None:
        trim(0)
