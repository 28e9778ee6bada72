"""How is JSON written? In answers, so that every reader takes it; in files, whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from pydantic_core import to_json


def json_bytes(content: Any) -> bytes:
    """JSON has no infinity: null is in its place. In ASCII: some who read lines end them at any character for that."""
    return to_json(content, ensure_ascii=True, inf_nan_mode="null")


def replace_json(file: Path, content: Any) -> None:
    """Write a file that only its owner may read, whole or not at all."""
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
