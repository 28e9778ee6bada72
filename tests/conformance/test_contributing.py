"""Is adding an engine one folder, as CONTRIBUTING.md says? Its example is written to a folder, found and checked."""

import re
from importlib import import_module

import pytest

import tellwhen as tw
from support import ROOT
from tellwhen import engines
from tellwhen.engines.base import REGISTRY
from tellwhen.testing.engine_checks import check_engine


@pytest.fixture
def linear(tmp_path, monkeypatch):
    """The example, importable as a part of the package; at the end it is gone."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    blocks = re.findall(r"```python\n# engines/(linear/\w+\.py)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in blocks] == [f"linear/{name}.py" for name in ("__init__", "arrays", "kernels", "engine")]
    for name, source in blocks:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(tmp_path)])
    import_module("tellwhen.engines.linear")
    yield "linear"
    REGISTRY.pop("linear", None)


@pytest.mark.slow
def test_the_example_is_an_engine(linear, tmp_path):
    assert "linear" in [info.name for info in tw.list_engines()]
    check_engine(linear, seed=1, rounds=4)
    index = tw.Index(linear).add_many((i, f"n > {i} OR s = 'x'") for i in range(100))
    index.save(tmp_path / "saved")
    assert tw.Index.load(tmp_path / "saved").remove(3).match({"n": 5}) == [0, 1, 2, 4]
