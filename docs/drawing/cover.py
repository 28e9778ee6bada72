"""Where does a subscription wait in `cover`, and what does an event test? Clusters, guards and programs."""

from __future__ import annotations

from typing import NamedTuple

from docs.drawing.boxes import Arrow, Box, Look
from docs.drawing.clusters import Cluster, Clusters, Posting
from docs.drawing.example_trees import EVENT, event_box, example
from docs.drawing.routed import picture
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

STOPPED = "stopped by its guard"


class Test(NamedTuple):
    """An instruction of a program: the ranges of spaces that it tests, and where it goes on."""

    text: str
    domain: int
    ranges: list[tuple[int, int]]
    is_negated: bool
    jumps_on_true: bool
    target: int

    def holds(self, values: dict[int, int]) -> bool:
        if self.domain not in values:
            return False
        return any(first <= values[self.domain] <= last for first, last in self.ranges) != self.is_negated


def draw() -> str:
    index = example("cover")
    clusters = Clusters.of(index)
    values = clusters.values(EVENT)
    boxes, arrows, found = [event_box()], [], set()
    for cluster in clusters.all:
        is_open = cluster.is_opened_by(set(values.values()))
        passed = [one for one in cluster.rest if is_open and passes(one, values)]
        boxes.append(cluster_box(clusters, cluster, passed, is_open))
        arrows.append(Arrow("event", f"c{cluster.number}", visited=is_open))
        for posting in passed:
            tests = program_of(clusters, posting)
            ran, is_true = run(tests, values)
            name = clusters.words.subscription(posting.slot)
            found |= {name} if is_true else set()
            lines = [said(number, test) for number, test in enumerate(tests)]
            marked = [number for number in ran if tests[number].holds(values)]
            look: Look = "result" if is_true else "plain"
            boxes.append(
                Box(f"k{posting.number}", f"{name}: {'true' if is_true else 'false'}", lines, look, True, marked=marked)
            )
            arrows.append(Arrow(f"c{cluster.number}", f"k{posting.number}", visited=True))
    assert sorted(found) == sorted(index.match(EVENT))
    return picture(TITLE, boxes, arrows, towards="right")


def cluster_box(clusters: Clusters, cluster: Cluster, passed: list[Posting], is_open: bool) -> Box:
    assert not cluster.in_chunks
    lines = []
    for posting in cluster.rest:
        name = clusters.words.subscription(posting.slot)
        lines.append(f"{name}: {STOPPED}" if is_open and posting not in passed else name)
    marked = [number for number, posting in enumerate(cluster.rest) if posting in passed]
    head = clusters.spaces.said(cluster.first, cluster.last)
    return Box(f"c{cluster.number}", head, lines, "node", is_open, marked=marked)


def passes(posting: Posting, values: dict[int, int]) -> bool:
    """Does the event have all bits that a guard asks for, or with ANY one of them?"""
    bits = int(ANY)
    for domain, space in values.items():
        bits |= int(hash_bit(domain, NO_SPACE)) | int(hash_bit(domain, space))
    if posting.guard & int(ANY):
        return posting.guard & bits != int(ANY)
    return posting.guard & ~bits == 0


def program_of(clusters: Clusters, posting: Posting) -> list[Test]:
    words, first = clusters.arrays.words, posting.program + 1
    return [
        test_of(clusters, words[at : at + INSTRUCTION_WORDS].tolist())
        for at in range(first, first + int(words[posting.program]), INSTRUCTION_WORDS)
    ]


def test_of(clusters: Clusters, instruction: list[int]) -> Test:
    head, first, last, jump = (instruction[word] for word in (HEAD, FIRST, LAST, JUMP))
    assert head & 3 in (RANGE, LIST), "no program in a picture has registers"
    ranges = [(first, last)]
    if head & 3 == LIST:
        ends = clusters.arrays.words[first : first + 2 * last].tolist()
        ranges = list(zip(ends[::2], ends[1::2], strict=True))
    text = " or ".join(clusters.spaces.said(*one) for one in ranges)
    is_negated, jumps_on_true = head & NEGATED != 0, head & JUMP_ON_TRUE != 0
    target = jump if jump < 0 else jump // INSTRUCTION_WORDS
    return Test(f"NOT {text}" if is_negated else text, head >> FLAG_BITS, ranges, is_negated, jumps_on_true, target)


def said(number: int, test: Test) -> str:
    target = {ACCEPT: "true", REJECT: "false"}.get(test.target, f"test {test.target + 1}")
    return f"{number + 1}: {test.text}, {'then' if test.jumps_on_true else 'else'} {target}"


def run(tests: list[Test], values: dict[int, int]) -> tuple[list[int], bool]:
    """The tests that are run, and whether the program accepts. Behind its last test it is false."""
    at, ran = 0, []
    while at < len(tests):
        ran.append(at)
        if tests[at].holds(values) == tests[at].jumps_on_true:
            if tests[at].target < 0:
                return ran, tests[at].target == ACCEPT
            at = tests[at].target
        else:
            at += 1
    return ran, False
