"""Does the process of a checkout time the engines of this one?"""

import pytest
from bench.checkout_process import EngineTimer

pytestmark = pytest.mark.late


def test_a_comparison_finds_the_functions_of_this_checkout():
    timer = EngineTimer()
    timer.load({}, 100, 3)
    assert timer.prepare("scan") == {}
    assert timer.time_build("scan")["seconds"] > 0
    assert timer.time_matching("one by one")["seconds"] > 0
