"""Encoding of JSON, for responses and for files."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from tellwhen.errors import describe_value
from tellwhen.language import Interval


def encode_json(content: Any) -> bytes:
    """Return JSON in ASCII, with null for infinity and NaN, and an object for an interval.

    ASCII is safe for clients that split a stream at every line separator of Unicode.
    """
    return to_json(content, ensure_ascii=True, inf_nan_mode="null", fallback=_convert_interval)


def _convert_interval(value: Any) -> dict[str, Any]:
    if isinstance(value, Interval):
        return {"low": value.low, "high": value.high, "bounds": value.bounds}
    raise TypeError(f"{describe_value(value)} has no JSON")


def replace_json(file: Path, content: Any) -> None:
    """Replace a file atomically. Only its owner may read it."""
    unfinished = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as out:
            json.dump(content, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
