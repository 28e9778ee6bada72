"""Facts about this machine, its processes and this checkout, for the results of measurements."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def describe_machine() -> dict[str, str]:
    """Return the machine, the versions, the commit and the day."""
    # Imported here, because peers use this module where tellwhen is not installed.
    from tellwhen.engines.shared.threads import count_cores

    return {
        "processor": _read_processor(),
        "cores": str(count_cores()),
        "memory": f"{read_memory_size() / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("tellwhen", "numpy", "numba")},
        "commit": describe_commit(Path(__file__).parent),
        "day": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def read_memory_size() -> int:
    """Return the bytes of memory of this machine, or of its container if that has less."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(size, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no container, or no limit
        return size


def read_resident_bytes(pid: int | str = "self") -> int:
    """Return the resident bytes of a process; 0 if the process has just ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _read_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def describe_commit(folder: Path) -> str:
    """Return the commit of a checkout, marked if it has local changes."""
    result = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return result.stdout.strip() or "unknown"
