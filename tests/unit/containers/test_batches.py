"""Events without a second value of an attribute are single-valued."""

import numpy as np
import pytest

from tellwhen.containers.batches import find_single_valued

pytestmark = pytest.mark.late


def test_single_valued_events():
    start, domain = np.array([0, 1, 2, 2, 4, 6]), np.array([3, 3, 5, 5, 5, 6], dtype=np.int32)
    assert find_single_valued(start, domain).tolist() == [1, 1, 1, 0, 1]
    assert find_single_valued(np.zeros(3, np.int64), domain[:0]).tolist() == [1, 1]
