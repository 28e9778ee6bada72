"""A chunk of `cover`: the AND of one bitmap per column rules out many members at once."""

from __future__ import annotations

from typing import NamedTuple

import tellwhen as tw
from docs.drawing.boxes import Arrow, Box, draw_graph
from docs.drawing.clusters import Cluster, ClusterTable, read_cluster_table
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
"""The position in a column of the bitmap for events without the attribute; the bitmaps of the buckets follow."""


class Column(NamedTuple):
    """A column of a chunk: its domain, and its bitmaps with a bit for every member."""

    domain: int
    bitmaps: list[list[int]]


class Chunk(NamedTuple):
    """The members of a cluster that are tested together."""

    slots: list[int]
    columns: list[Column]
    program_bits: list[int]
    """For every member, whether its program must be run."""


def draw() -> str:
    index = tw.Index("cover", chunk=2).add_many(SUBSCRIPTIONS).rebuild()
    table = read_cluster_table(index)
    event_spaces = table.find_event_spaces(EVENT)
    (cluster,) = (one for one in table.clusters if one.is_opened_by(set(event_spaces.values())))
    chunk = read_chunk(table, cluster)
    assert not any(chunk.program_bits), "bitmaps decide all members of this chunk"
    names = table.decoder.name_subscriptions(chunk.slots)
    selected_bitmaps = [select_bitmap(table, column.domain, event_spaces) for column in chunk.columns]
    and_bits = [
        all(column.bitmaps[at][m] for column, at in zip(chunk.columns, selected_bitmaps, strict=True))
        for m in range(len(names))
    ]
    matched_names = [name for name, is_match in zip(names, and_bits, strict=True) if is_match]
    assert sorted(matched_names) == sorted(index.match(EVENT))
    boxes = [
        Box("cluster", table.spaces.format(cluster.first, cluster.last), names, "node", is_visited=True),
        *(
            make_column_box(table, column, at, names)
            for column, at in zip(chunk.columns, selected_bitmaps, strict=True)
        ),
        make_and_box(table, chunk, selected_bitmaps, and_bits, matched_names),
    ]
    heads = [f"d{column.domain}" for column in chunk.columns]
    arrows = [Arrow("cluster", head, is_visited=True) for head in heads]
    arrows += [Arrow(head, "and", is_visited=True) for head in heads]
    return draw_graph(TITLE, boxes, arrows, towards="right")


def read_chunk(table: ClusterTable, cluster: Cluster) -> Chunk:
    """Return the chunk of a cluster that has one chunk with all its members, and no clauses."""
    records, bits = table.arrays.chunks.words, table.arrays.chunks.bits
    at = cluster.chunk_words.start
    members, bitmaps, columns = (int(records[at + word]) for word in (MEMBERS, BITMAPS, COLUMNS))
    assert at + CHUNK_HEADER + columns == cluster.chunk_words.stop
    assert not records[at + ALTERNATIVES]
    assert not cluster.rest_postings
    assert members <= 64, "a bitmap of the picture is one word"

    def read_bitmap(number: int) -> list[int]:
        return [int(bits[bitmaps + number]) >> member & 1 for member in range(members)]

    chunk_columns = []
    for record in records[at + CHUNK_HEADER : cluster.chunk_words.stop].tolist():
        domain, first = record // BITMAP_SPAN // 2, 1 + record % BITMAP_SPAN  # 1: that of the programs comes before
        chunk_columns.append(
            Column(domain, [read_bitmap(first + k) for k in range(1 + len(table.spaces.list_of_domain(domain)))])
        )
    slots = [one.slot for one in cluster.chunk_postings]
    assert cluster.chunk_postings[0].number == records[at + POSTING]
    return Chunk(slots, chunk_columns, read_bitmap(0))


def select_bitmap(table: ClusterTable, domain: int, event_spaces: dict[int, int]) -> int:
    """Return the position in a column of the bitmap that an event selects."""
    return 1 + int(table.arrays.chunks.bucket[event_spaces[domain]]) if domain in event_spaces else NO_VALUE


def make_column_box(table: ClusterTable, column: Column, selected_bitmap: int, names: list[str]) -> Box:
    spaces = table.spaces.list_of_domain(column.domain)
    assert [int(table.arrays.chunks.bucket[space]) for space in spaces] == list(range(len(spaces)))
    name = table.decoder.name_attribute(column.domain)
    texts = [f"no {name}", *(table.spaces.format(space) for space in spaces)]
    width = max(len(text) for text in texts) + 2
    lines = [" " * width + " ".join(names)]
    for text, bitmap in zip(texts, column.bitmaps, strict=True):
        lines.append(
            text.ljust(width) + " ".join(str(bit).center(len(one)) for bit, one in zip(bitmap, names, strict=True))
        )
    return Box(
        f"d{column.domain}", f"column {name}", lines, "leaf", is_visited=True, marked_lines=[1 + selected_bitmap]
    )


def make_and_box(
    table: ClusterTable, chunk: Chunk, selected_bitmaps: list[int], and_bits: list[bool], matched_names: list[str]
) -> Box:
    rows = [
        (table.decoder.name_attribute(one.domain), one.bitmaps[at])
        for one, at in zip(chunk.columns, selected_bitmaps, strict=True)
    ]
    width = max(len(name) for name, _ in rows) + 2
    lines = [
        name.ljust(width) + " ".join(map(str, bitmap))
        for name, bitmap in [*rows, ("AND", [int(bit) for bit in and_bits])]
    ]
    lines.append(f"true: {', '.join(matched_names)}")
    return Box("and", "the selected bitmaps", lines, "result", is_visited=True, marked_lines=[len(rows), len(rows) + 1])
