"""The nodes of the shared decision diagram, and those that an event makes true."""

from __future__ import annotations

from docs.drawing.boxes import Arrow, Box
from docs.drawing.decoder import IndexDecoder, get_arrays
from docs.drawing.example_trees import EVENT, build_example
from docs.drawing.routing import draw_routed_graph
from tellwhen.papers.a_tree.bdd.arrays import PARENTS, RECORD_HEADER, ROOT, TERMINALS, TRUE, BDDIndex
from tellwhen.papers.a_tree.bdd.layout import place_records

TITLE = "A binary decision diagram with a root for every subscription: each node tests a predicate"


def draw() -> str:
    index = build_example("bdd")
    decoder, bdd = IndexDecoder(index), get_arrays(index)
    event_points = decoder.encode_event(EVENT)
    true_predicates = {
        p for p in set(bdd.nodes.predicate[TERMINALS:].tolist()) if decoder.is_satisfied(p, event_points)
    }
    true_nodes = find_true_nodes(bdd, true_predicates)
    slots = {int(n): bdd.slots[bdd.slot_start[r] : bdd.slot_start[r + 1]] for r, n in enumerate(bdd.roots)}
    matched_names = [name for n in true_nodes for name in decoder.name_subscriptions(slots.get(n, []))]
    assert sorted(matched_names) == sorted(index.match(EVENT))
    nodes = range(TERMINALS, len(bdd.nodes.predicate))
    boxes = [
        make_node_box(decoder, bdd, n, decoder.name_subscriptions(slots.get(n, [])), true_predicates, true_nodes)
        for n in nodes
    ]
    return draw_routed_graph(TITLE, boxes, make_arrows(bdd, true_predicates, true_nodes), towards="right")


def find_true_nodes(bdd: BDDIndex, true_predicates: set[int]) -> set[int]:
    """Return the true nodes: from the seeds of true predicates upwards, as in the kernel."""
    upward, place = bdd.upward, place_records(bdd.nodes)
    node_at = {int(at): n for n, at in enumerate(place[:-1]) if n >= TERMINALS}
    waiting = [
        int(seed) for p in true_predicates for seed in upward.seeds[upward.seed_start[p] : upward.seed_start[p + 1]]
    ]
    true_nodes = set(waiting)
    while waiting:
        at = waiting.pop()
        first = at + RECORD_HEADER
        for k in range(first, first + 2 * int(upward.records[at + PARENTS]), 2):
            parent, needs = int(upward.records[k]), int(upward.records[k + 1])
            if (needs < 0 or needs in true_predicates) and parent not in true_nodes:
                true_nodes.add(parent)
                waiting.append(parent)
    roots = {int(upward.records[at + ROOT]) for at in true_nodes} - {-1}
    assert {int(bdd.roots[r]) for r in roots} == {node_at[at] for at in true_nodes} & set(bdd.roots.tolist())
    return {node_at[at] for at in true_nodes}


def make_node_box(
    decoder: IndexDecoder, bdd: BDDIndex, n: int, names: list[str], true_predicates: set[int], true_nodes: set[int]
) -> Box:
    p, _, high = (int(column[n]) for column in bdd.nodes)
    lines = [*names, "yes: true"] if high == TRUE else names
    marked = {k for k in range(len(names)) if n in true_nodes} | ({len(names)} if p in true_predicates else set())
    return Box(
        str(n), decoder.format_predicate(p), lines, "result" if names else "node", n in true_nodes, marked_lines=marked
    )


def make_arrows(bdd: BDDIndex, true_predicates: set[int], true_nodes: set[int]) -> list[Arrow]:
    """Return arrows from every node to its children except FALSE and TRUE."""
    arrows = []
    for n in range(TERMINALS, len(bdd.nodes.predicate)):
        p, low, high = (int(column[n]) for column in bdd.nodes)
        if high >= TERMINALS:
            arrows.append(Arrow(str(n), str(high), "yes", high in true_nodes and p in true_predicates))
        if low >= TERMINALS:
            arrows.append(Arrow(str(n), str(low), "no", low in true_nodes))
    return arrows
