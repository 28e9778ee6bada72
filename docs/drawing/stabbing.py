"""Which lists does a stabbing index have, and which of them does a value find? Several engines rest on one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tellwhen.kernels.arrays import HIGHEST, LOWEST, Stabbing
from tellwhen.kernels.stabbing import POINT, SPAN, UPTO


class MemberList(NamedTuple):
    """The members that wait for the values from a low one to a high one."""

    domain: int
    low: int
    high: int
    members: list[int]

    def is_stabbed(self, entries: Mapping[int, int]) -> bool:
        """Does an event, given by its points by domain, find this list?"""
        point = entries.get(self.domain)
        return point is not None and self.low <= point <= self.high


def member_lists(stabbing: Stabbing) -> list[MemberList]:
    """All lists that are not empty, by domain, the smallest intervals of each shape first."""
    found = [MemberList(domain, low, high, _members(stabbing, number)) for domain, low, high, number in _all(stabbing)]
    return [one for one in found if one.members]


def _all(stabbing: Stabbing) -> Iterator[tuple[int, int, int, int]]:
    """Domain, interval, and number of every list."""
    key_start = stabbing.key_start.reshape(4, -1).tolist()
    keys = stabbing.keys.tolist()
    for domain in range(len(key_start[0]) - 1):
        for shape in range(SPAN):
            for key in range(key_start[shape][domain], key_start[shape][domain + 1]):
                low = LOWEST if shape == UPTO else keys[key]
                yield domain, low, keys[key] if shape in (POINT, UPTO) else HIGHEST, key
        left, leaves = key_start[SPAN][domain], key_start[SPAN][domain + 1] - key_start[SPAN][domain]
        for node in range(2, 2 * leaves):
            segments = _segments(node, leaves)
            # The last leaf is behind the last cut: no interval reaches it.
            if segments == list(range(segments[0], segments[-1] + 1)) and segments[-1] < leaves - 1:
                low, high = keys[left + segments[0]], keys[left + segments[-1] + 1] - 1
                yield domain, low, high, 2 * left - key_start[SPAN][0] + node


def _segments(node: int, leaves: int) -> list[int]:
    """The segments below a node of an implicit segment tree, ascending."""
    if node >= leaves:
        return [node - leaves]
    return sorted(_segments(2 * node, leaves) + _segments(2 * node + 1, leaves))


def _members(stabbing: Stabbing, number: int) -> list[int]:
    members: list[int] = stabbing.members[stabbing.list_start[number] : stabbing.list_start[number + 1]].tolist()
    return members
