"""What does `tellwhen demo` show? One story of a marketplace: in this process, on Spark, and on a page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tellwhen.errors import TellwhenError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path("tellwhen-demo")
WRITTEN = (
    "subscriptions.jsonl",
    "listings.jsonl",
    "quarantine",
    "index",
    "matches",
    "joined",
    "report.html",
    "spark.log",
)
NEEDED = ("altair", "jinja2", "pandas", "pyspark", "vl_convert")
SUBSCRIPTIONS, LISTINGS = 40_000, 8_000


def check() -> None:
    """Raise an error that says what to install, before anything that takes time."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise TellwhenError(f"the demo needs {', '.join(missing)}: `pip install 'tellwhen[demo]'`")
    from tellwhen.spark.sessions import set_java

    set_java(dict(os.environ))  # a copy: only to see whether there is a Java to start


def run(console: Console, folder: Path = FOLDER, subscriptions: int = SUBSCRIPTIONS, listings: int = LISTINGS) -> Path:
    """Tell the story; returns the file of the page."""
    check()
    from tellwhen.demo import market, page, pipeline, speed, story  # some need PySpark

    folder.mkdir(parents=True, exist_ok=True)
    for name in WRITTEN:  # by an earlier demo; other files there are somebody's own
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).unlink(missing_ok=True)
    # Beside the first part, which keeps one core busy.
    compiling = subprocess.Popen([sys.executable, "-m", "tellwhen", "warm", *speed.RIVALS], stdout=subprocess.DEVNULL)
    with ThreadPoolExecutor(1) as aside:
        starting = aside.submit(_started, folder / "spark.log")
        with console.status(f"Making a marketplace of {subscriptions:,} subscriptions ..."):
            market.write(folder, subscriptions, listings)
        with console.status("Indexing it; the first time, kernels are compiled, which takes up to a minute ..."):
            made = story.index(folder)
        told = story.tell(made, console)
        latency = speed.latencies(made.market, folder, console)
        spark = starting.result()
    try:
        piped = pipeline.show(spark, folder, made.market, console)
        console.print("\n[bold]And beside what one would use instead?[/bold]")
        rival = speed.against_a_join(spark, folder, console)
    finally:
        spark.stop()
    compiling.wait()
    engines = speed.engines(made.market, folder, console)
    file = page.write(folder / "report.html", made, told, latency, piped, rival, engines)
    console.print(f"\nA page to show to a colleague: [bold]{file}[/bold]", highlight=False, soft_wrap=True)
    return file


def _started(log: Path) -> SparkSession:
    from tellwhen import spark as tws

    with _errors_in(log):  # what Java says while it starts is nothing that a user should do something about
        return tws.session("tellwhen demo")


@contextmanager
def _errors_in(log: Path) -> Iterator[None]:
    """The standard error output of processes that start meanwhile goes to a file."""
    before = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
