"""The part of inserting that partitions an overflowing l-node by attribute (BE-Tree, section 4.2, Algorithm 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I32
from tellwhen.kernels.jit import inline
from tellwhen.papers.be_tree.betree.kernels.nodes import (
    clear_leaf,
    compute_capacity,
    create_pnode,
    push_cnode,
    put_conjunction,
)


class DomainMarks(NamedTuple):
    """Scratch by domain, zero between calls."""

    group: I32  # the group of the domain + 1
    member: I32  # the last member that has the domain + 1; the number of members + 1 for a domain on the path


class Groups(NamedTuple):
    """The conjunctions of an l-node, the *members*, by domain. An *entry* is a member and one of its domains.

    Members are grouped once, so that the cost of moving a group depends only on the entries of its members.
    """

    member: I32  # |4|9|-1|     by member: its conjunction, -1 after it has moved
    entry_start: I32  # |0|2|3|4|    entries of member m are entry_start[m]:entry_start[m+1]
    entry_member: I32  # |0 0|1|2|    by entry: its member
    entry_group: I32  # |0 1|1|0|    by entry: its group
    entry_next: I32  # |-1 -1|1|0| by entry: the next one of its group, -1 at the end
    domain: I32  # |7|2|        by group: its domain
    first: I32  # |3|2|        by group: its first entry
    popularity: I32  # |1|2|        by group: the number of its members that have not moved


@inline
def mark_path(nodes, c, marks, mark):
    """Mark the domains on the path from the root to a c-node."""
    while nodes.cnodes[c].pnode >= 0:
        marks.member[nodes.cnodes[c].domain] = mark
        c = nodes.pnodes[nodes.cnodes[c].pnode].parent


@inline
def list_members(nodes, conjunctions, c):
    """Return the conjunctions of an l-node, and the number of their predicates."""
    member = np.empty(nodes.cnodes[c].count, dtype=np.int32)
    conjunction, predicates = nodes.cnodes[c].first, 0
    for m in range(member.size):
        member[m] = conjunction
        predicates += conjunctions.start[conjunction + 1] - conjunctions.start[conjunction]
        conjunction = conjunctions.next[conjunction]
    return member, predicates


@inline
def group_by_domain(nodes, conjunctions, predicates, marks, c):
    """Group the conjunctions of an l-node by domain; returns the groups, and how many groups there are.

    Domains on the path are left out, since an attribute is used at most once on a path.
    """
    member, room = list_members(nodes, conjunctions, c)
    groups = Groups(
        member=member,
        entry_start=np.empty(member.size + 1, np.int32),
        entry_member=np.empty(room, np.int32),
        entry_group=np.empty(room, np.int32),
        entry_next=np.empty(room, np.int32),
        domain=np.empty(room, np.int32),
        first=np.empty(room, np.int32),
        popularity=np.zeros(room, np.int32),
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
def find_best_group(nodes, predicates, groups, count):
    """Return the group with at least min_size members that has the highest score; -1 for none.

    Among equals it is the group of the lowest domain. The score is the gain, which is the number of members, minus the
    loss that matching has measured for the domain.
    """
    best, highest = -1, 0.0
    for g in range(count):
        if groups.popularity[g] >= nodes.state[0].min_size:
            score = groups.popularity[g] * (1 - predicates.loss[groups.domain[g]])
            if best < 0 or score > highest or (score == highest and groups.domain[g] < groups.domain[best]):
                best, highest = g, score
    return best


@inline
def move_group(nodes, conjunctions, groups, group, c):
    """Move the members of a group that have not moved yet into the l-node of a c-node."""
    entry = groups.first[group]
    while entry >= 0:
        m = groups.entry_member[entry]
        if groups.member[m] >= 0:
            put_conjunction(nodes, conjunctions, c, groups.member[m])
            nodes.cnodes[c].size += 1
            groups.member[m] = -1
            for other in range(groups.entry_start[m], groups.entry_start[m + 1]):
                groups.popularity[groups.entry_group[other]] -= 1
        entry = groups.entry_next[entry]


@inline
def partition_leaf(nodes, conjunctions, predicates, marks, c):
    """Move conjunctions that share an attribute below a new p-node for this attribute, until the others fit."""
    node, cut_start = nodes.cnodes[c], predicates.cut_start
    mark_path(nodes, c, marks, node.count + 1)
    groups, count = group_by_domain(nodes, conjunctions, predicates, marks, c)
    left = needed = np.int64(node.count)
    while left > node.capacity:
        best = find_best_group(nodes, predicates, groups, count)
        if best < 0:
            # The l-node gets half as much room again. With less room, it would overflow, and be grouped, too often.
            needed = left + left // 2
            break
        domain = groups.domain[best]
        p = create_pnode(nodes, c, domain, cut_start[domain] + domain, cut_start[domain + 1] + domain)
        top = nodes.pnodes[p].top
        move_group(nodes, conjunctions, groups, best, top)
        push_cnode(nodes, top)
        left -= nodes.cnodes[top].count
        needed = left
    clear_leaf(nodes, c)
    for m in range(groups.member.size - 1, -1, -1):
        if groups.member[m] >= 0:
            put_conjunction(nodes, conjunctions, c, groups.member[m])
    node.capacity = compute_capacity(nodes, needed)
    for g in range(count):
        marks.group[groups.domain[g]] = marks.member[groups.domain[g]] = 0
    mark_path(nodes, c, marks, 0)
