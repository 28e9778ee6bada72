"""The ids of slots. Ids are str or int, also mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from tellwhen.containers.growing import Growing
from tellwhen.containers.texts import Texts
from tellwhen.errors import ArgumentError, IdError, abbreviate
from tellwhen.index.ordinals import Ordinals
from tellwhen.kernels.arrays import I32
from tellwhen.language.values import is_unicode

Id = str | int
IdType = Literal["int", "str", "mixed"]
MissingIds = Literal["raise", "ignore"]
"""What to do about unknown ids."""
MAX_INT_ID = (1 << 63) - 1


def validate_id(id_: Id) -> Id:
    """Return the id as a plain str or int; raise IdError if it is neither."""
    if isinstance(id_, np.integer):
        id_ = int(id_)
    elif isinstance(id_, str):
        id_ = str.__str__(id_)  # the value of an Enum's member, not its name
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        raise IdError(f"a subscription's id is a str or an int, not {abbreviate(id_)}")
    if isinstance(id_, int) and not -MAX_INT_ID <= id_ <= MAX_INT_ID:
        raise IdError(f"an int id lies between -(2**63 - 1) and 2**63 - 1, unlike {abbreviate(id_)}")
    if isinstance(id_, str) and not is_unicode(id_):
        raise IdError(f"the id {abbreviate(id_)} holds a lone surrogate")
    return id_


def validate_missing(missing: str) -> None:
    """Raise ArgumentError if an argument of the type `MissingIds` has another value."""
    if missing not in ("raise", "ignore"):
        raise ArgumentError(f"missing must be 'raise' or 'ignore', not {abbreviate(missing)}")


class Ids:
    """The ids by slot, and the ordinals by which listings are sorted."""

    def __init__(self) -> None:
        self.ordinals = Ordinals()
        self._is_int = Growing(np.uint8)
        self._number = Growing(np.int64)
        self._text = Texts()
        self._objects = np.empty(0, dtype=object)  # by slot: a cache of str and int objects, unless all ids are int
        self._live = self._live_ints = 0  # number of live slots, and of those with an int

    def __len__(self) -> int:
        """Return the number of slots, removed ones included."""
        return self._is_int.count

    def extend(self, ids: Sequence[Id], ordinals: Sequence[int] | None = None) -> None:
        """Append the ids of the next slots, with new ordinals by default."""
        if ordinals is None:
            self.ordinals.extend_with_new(len(ids))
        else:
            self.ordinals.extend(ordinals)
        if len(ids) == 1:
            is_int = isinstance(ids[0], int)
            self._text.extend(("",) if is_int else ids)  # type: ignore[arg-type]
            self._number.append(ids[0] if is_int else 0)
            self._is_int.append(is_int)
            self._live += 1
            self._live_ints += is_int
            return
        ints = [isinstance(id_, int) for id_ in ids]
        self._text.extend(["" if is_int else id_ for id_, is_int in zip(ids, ints, strict=True)])  # type: ignore[misc]
        self._number.extend(np.array([id_ if is_int else 0 for id_, is_int in zip(ids, ints, strict=True)], np.int64))
        self._is_int.extend(np.array(ints, dtype=np.uint8))
        self._live += len(ints)
        self._live_ints += sum(ints)

    def remove(self, slots: I32) -> None:
        """Count the slots as removed; their ids can still be read."""
        self._live -= len(slots)
        self._live_ints -= int(self._is_int.data[slots].sum())

    def __getitem__(self, slot: int) -> Id:
        return int(self._number.data[slot]) if self._is_int.data[slot] else self._text[slot]

    def to_list(self, slots: I32, type: IdType) -> list[Id]:
        """Return the ids of a few live slots. `type` is the type of the ids of all live slots."""
        if type == "int":
            numbers: list[Id] = self._number.data[slots].tolist()
            return numbers
        # Strings are cached: reading them from the arrays takes twenty times as long.
        objects = self._objects
        if len(objects) < len(self):
            objects = np.empty(len(self._is_int.data), dtype=object)
            objects[: len(self._objects)] = self._objects
            self._objects = objects
        ids: list[Id] = objects[slots].tolist()
        if None in ids:
            ids = [self[slot] for slot in slots.tolist()]
            objects[slots] = ids
        return ids

    @property
    def type(self) -> IdType:
        """The type of the ids of the live slots or, if no slot is live, of the removed ones."""
        count, ints = self._live, self._live_ints
        if not count:
            count, ints = len(self), int(self._is_int.view.sum())
        return "int" if ints == count > 0 else "str" if ints == 0 else "mixed"

    def to_arrow(self, slots: I32, type: IdType) -> pa.Array:
        """Return the ids of many slots as int64, as large_string, or as a union of both if `type` is "mixed"."""
        if type == "int":
            return pa.array(self._number.data[slots])
        texts = self._view_texts(int(slots.max()) + 1 if len(slots) else 0).take(pa.array(slots))
        if type == "str":
            return texts
        is_int = self._is_int.data[slots]
        kinds = pa.array((1 - is_int).astype(np.int8))
        return pa.UnionArray.from_sparse(kinds, [pa.array(self._number.data[slots]), texts], ["int", "str"])

    def _view_texts(self, count: int) -> pa.Array:
        """Return the texts of the first `count` slots as Arrow, without a copy."""
        start, data = self._text.first(count)
        return pa.LargeStringArray.from_buffers(len(start) - 1, pa.py_buffer(start), pa.py_buffer(data))

    def align(self, count: int, alive: I32, next_ordinal: int) -> None:
        """Restore the state with `count` slots, of which `alive` are live, after an undone change.

        Ids that the change had not appended yet are blank; their slots are not live.
        """
        self.ordinals.align(count, next_ordinal)
        self._text.resize(count)
        for column in (self._is_int, self._number):
            column.reserve(max(0, count - column.count))
            column.data[column.count : count] = 0
            column.count = count
        self._live, self._live_ints = len(alive), int(self._is_int.data[alive].sum())
        self._objects[count:] = None

    def select(self, slots: I32) -> Ids:
        """Return the ids and ordinals of these slots, which become slots 0, 1, 2, ..."""
        selected = Ids()
        selected.adopt(self, slots)
        selected.ordinals = self.ordinals.select(slots)
        return selected

    def adopt(self, other: Ids, slots: I32) -> None:
        """Append the ids of some slots of `other`, with new ordinals."""
        self.ordinals.extend_with_new(len(slots))
        is_int = other._is_int.view[slots]
        self._is_int.extend(is_int)
        self._number.extend(other._number.view[slots])
        self._text.adopt(other._text, slots)
        self._live += len(is_int)
        self._live_ints += int(is_int.sum())

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays to save, by name."""
        start, data = self._text.arrays()
        columns = {"is_int": self._is_int.view, "number": self._number.view, "start": start, "text": data}
        return columns | self.ordinals.arrays()

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Ids:
        """Return the ids of saved arrays. All slots count as live until `remove` is called."""
        ids = cls()
        ids._is_int = Growing(np.uint8, arrays["is_int"])
        ids._number = Growing(np.int64, arrays["number"])
        ids._text = Texts(arrays["start"], arrays["text"])
        ids._live, ids._live_ints = len(ids), int(arrays["is_int"].sum())
        ids.ordinals = Ordinals.restore(arrays, len(ids))
        return ids
