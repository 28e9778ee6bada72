"""How are the members of a chunk of `cover` ruled out together? By the AND of one bitmap per column."""

from __future__ import annotations

from typing import NamedTuple

import tellwhen as tw
from docs.drawing.boxes import Arrow, Box, picture
from docs.drawing.clusters import Cluster, Clusters
from tellwhen.engines.cover.arrays import (
    ALTERNATIVES,
    BITMAP_SPAN,
    BITMAPS,
    CHUNK_HEADER,
    COLUMNS,
    MEMBERS,
    POSTING,
)

TITLE = "A chunk of the engine cover: a bitmap for every bucket of values, with a bit for every member"

SUBSCRIPTIONS = {
    "dan": "category = 'camera' AND price <= 300",
    "eva": "category = 'camera' AND brand = 'Leica'",
    "finn": "category = 'camera' AND brand IN ('Leica', 'Nikon') AND price <= 500",
    "gita": "category = 'camera' AND price BETWEEN 200 AND 500",
    "ben": "category = 'bike' AND price <= 300",
}

EVENT = {"category": "camera", "price": 400, "brand": "Nikon"}

NO_VALUE = 0
"""The bitmap of a column for events without its attribute; the others are those of its buckets."""


class Column(NamedTuple):
    """A column of a chunk: its domain, and its bitmaps, each a bit for every member."""

    domain: int
    bitmaps: list[list[int]]


class Chunk(NamedTuple):
    """Members that are tested together."""

    slots: list[int]
    columns: list[Column]
    undecided: list[int]
    """A bit for every member whose program must be run."""


def draw() -> str:
    index = tw.Index("cover", chunk=2).add_many(SUBSCRIPTIONS).rebuild()
    clusters = Clusters.of(index)
    values = clusters.values(EVENT)
    (cluster,) = (one for one in clusters.all if one.is_opened_by(set(values.values())))
    chunk = chunk_of(clusters, cluster)
    assert not any(chunk.undecided), "bitmaps decide all members of this chunk"
    names = clusters.words.subscriptions(chunk.slots)
    selected = [bitmap_of(clusters, column.domain, values) for column in chunk.columns]
    left = [
        all(column.bitmaps[at][m] for column, at in zip(chunk.columns, selected, strict=True))
        for m in range(len(names))
    ]
    found = [name for name, is_left in zip(names, left, strict=True) if is_left]
    assert sorted(found) == sorted(index.match(EVENT))
    boxes = [
        Box("cluster", clusters.spaces.said(cluster.first, cluster.last), names, "node", visited=True),
        *(column_box(clusters, column, at, names) for column, at in zip(chunk.columns, selected, strict=True)),
        and_box(clusters, chunk, selected, left, found),
    ]
    heads = [f"d{column.domain}" for column in chunk.columns]
    arrows = [Arrow("cluster", head, visited=True) for head in heads]
    arrows += [Arrow(head, "and", visited=True) for head in heads]
    return picture(TITLE, boxes, arrows, towards="right")


def chunk_of(clusters: Clusters, cluster: Cluster) -> Chunk:
    """The only chunk of a cluster, which has all its members and no clauses."""
    records, bits = clusters.arrays.chunks.words, clusters.arrays.chunks.bits
    at = cluster.chunks.start
    members, bitmaps, columns = (int(records[at + word]) for word in (MEMBERS, BITMAPS, COLUMNS))
    assert at + CHUNK_HEADER + columns == cluster.chunks.stop
    assert not records[at + ALTERNATIVES]
    assert not cluster.rest
    assert members <= 64, "a bitmap of the picture is one word"

    def bitmap(number: int) -> list[int]:
        return [int(bits[bitmaps + number]) >> member & 1 for member in range(members)]

    found = []
    for record in records[at + CHUNK_HEADER : cluster.chunks.stop].tolist():
        domain, first = record // BITMAP_SPAN // 2, 1 + record % BITMAP_SPAN  # 1: that of the programs comes before
        found.append(Column(domain, [bitmap(first + k) for k in range(1 + len(clusters.spaces.on(domain)))]))
    slots = [one.slot for one in cluster.in_chunks]
    assert cluster.in_chunks[0].number == records[at + POSTING]
    return Chunk(slots, found, bitmap(0))


def bitmap_of(clusters: Clusters, domain: int, values: dict[int, int]) -> int:
    """The bitmap that the event selects."""
    return 1 + int(clusters.arrays.chunks.bucket[values[domain]]) if domain in values else NO_VALUE


def column_box(clusters: Clusters, column: Column, selected: int, names: list[str]) -> Box:
    spaces = clusters.spaces.on(column.domain)
    assert [int(clusters.arrays.chunks.bucket[space]) for space in spaces] == list(range(len(spaces)))
    name = clusters.words.domain(column.domain)
    texts = [f"no {name}", *(clusters.spaces.said(space) for space in spaces)]
    width = max(len(text) for text in texts) + 2
    lines = [" " * width + " ".join(names)]
    for text, bitmap in zip(texts, column.bitmaps, strict=True):
        lines.append(
            text.ljust(width) + " ".join(str(bit).center(len(one)) for bit, one in zip(bitmap, names, strict=True))
        )
    return Box(f"d{column.domain}", f"column {name}", lines, "leaf", visited=True, marked=[1 + selected])


def and_box(clusters: Clusters, chunk: Chunk, selected: list[int], left: list[bool], found: list[str]) -> Box:
    rows = [
        (clusters.words.domain(one.domain), one.bitmaps[at]) for one, at in zip(chunk.columns, selected, strict=True)
    ]
    width = max(len(name) for name, _ in rows) + 2
    lines = [
        name.ljust(width) + " ".join(map(str, bitmap)) for name, bitmap in [*rows, ("AND", [int(bit) for bit in left])]
    ]
    lines.append(f"true: {', '.join(found)}")
    return Box("and", "the selected bitmaps", lines, "result", visited=True, marked=[len(rows), len(rows) + 1])
