"""Which slots of a snapshot are not removed?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tellwhen.kernels.arrays import I32, Snapshot


def is_alive(snapshot: Snapshot, slots: I32) -> NDArray[np.bool_]:
    """For each of the slots: is it not removed?"""
    return snapshot.subscriptions.died[slots] > snapshot.version


def alive(snapshot: Snapshot, slots: I32) -> I32:
    """Those of the slots that are not removed."""
    return slots[is_alive(snapshot, slots)]
