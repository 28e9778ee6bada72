"""Lower bounds and Pythons that `make test-versions` tests."""

import sys
import tomllib

import pytest
from tools.version_matrix import ROOT, find_python, read_lower_bounds


def test_lower_bounds_of_a_project():
    project = {
        "name": "tellwhen",
        "dependencies": ["numpy>=1.26"],
        "optional-dependencies": {"spark": ["pandas>=2.2,<3"], "demo": ["tellwhen[spark]"], "test": ["pytest>=9"]},
    }
    assert list(read_lower_bounds(project)) == ["numpy==1.26", "pandas==2.2"]


def test_a_dependency_without_a_lower_bound_is_rejected():
    project = {"name": "tellwhen", "dependencies": ["numpy"], "optional-dependencies": {}}
    with pytest.raises(SystemExit, match="numpy needs one lower bound"):
        list(read_lower_bounds(project))


def test_every_dependency_of_users_has_a_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(set(read_lower_bounds(project))) > 15


def test_a_missing_python_is_named():
    with pytest.raises(SystemExit, match="no Python 3.98 to 3.99 found"):
        find_python([98, 99])


def test_the_first_python_that_runs_is_found():
    assert f"3.{sys.version_info.minor}" in find_python([99, sys.version_info.minor])
