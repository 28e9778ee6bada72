"""Diagnostics of one index: `Index.inspect`."""

from __future__ import annotations

from typing import Any

from tellwhen.encode.computed import find_argument_families
from tellwhen.index.ids import Id
from tellwhen.index.sampling import MatchedEventSample
from tellwhen.index.state import Contents
from tellwhen.inspect.attribute_coverage import (
    AttributeCoverage,
    compare_attributes,
    count_attributes,
    find_missing_attributes,
)
from tellwhen.inspect.engine_description import EngineDescription, describe_engine
from tellwhen.inspect.mentions import NO_CONSTANT, find_mentions
from tellwhen.inspect.predicate_costs import PredicateCost, rank_predicates
from tellwhen.language.computation import get_term, iter_input_names
from tellwhen.language.schema import Schema
from tellwhen.language.terms import is_computed, is_lacks_call


class Inspection:
    """Diagnostics of an index; nothing here changes the index.

    An inspection stays valid while the index changes: each call reads the present state.

    Examples
    --------
    >>> import tellwhen as tw
    >>> index = tw.Index().add(1, "price < 20 AND city = 'Rome'")
    >>> index.inspect.get_attributes()
    {'price': 'number', 'city': 'string'}
    """

    def __init__(self, contents: Contents, schema: Schema, sample: MatchedEventSample) -> None:
        self._contents = contents
        self._schema = schema
        self._sample = sample

    def describe_engine(self) -> EngineDescription:
        """Describe how the engine finds subscriptions, and count candidates per event; print the result.

        Examples
        --------
        >>> import tellwhen as tw
        >>> print(tw.Index().add(1, "x = 1").inspect.describe_engine())
        auto: 1 subscription
                    1  are pending: tested one by one until they are merged
        candidates per event: expected unknown without a profile, observed none yet
        """
        with self._contents.lock_shard() as shard:
            return describe_engine(shard, self._contents.limit.has_room_to_build(shard))

    def find_costly_predicates(self, limit: int = 10) -> list[PredicateCost]:
        """Return the predicates that cause the most work, the costliest first.

        A predicate is costly if many subscriptions contain it and many events satisfy it.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add(1, "x = 1 AND y > 2.5").add(2, "x = 1").add(3, "y > 2.5").add(4, "y > 2.5")
        >>> index.inspect.find_costly_predicates(limit=1)
        [PredicateCost(predicate='y > 2.5', subscriptions=3, events=None)]
        >>> index.optimize_for([{"x": 1}, {"x": 1}, {"y": 2}]).inspect.find_costly_predicates(limit=1)
        [PredicateCost(predicate='x = 1', subscriptions=2, events=0.667)]
        """
        with self._contents.lock_shard() as shard:
            return rank_predicates(shard, limit)

    def find_mentions(self, attribute: str | None = None, *, constant: Any = NO_CONSTANT) -> list[Id]:
        """Return the ids of the subscriptions that mention an attribute, or compare something with a constant, or both.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add(1, "city = 'Rome'").add(2, "price * qty > 5 OR city = 'Oslo'").add(3, "price > 5")
        >>> index.inspect.find_mentions("price")
        [2, 3]
        >>> index.inspect.find_mentions("city", constant="Rome")
        [1]
        >>> index.inspect.find_mentions(constant=5)
        [2, 3]
        """
        state = self._contents.state
        return state.ids.to_list(find_mentions(state, attribute, constant), state.id_type)

    def check_attributes(self, events: Any) -> AttributeCoverage:
        """Find attributes of subscriptions that no event has, and values of a wrong type.

        Nothing is matched, and nothing is counted in `get_stats`.

        Parameters
        ----------
        events
            Events in any form that `Index.match_many` takes.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add(1, "price < 20 AND city = 'Rome'")
        >>> print(index.inspect.check_attributes([{"Price": 12, "city": 5}]))
        1 event, 1 attribute that no subscription uses
        no event has price; did you mean Price?
        city: 1 value of a wrong type
        """
        state = self._contents.state
        counts = count_attributes(events, state.attributes, self._schema)
        return compare_attributes(counts, state.list_needed_attributes())

    def get_attributes(self) -> dict[str, str]:
        """Return the attributes of events that subscriptions need, each with its type.

        For a computed value these are the attributes from which it is computed.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add(1, "price * qty > 5 AND lower(city) = 'rome'").add(2, "price < 3 OR cars[no > 3]")
        >>> index.inspect.get_attributes()
        {'price': 'number', 'qty': 'number', 'city': 'string', 'cars': 'any'}
        """
        state = self._contents.state
        families: dict[str, set[str]] = {}
        for name in state.list_needed_attributes():
            if is_computed(name):
                for part, family in find_argument_families(get_term(name)).items():
                    families.setdefault(part, set()).update([family] if family else [])
            else:
                families.setdefault(name, set()).update(state.attributes.by_name[name].families)
        return {name: " or ".join(sorted(types)) or "any" for name, types in families.items()} | self._schema.types

    def get_types(self) -> dict[str, str]:
        """Return the attributes and computed values that subscriptions compare, each with its type.

        The type is the declared one or, without a declaration, that of the constants.

        Examples
        --------
        >>> import tellwhen as tw
        >>> tw.Index(schema={"day": "date"}).add(1, "price < 3 OR code = 7 OR code = 'x'").inspect.get_types()
        {'price': 'number', 'code': 'number or string', 'day': 'date'}
        """
        state = self._contents.state
        names = [name for name in state.list_needed_attributes() if not is_lacks_call(name)]
        compared = [state.attributes.by_name[name] for name in names]
        return {a.display_name: " or ".join(sorted(a.families)) for a in compared} | self._schema.types

    def get_computation_inputs(self) -> set[str]:
        """Return the attributes of events from which values are computed."""
        computed = filter(is_computed, self._contents.state.list_needed_attributes())
        return {part for name in computed for part in iter_input_names(name)}

    def get_stats(self) -> dict[str, Any]:
        """Return counts and sizes in bytes.

        Returns
        -------
        dict
            - `engine`, `subscriptions`, `attributes`, `domains`, `predicates`: the engine with its options, and counts.
            - `bytes`: sizes of the parts of the index.
            - `mismatches`: by attribute, how many values of events were of a wrong type.
            - `unseen`: attributes of subscriptions that recently matched events lack, each with a similar attribute
              of these events, or None.
            - the name of the engine: counts of its own.
        """
        with self._contents.lock_shard() as shard:
            store, engine = shard.store, shard.engine
            return {
                "engine": engine.spec,
                "subscriptions": self._contents.state.length,
                "attributes": len(store.attributes.by_name),
                "domains": len(store.attributes.domains),
                "predicates": len(store.snapshot().predicates.domain),
                "bytes": shard.count_bytes(),
                "mismatches": self._contents.mismatches.as_dict(),
                "unseen": self._find_unseen_attributes(),
                engine.name: shard.engines.stats(),
            }

    def _find_unseen_attributes(self) -> dict[str, str | None]:
        present = self._sample.collect_attribute_names()
        return find_missing_attributes(present, self._contents.state.list_needed_attributes())[0] if present else {}
