"""The clusters, guards and programs of `cover`, and those that an event tests."""

from __future__ import annotations

from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box, Look
from docs.drawing.clusters import Cluster, ClusterTable, Posting, read_cluster_table
from docs.drawing.example_trees import EVENT, build_example, make_event_box
from docs.drawing.routing import draw_routed_graph
from tellwhen.engines.cover.arrays import (
    FIRST,
    FLAG_BITS,
    HEAD,
    INSTRUCTION_WORDS,
    JUMP,
    JUMP_ON_TRUE,
    LAST,
    LIST,
    NEGATED,
    RANGE,
)
from tellwhen.engines.cover.kernels.guards import ANY, NO_SPACE, hash_bit
from tellwhen.kernels.arrays import ACCEPT, REJECT

TITLE = "The engine cover: the values of an event open clusters; guards and programs decide what waits in them"

STOPPED_TEXT = "stopped by its guard"


class Instruction(NamedTuple):
    """An instruction of a program: the ranges of spaces that it tests, and the target of its jump."""

    text: str
    domain: int
    ranges: list[tuple[int, int]]
    is_negated: bool
    jumps_on_true: bool
    target: int

    def is_true(self, event_spaces: dict[int, int]) -> bool:
        if self.domain not in event_spaces:
            return False
        return any(first <= event_spaces[self.domain] <= last for first, last in self.ranges) != self.is_negated


def draw() -> str:
    index = build_example("cover")
    table = read_cluster_table(index)
    event_spaces = table.find_event_spaces(EVENT)
    boxes, arrows, matched_names = [make_event_box()], [], set()
    for cluster in table.clusters:
        is_open = cluster.is_opened_by(set(event_spaces.values()))
        passed_postings = [one for one in cluster.rest_postings if is_open and can_pass_guard(one, event_spaces)]
        boxes.append(make_cluster_box(table, cluster, passed_postings, is_open))
        arrows.append(Arrow("event", f"c{cluster.number}", is_visited=is_open))
        for posting in passed_postings:
            instructions = read_program(table, posting)
            executed, is_true = run_program(instructions, event_spaces)
            name = table.decoder.name_subscription(posting.slot)
            matched_names |= {name} if is_true else set()
            lines = [format_instruction(number, instruction) for number, instruction in enumerate(instructions)]
            marked = [number for number in executed if instructions[number].is_true(event_spaces)]
            look: Look = "result" if is_true else "plain"
            boxes.append(
                Box(
                    f"k{posting.number}",
                    f"{name}: {'true' if is_true else 'false'}",
                    lines,
                    look,
                    True,
                    marked_lines=marked,
                )
            )
            arrows.append(Arrow(f"c{cluster.number}", f"k{posting.number}", is_visited=True))
    assert sorted(matched_names) == sorted(index.match(EVENT))
    return draw_routed_graph(TITLE, boxes, arrows, towards="right")


def make_cluster_box(table: ClusterTable, cluster: Cluster, passed_postings: list[Posting], is_open: bool) -> Box:
    assert not cluster.chunk_postings
    lines = []
    for posting in cluster.rest_postings:
        name = table.decoder.name_subscription(posting.slot)
        lines.append(f"{name}: {STOPPED_TEXT}" if is_open and posting not in passed_postings else name)
    marked = [number for number, posting in enumerate(cluster.rest_postings) if posting in passed_postings]
    head = table.spaces.format(cluster.first, cluster.last)
    return Box(f"c{cluster.number}", head, lines, "node", is_open, marked_lines=marked)


def can_pass_guard(posting: Posting, event_spaces: dict[int, int]) -> bool:
    """Return whether an event passes a guard: it has all bits of the guard or, if the guard has ANY, one of them."""
    bits = int(ANY)
    for domain, space in event_spaces.items():
        bits |= int(hash_bit(domain, NO_SPACE)) | int(hash_bit(domain, space))
    if posting.guard & int(ANY):
        return posting.guard & bits != int(ANY)
    return posting.guard & ~bits == 0


def read_program(table: ClusterTable, posting: Posting) -> list[Instruction]:
    words, first = table.arrays.words, posting.program + 1
    return [
        decode_instruction(table, words[at : at + INSTRUCTION_WORDS].tolist())
        for at in range(first, first + int(words[posting.program]), INSTRUCTION_WORDS)
    ]


def decode_instruction(table: ClusterTable, instruction: list[int]) -> Instruction:
    head, first, last, jump = (instruction[word] for word in (HEAD, FIRST, LAST, JUMP))
    assert head & 3 in (RANGE, LIST), "no program in a picture has registers"
    ranges = [(first, last)]
    if head & 3 == LIST:
        ends = table.arrays.words[first : first + 2 * last].tolist()
        ranges = list(zip(ends[::2], ends[1::2], strict=True))
    text = " or ".join(table.spaces.format(*one) for one in ranges)
    is_negated, jumps_on_true = head & NEGATED != 0, head & JUMP_ON_TRUE != 0
    target = jump if jump < 0 else jump // INSTRUCTION_WORDS
    return Instruction(
        f"NOT {text}" if is_negated else text, head >> FLAG_BITS, ranges, is_negated, jumps_on_true, target
    )


def format_instruction(number: int, instruction: Instruction) -> str:
    target = {ACCEPT: "true", REJECT: "false"}.get(instruction.target, f"test {instruction.target + 1}")
    return f"{number + 1}: {instruction.text}, {'then' if instruction.jumps_on_true else 'else'} {target}"


def run_program(instructions: list[Instruction], event_spaces: dict[int, int]) -> tuple[list[int], bool]:
    """Return (the instructions that run, whether the program accepts). It rejects after the last instruction."""
    position, executed = 0, []
    while position < len(instructions):
        executed.append(position)
        if instructions[position].is_true(event_spaces) == instructions[position].jumps_on_true:
            if instructions[position].target < 0:
                return executed, instructions[position].target == ACCEPT
            position = instructions[position].target
        else:
            position += 1
    return executed, False
