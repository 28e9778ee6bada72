"""What does an index hold, and how does it change? As a whole, or not at all.

A change starts at a `mark()`. Whatever stops it, an error in the input or an interrupt between any two steps,
`rewind()` brings the contents back to the mark. Readers notice neither: they see what was published last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
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
from tellwhen.index.payloads import Columns, Payloads
from tellwhen.index.slots import SlotsById, unknown
from tellwhen.index.subscriptions import ParsedSubscription, Rejected, Subscription, parse_subscription
from tellwhen.kernels.arrays import F64, I32
from tellwhen.language.ast import Expr
from tellwhen.language.schema import Schema
from tellwhen.persistence.attributes import attributes_meta, dictionary_arrays, restored_attributes
from tellwhen.profile import Profile, TypicalEvents
from tellwhen.relaxed.index import Relaxed

COMPACT_MIN = 4_096
"""Compact once more than 4,096 slots are removed and they are over half of all."""

COMPUTED_MIN = 64
"""Compact once 64 different values are computed per event and over half of them serve removed slots only."""


class ShardMark(NamedTuple):
    """A moment to come back to."""

    store: StoreMark
    profile: Profile
    next_ordinal: int
    undo_engine: Undo | None


class Shard:
    """A store, an engine over it, ids, texts and payloads by slot, and a profile of the events to expect."""

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
        self.expect(profile)
        self._is_engine_touched = False  # since the mark, the engine or the map from ids to slots may have changed
        self._slots: SlotsById | None = None  # made when first needed: an index that only matches never needs it
        self._looked_at, self._is_in_vain = 0, False  # see _computes_in_vain

    @classmethod
    def empty(cls, engine: str, schema: Schema, profile: Profile | None = None, has_texts: bool = True) -> Shard:
        store = Store(schema)
        texts = CompressedTexts() if has_texts else NoTexts()
        return cls(store, create_with_fallback(engine, store), Ids(), texts, profile or Profile())

    @property
    def engine(self) -> Engine:
        """The named engine: alone, or with another one beside it."""
        return self.engines.named_engine

    def expect(self, profile: Profile) -> None:
        """Expect the events of this profile, which is not changed from now on. The engine reads it when it builds."""
        self.profile = profile
        self.store.set_typical(TypicalEvents(profile, self.store))

    def add(self, rows: Iterator[Any], replace: bool, rejected: list[Rejected] | None = None) -> None:
        """Store all, then index all. Of an id that comes twice, the last one counts. Rows as in `subscriptions.py`.

        Faulty rows are listed in `rejected`; without such a list, the first one is an error.
        """
        fresh: dict[Id, int] = {}
        replaced: set[int] = set()
        first = len(self.store)
        moves: list[tuple[int, LabelMoves]] = []
        while block := list(islice(rows, COMPILE_BATCH)):
            moves += self._store_block(block, fresh, replaced, replace, rejected)
        slots = np.fromiter(fresh.values(), dtype=np.int32, count=len(fresh))
        slots.sort()
        self._refuse_too_complex(slots)
        self._is_engine_touched = True
        if len(slots) < len(self.store) - first:
            self._remove(np.setdiff1d(np.arange(first, len(self.store), dtype=np.int32), slots))
        if moves:
            self.engines.relabel(moves)
        self.engines.insert(slots)
        gone = np.array(sorted(replaced), dtype=np.int32)
        if replaced:
            self._delete(gone)
        self.slots.add(fresh.keys(), np.fromiter(fresh.values(), dtype=np.int32, count=len(fresh)))
        if replaced:
            self.slots.remove(gone)

    def index_all(self) -> None:
        """Index whatever is in the store, after its slots were filled from elsewhere."""
        slots = self.store.find_alive()
        self._refuse_too_complex(slots)
        self.engines.insert(slots)
        if len(slots) < INDEX_AT_ONCE:
            self.engines.rebuild()
        # Now: perhaps nothing ever changes here, and so nothing would be done in the background.
        self.engines.run_upkeep()

    def _refuse_too_complex(self, slots: I32) -> None:
        refused = slots[~self.engines.can_index(slots)]
        if len(refused):
            raise BudgetError(
                f"subscription {self.ids[int(refused[0])]!r} is {explain_refusal(self.engine.name)}; "
                f"engines that take any expression: {', '.join(list_engines_supporting('expressions'))}"
            )

    def _is_taken(self, expression: Expr) -> bool:
        """Does the engine take an expression? Asked of an engine of its own, since nothing is stored yet."""
        store = Store(self.store.schema)
        slots, _ = store.append(store.compile([expression]))
        return bool(create_with_fallback(self.engine.spec, store).can_index(slots)[0])

    def _store_block(
        self,
        block: list[Any],
        fresh: dict[Id, int],
        replaced: set[int],
        replace: bool,
        rejected: list[Rejected] | None,
    ) -> list[tuple[int, LabelMoves]]:
        """Parse and store one block; return the domains on which stored points have moved."""
        parsed: list[ParsedSubscription] = []
        ordinals: list[int] = []
        next_ordinal = self.ids.ordinals.next
        known, schema = self.slots, self.store.schema
        first = len(self.store)
        is_judged = rejected is not None and "expressions" not in self.engines.supports
        for row in block:
            try:
                subscription = parse_subscription(row, schema)
                id_ = subscription.id
                slot = known.get(id_)
                if not replace and (slot is not None or id_ in fresh):
                    reason = f"{id_!r} is given twice" if id_ in fresh else f"there is a subscription {id_!r} already"
                    raise DuplicateId(f"{reason}; pass replace=True to replace it")
                if is_judged and not self._is_taken(subscription.expression):
                    raise BudgetError(f"it is {explain_refusal(self.engine.name)}")
            except TellwhenError as error:
                if rejected is None:
                    raise
                rejected.append(Rejected.from_row(row, error))
                continue
            if slot is not None:
                replaced.add(slot)
            older = fresh.get(id_) if slot is None else slot
            if older is None:
                ordinals.append(next_ordinal)
                next_ordinal += 1
            else:  # keeps its position in listings
                ordinals.append(self.ids.ordinals[older] if older < first else ordinals[older - first])
            fresh[id_] = first + len(parsed)
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
            self.payloads.of(slot),
        )

    def remove(self, ids: Iterable[Id]) -> None:
        wanted = dict.fromkeys(validate_id(id_) for id_ in ids)
        known = self.slots
        slots = []
        for id_ in wanted:
            slot = known.get(id_)
            if slot is None:
                raise unknown(id_, known.get)
            slots.append(slot)
        if wanted:
            self._is_engine_touched = True
            gone = np.array(slots, dtype=np.int32)
            self._delete(gone)
            known.remove(gone)

    def rescore(self, scores: Mapping[Id, float]) -> None:
        """New scores: all of them, or none if an id is unknown."""
        known, slots, numbers = self.slots, [], []
        for id_, score in scores.items():
            slot = known.get(validate_id(id_))
            if slot is None:
                raise unknown(id_, known.get)
            slots.append(slot)
            numbers.append(score + 0.0 if type(score) is float and score == score else _score_of(id_, score))
        self.set_scores(np.array(slots, dtype=np.int32), np.array(numbers))

    def set_scores(self, slots: I32, scores: F64) -> None:
        """New scores by slot. Whoever stops it in between, the engine notices that it has missed a change."""
        self.engines.update_scores(slots, scores, self.store.scores.change(slots, scores))

    def rebuild(self) -> None:
        self._is_engine_touched = True
        self.expect(self.profile)  # encoded again for the predicates that there are now
        self.engines.rebuild()

    def observe(self, profile: Profile) -> None:
        """Expect these events, too, and build the engine for them."""
        self.profile = self.profile | profile
        self.rebuild()

    def adapt(self, profile: Profile) -> None:
        """Expect these events, and no others; the engine is built for them when it has time."""
        self._is_engine_touched = True
        self.expect(profile)
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
        """Are the texts of the expressions kept?"""
        return isinstance(self.texts, CompressedTexts)

    @property
    def known_slots(self) -> SlotsById | None:
        """The map from ids to slots, if it was made."""
        return self._slots

    @cached_property
    def payload_columns(self) -> Columns:
        """Its payloads by key, as far as somebody has asked for them."""
        return Columns(self.payloads)

    @cached_property
    def relaxed(self) -> Relaxed:
        """Its index for relaxed matching, which is built as it is needed."""
        return Relaxed(self.store.scores)

    # whole or not at all

    def mark(self) -> ShardMark:
        """Here a change begins."""
        self._is_engine_touched = False
        return ShardMark(self.store.mark(), self.profile, self.ids.ordinals.next, self.engines.mark())

    def rewind(self, mark: ShardMark) -> None:
        """Back to the mark. An engine that has seen the change, which may be half done, undoes it or is built again."""
        self.store.rewind(mark.store)
        self.expect(mark.profile)
        self.ids.align(len(self.store), self.store.find_alive(), mark.next_ordinal)
        self.texts.resize(len(self.store))
        self.payloads.align(len(self.store))
        if self._is_engine_touched:
            self._slots = None
            if mark.undo_engine is not None:
                mark.undo_engine()
            else:
                self.engines = create_with_fallback(self.engine.spec, self.store)
                self.engines.insert(self.store.find_alive())
            self._is_engine_touched = False

    @property
    def is_sparse(self) -> bool:
        """Are most slots removed, or most of what is computed of events asked for by removed ones only?"""
        return self.store.removed > max(COMPACT_MIN, len(self.store) // 2) or self._computes_in_vain()

    def _computes_in_vain(self) -> bool:
        """Looked at when some are removed, and again when a quarter more is: every change asks, and it takes time."""
        store = self.store
        if store.removed >= COMPUTED_MIN + self._looked_at * 5 // 4:
            self._looked_at = store.removed
            computed = [one.name for some in list(store.attributes.computed_by_operand.values()) for one in some]
            if len(computed) >= COMPUTED_MIN:
                asked = find_attribute_names(store.snapshot(), store.find_alive(), store.attributes)
                self._is_in_vain = 2 * sum(name in asked for name in computed) < len(computed)
        return self._is_in_vain

    def copying(self) -> Callable[[], Shard]:
        """Makes a new shard of what is alive now, the slots renumbered; in any thread, whatever changes meanwhile."""
        alive, snapshot, attributes = self.store.find_alive(), self.store.snapshot(), self.store.attributes
        store, ids, texts, profile, spec = self.store, self.ids, self.texts, self.profile, self.engine.spec
        payloads = self.payloads

        def copy() -> Shard:
            after = store.compact(snapshot, alive, attributes)
            engine = create_with_fallback(spec, after)
            made = Shard(after, engine, ids.kept(alive), texts.select(alive), profile, payloads.kept(alive))
            engine.insert(after.find_alive())
            # Now rather than at the first question, which may come from a thread that only looks.
            _ = made.slots
            return made

        return copy

    def bytes(self) -> dict[str, int]:
        """What it takes: the engine, the store, ids and texts, and what else there is."""
        held = [*self.texts.arrays().values(), *self.ids.arrays().values()]
        payloads = sum(array.nbytes for array in self.payloads.arrays().values())
        return {
            "engine": self.engines.stats()["bytes"],
            "store": sum(array.nbytes for array in self.store.arrays().values()),
            "ids and texts": sum(array.nbytes for array in held) + (0 if self._slots is None else self._slots.bytes),
            **({"payloads": payloads} if self.payloads else {}),
            **({"payload columns": self.payload_columns.bytes} if "payload_columns" in self.__dict__ else {}),
            **({"relaxed": self.relaxed.bytes} if "relaxed" in self.__dict__ else {}),
        }

    # arrays

    def parts(self) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, Any]]:
        """All of it, the attributes and the profile included: arrays by part and name, and JSON."""
        attributes = self.store.attributes
        arrays = self.arrays() | {
            "dictionaries": dictionary_arrays(attributes),
            "profile": {"json": np.frombuffer(self.profile.to_bytes(), dtype=np.uint8)},
        }
        return arrays, self.meta() | {"attributes": attributes_meta(attributes)}

    @classmethod
    def of_parts(cls, arrays: Mapping[str, Mapping[str, np.ndarray]], meta: Mapping[str, Any]) -> Shard:
        """The shard that `parts` took apart."""
        attributes = restored_attributes(meta["attributes"], arrays["dictionaries"])
        profile = Profile.from_bytes(arrays["profile"]["json"].tobytes())
        return cls.restored(arrays, meta, attributes, profile)

    def arrays(self) -> dict[str, dict[str, np.ndarray]]:
        """Everything to be saved that is an array, by part and name. Not the attributes and the profile, which several
        shards may share."""
        return {
            "store": self.store.arrays(),
            "ids": self.ids.arrays(),
            "texts": self.texts.arrays(),
            "payloads": self.payloads.arrays(),
            "engine": self.engines.arrays(),
        }

    def meta(self) -> dict[str, Any]:
        """The rest of it, as JSON."""
        return {
            "engine": self.engine.spec,
            "schema": self.store.schema.as_json(),
            "registers": self.store.registers,
            "version": self.store.version,
        }

    @classmethod
    def restored(
        cls,
        arrays: Mapping[str, Mapping[str, np.ndarray]],
        meta: Mapping[str, Any],
        attributes: Attributes,
        profile: Profile | None = None,
    ) -> Shard:
        shard = cls.empty(meta["engine"], Schema.from_json(meta["schema"]), profile)
        shard.store.restore(arrays["store"], attributes, meta["registers"], meta["version"])
        shard.ids = Ids.restored(arrays["ids"])
        died = shard.store.snapshot().subscriptions.died
        shard.ids.remove(np.flatnonzero(died <= shard.store.version).astype(np.int32))
        has_texts = "texts" in arrays and len(arrays["texts"]) > 0
        shard.texts = CompressedTexts.restore(arrays["texts"]) if has_texts else NoTexts(len(shard.store))
        shard.payloads = Payloads.restored(arrays["payloads"])
        shard.engines.restore(arrays["engine"])
        return shard


def _score_of(id_: Id, given: Any) -> float:
    try:
        if given is None:
            raise ScoreError("a score is a number, not None")
        return parse_score(given)
    except ScoreError as error:
        raise ScoreError(f"subscription {id_!r}: {error}") from None
