"""Slots of a snapshot that are not removed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tellwhen.kernels.arrays import I32, Snapshot


def is_alive(snapshot: Snapshot, slots: I32) -> NDArray[np.bool_]:
    """Return for each slot whether it is not removed."""
    return snapshot.subscriptions.died[slots] > snapshot.version


def select_alive(snapshot: Snapshot, slots: I32) -> I32:
    """Return the slots that are not removed."""
    return slots[is_alive(snapshot, slots)]
