"""What does `tellwhen demo` show? The example of the README, then a bookshop in the pipeline on Spark."""

from __future__ import annotations

import io
import os
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from tellwhen.errors import TellwhenError

FOLDER = Path("tellwhen-demo")
NEEDED = ("altair", "jinja2", "pandas", "pyspark", "vl_convert")


def check() -> None:
    """Raise an error that says what to install, before anything that takes time."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise TellwhenError(f"the demo needs {', '.join(missing)}: `pip install 'tellwhen[demo]'`")
    from tellwhen.spark.sessions import set_java

    set_java(dict(os.environ))  # a copy: only to see whether there is a Java to start


def run(console: Console) -> None:
    """Run both parts."""
    check()
    from tellwhen.demo import example, pipeline  # need PySpark

    with console.status("Compiling the kernels; the first time takes a minute ..."):
        example.show(Console(file=io.StringIO()))
    example.show(console)
    pipeline.show(console, FOLDER)
