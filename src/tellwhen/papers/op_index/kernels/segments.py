"""Kernels that assign postings to the segments of a list and to the bits of a signature (OpIndex, section 4.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline
from tellwhen.papers.op_index.arrays import EQUAL, PREFIX

SIGNATURE_SHIFT = 64 - 6
"""Bits by which a hash of 64 bits is shifted to the number of one of 64 bits."""


@inline
def compute_signature_bit(operator, domain, rank):
    """Return a word with the signature bit of one posting.

    It is hashed from the operand for = and prefixes, of which a value makes few true, else from the domain.
    """
    key = np.uint64(rank) if operator == EQUAL or operator == PREFIX else np.uint64(domain)
    return np.int64(1) << np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(SIGNATURE_SHIFT))


@inline
def compute_domain_fraction(domain, domains):
    """Return domain / domains as a fixed-point number with 32 fractional bits, rounded up."""
    return ((np.int64(domain) << 32) + domains - 1) // domains


@inline
def find_segment(domain_fraction, segments):
    """Return which of the `segments` segments of a list has the postings of a domain.

    `domain_fraction` is the result of `compute_domain_fraction`.
    """
    return domain_fraction * segments >> 32
