"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
SparkOption = Annotated[
    str | None, typer.Option("--spark", help="Run on Spark, with this master: local[*], spark://...")
]
