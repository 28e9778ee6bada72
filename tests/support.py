"""What several tests share: the cases of LANGUAGE.md, and JSON with the values that JSON cannot write."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from pathlib import Path
from typing import Any

import tellwhen as tw

ROOT = Path(__file__).parent.parent
WORDS = {"true": True, "false": False, "undefined": None}
SPECIAL = {
    "$date": dt.date.fromisoformat,
    "$timestamp": dt.datetime.fromisoformat,
    "$interval": lambda ends: tw.Interval(*ends),
    "$nan": lambda _: math.nan,
}


def special(value: dict[str, Any]) -> Any:
    """`json.loads` hook: {"$date": ...} and the like."""
    (key, *_) = value or {"": None}
    return SPECIAL[key](value[key]) if key in SPECIAL else value


def documented() -> list[tuple[str, str, str, str]]:
    """The examples of LANGUAGE.md: heading, expression, event, value."""
    found = []
    heading, inside = "", False
    for line in (ROOT / "LANGUAGE.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("```"):
            inside = line == "```example"
        elif inside:
            expression, event, value = re.split(r" \| ", line)
            found.append((heading, expression, event, value))
    return found


def cases() -> list[dict[str, str]]:
    """All cases in tests/cases."""
    files = sorted((ROOT / "tests" / "cases").glob("*.json"))
    return [case for file in files for case in json.loads(file.read_text())]
