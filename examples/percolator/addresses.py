"""Which IP addresses does a range have?

Elasticsearch orders them all as addresses of version 6, in which 10.0.0.1 is ::ffff:10.0.0.1. `address` of the language
orders each version by itself. So a range may become three: below, among and above those of version 4.
"""

import ipaddress
from collections.abc import Iterator

MAPPED = int(ipaddress.IPv6Address("::ffff:0:0"))
FIRST, LAST = 0, 2**128 - 1


def number(text: str) -> int:
    """The place of an address among all."""
    found = ipaddress.ip_address(str(text))  # a number would be an address, too
    return int(found) + (MAPPED if found.version == 4 else 0)


def network_ends(text: str) -> tuple[int, int]:
    """The first and the last address of a network, or an address twice."""
    if "/" not in str(text):
        return number(text), number(text)
    found = ipaddress.ip_network(text, strict=False)
    return number(str(found.network_address)), number(str(found.broadcast_address))


def canonical(text: str) -> str:
    """An address in the form that an event should have."""
    place = number(text)
    is_mapped = MAPPED <= place < MAPPED + 2**32
    return str(ipaddress.IPv4Address(place - MAPPED) if is_mapped else ipaddress.IPv6Address(place))


def ranges(low: int, high: int) -> Iterator[tuple[str, str]]:
    """The ends of the ranges, each of one version."""
    for first, last in ((FIRST, MAPPED - 1), (MAPPED, MAPPED + 2**32 - 1), (MAPPED + 2**32, LAST)):
        start, end = max(first, low), min(last, high)
        if start <= end:
            yield canonical(str(ipaddress.IPv6Address(start))), canonical(str(ipaddress.IPv6Address(end)))
