"""Deprecated members and parameters of `Index`: docs/reference/api.md has the old names with the new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tellwhen.deprecation import alias_method, alias_property, warn_deprecated
from tellwhen.errors import ArgumentError, abbreviate
from tellwhen.index.ids import Id

if TYPE_CHECKING:
    from tellwhen.index.index import Index
    from tellwhen.index.payloads import Where


class DeprecatedMembers:
    """Old names of the members of `Index`."""

    observe = alias_method("Index.observe", "optimize_for")
    adapt = alias_method("Index.adapt", "optimize_for_recent_events")
    exists = alias_method("Index.exists", "has_match")
    payload = alias_method("Index.payload", "get_payload")
    payload_values = alias_method("Index.payload_values", "get_payload_values")
    plan = alias_method("Index.plan", "inspect.describe_engine")
    mentioning = alias_method("Index.mentioning", "inspect.find_mentions")
    unmatched_attributes = alias_method("Index.unmatched_attributes", "inspect.check_attributes")
    stats = alias_method("Index.stats", "inspect.get_stats")
    types = alias_property("Index.types", "inspect.get_types()")
    attributes = alias_property("Index.attributes", "inspect.get_attributes()")
    computed_from = alias_property("Index.computed_from", "inspect.get_computation_inputs()")

    def heaviest(self: Any, count: int = 10) -> Any:
        """Call `Index.inspect.find_costly_predicates`. Deprecated."""
        warn_deprecated("Index.heaviest()", "Index.inspect.find_costly_predicates()")
        return self.inspect.find_costly_predicates(count)

    def texts(self: Any, *, start: Id | None = None) -> Iterator[tuple[Id, str]]:
        """Call `Index.iter_texts`. Deprecated."""
        warn_deprecated("Index.texts()", "Index.iter_texts()")
        return self.iter_texts(start=start)

    def score(self: Any, id: Id) -> float:
        """Return the score of `Index.get_subscription`. Deprecated."""
        warn_deprecated("Index.score()", "Index.get_subscription(id).score")
        return self.get_subscription(id).score

    def weights(self: Any, id: Id) -> dict[str, float]:
        """Return the weights of `Index.get_subscription`. Deprecated."""
        warn_deprecated("Index.weights()", "Index.get_subscription(id).weights")
        return self.get_subscription(id).weights

    def text(self: Any, id: Id) -> str:
        """Return the expression of `Index.get_subscription`. Deprecated."""
        warn_deprecated("Index.text()", "Index.get_subscription(id).expression")
        shard, slot = self._contents.locate(id)
        return shard.texts[slot]


def add_many_with_errors_argument(index: Index, subscriptions: Any, replace: bool, errors: str) -> Any:
    """Carry out `add_many(errors="quarantine")`."""
    if errors != "quarantine":
        raise ArgumentError(f"errors must be 'raise' or 'quarantine', not {abbreviate(errors)}")
    warn_deprecated('Index.add_many(errors="quarantine")', "Index.add_valid()", stacklevel=3)
    return index.add_valid(subscriptions, replace=replace)


def match_with_payload_argument(
    index: Index, event: Mapping[str, Any], where: Where, payload: bool | Sequence[str]
) -> Any:
    """Carry out `match(payload=...)`."""
    warn_deprecated("Index.match(payload=...)", "Index.match_with_payloads()", stacklevel=3)
    return index.match_with_payloads(event, where=where, fields=None if isinstance(payload, bool) else payload)


def count_with_by_argument(index: Index, events: Any, by: str, where: Where, threads: int | None) -> Any:
    """Carry out `count_many(by="subscription")`."""
    if by != "subscription":
        raise ArgumentError(f"by must be 'event' or 'subscription', not {abbreviate(by)}")
    warn_deprecated('Index.count_many(by="subscription")', "Index.count_by_subscription()", stacklevel=3)
    return index.count_by_subscription(events, where=where, threads=threads)
