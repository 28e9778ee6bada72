"""On what machine, with which versions, was something measured?"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any


def facts() -> dict[str, str]:
    """The machine, the versions, the commit and the day."""
    from tellwhen.engines.shared.threads import (
        count_cores,  # here: peers use this module where tellwhen is not installed
    )

    return {
        "processor": _processor(),
        "cores": str(count_cores()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("tellwhen", "numpy", "numba")},
        "commit": commit(Path(__file__).parent),
        "day": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def resident(pid: int | str = "self") -> int:
    """Resident bytes of a process; 0 if it has just ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def doing(what: str, engine: str | None = None) -> dict[str, Any]:
    """A step of a measurement, as its parent process is told when it begins."""
    return {"doing": what, "engine": engine, "resident": resident()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def commit(folder: Path) -> str:
    """The commit of a checkout."""
    found = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return found.stdout.strip() or "unknown"
