"""The member lists of a stabbing index, for the pictures of the engines that rest on one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tellwhen.kernels.arrays import HIGHEST, LOWEST, Stabbing
from tellwhen.kernels.stabbing import POINT, SPAN, UPTO


class MemberList(NamedTuple):
    """The members of the interval from `low` to `high` on a domain."""

    domain: int
    low: int
    high: int
    members: list[int]

    def is_stabbed(self, event_points: Mapping[int, int]) -> bool:
        """Return whether the interval contains a point of an event, given by its points by domain."""
        point = event_points.get(self.domain)
        return point is not None and self.low <= point <= self.high


def read_member_lists(stabbing: Stabbing) -> list[MemberList]:
    """Return all lists that are not empty, by domain and by the shape of their intervals."""
    lists = [
        MemberList(domain, low, high, _read_members(stabbing, list_number))
        for domain, low, high, list_number in _iterate_intervals(stabbing)
    ]
    return [member_list for member_list in lists if member_list.members]


def _iterate_intervals(stabbing: Stabbing) -> Iterator[tuple[int, int, int, int]]:
    """Yield (domain, low, high, list number) of every interval."""
    key_start = stabbing.key_start.reshape(4, -1).tolist()
    keys = stabbing.keys.tolist()
    for domain in range(len(key_start[0]) - 1):
        for shape in range(SPAN):
            for key in range(key_start[shape][domain], key_start[shape][domain + 1]):
                low = LOWEST if shape == UPTO else keys[key]
                yield domain, low, keys[key] if shape in (POINT, UPTO) else HIGHEST, key
        first_key, leaves = key_start[SPAN][domain], key_start[SPAN][domain + 1] - key_start[SPAN][domain]
        for node in range(2, 2 * leaves):
            segments = _list_segments(node, leaves)
            # The last leaf is behind the last cut: no interval reaches it.
            if segments == list(range(segments[0], segments[-1] + 1)) and segments[-1] < leaves - 1:
                low, high = keys[first_key + segments[0]], keys[first_key + segments[-1] + 1] - 1
                yield domain, low, high, 2 * first_key - key_start[SPAN][0] + node


def _list_segments(node: int, leaves: int) -> list[int]:
    """Return the segments below a node of an implicit segment tree, ascending."""
    if node >= leaves:
        return [node - leaves]
    return sorted(_list_segments(2 * node, leaves) + _list_segments(2 * node + 1, leaves))


def _read_members(stabbing: Stabbing, list_number: int) -> list[int]:
    first, end = stabbing.list_start[list_number : list_number + 2].tolist()
    members: list[int] = stabbing.members[first:end].tolist()
    return members
