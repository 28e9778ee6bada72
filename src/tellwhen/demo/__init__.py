"""The demo: one story of a marketplace, in this process, on Spark, and on a page."""

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

from tellwhen.errors import MissingPackageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path("tellwhen-demo")
OUTPUTS = (
    "subscriptions.jsonl",
    "listings.jsonl",
    "quarantine",
    "index",
    "matches",
    "joined",
    "report.html",
    "spark.log",
)
REQUIRED_PACKAGES = ("altair", "jinja2", "pandas", "pyspark", "vl_convert")
SUBSCRIPTION_COUNT, LISTING_COUNT = 40_000, 8_000


def check_requirements() -> None:
    """Raise an error that says what to install, before any step that takes time."""
    missing = [name for name in REQUIRED_PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingPackageError(f"the demo needs {', '.join(missing)}: `pip install 'tellwhen[demo]'`")
    from tellwhen.spark.sessions import set_java

    set_java(dict(os.environ))  # a copy, because this only checks that a Java is there


def run(
    console: Console, folder: Path = FOLDER, subscriptions: int = SUBSCRIPTION_COUNT, listings: int = LISTING_COUNT
) -> Path:
    """Run all parts of the demo; return the file of the page."""
    check_requirements()
    from tellwhen.demo import market, page, pipeline, speed, story  # some need PySpark

    folder.mkdir(parents=True, exist_ok=True)
    for name in OUTPUTS:  # of an earlier demo; other files in the folder stay
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).unlink(missing_ok=True)
    # The first part keeps one core busy, so the kernels of the other engines are compiled beside it.
    compiling = subprocess.Popen([sys.executable, "-m", "tellwhen", "warm", *speed.RIVALS], stdout=subprocess.DEVNULL)
    with ThreadPoolExecutor(1) as pool:
        spark_start = pool.submit(_start_spark, folder / "spark.log")
        with console.status(f"Generating a marketplace of {subscriptions:,} subscriptions ..."):
            market.write_files(folder, subscriptions, listings)
        with console.status("Indexing it; the first time, kernels are compiled, which takes up to a minute ..."):
            build = story.build_index(folder)
        result = story.show_story(build, console)
        latency = speed.measure_latency(build.market, folder, console)
        spark = spark_start.result()
    try:
        pipeline_result = pipeline.run_pipeline(spark, folder, build.market, console)
        console.print("\n[bold]And compared with the alternatives?[/bold]")
        rival = speed.compare_with_join(spark, folder, console)
    finally:
        spark.stop()
    compiling.wait()
    engines = speed.compare_engines(build.market, folder, console)
    file = page.write_page(folder / "report.html", build, result, latency, pipeline_result, rival, engines)
    console.print(f"\nA page to show to a colleague: [bold]{file}[/bold]", highlight=False, soft_wrap=True)
    return file


def _start_spark(log: Path) -> SparkSession:
    from tellwhen import spark as tws

    with _redirect_errors(log):  # a user need not act on what Java prints while it starts
        return tws.start_session("tellwhen demo")


@contextmanager
def _redirect_errors(log: Path) -> Iterator[None]:
    """Redirect the standard error of processes that start inside the block to a file."""
    before = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
