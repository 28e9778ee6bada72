"""The arrays that kernels read, drawn.

One dtype per role, so that every kernel is compiled once: domains, predicates, slots and conjunctions are int32;
points, offsets and versions int64; flags uint8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray


class ArrayLayout(NamedTuple):
    """The dtype and the number of dimensions that an array type declares, for `kernels/handover.py` to read.

    They are annotated because `NDArray[np.int64]` does not show them in every version of NumPy: from 2.5 on, and with
    Python 3.12 or newer, `NDArray` is a `TypeAliasType`.
    """

    dtype: type[np.generic]
    dimensions: int = 1


I64 = Annotated[NDArray[np.int64], ArrayLayout(np.int64)]
I32 = Annotated[NDArray[np.int32], ArrayLayout(np.int32)]
U8 = Annotated[NDArray[np.uint8], ArrayLayout(np.uint8)]
U16 = Annotated[NDArray[np.uint16], ArrayLayout(np.uint16)]
U64 = Annotated[NDArray[np.uint64], ArrayLayout(np.uint64)]
F64 = Annotated[NDArray[np.float64], ArrayLayout(np.float64)]
Flags = Annotated[NDArray[np.bool_], ArrayLayout(np.bool_)]
I32Matrix = Annotated[NDArray[np.int32], ArrayLayout(np.int32, dimensions=2)]
I64Matrix = Annotated[NDArray[np.int64], ArrayLayout(np.int64, dimensions=2)]

Kind = TypeVar("Kind")


def keeps(*names: str) -> Callable[[type[Kind]], type[Kind]]:
    """Mark the arrays of a scratch kind whose content every kernel restores: zeros, or stamps of a clock.

    All other arrays may contain anything between two calls.
    """

    def mark(kind: type[Kind]) -> type[Kind]:
        setattr(kind, "kept", frozenset(names))  # noqa: B010  a NamedTuple declares fields only
        return kind

    return mark


LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1

CONJUNCTION, PROGRAM, NEVER = 0, 1, 2
"""Kinds of subscription: a conjunction, a program of tests, and one that nothing satisfies."""

ACCEPT, REJECT, SET, CLEAR = -1, -2, -3, -4
"""ACCEPT and REJECT are targets of a test. SET and CLEAR replace the last word of an instruction that is no test."""


class Predicates(NamedTuple):
    """Distinct predicates: p is satisfied by the points of domain[p] inside its intervals.

    `every[p]` is 1 for a negated predicate: then all entries of the event on that domain must lie inside, each in one
    interval (those of a negated predicate are never adjacent).
    """

    domain: I32  # |4|4|7|
    every: U8  # |0|1|0|
    start: I64  # |0|1|3|5|             intervals of p are start[p]:start[p+1]
    low: I64  # |20|-inf  31|2 6|      sorted and disjoint
    high: I64  # |40|  29 inf|2 6|      closed


class Subscriptions(NamedTuple):
    """The code of every slot. Slots are never reused; a removed one keeps its code and has a `died` version."""

    kind: U8  # |CONJUNCTION|PROGRAM|
    start: I64  # |0|3|12|                       code of slot s is start[s]:start[s+1]
    code: I32  # |5 9 11|5 1 -2, 8 -1 2, ...|    predicates, or instructions (test, on true, on false)
    died: I64  # |HIGHEST|17|                    visible to a reader of version v when died > v


class Snapshot(NamedTuple):
    """The store at one moment. It never changes.

    Later additions are appended behind the ends of its arrays. A later removal writes a `died` version that is greater
    than `version`, so the slot still counts as alive here.
    """

    predicates: Predicates
    subscriptions: Subscriptions
    domains: int
    registers: int  # that the largest program needs
    version: int
    removed: int  # slots, ever: 0 spares a kernel the look at `died`


class Events(NamedTuple):
    """A batch of events: entry i says that on domain[i] the event takes some value in low[i]..high[i]."""

    start: I64  # |0|2|5|          entries of event e are start[e]:start[e+1]
    domain: I32  # |4 7|4 4 9|      entries of one domain are neighbours
    low: I64  # |52 2|10 18 1|
    high: I64  # |52 2|10 18 1|   equal to low for a single value
    single_valued: U8  # |1|0|            1 when no domain repeats and every entry is a single value


class Matches(NamedTuple):
    """The slots that each event satisfies, in no particular order."""

    start: I64  # |0|2|2|    slots of event e are slot[start[e]:start[e+1]]
    slot: I32  # |4 19|


class Stabbing(NamedTuple):
    """A stabbing index: the intervals of all domains, by shape, and the members that wait for each interval.

    There are D domains. See `kernels/stabbing.py` for the shapes.
    """

    key_start: (
        I64  # |0 2 2|2 5 5|...   keys of shape h on domain d are keys[key_start[h*(D+1)+d]:key_start[h*(D+1)+d+1]]
    )
    keys: I64  # |20 31|5 7 9|...   points, ends of `<=`, ends of `>=`, cuts of segment trees; each run ascending
    list_start: I64  # |0|4|6|...         list k is members[list_start[k]:list_start[k+1]]: of keys, then of tree nodes
    members: I32


class Runs(NamedTuple):
    """Scratch: the begin and the end of each run of members that one entry stabs."""

    begin: I64
    end: I64
