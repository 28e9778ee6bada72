"""What `tellwhen demo` shows: the example of the README, then a bookshop through the whole pipeline on Spark."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from tellwhen.demo import example, pipeline

FOLDER = Path("tellwhen-demo")


def run(console: Console) -> None:
    """All of it."""
    example.show(console)
    pipeline.show(console, FOLDER)
