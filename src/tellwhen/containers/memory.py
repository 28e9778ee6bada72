"""How does memory that is free become free for others, too?"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any


@cache
def _trim() -> Any:
    with suppress(OSError, AttributeError):
        return ctypes.CDLL(None).malloc_trim
    return None


def give_back() -> None:
    """After much work: glibc keeps what was freed between arrays in use, several times what an index needs."""
    trim = _trim()
    if trim is not None:
        trim(0)
