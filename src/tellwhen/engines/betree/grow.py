"""Grow and shrink a BE-Tree (BE-Tree, sections 4 and 6): the tree that changes, apart from the one that is matched.

A c-node and its bucket are one conjunction of `cnodes`, a p-node is one of `pnodes`; `table` finds a p-node by c-node and
domain, and `work` is a stack of buckets that may overflow. All of them move when they are full, so functions that may
need room return them. The conjunctions of an l-node are a linked list through `conjunction_next`; `conjunction_node` says whose list.

Bounds of buckets are numbers of spaces (see engines/spaces.py): a domain that is discrete and finite whatever its type.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.betree.match import N_CONJUNCTIONS, N_DIRECTORY, N_DOMAIN, N_HIGH, N_LEFT, N_LOW, N_RIGHT
from tellwhen.kernels.arrays import HIGHEST, LOWEST
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.spaces import space_of

DOMAIN, LOW, HIGH, LEFT, RIGHT, SPLIT, UP, OWNER = range(8)
HEAD, COUNT, CAPACITY, DIRECTORY, SIZE, SEEN, FAILED, C_COLUMNS = range(8, 16)
"""Columns of a c-node.

Its attribute and the bounds of its bucket; the two halves, -1 until something is in them, and whether it was split; the
bucket it is a half of, and the p-node whose directory it belongs to, both -1 for none; its l-node: the first conjunction, how
many there are, how many there may be; its first p-node; how many conjunctions are in its whole subtree; and, in the current
window, how many events have come to its l-node, and how many predicates were tested for conjunctions that did not match.
"""

ATTRIBUTE, PARENT, TOP, NEXT, LOSS, P_COLUMNS = range(6)
"""Columns of a p-node: its attribute, its c-node, its top bucket, its c-node's next p-node, and its loss."""

C_USED, C_FREE, P_USED, P_FREE, TABLED, WORKING = range(6)
"""Counts in `state`: conjunctions of cnodes and pnodes in use, first freed one (-1 for none), places of the table that are not
empty, and tasks on the stack."""


@kernel
def bound(cut_start, cuts, domain_of, interval, lows, highs, first, low, high, exact):
    """The space where each predicate from `first` on begins, and where it ends (Table 1).

    It is exact if it is a single interval that begins and ends with a space.
    """
    for p in range(first, domain_of.size):
        domain, begin, end = domain_of[p], interval[p], interval[p + 1]
        low[p] = space_of(cut_start, cuts, domain, lows[begin])
        high[p] = space_of(cut_start, cuts, domain, highs[end - 1])
        starts = lows[begin] == LOWEST
        if not starts:
            k = low[p] - domain - 1
            starts = k >= cut_start[domain] and cuts[k] == lows[begin]
        ends = highs[end - 1] == HIGHEST
        if not ends:
            k = high[p] - domain
            ends = k < cut_start[domain + 1] and cuts[k] == highs[end - 1] + 1
        exact[p] = end - begin == 1 and starts and ends


@inline
def place_of(table, pnodes, cnode, domain):
    """Where the p-node of a c-node and domain is in the table, or the empty place where it would be."""
    mask = table.size - 1
    key = np.uint64(cnode) << np.uint64(32) | np.uint64(domain)
    at = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
    # A p-node that was freed, or is another one now, stays in the table until this grows: it is not what is looked for.
    while table[at] != 0 and (pnodes[table[at] - 1, PARENT] != cnode or pnodes[table[at] - 1, ATTRIBUTE] != domain):
        at = (at + 1) & mask
    return at


@inline
def find(table, pnodes, cnode, domain):
    """The p-node, or -1."""
    return table[place_of(table, pnodes, cnode, domain)] - 1


@kernel
def doubled(array):
    """Twice the room, the same content."""
    grown = np.zeros((2 * array.shape[0], array.shape[1]), dtype=array.dtype)
    grown[: array.shape[0]] = array
    return grown


