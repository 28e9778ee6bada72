"""`python -m tellwhen`: the command line."""

from tellwhen.cli import app

app(prog_name="tellwhen")
