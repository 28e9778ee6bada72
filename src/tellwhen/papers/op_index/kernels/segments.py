"""Which segment of a list, and which bit of its signature, does a posting belong to? (OpIndex, section 4.2)"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline
from tellwhen.papers.op_index.arrays import EQUAL

SIGNATURE_SHIFT = 64 - 6  # a hash of 64 bits -> the number of one of 64 bits


@inline
def signature_bit(operator, domain, rank):
    """The bit that stands for a posting: chosen by the operand where that must be equal, else by the domain."""
    key = np.uint64(rank) if operator == EQUAL else np.uint64(domain)
    return np.int64(1) << np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(SIGNATURE_SHIFT))


@inline
def domain_share(domain, domains):
    """The position of a domain among all domains, in units of 2**-32 of their number, rounded up."""
    return ((np.int64(domain) << 32) + domains - 1) // domains


@inline
def segment_of(share, segments):
    """The segment of a list that has the domain with this share. With as many segments as domains, each has its own."""
    return share * segments >> 32