@kernel
def new_cnode(cnodes, state, domain, low, high, up, owner, capacity):
    """An empty c-node."""
    c = state[C_FREE]
    if c >= 0:
        state[C_FREE] = cnodes[c, UP]
    else:
        if state[C_USED] == cnodes.shape[0]:
            cnodes = doubled(cnodes)
        c = state[C_USED]
        state[C_USED] += 1
    cnodes[c] = 0
    cnodes[c, DOMAIN], cnodes[c, LOW], cnodes[c, HIGH], cnodes[c, UP], cnodes[c, OWNER] = domain, low, high, up, owner
    cnodes[c, LEFT] = cnodes[c, RIGHT] = cnodes[c, HEAD] = cnodes[c, DIRECTORY] = -1
    cnodes[c, CAPACITY] = capacity
    return cnodes, c


@kernel
def new_pnode(cnodes, pnodes, table, state, parent, domain, cut_start, capacity):
    """A p-node in the directory of a c-node, with a bucket that spans the whole domain."""
    p = state[P_FREE]
    if p >= 0:
        state[P_FREE] = pnodes[p, NEXT]
    else:
        if state[P_USED] == pnodes.shape[0]:
            pnodes = doubled(pnodes)
        p = state[P_USED]
        state[P_USED] += 1
    cnodes, top = new_cnode(
        cnodes, state, domain, cut_start[domain] + domain, cut_start[domain + 1] + domain, -1, p, capacity
    )
    pnodes[p, ATTRIBUTE], pnodes[p, PARENT], pnodes[p, TOP], pnodes[p, LOSS] = domain, parent, top, 0
    pnodes[p, NEXT] = cnodes[parent, DIRECTORY]
    cnodes[parent, DIRECTORY] = p
    if 2 * state[TABLED] >= table.size:
        size = table.size
        while size < 4 * state[P_USED]:
            size *= 2
        table = np.zeros(size, dtype=table.dtype)
        state[TABLED] = 0
        for c in range(state[C_USED]):
            q = cnodes[c, DIRECTORY] if cnodes[c, DOMAIN] >= -1 else -1
            while q >= 0:
                table[place_of(table, pnodes, c, pnodes[q, ATTRIBUTE])] = q + 1
                state[TABLED] += 1
                q = pnodes[q, NEXT]
    else:
        at = place_of(table, pnodes, parent, domain)
        state[TABLED] += 1
        table[at] = p + 1
    return cnodes, pnodes, table, p


@kernel
def pushed(work, state, c):
    """A bucket to look at."""
    if state[WORKING] == work.size:
        grown = np.zeros(2 * work.size, dtype=work.dtype)
        grown[: work.size] = work
        work = grown
    work[state[WORKING]] = c
    state[WORKING] += 1
    return work


@inline
def put(cnodes, conjunction_node, conjunction_next, c, conjunction):
    """A conjunction into the l-node."""
    conjunction_next[conjunction] = cnodes[c, HEAD]
    conjunction_node[conjunction] = c
    cnodes[c, HEAD] = conjunction
    cnodes[c, COUNT] += 1


@inline
def predicate_on(conjunction_start, conjunction_code, domain_of, conjunction, domain):
    """The first predicate of a conjunction on a domain."""
    i = conjunction_start[conjunction]
    while domain_of[conjunction_code[i]] != domain:
        i += 1
    return conjunction_code[i]


@kernel
def half(cnodes, state, c, low, high, capacity):
    """The half of a split bucket that encloses low..high, made if need be; -1 if neither does."""
    middle = (cnodes[c, LOW] + cnodes[c, HIGH]) // 2
    side, begin, end = LEFT, cnodes[c, LOW], middle
    if low > middle:
        side, begin, end = RIGHT, middle + 1, cnodes[c, HIGH]
    elif high > middle:
        return cnodes, -1
    child = cnodes[c, side]
    if child < 0:
        cnodes, child = new_cnode(cnodes, state, cnodes[c, DOMAIN], begin, end, c, cnodes[c, OWNER], capacity)
        cnodes[c, side] = child
    return cnodes, child


