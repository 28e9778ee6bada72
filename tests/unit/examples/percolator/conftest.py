"""Fixtures of the tests of the converter of percolator queries."""

import runpy
from types import SimpleNamespace

import pytest

from support import ROOT


@pytest.fixture(scope="session")
def percolator():
    """The names of the script."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "examples" / "percolator")))


@pytest.fixture(scope="session")
def fields(percolator):
    return percolator.Fields.from_properties(percolator.PROPERTIES)
