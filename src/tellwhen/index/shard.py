"""A shard: a store with its engine, ids, texts and payloads. A change is made as a whole, or undone.

A change starts with `mark()`. If an error in the input or an interrupt stops the change between any two steps,
`rewind()` restores the contents at the mark. Readers notice neither, since they see the last published state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.extract import find_attribute_names
from tellwhen.compile.scores import parse_score
from tellwhen.compile.store import COMPILE_BATCH, Store, StoreMark
from tellwhen.containers.text_blocks import CompressedTexts, NoTexts
from tellwhen.engines import create_with_fallback, explain_refusal, list_engines_supporting
from tellwhen.engines.base import INDEX_AT_ONCE, Engine, Undo
from tellwhen.errors import BudgetError, DuplicateId, ScoreError, TellwhenError
from tellwhen.index.ids import Id, Ids, validate_id
from tellwhen.index.payloads import PayloadColumns, Payloads
from tellwhen.index.slots import SlotsById, make_unknown_id_error
from tellwhen.index.subscriptions import ParsedSubscription, Rejected, Subscription, parse_subscription
from tellwhen.kernels.arrays import F64, I32, Snapshot
from tellwhen.language.ast import Expr
from tellwhen.language.schema import Schema
from tellwhen.persistence.attributes import collect_dictionary_arrays, describe_attributes, restore_attributes
from tellwhen.profile import Profile, TypicalEvents
from tellwhen.relaxed.index import MatchRanker, RelaxedRanker

log = logging.getLogger("tellwhen")

COMPUTED_VALUES_MIN = 64
"""Compact once 64 different values are computed per event and over half of them serve removed slots only."""


class ShardMark(NamedTuple):
    """The contents of a shard before a change, for `Shard.rewind`."""

    store: StoreMark
    profile: Profile
    next_ordinal: int
    undo_engine: Undo | None


class Shard:
    """A store with its engine, ids, texts and payloads by slot, and a profile of the events to expect."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        ids: Ids,
        texts: CompressedTexts | NoTexts,
        profile: Profile,
        payloads: Payloads | None = None,
    ) -> None:
        self.store, self.engines, self.ids, self.texts = store, engine, ids, texts
        self.payloads = Payloads() if payloads is None else payloads
        self.set_profile(profile)
        self._has_engine_changed = False  # since the mark, the engine or the slots by id may have changed
        self._slots: SlotsById | None = None  # made at the first use: an index that only matches never needs it
        self._checked_removals, self._has_unused_computations = 0, False  # see _check_computations

    @classmethod
    def empty(cls, engine: str, schema: Schema, profile: Profile | None = None, has_texts: bool = True) -> Shard:
        store = Store(schema)
        texts = CompressedTexts() if has_texts else NoTexts()
        return cls(store, create_with_fallback(engine, store), Ids(), texts, profile or Profile())

    @property
    def engine(self) -> Engine:
        """The named engine. `engines` is the same, or the named engine together with one for other expressions."""
        return self.engines.named_engine

    def set_profile(self, profile: Profile) -> None:
        """Set the profile, which must not change any more. The engine reads it the next time it builds its index."""
        self.profile = profile
        self.store.set_typical(TypicalEvents(profile, self.store))

    def add(self, rows: Iterator[Any], replace: bool, rejected: list[Rejected] | None = None) -> None:
        """Add subscriptions: store all, then index all.

        Parameters
        ----------
        rows
            Rows as in `subscriptions.py`.
        replace
            Whether to replace subscriptions of the same ids. Of several rows with one id, the last one counts.
        rejected
            A list to which faulty rows are appended. Without it, the first faulty row raises an error.
        """
        slot_by_id: dict[Id, int] = {}
        replaced: set[int] = set()
        first = len(self.store)
        moves: list[tuple[int, LabelMoves]] = []
        while block := list(islice(rows, COMPILE_BATCH)):
            moves += self._store_block(block, slot_by_id, replaced, replace, rejected)
        self._index_added(first, slot_by_id, replaced, moves)

    def add_compiled(
        self,
        source: Shard,
        snapshot: Snapshot,
        attributes: Attributes,
        slots: I32,
        *,
        scores: F64 | None = None,
        replace: bool = False,
    ) -> None:
        """Add subscriptions of another shard with the same schema. They are copied as they were compiled.

        Parameters
        ----------
        source
            The other shard. Another thread may change it meanwhile.
        snapshot, attributes
            The store and the attributes of the other shard at the moment at which its subscriptions are copied.
        slots
            The slots of the subscriptions in the other shard, ascending and not removed at that moment.
        scores
            Their scores. By default they are read from the other shard, where they may change meanwhile.
        replace
            Whether to replace subscriptions of the same ids.
        """
        if not len(slots):
            return
        first = len(self.store)
        ids = [source.ids[slot] for slot in slots.tolist()]
        slot_by_id = {id_: first + i for i, id_ in enumerate(ids)}
        older = [self.slots.get(id_) for id_ in ids]
        replaced = {slot for slot in older if slot is not None}
        if replaced and not replace:
            raise _make_duplicate_error(next(id_ for id_, slot in zip(ids, older, strict=True) if slot is not None))
        next_ordinals = count(self.ids.ordinals.next)
        ordinals = [next(next_ordinals) if slot is None else self.ids.ordinals[slot] for slot in older]
        _, moves = self.store.adopt_from(snapshot, slots, attributes)
        self.store.scores.adopt(source.store.scores, first, slots, scores)
        self.ids.extend(ids, ordinals)
        self.texts.adopt(source.texts, slots)
        self.payloads.adopt(source.payloads, first, slots)
        self._index_added(first, slot_by_id, replaced, moves)

    def _index_added(
        self, first: int, slot_by_id: dict[Id, int], replaced: set[int], moves: list[tuple[int, LabelMoves]]
    ) -> None:
        """Index the slots of `slot_by_id`, which are the new slots from `first` on that are not superseded already.

        `replaced` has the older slots of the same ids, and `moves` the domains on which stored points have moved.
        """
        slots = np.fromiter(slot_by_id.values(), dtype=np.int32, count=len(slot_by_id))
        slots.sort()
        self._refuse_too_complex(slots)
        self._has_engine_changed = True
        if len(slots) < len(self.store) - first:
            self._remove(np.setdiff1d(np.arange(first, len(self.store), dtype=np.int32), slots))
        if moves:
            self.engines.relabel(moves)
        self.engines.insert(slots)
        replaced_slots = np.array(sorted(replaced), dtype=np.int32)
        if replaced:
            self._delete(replaced_slots)
        self.slots.add(slot_by_id.keys(), np.fromiter(slot_by_id.values(), dtype=np.int32, count=len(slot_by_id)))
        if replaced:
            self.slots.remove(replaced_slots)

    def index_all(self, index_at_once: int = INDEX_AT_ONCE) -> None:
        """Index all subscriptions of a store that was filled without the engine.

        From `index_at_once` subscriptions on, `insert` of an engine builds the index; below, it only adds them.
        """
        slots = self.store.find_alive()
        self._refuse_too_complex(slots)
        self.engines.insert(slots)
        if len(slots) < index_at_once:
            self.engines.rebuild()
        # Background work is only started by changes, and this shard may never change.
        self.engines.run_upkeep()

    def _refuse_too_complex(self, slots: I32) -> None:
        refused = slots[~self.engines.can_index(slots)]
        if len(refused):
            raise BudgetError(
                f"subscription {self.ids[int(refused[0])]!r} is {explain_refusal(self.engine.name)}; "
                f"engines that take any expression: {', '.join(list_engines_supporting('expressions'))}"
            )

    def _can_index(self, expression: Expr) -> bool:
        """Return whether the engine can index an expression that is not stored yet, by trying it in another store."""
        store = Store(self.store.schema)
        slots, _ = store.append(store.compile([expression]))
        return bool(create_with_fallback(self.engine.spec, store).can_index(slots)[0])

    def _store_block(
        self,
        block: list[Any],
        slot_by_id: dict[Id, int],
        replaced: set[int],
        replace: bool,
        rejected: list[Rejected] | None,
    ) -> list[tuple[int, LabelMoves]]:
        """Parse and store one block of rows; return the domains on which stored points have moved.

        Add the new slots to `slot_by_id`, and the older slots of the same ids to `replaced`.
        """
        parsed: list[ParsedSubscription] = []
        ordinals: list[int] = []
        next_ordinal = self.ids.ordinals.next
        known, schema = self.slots, self.store.schema
        first = len(self.store)
        is_tried = rejected is not None and "expressions" not in self.engines.supports
        for row in block:
            try:
                subscription = parse_subscription(row, schema)
                id_ = subscription.id
                slot = known.get(id_)
                if not replace and (slot is not None or id_ in slot_by_id):
                    raise _make_duplicate_error(id_, is_given_twice=id_ in slot_by_id)
                if is_tried and not self._can_index(subscription.expression):
                    raise BudgetError(f"it is {explain_refusal(self.engine.name)}")
            except TellwhenError as error:
                if rejected is None:
                    raise
                rejected.append(Rejected.from_row(row, error))
                continue
            if slot is not None:
                replaced.add(slot)
            older = slot_by_id.get(id_) if slot is None else slot
            if older is None:
                ordinals.append(next_ordinal)
                next_ordinal += 1
            else:  # keeps its position in listings
                ordinals.append(self.ids.ordinals[older] if older < first else ordinals[older - first])
            slot_by_id[id_] = first + len(parsed)
            parsed.append(subscription)
        _, moves = self.store.append(self.store.compile([subscription.expression for subscription in parsed]))
        self.store.scores.extend(first, [subscription.worth for subscription in parsed])
        self.ids.extend([subscription.id for subscription in parsed], ordinals)
        self.texts.extend([subscription.text for subscription in parsed])
        self.payloads.extend(first, [subscription.payload for subscription in parsed])
        return moves

    def get_subscription(self, slot: int) -> Subscription:
        """Return the subscription in a slot, with its current score; its text is None if texts are not kept."""
        scores = self.store.scores
        return Subscription(
            self.ids[slot],
            self.texts[slot] if self.has_texts else None,
            float(scores.get_scores(np.array([slot]))[0]),
            scores.get_weights(slot),
            self.payloads.get(slot),
        )

    def remove(self, ids: Iterable[Id]) -> None:
        """Remove subscriptions: all of them, or none if an id is unknown."""
        unique_ids = dict.fromkeys(validate_id(id_) for id_ in ids)
        known = self.slots
        slots = []
        for id_ in unique_ids:
            slot = known.get(id_)
            if slot is None:
                raise make_unknown_id_error(id_, known.get)
            slots.append(slot)
        if slots:
            self._has_engine_changed = True
            removed = np.array(slots, dtype=np.int32)
            self._delete(removed)
            known.remove(removed)

    def set_scores_by_id(self, scores: Mapping[Id, float]) -> None:
        """Set scores: all of them, or none if an id is unknown or a score is invalid."""
        known, slots, numbers = self.slots, [], []
        for id_, score in scores.items():
            slot = known.get(validate_id(id_))
            if slot is None:
                raise make_unknown_id_error(id_, known.get)
            slots.append(slot)
            numbers.append(score + 0.0 if type(score) is float and score == score else _parse_score_of(id_, score))
        self.set_scores(np.array(slots, dtype=np.int32), np.array(numbers))

    def set_scores(self, slots: I32, scores: F64) -> None:
        """Set scores by slot. If an interrupt stops this halfway, the engine detects that it has missed a change."""
        self.engines.update_scores(slots, scores, self.store.scores.change(slots, scores))

    def rebuild(self) -> None:
        """Rebuild the index of the engine."""
        self._has_engine_changed = True
        self.set_profile(self.profile)  # encodes the typical events for the present predicates
        self.engines.rebuild()

    def extend_profile(self, profile: Profile) -> None:
        """Add a profile to that of the shard, and rebuild the engine for it."""
        self.profile = self.profile | profile
        self.rebuild()

    def replace_profile(self, profile: Profile) -> None:
        """Replace the profile; the engine rebuilds its index for it now or in the background."""
        self._has_engine_changed = True
        self.set_profile(profile)
        self.engines.adapt()

    def _delete(self, slots: I32) -> None:
        self._remove(slots)
        self.engines.delete(slots)

    def _remove(self, slots: I32) -> None:
        self.store.remove(slots)
        self.ids.remove(slots)

    @property
    def slots(self) -> SlotsById:
        """The live slots by id."""
        if self._slots is None:
            self._slots = SlotsById(self.ids, self.store.find_alive())
        return self._slots

    @property
    def has_texts(self) -> bool:
        """Whether the shard stores the texts of expressions."""
        return isinstance(self.texts, CompressedTexts)

    @property
    def cached_slots(self) -> SlotsById | None:
        """The live slots by id; None if they were not used yet."""
        return self._slots

    @cached_property
    def payload_columns(self) -> PayloadColumns:
        """Columns of the payload keys that were used in filters or tables."""
        return PayloadColumns(self.payloads)

    @cached_property
    def relaxed(self) -> RelaxedRanker:
        """The index for relaxed matching, which is extended at each use."""
        return RelaxedRanker(self.store.scores)

    @cached_property
    def weighted(self) -> MatchRanker:
        """The index for ranking matches by weights, which is extended at each use."""
        return MatchRanker(self.store.scores)

    # Undoing changes

    def mark(self) -> ShardMark:
        """Return the contents at the start of a change."""
        self._has_engine_changed = False
        return ShardMark(self.store.mark(), self.profile, self.ids.ordinals.next, self.engines.mark())

    def rewind(self, mark: ShardMark) -> None:
        """Restore the contents at the mark. An engine that may have changed undoes the change or is built again."""
        self.store.rewind(mark.store)
        self.set_profile(mark.profile)
        self.ids.align(len(self.store), self.store.find_alive(), mark.next_ordinal)
        self.texts.resize(len(self.store))
        self.payloads.align(len(self.store))
        if self._has_engine_changed:
            self._slots = None
            if mark.undo_engine is not None:
                mark.undo_engine()
            else:
                self._recreate_engine()
            self._has_engine_changed = False

    def is_sparse(self, removed_slots_min: int) -> bool:
        """Return whether most slots are removed, or most computed values of events serve removed subscriptions only.

        Up to `removed_slots_min` removed slots do not count.
        """
        return self.store.removed > max(removed_slots_min, len(self.store) // 2) or self._check_computations()

    def _check_computations(self) -> bool:
        """Return whether most computed values serve removed subscriptions only.

        The answer is found anew when the number of removed slots has grown by a quarter: every change calls this, and
        finding the answer takes time.
        """
        store = self.store
        if store.removed >= COMPUTED_VALUES_MIN + self._checked_removals * 5 // 4:
            self._checked_removals = store.removed
            computed = [
                value.name for values in list(store.attributes.computed_by_operand.values()) for value in values
            ]
            if len(computed) >= COMPUTED_VALUES_MIN:
                needed = find_attribute_names(store.snapshot(), store.find_alive(), store.attributes)
                self._has_unused_computations = 2 * sum(name in needed for name in computed) < len(computed)
        return self._has_unused_computations

    def prepare_copy(self) -> Callable[[], Shard]:
        """Return a function that makes a new shard of the subscriptions that are live now, with new slots.

        The function can run in any thread, while this shard changes.
        """
        alive, snapshot, attributes = self.store.find_alive(), self.store.snapshot(), self.store.attributes
        store, ids, texts, profile, spec = self.store, self.ids, self.texts, self.profile, self.engine.spec
        payloads = self.payloads

        def copy() -> Shard:
            new_store = store.compact(snapshot, alive, attributes)
            engine = create_with_fallback(spec, new_store)
            shard = Shard(new_store, engine, ids.select(alive), texts.select(alive), profile, payloads.select(alive))
            engine.insert(new_store.find_alive())
            _ = shard.slots  # made now, so that no reader has to wait for it
            return shard

        return copy

    def count_bytes(self) -> dict[str, int]:
        """Return the bytes of each part: engine, store, ids and texts, and the parts that only some shards have."""
        ids_and_texts = [*self.texts.arrays().values(), *self.ids.arrays().values()]
        payloads = sum(array.nbytes for array in self.payloads.arrays().values())
        return {
            "engine": self.engines.stats()["bytes"],
            "store": sum(array.nbytes for array in self.store.arrays().values()),
            "ids and texts": sum(array.nbytes for array in ids_and_texts)
            + (0 if self._slots is None else self._slots.bytes),
            **({"payloads": payloads} if self.payloads else {}),
            **({"payload columns": self.payload_columns.bytes} if "payload_columns" in self.__dict__ else {}),
            **({"relaxed": self.relaxed.bytes} if "relaxed" in self.__dict__ else {}),
            **({"weighted": self.weighted.bytes} if "weighted" in self.__dict__ else {}),
        }

    # Saving

    def split(self) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, Any]]:
        """Return the whole shard, with attributes and profile, as arrays by part and name, and a JSON object."""
        attributes = self.store.attributes
        arrays = self.arrays() | {
            "dictionaries": collect_dictionary_arrays(attributes),
            "profile": {"json": np.frombuffer(self.profile.to_bytes(), dtype=np.uint8)},
        }
        return arrays, self.meta() | {"attributes": describe_attributes(attributes)}

    @classmethod
    def join(cls, arrays: Mapping[str, Mapping[str, np.ndarray]], meta: Mapping[str, Any]) -> Shard:
        """Return the shard of which `split` returned these arrays and this JSON object."""
        attributes = restore_attributes(meta["attributes"], arrays["dictionaries"])
        profile = Profile.from_bytes(arrays["profile"]["json"].tobytes())
        return cls.restore(arrays, meta, attributes, profile)

    def _recreate_engine(self) -> None:
        self.engines = create_with_fallback(self.engine.spec, self.store)
        self.engines.insert(self.store.find_alive())

    def arrays(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the arrays to save by part and name, without attributes and profile, which shards may share."""
        return {
            "store": self.store.arrays(),
            "ids": self.ids.arrays(),
            "texts": self.texts.arrays(),
            "payloads": self.payloads.arrays(),
            "engine": self.engines.arrays(),
        }

    def meta(self) -> dict[str, Any]:
        """Return the JSON object to save, without attributes."""
        return {
            "engine": self.engine.spec,
            "schema": self.store.schema.as_json(),
            "registers": self.store.registers,
            "version": self.store.version,
        }

    @classmethod
    def restore(
        cls,
        arrays: Mapping[str, Mapping[str, np.ndarray]],
        meta: Mapping[str, Any],
        attributes: Attributes,
        profile: Profile | None = None,
    ) -> Shard:
        """Return a shard of what `arrays` and `meta` returned, with attributes and profile that shards may share."""
        shard = cls.empty(meta["engine"], Schema.from_json(meta["schema"]), profile)
        shard.store.restore(arrays["store"], attributes, meta["registers"], meta["version"])
        shard.ids = Ids.restore(arrays["ids"])
        died = shard.store.snapshot().subscriptions.died
        shard.ids.remove(np.flatnonzero(died <= shard.store.version).astype(np.int32))
        has_texts = "texts" in arrays and len(arrays["texts"]) > 0
        shard.texts = CompressedTexts.restore(arrays["texts"]) if has_texts else NoTexts(len(shard.store))
        shard.payloads = Payloads.restore(arrays["payloads"])
        shard._restore_engine(arrays["engine"])
        return shard

    def _restore_engine(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the engine; build it again if another version of tellwhen saved other arrays of it."""
        try:
            self.engines.restore(arrays)
        except KeyError as missing:
            log.warning(
                "tellwhen: building %s again: the saved index is of an earlier version, without %s",
                self.engine.spec,
                missing,
            )
            self._recreate_engine()


def _parse_score_of(id_: Id, score: Any) -> float:
    try:
        if score is None:
            raise ScoreError("a score is a number, not None")
        return parse_score(score)
    except ScoreError as error:
        raise ScoreError(f"subscription {id_!r}: {error}") from None


def _make_duplicate_error(id_: Id, is_given_twice: bool = False) -> DuplicateId:
    if is_given_twice:
        return DuplicateId(f"the id {id_!r} occurs twice in this call; with replace=True the last one is kept")
    return DuplicateId(f"there is a subscription {id_!r} already; pass replace=True to replace it")