@inline
def capacity_for(count, max_cap):
    """The capacity of an l-node after a split or a merge (section 4.2)."""
    return max(1, -(-count // max_cap)) * max_cap


@kernel
def partition(
    cnodes, pnodes, table, work, state, c, conjunction_node, conjunction_next, conjunction_start, conjunction_code, domain_of, cut_start, max_cap,
    min_size, place, latest,
):  # fmt: skip
    """Space partitioning (Algorithm 5): move conjunctions that share an attribute below a p-node of it, until the rest fits.

    `place` and `latest` are zero, by domain. Conjunctions by attribute are found once: then moving costs what is moved.
    """
    number = cnodes[c, COUNT]
    members = np.empty(number, dtype=np.int32)
    total, conjunction = 0, cnodes[c, HEAD]
    for j in range(number):
        members[j] = conjunction
        total += conjunction_start[conjunction + 1] - conjunction_start[conjunction]
        conjunction = conjunction_next[conjunction]
    above, at = 0, c
    while cnodes[at, OWNER] >= 0:  # an attribute is chosen at most once on a path
        latest[cnodes[at, DOMAIN]] = number + 1
        above += 1
        at = pnodes[cnodes[at, OWNER], PARENT]
    domains = np.empty(total, dtype=np.int32)
    head = np.empty(total, dtype=np.int32)
    following = np.empty(total, dtype=np.int32)
    owner = np.empty(total, dtype=np.int32)
    distinct, entries = 0, 0
    where = np.empty(total, dtype=np.int32)  # by entry: the domain's place in `domains`
    begin = np.empty(number + 1, dtype=np.int32)
    for j in range(number):
        begin[j] = entries
        conjunction = members[j]
        for i in range(conjunction_start[conjunction], conjunction_start[conjunction + 1]):
            domain = domain_of[conjunction_code[i]]
            if latest[domain] > j:  # on the path, or a second predicate of the conjunction on its attribute
                continue
            latest[domain] = j + 1
            k = place[domain] - 1
            if k < 0:
                k = distinct
                domains[k] = domain
                head[k] = -1
                distinct += 1
                place[domain] = k + 1
            owner[entries] = j
            where[entries] = k
            following[entries] = head[k]
            head[k] = entries
            entries += 1
    begin[number] = entries
    popular = np.zeros(max(1, distinct), dtype=np.int64)
    for i in range(entries):
        popular[where[i]] += 1

    left, wanted = number, number
    while left > cnodes[c, CAPACITY]:
        best = 0
        for k in range(1, distinct):
            if popular[k] > popular[best] or (popular[k] == popular[best] and domains[k] < domains[best]):
                best = k
        if distinct == 0 or popular[best] < min_size:
            # An extended l-node. Half as much again, or conjunctions that nothing divides would be looked at ever again.
            wanted = left + left // 2
            break
        cnodes, pnodes, table, p = new_pnode(cnodes, pnodes, table, state, c, domains[best], cut_start, max_cap)
        top = pnodes[p, TOP]
        i = head[best]
        while i >= 0:
            j = owner[i]
            if members[j] >= 0:
                put(cnodes, conjunction_node, conjunction_next, top, members[j])
                cnodes[top, SIZE] += 1
                members[j] = -1
                left -= 1
                wanted = left
                for other in range(begin[j], begin[j + 1]):
                    popular[where[other]] -= 1
            i = following[i]
        work = pushed(work, state, top)
    cnodes[c, HEAD], cnodes[c, COUNT] = -1, 0
    for j in range(number - 1, -1, -1):
        if members[j] >= 0:
            put(cnodes, conjunction_node, conjunction_next, c, members[j])
    cnodes[c, CAPACITY] = capacity_for(wanted, max_cap)

    for k in range(distinct):
        place[domains[k]] = latest[domains[k]] = 0
    at = c
    while cnodes[at, OWNER] >= 0:
        latest[cnodes[at, DOMAIN]] = 0
        at = pnodes[cnodes[at, OWNER], PARENT]
    return cnodes, pnodes, table, work


@kernel
def relieve(
    cnodes, pnodes, table, work, state, conjunction_node, conjunction_next, conjunction_start, conjunction_code, domain_of, bound_low, bound_high,
    cut_start, max_cap, min_size, place, latest,
):  # fmt: skip
    """Space clustering (Algorithm 6) of every bucket on the stack: cut an overflowing one in halves, else partition."""
    while state[WORKING] > 0:
        state[WORKING] -= 1
        c = work[state[WORKING]]
        if cnodes[c, COUNT] <= cnodes[c, CAPACITY]:
            continue
        # The forced split rule: a bucket of several values is cut before its c-node is partitioned.
        if cnodes[c, OWNER] >= 0 and not cnodes[c, SPLIT] and cnodes[c, LOW] < cnodes[c, HIGH]:
            cnodes[c, SPLIT] = 1
            conjunction = cnodes[c, HEAD]
            cnodes[c, HEAD], cnodes[c, COUNT] = -1, 0
            while conjunction >= 0:
                following = conjunction_next[conjunction]
                p = predicate_on(conjunction_start, conjunction_code, domain_of, conjunction, cnodes[c, DOMAIN])
                cnodes, child = half(cnodes, state, c, bound_low[p], bound_high[p], max_cap)
                if child >= 0:
                    cnodes[child, SIZE] += 1
                    put(cnodes, conjunction_node, conjunction_next, child, conjunction)
                else:
                    put(cnodes, conjunction_node, conjunction_next, c, conjunction)
                conjunction = following
            for child in (cnodes[c, LEFT], cnodes[c, RIGHT]):
                if child >= 0:
                    work = pushed(work, state, child)
            cnodes[c, CAPACITY] = max_cap
        if cnodes[c, COUNT] > cnodes[c, CAPACITY]:
            cnodes, pnodes, table, work = partition(
                cnodes, pnodes, table, work, state, c, conjunction_node, conjunction_next, conjunction_start, conjunction_code, domain_of, cut_start,
                max_cap, min_size, place, latest,
            )  # fmt: skip
    return cnodes, pnodes, table, work


@kernel
def insert(
    conjunctions, at_once, cnodes, pnodes, table, work, state, conjunction_node, conjunction_next, conjunction_start, conjunction_code, domain_of, bound_low,
    bound_high, cut_start, max_cap, min_size, place, latest,
):  # fmt: skip
    """Insert conjunctions one by one (Algorithms 3 and 4), or into the root all at once, to be cut afterwards (BE-B)."""
    path = np.empty(256, dtype=np.int32)
    for conjunction in conjunctions:
        c, depth = 0, 0
        cnodes[c, SIZE] += 1
        while True:
            best, most = -1, 0
            if cnodes[c, DIRECTORY] >= 0:
                for i in range(conjunction_start[conjunction], conjunction_start[conjunction + 1]):
                    domain = domain_of[conjunction_code[i]]
                    used = False
                    for k in range(depth):
                        used |= path[k] == domain
                    if used:
                        continue
                    p = find(table, pnodes, c, domain)
                    if p >= 0:
                        score = cnodes[pnodes[p, TOP], SIZE] - pnodes[p, LOSS]
                        if best < 0 or score > most:
                            best, most = p, score
            if best < 0:
                break
            domain = pnodes[best, ATTRIBUTE]
            path[depth] = domain
            depth += 1
            p = predicate_on(conjunction_start, conjunction_code, domain_of, conjunction, domain)
            c = pnodes[best, TOP]
            cnodes[c, SIZE] += 1
            child = c
            while child >= 0 and cnodes[c, SPLIT]:  # the insertion rule: into the smallest bucket that encloses it
                cnodes, child = half(cnodes, state, c, bound_low[p], bound_high[p], max_cap)
                if child >= 0:
                    c = child
                    cnodes[c, SIZE] += 1
        put(cnodes, conjunction_node, conjunction_next, c, conjunction)
        if not at_once:
            work = pushed(work, state, c)
            cnodes, pnodes, table, work = relieve(
                cnodes, pnodes, table, work, state, conjunction_node, conjunction_next, conjunction_start, conjunction_code, domain_of, bound_low,
                bound_high, cut_start, max_cap, min_size, place, latest,
            )  # fmt: skip
    work = pushed(work, state, 0)
    return relieve(
        cnodes, pnodes, table, work, state, conjunction_node, conjunction_next, conjunction_start, conjunction_code, domain_of, bound_low, bound_high,
        cut_start, max_cap, min_size, place, latest,
    )  # fmt: skip


@inline
def shrink(cnodes, pnodes, c, by):
    """So many conjunctions fewer in the subtrees of a c-node and all above."""
    while c >= 0:
        cnodes[c, SIZE] -= by
        if cnodes[c, UP] >= 0:
            c = cnodes[c, UP]
        else:
            c = pnodes[cnodes[c, OWNER], PARENT] if cnodes[c, OWNER] >= 0 else -1


@inline
def free_cnode(cnodes, state, c):
    """Its conjunction of the array is for others. A freed one has the domain -2."""
    cnodes[c] = 0
    cnodes[c, DOMAIN], cnodes[c, DIRECTORY] = -2, -1
    cnodes[c, UP] = state[C_FREE]
    state[C_FREE] = c


@inline
def free_pnode(cnodes, pnodes, state, p):
    """Out of its c-node's directory."""
    parent = pnodes[p, PARENT]
    if cnodes[parent, DIRECTORY] == p:
        cnodes[parent, DIRECTORY] = pnodes[p, NEXT]
    else:
        q = cnodes[parent, DIRECTORY]
        while pnodes[q, NEXT] != p:
            q = pnodes[q, NEXT]
        pnodes[q, NEXT] = pnodes[p, NEXT]
    pnodes[p, PARENT], pnodes[p, NEXT] = -1, state[P_FREE]
    state[P_FREE] = p


@inline
def is_bare(cnodes, c):
    """Is it a leaf bucket, and not partitioned?"""
    return not cnodes[c, SPLIT] and cnodes[c, DIRECTORY] < 0


@kernel
def take_out(cnodes, pnodes, conjunction_node, conjunction_next, conjunctions, max_cap, touched):
    """Take conjunctions out of their l-nodes; returns how many c-nodes of `touched` have lost some. Nodes stay."""
    count = 0
    for conjunction in conjunctions:
        c = conjunction_node[conjunction]
        conjunction_node[conjunction] = -1
        if count == 0 or touched[count - 1] != c:
            touched[count] = c
            count += 1
    for k in range(count):
        c = touched[k]
        conjunction, before = cnodes[c, HEAD], cnodes[c, COUNT]
        cnodes[c, HEAD], cnodes[c, COUNT] = -1, 0
        while conjunction >= 0:
            following = conjunction_next[conjunction]
            if conjunction_node[conjunction] == c:
                put(cnodes, conjunction_node, conjunction_next, c, conjunction)
            conjunction = following
        shrink(cnodes, pnodes, c, before - cnodes[c, COUNT])
        cnodes[c, CAPACITY] = capacity_for(cnodes[c, COUNT], max_cap)
    return count


@kernel
def mend(cnodes, pnodes, state, conjunction_node, conjunction_next, touched, max_cap):
    """After conjunctions have gone from c-nodes: merge buckets (the merge rule), remove what is empty, up to the root."""
    for c in touched:
        mend_above(cnodes, pnodes, state, conjunction_node, conjunction_next, c, max_cap)


@kernel
def mend_above(cnodes, pnodes, state, conjunction_node, conjunction_next, c, max_cap):
    """From one c-node upwards."""
    while c > 0 and cnodes[c, DOMAIN] != -2:
        up = cnodes[c, UP]
        if cnodes[c, SIZE] == 0 and cnodes[c, DIRECTORY] < 0 and cnodes[c, LEFT] < 0 and cnodes[c, RIGHT] < 0:
            if up >= 0:
                cnodes[up, LEFT if cnodes[up, LEFT] == c else RIGHT] = -1
                free_cnode(cnodes, state, c)
            else:
                p = cnodes[c, OWNER]
                up = pnodes[p, PARENT]
                free_pnode(cnodes, pnodes, state, p)
                free_cnode(cnodes, state, c)
            c = up
            continue
        if up < 0:
            c = pnodes[cnodes[c, OWNER], PARENT]
            continue
        # Only into an open bucket, and only if there is room left afterwards.
        left, right = cnodes[up, LEFT], cnodes[up, RIGHT]
        bare = (left < 0 or is_bare(cnodes, left)) and (right < 0 or is_bare(cnodes, right))
        if bare and cnodes[up, DIRECTORY] < 0 and 2 * cnodes[up, SIZE] <= max_cap:
            for child in (left, right):
                if child >= 0:
                    conjunction = cnodes[child, HEAD]
                    while conjunction >= 0:
                        following = conjunction_next[conjunction]
                        put(cnodes, conjunction_node, conjunction_next, up, conjunction)
                        conjunction = following
                    free_cnode(cnodes, state, child)
            cnodes[up, LEFT] = cnodes[up, RIGHT] = -1
            cnodes[up, SPLIT] = 0
        c = up


@kernel
def conjunctions_below(cnodes, pnodes, conjunction_next, tops, out):
    """All conjunctions in the subtrees of some c-nodes; returns how many. Those of nested ones come several times."""
    stack = np.empty(cnodes.shape[0] + 1, dtype=np.int32)
    count = 0
    for top in tops:
        stack[0] = top
        height = 1
        while height > 0:
            height -= 1
            c = stack[height]
            if cnodes[c, COUNT] > out.size - count:
                return -1
            conjunction = cnodes[c, HEAD]
            while conjunction >= 0:
                out[count] = conjunction
                count += 1
                conjunction = conjunction_next[conjunction]
            for child in (cnodes[c, LEFT], cnodes[c, RIGHT]):
                if child >= 0:
                    stack[height] = child
                    height += 1
            p = cnodes[c, DIRECTORY]
            while p >= 0:
                stack[height] = pnodes[p, TOP]
                height += 1
                p = pnodes[p, NEXT]
    return count


@kernel
def judge(cnodes, pnodes, state, window, threshold, p_rank, p_gone, c_gone):
    """Rank, Gain and Loss (section 5): mark p-nodes and l-nodes below the threshold, and end their windows.

    A window is over when as many events have come as `window` percent of the conjunctions. `p_rank` is scratch, zero.
    """
    p_seen = np.zeros(pnodes.shape[0], dtype=np.int64)
    p_loss = np.zeros(pnodes.shape[0], dtype=np.float64)
    for c in range(1, state[C_USED]):
        if cnodes[c, DOMAIN] == -2:
            continue
        seen = cnodes[c, SEEN]
        loss = cnodes[c, FAILED] / seen if seen > 0 else 0.0
        depth, at = 0, c
        while cnodes[at, OWNER] >= 0:
            depth += 1
            at = pnodes[cnodes[at, OWNER], PARENT]
        # Every conjunction of the l-node has a predicate for each attribute on the path: covered, or subsumed.
        rank = cnodes[c, COUNT] * depth - loss
        at = c
        while cnodes[at, OWNER] >= 0:
            p = cnodes[at, OWNER]
            p_rank[p] += rank
            p_loss[p] += loss
            p_seen[p] = max(p_seen[p], seen)
            at = pnodes[p, PARENT]
        if 100 * seen >= window * cnodes[c, COUNT] and cnodes[c, COUNT] > 0 and seen > 0:
            c_gone[c] = rank < threshold
            cnodes[c, SEEN] = cnodes[c, FAILED] = 0
    for p in range(state[P_USED]):
        if pnodes[p, PARENT] >= 0 and p_seen[p] > 0:
            if 100 * p_seen[p] >= window * cnodes[pnodes[p, TOP], SIZE]:
                p_gone[p] = p_rank[p] < threshold
            pnodes[p, LOSS] = np.int32(min(p_loss[p], 1e9))


@kernel
def lay_out(
    cnodes, pnodes, conjunction_next, conjunction_start, conjunction_code, conjunction_slot, domain_of, bound_low, bound_high, exact, rank,
    node_of, node, pdir_domain, pdir_top, words,
):  # fmt: skip
    """Write the tree as matching reads it, depth first; returns how many nodes, p-nodes and words.

    Of a conjunction only those predicates are written that its path does not answer: the subsumed ones are left out.
    """
    stack = np.empty((cnodes.shape[0] + pnodes.shape[0] + 1, 3), dtype=np.int32)
    path = np.empty((256, 3), dtype=np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, -1, 0
    height, nodes, directories, written = 1, 0, 0, 0
    while height > 0:
        height -= 1
        c, kind, place = stack[height, 0], stack[height, 1], stack[height, 2]
        n = nodes
        nodes += 1
        if kind == 2:
            pdir_top[place] = n
        elif kind >= 0:
            node[place, N_LEFT + kind] = n
        node_of[n] = c
        node[n, N_DOMAIN], node[n, N_LOW], node[n, N_HIGH] = cnodes[c, DOMAIN], cnodes[c, LOW], cnodes[c, HIGH]
        node[n, N_LEFT] = node[n, N_RIGHT] = -1
        node[n, N_CONJUNCTIONS], node[n, N_DIRECTORY] = written, directories
        depth, at = 0, c
        while cnodes[at, OWNER] >= 0:
            path[depth, 0], path[depth, 1], path[depth, 2] = cnodes[at, DOMAIN], cnodes[at, LOW], cnodes[at, HIGH]
            depth += 1
            at = pnodes[cnodes[at, OWNER], PARENT]
        conjunction = cnodes[c, HEAD]
        while conjunction >= 0:
            begin, first = written, written + 2
            words[begin + 1] = conjunction_slot[conjunction]
            written = first
            for i in range(conjunction_start[conjunction], conjunction_start[conjunction + 1]):
                p = conjunction_code[i]
                answered = False
                for k in range(depth):
                    answered |= (
                        exact[p] != 0
                        and path[k, 0] == domain_of[p]
                        and path[k, 1] == bound_low[p]
                        and path[k, 2] == bound_high[p]
                    )
                if not answered:
                    j = written  # the most selective ones first
                    while j > first and written - first < 64 and rank[words[j - 1]] > rank[p]:
                        words[j] = words[j - 1]
                        j -= 1
                    words[j] = p
                    written += 1
            words[begin] = written - first
            conjunction = conjunction_next[conjunction]
        for side in (1, 0):
            child = cnodes[c, LEFT + side]
            if child >= 0:
                stack[height, 0], stack[height, 1], stack[height, 2] = child, side, n
                height += 1
        number, p = 0, cnodes[c, DIRECTORY]
        while p >= 0:
            number += 1
            p = pnodes[p, NEXT]
        mine = np.empty(number, dtype=np.int32)
        keys = np.empty(number, dtype=np.int32)
        p = cnodes[c, DIRECTORY]
        for k in range(number):
            mine[k], keys[k] = p, pnodes[p, ATTRIBUTE]
            p = pnodes[p, NEXT]
        order = np.argsort(keys)
        for k in range(number):
            pdir_domain[directories + k] = keys[order[k]]
        for k in range(number - 1, -1, -1):
            stack[height, 0], stack[height, 1], stack[height, 2] = pnodes[mine[order[k]], TOP], 2, directories + k
            height += 1
        directories += number
    node[nodes, N_CONJUNCTIONS], node[nodes, N_DIRECTORY] = written, directories
    return nodes, directories, written


@kernel
def conjunctions_in(words, count):
    """The slots of conjunctions laid out, where their predicates begin, and the predicates."""
    slot, start = np.empty(count, dtype=np.int32), np.zeros(count + 1, dtype=np.int64)
    predicates = np.empty(words.size - 2 * count, dtype=np.int32)
    at = 0
    for r in range(count):
        many = words[at]
        slot[r] = words[at + 1]
        start[r + 1] = start[r] + many
        predicates[start[r] : start[r + 1]] = words[at + 2 : at + 2 + many]
        at += 2 + many
    return slot, start, predicates
