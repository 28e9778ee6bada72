"""`python -m tellwhen`: the command line."""

from tellwhen.cli import app

if __name__ == "__main__":
    app(prog_name="tellwhen")
