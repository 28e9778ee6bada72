"""What `tellwhen demo` shows: the example of the README, then a bookshop through the whole pipeline on Spark."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from tellwhen.demo import example, pipeline

FOLDER = Path("tellwhen-demo")


def run(console: Console) -> None:
    """All of it."""
    with console.status("Compiling the kernels; the first time takes a minute ..."):
        example.show(Console(file=io.StringIO()))
    example.show(console)
    pipeline.show(console, FOLDER)
