"""Entry point of `python -m bench`: list, run, report and compare the papers' experiments."""

from bench.commands import app

app(prog_name="python -m bench")
