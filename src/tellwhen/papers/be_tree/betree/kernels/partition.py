"""By which attributes is an overflowing l-node partitioned? (BE-Tree, section 4.2, Algorithm 5.)"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I32
from tellwhen.kernels.jit import inline
from tellwhen.papers.be_tree.betree.kernels.nodes import capacity_for, clear_leaf, new_pnode, push, put


class DomainMarks(NamedTuple):
    """Scratch by domain, zero between calls."""

    group: I32  # group + 1
    member: I32  # 1 + the last member that has the domain; members + 1 for a domain on the path


class Groups(NamedTuple):
    """The conjunctions of an l-node, the *members*, by domain. An *entry* is a member and one of its domains.

    Grouping is done once, so that moving a group costs no more than what is moved.
    """

    member: I32  # |4|9|-1|     conjunctions; -1 for one that has moved
    entry_start: I32  # |0|2|3|4|    entries of member m are entry_start[m]:entry_start[m+1]
    entry_member: I32  # |0 0|1|2|    by entry: its member
    entry_group: I32  # |0 1|1|0|    by entry: its group
    entry_next: I32  # |-1 -1|1|0| by entry: the next one of its group, -1 at the end
    domain: I32  # |7|2|        by group: its domain
    first: I32  # |3|2|        by group: its first entry
    popularity: I32  # |1|2|        by group: its members that have not moved


@inline
def mark_path(nodes, c, marks, mark):
    """Mark the domains on the path from the root to a c-node."""
    while nodes.cnodes[c].pnode >= 0:
        marks.member[nodes.cnodes[c].domain] = mark
        c = nodes.pnodes[nodes.cnodes[c].pnode].parent


@inline
def members_of(nodes, conjunctions, c):
    """The conjunctions of an l-node, and the number of their predicates."""
    member = np.empty(nodes.cnodes[c].count, dtype=np.int32)
    conjunction, predicates = nodes.cnodes[c].first, 0
    for m in range(member.size):
        member[m] = conjunction
        predicates += conjunctions.start[conjunction + 1] - conjunctions.start[conjunction]
        conjunction = conjunctions.next[conjunction]
    return member, predicates


@inline
def group_by_domain(nodes, conjunctions, predicates, marks, c):
    """The conjunctions of an l-node by domain, and the number of groups.

    Domains on the path are left out, since an attribute is used at most once on a path.
    """
    member, most = members_of(nodes, conjunctions, c)
    groups = Groups(
        member,
        np.empty(member.size + 1, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.zeros(most, np.int32),
    )
    count = entry = 0
    for m in range(member.size):
        groups.entry_start[m] = entry
        for i in range(conjunctions.start[member[m]], conjunctions.start[member[m] + 1]):
            domain = predicates.domain[conjunctions.predicate[i]]
            if marks.member[domain] > m:  # on the path, or the member's second predicate on that domain
                continue
            marks.member[domain] = m + 1
            group = marks.group[domain] - 1
            if group < 0:
                group = count
                groups.domain[group], groups.first[group] = domain, -1
                marks.group[domain] = group + 1
                count += 1
            groups.entry_member[entry], groups.entry_group[entry] = m, group
            groups.entry_next[entry] = groups.first[group]
            groups.first[group] = entry
            groups.popularity[group] += 1
            entry += 1
    groups.entry_start[member.size] = entry
    return groups, count


@inline
def most_popular(groups, count):
    """The group of the most members, among equals that of the lowest domain; -1 if there are no groups."""
    best = min(0, count - 1)
    for g in range(1, count):
        if groups.popularity[g] > groups.popularity[best] or (
            groups.popularity[g] == groups.popularity[best] and groups.domain[g] < groups.domain[best]
        ):
            best = g
    return best


@inline
def move_group(nodes, conjunctions, groups, group, c):
    """Move the members of a group that have not moved yet into an l-node."""
    entry = groups.first[group]
    while entry >= 0:
        m = groups.entry_member[entry]
        if groups.member[m] >= 0:
            put(nodes, conjunctions, c, groups.member[m])
            nodes.cnodes[c].size += 1
            groups.member[m] = -1
            for other in range(groups.entry_start[m], groups.entry_start[m + 1]):
                groups.popularity[groups.entry_group[other]] -= 1
        entry = groups.entry_next[entry]


@inline
def partition(nodes, conjunctions, predicates, marks, c):
    """Move conjunctions that share an attribute below a new p-node for it, until the rest fits."""
    node, cut_start = nodes.cnodes[c], predicates.cut_start
    mark_path(nodes, c, marks, node.count + 1)
    groups, count = group_by_domain(nodes, conjunctions, predicates, marks, c)
    left = wanted = np.int64(node.count)
    while left > node.capacity:
        best = most_popular(groups, count)
        if best < 0 or groups.popularity[best] < nodes.state[0].min_size:
            # An extended l-node. With less than half as much room again, conjunctions that nothing divides would be
            # grouped too often.
            wanted = left + left // 2
            break
        domain = groups.domain[best]
        p = new_pnode(nodes, c, domain, cut_start[domain] + domain, cut_start[domain + 1] + domain)
        top = nodes.pnodes[p].top
        move_group(nodes, conjunctions, groups, best, top)
        push(nodes, top)
        left -= nodes.cnodes[top].count
        wanted = left
    clear_leaf(nodes, c)
    for m in range(groups.member.size - 1, -1, -1):
        if groups.member[m] >= 0:
            put(nodes, conjunctions, c, groups.member[m])
    node.capacity = capacity_for(nodes, wanted)
    for g in range(count):
        marks.group[groups.domain[g]] = marks.member[groups.domain[g]] = 0
    mark_path(nodes, c, marks, 0)
