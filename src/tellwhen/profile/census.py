"""How often does each attribute occur, and with which values? On one side: the events, or the subscriptions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from tellwhen.profile.sketches import Heavy, Sample
from tellwhen.profile.values import FAMILIES

SAMPLED = 1 << 17
"""Values sampled of all attributes together."""

SAMPLED_MOST, SAMPLED_LEAST = 256, 8
"""Values sampled of one attribute, at most and at least."""

BUFFERED = 1 << 17
"""Values collected before the sketches see them, each distinct one once with its count."""


class Census:
    """Values are texts, as `values.py` writes them. Call `trim` after adding."""

    def __init__(self) -> None:
        self.present: Counter[str] = Counter()  # events or subscriptions that have the attribute
        self.families: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.heavy = Heavy()
        self._samples: defaultdict[str, Sample] = defaultdict(Sample)
        self._buffer: dict[str, dict[str, int]] = {}
        self._buffered = 0

    def add(self, attribute: str, text: str | None) -> None:
        """Add one value; None, a value of no family, is not counted."""
        if text is not None:
            counts = self._buffer.setdefault(attribute, {})
            counts[text] = counts.get(text, 0) + 1
            self._buffered += 1
            if self._buffered > BUFFERED:
                self._flush()

    def _flush(self) -> None:
        for attribute, counts in self._buffer.items():
            self.add_counts(attribute, counts)
        self._buffer, self._buffered = {}, 0

    def add_counts(self, attribute: str, counts: Mapping[str, int], hashes: Mapping[str, bytes] | None = None) -> None:
        """Add distinct values with their counts, and with their hashes where these are known already."""
        families = self.families[attribute]
        for text, count in counts.items():
            families[FAMILIES[text[0]]] += count
        self._samples[attribute].add(counts, self._room(), hashes)
        self.heavy.add(attribute, counts)

    def trim(self) -> None:
        """Reduce the sketches to their final size, so that equal input gives equal results."""
        self._flush()
        room = self._room()
        for sample in self._samples.values():
            sample.cut(room)
        self.heavy.cut()

    def merge(self, other: Census) -> None:
        self.present.update(other.present)
        for attribute, families in other.families.items():
            self.families[attribute].update(families)
            self._samples[attribute].add(other._samples[attribute].counts, self._room())
            self.heavy.add(attribute, other.heavy.counts[attribute])
        self.heavy.error += other.heavy.error
        self.trim()

    def _room(self) -> int:
        """Values to sample of each attribute: the more attributes, the fewer.

        It never grows, so a value that a part has dropped is dropped from the whole, too.
        """
        return max(SAMPLED_LEAST, min(SAMPLED_MOST, SAMPLED // max(1, len(self._samples))))

    def _sample(self, attribute: str) -> Sample:
        return self._samples.get(attribute, Sample())

    def hitters(self, attribute: str) -> dict[str, int]:
        """All values if there are few; else the heavy ones."""
        sample = self._sample(attribute)
        if sample.is_complete(self._room()):
            return sample.counts
        # A pair that counts less than the error may be no heavier than one that has been dropped.
        heavy = self.heavy.counts.get(attribute, {})
        found = {text: count for text, count in heavy.items() if count > self.heavy.error}
        return {text: sample.counts.get(text, count) for text, count in found.items()}

    def weights(self, attribute: str) -> dict[str, float]:
        """All values if there are few; else the heavy ones, and a sample that stands for the rest."""
        hitters = self.hitters(attribute)
        light = {text: count for text, count in self._sample(attribute).counts.items() if text not in hitters}
        weights: dict[str, float] = dict(hitters)
        for family, total in self.families.get(attribute, {}).items():
            rest = total - sum(count for text, count in hitters.items() if FAMILIES[text[0]] == family)
            mine = {text: count for text, count in light.items() if FAMILIES[text[0]] == family}
            if mine and rest > 0:
                scale = rest / sum(mine.values())
                weights |= {text: count * scale for text, count in mine.items()}
        return weights

    def distinct(self, attribute: str) -> int:
        return self._sample(attribute).distinct(self._room())

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
            census._samples[attribute] = Sample(form["samples"][attribute])
        census.heavy = Heavy(form["heavy"], form["error"])
        return census
