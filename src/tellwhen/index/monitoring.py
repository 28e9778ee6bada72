"""What matched events reveal: their attributes, values of a wrong type, and attributes that are missing from all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tellwhen.index.limits import INDEX_LIMITS
from tellwhen.index.mismatches import describe_mismatch
from tellwhen.index.sampling import MatchedEventSample
from tellwhen.index.state import Contents, State
from tellwhen.language.schema import Schema

log = logging.getLogger("tellwhen")

FindMissing = Callable[[Iterable[str], Iterable[str]], tuple[dict[str, str | None], list[str]]]
"""The type of `tellwhen.inspect.attribute_coverage.find_missing_attributes`, which this package cannot import."""


class EventMonitor:
    """Recorder of matched events: it samples them, and logs what may be a mistake of the user.

    The methods are called after encoding, so no event is faulty.
    """

    def __init__(
        self,
        contents: Contents,
        schema: Schema,
        find_missing: FindMissing,
        first_coverage_check: int = INDEX_LIMITS.first_coverage_check,
    ) -> None:
        self._contents = contents
        self._schema = schema
        self._find_missing = find_missing
        self.sample = MatchedEventSample(first_coverage_check)
        self._reported_attributes: set[str] = set()

    def record(self, event: Mapping[str, Any], mismatches: Mapping[str, int], state: State) -> None:
        """Record an event, and by attribute how many of its values are of a wrong type."""
        if self.sample.record(event):
            self._start_adaptation(state)
            if self.sample.claim_coverage_check():
                self._log_missing_attributes(state)
        if mismatches:
            self.record_mismatches(mismatches, state, event)

    def record_many(self, events: Any, state: State) -> None:
        """Record the events of a list or a table."""
        self.sample.record_many(events)
        self._start_adaptation(state)
        if self.sample.claim_coverage_check():
            self._log_missing_attributes(state)

    def record_mismatches(self, mismatches: Mapping[str, int], state: State, events: Any) -> None:
        """Count values of a wrong type by attribute. `events` give examples for the log."""
        self._contents.mismatches.add(
            mismatches, lambda name: describe_mismatch(name, state.attributes, events, self._schema)
        )

    def _start_adaptation(self, state: State) -> None:
        """Start background work if the matched events have made it due."""
        if state.shard.engine.adapts_while_matching:
            self._contents.try_start_due_upkeep()

    def _log_missing_attributes(self, state: State) -> None:
        """Log attributes that recent events lack if these events have an unused attribute of a similar name."""
        missing, unused = self._find_missing(self.sample.collect_attribute_names(), state.list_needed_attributes())
        for name, similar in missing.items():
            if similar in unused and name not in self._reported_attributes:
                self._reported_attributes.add(name)
                log.warning(
                    "tellwhen: subscriptions use %s, which no recent event has; recent events have %s, which no "
                    "subscription uses; call index.inspect.check_attributes(events) for more",
                    name,
                    similar,
                )
