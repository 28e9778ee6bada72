"""Do the old names of the package still work, and warn?"""

import pytest

from tellwhen import spark as tws
from tellwhen.errors import FormatError

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("frames", "convert_profile"),
        ("matching", "make_matcher"),
        ("register", "register_functions"),
        ("session", "start_session"),
        ("unmatched_attributes", "check_attributes"),
        ("versions", "list_versions"),
    ],
)
def test_an_old_name_warns(old, new):
    with pytest.warns(DeprecationWarning, match=f"spark.{old} is deprecated .* use tellwhen.spark.{new} instead"):
        assert getattr(tws, old) is getattr(tws, new)


def test_explain_is_choose_plan_for_one_version(tmp_path):
    message = "use tellwhen.spark.choose_plan.* why an expression is true or false"
    with pytest.warns(DeprecationWarning, match=message), pytest.raises(FormatError, match="there is no index"):
        tws.explain(tmp_path)


def test_all_names_are_exported():
    assert [name for name in tws.__all__ if not hasattr(tws, name)] == []
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tws.nothing
