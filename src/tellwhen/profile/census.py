"""Counts of the attributes and their values on one side: in events, or in subscriptions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from tellwhen.profile.sketches import DistinctSample, HeavyPairs
from tellwhen.profile.values import FAMILIES

SAMPLED_VALUES = 1 << 17
"""Sampled values of all attributes together, at most."""

SAMPLED_VALUES_MAX, SAMPLED_VALUES_MIN = 256, 8
"""Greatest and least number of sampled values of one attribute."""

BUFFERED_VALUES_MAX = 1 << 17
"""Values that are buffered before the sketches count them, each distinct value once."""


class Census:
    """Counts of attributes and values. Values are texts in the form of `values.py`. Call `trim` after adding."""

    def __init__(self) -> None:
        self.present: Counter[str] = Counter()  # number of events or subscriptions with the attribute
        self.families: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.heavy = HeavyPairs()
        self._samples: defaultdict[str, DistinctSample] = defaultdict(DistinctSample)
        self._buffer: dict[str, dict[str, int]] = {}
        self._buffered_values = 0

    def add(self, attribute: str, text: str | None) -> None:
        """Add one value; None, which stands for a value of no family, is not counted."""
        if text is not None:
            counts = self._buffer.setdefault(attribute, {})
            counts[text] = counts.get(text, 0) + 1
            self._buffered_values += 1
            if self._buffered_values > BUFFERED_VALUES_MAX:
                self._flush()

    def _flush(self) -> None:
        for attribute, counts in self._buffer.items():
            self.add_counts(attribute, counts)
        self._buffer, self._buffered_values = {}, 0

    def add_counts(self, attribute: str, counts: Mapping[str, int], hashes: Mapping[str, bytes] | None = None) -> None:
        """Add distinct values with their counts, and with their hashes if these are known."""
        families = self.families[attribute]
        for text, count in counts.items():
            families[FAMILIES[text[0]]] += count
        self._samples[attribute].add(counts, self._compute_room(), hashes)
        self.heavy.add(attribute, counts)

    def trim(self) -> None:
        """Reduce the sketches to their final size, so that equal input gives equal results."""
        self._flush()
        room = self._compute_room()
        for sample in self._samples.values():
            sample.trim(room)
        self.heavy.trim()

    def merge(self, other: Census) -> None:
        self.present.update(other.present)
        for attribute, families in other.families.items():
            self.families[attribute].update(families)
            self._samples[attribute].add(other._samples[attribute].counts, self._compute_room())
            self.heavy.add(attribute, other.heavy.counts[attribute])
        self.heavy.error += other.heavy.error
        self.trim()

    def _compute_room(self) -> int:
        """Return the number of values to sample for each attribute; it falls as attributes are added.

        The room never grows, so a value that a part has dropped is dropped from the whole too.
        """
        return max(SAMPLED_VALUES_MIN, min(SAMPLED_VALUES_MAX, SAMPLED_VALUES // max(1, len(self._samples))))

    def _get_sample(self, attribute: str) -> DistinctSample:
        return self._samples.get(attribute, DistinctSample())

    def list_hitters(self, attribute: str) -> dict[str, int]:
        """Return the counts of all values if there are few, else of the heavy ones."""
        sample = self._get_sample(attribute)
        if sample.is_complete(self._compute_room()):
            return sample.counts
        # A pair with a count below the error may be no heavier than one that has been dropped.
        heavy = self.heavy.counts.get(attribute, {})
        certain = {text: count for text, count in heavy.items() if count > self.heavy.error}
        return {text: sample.counts.get(text, count) for text, count in certain.items()}

    def estimate_weights(self, attribute: str) -> dict[str, float]:
        """Return the counts of all values if there are few, else of the heavy ones and of a sample for all others."""
        hitters = self.list_hitters(attribute)
        light = {text: count for text, count in self._get_sample(attribute).counts.items() if text not in hitters}
        weights: dict[str, float] = dict(hitters)
        for family, total in self.families.get(attribute, {}).items():
            rest = total - sum(count for text, count in hitters.items() if FAMILIES[text[0]] == family)
            sampled = {text: count for text, count in light.items() if FAMILIES[text[0]] == family}
            if sampled and rest > 0:
                scale = rest / sum(sampled.values())
                weights |= {text: count * scale for text, count in sampled.items()}
        return weights

    def estimate_distinct(self, attribute: str) -> int:
        return self._get_sample(attribute).estimate_distinct(self._compute_room())

    def to_json(self) -> dict[str, Any]:
        return {
            "present": dict(self.present),
            "families": {attribute: dict(families) for attribute, families in self.families.items()},
            "samples": {attribute: sample.counts for attribute, sample in self._samples.items()},
            "heavy": self.heavy.counts,
            "error": self.heavy.error,
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Census:
        census = cls()
        census.present.update(form["present"])
        for attribute, families in form["families"].items():
            census.families[attribute].update(families)
            census._samples[attribute] = DistinctSample(form["samples"][attribute])
        census.heavy = HeavyPairs(form["heavy"], form["error"])
        return census
