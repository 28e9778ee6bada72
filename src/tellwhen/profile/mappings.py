"""Batches of events that are mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from tellwhen.kernels.arrays import I64, U64
from tellwhen.language.values import flatten, is_missing, iter_members
from tellwhen.profile.events import AttributeCounts, Event, hash_events, hash_pairs
from tellwhen.profile.values import convert_hashes, encode_value, hash_text

BATCH_VALUES = 1 << 17
"""Values and events in a batch, at most, to bound its memory."""


class MappingBatch:
    """A batch in which each distinct pair of attribute and text has a code, and an event is a list of codes.

    Slow operations run once for each distinct pair, all others on arrays.
    """

    def __init__(self) -> None:
        self._codes: dict[str, dict[str, int]] = {}  # by attribute and text
        self._pairs = 0
        self._entries: list[int] = []  # the codes of all events; those of one attribute are neighbours
        self._starts = [0]
        self._may_repeat = False  # whether an event may have a code twice
        self._event_hashes = np.zeros(0, dtype=np.uint64), 0

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def is_full(self) -> bool:
        """Whether no more events should be added."""
        return len(self._entries) + len(self._starts) > BATCH_VALUES

    def add(self, event: Mapping[str, Any]) -> None:
        codes, entries = self._codes, self._entries
        for attribute, value in flatten(event).items():
            text = encode_value(value)
            if text is None:
                self._add_list_members(attribute, value)
                continue
            mine = codes.get(attribute)
            if mine is None:
                mine = codes[attribute] = {}
            code = mine.get(text)
            if code is None:
                code = mine[text] = self._pairs
                self._pairs += 1
            entries.append(code)
        self._starts.append(len(entries))

    def _add_list_members(self, attribute: str, value: Any) -> None:
        """Add the members of a list, or a value of no family. What has no family is added as an empty text."""
        for member in iter_members(value):
            if not is_missing(member):
                mine = self._codes.setdefault(attribute, {})
                text = encode_value(member) or ""
                if text not in mine:
                    mine[text] = self._pairs
                    self._pairs += 1
                self._entries.append(mine[text])
                self._may_repeat = True

    def count_attributes(self) -> Iterator[AttributeCounts]:
        entries, start = np.array(self._entries, dtype=np.int64), np.array(self._starts)
        owner = np.repeat(np.arange(len(self)), np.diff(start))
        lengths = [len(mine) for mine in self._codes.values()]
        codes = np.fromiter(chain.from_iterable(mine.values() for mine in self._codes.values()), np.int64, self._pairs)
        attribute = np.empty(self._pairs, dtype=np.int64)  # by code
        attribute[codes] = np.repeat(np.arange(len(lengths)), lengths)

        counts = np.bincount(entries, minlength=self._pairs).tolist()
        carriers = np.bincount(attribute[entries][_find_changes(owner, attribute[entries])], minlength=len(lengths))
        texts: list[bytes] = []  # the hashes of all texts, in the order of `codes`
        for (name, mine), events in zip(self._codes.items(), carriers.tolist(), strict=True):
            hashes = {text: hash_text(text) for text in mine}
            texts += hashes.values()
            yield AttributeCounts(name, events, {text: counts[code] for text, code in mine.items() if text}, hashes)

        names = convert_hashes(map(hash_text, self._codes))
        hashed = np.empty(self._pairs, dtype=np.uint64)
        hashed[codes] = hash_pairs(np.repeat(names, lengths), convert_hashes(texts))
        self._event_hashes = self._hash_events(hashed, entries, owner)

    def _hash_events(self, hashes: U64, entries: I64, owner: I64) -> tuple[U64, int]:
        if self._may_repeat:  # each value counts once
            order = np.lexsort((entries, owner))
            entries, owner = entries[order], owner[order]
            is_first = _find_changes(owner, entries)
            entries, owner = entries[is_first], owner[is_first]
        start = np.searchsorted(owner, np.arange(len(self) + 1))
        upto = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(hashes[entries])])
        return hash_events(np.diff(upto[start])), int(np.diff(start).max(initial=0))

    def get_event_hashes(self) -> tuple[U64, int]:
        return self._event_hashes

    def build_events(self, positions: I64) -> list[Event]:
        pairs = [("", "")] * self._pairs
        for attribute, mine in self._codes.items():
            for text, code in mine.items():
                pairs[code] = attribute, text
        events: list[Event] = []
        for position in positions.tolist():
            event: Event = {}
            for code in set(self._entries[self._starts[position] : self._starts[position + 1]]):
                attribute, text = pairs[code]
                event.setdefault(attribute, []).append(text)
            events.append(event)
        return events


def _find_changes(*keys: I64) -> np.ndarray:
    """Return by position whether some key differs from that of the previous position."""
    is_change = np.ones(len(keys[0]), dtype=bool)
    is_change[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return is_change
