"""Which subscription has this slot, and which slot has this subscription? Ids are str or int, also mixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from tellwhen.containers.growing import Growing
from tellwhen.containers.texts import Texts
from tellwhen.errors import IdError, shown
from tellwhen.kernels.arrays import I32
from tellwhen.lang.values import is_unicode

Id = str | int
IdType = Literal["int", "str", "mixed"]
MAXIMUM = (1 << 63) - 1


def checked(id_: Id) -> Id:
    """The id, if it is one."""
    if isinstance(id_, np.integer):
        id_ = int(id_)
    elif isinstance(id_, str):
        id_ = str.__str__(id_)  # the text of an Enum's member, not its name
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        raise IdError(f"a subscription's id is a str or an int, not {shown(id_)}")
    if isinstance(id_, int) and not -MAXIMUM <= id_ <= MAXIMUM:
        raise IdError("an int id has at most 64 bits")
    if isinstance(id_, str) and not is_unicode(id_):
        raise IdError(f"the id {id_!r} holds a lone surrogate")
    return id_


class Ids:
    """Ids by slot. The way back is a dict, made when first asked for: an index that only matches never needs it."""

    def __init__(self) -> None:
        self._is_int = Growing(np.uint8)
        self._number = Growing(np.int64)
        self._text = Texts()
        self._slots: dict[Id, int] | None = {}
        self._seen: dict[int, Id] = {}  # ids asked for before: ten times as fast as reading them again
        self._ints = 0

    def __len__(self) -> int:
        return self._is_int.count

    def extend(self, ids: Sequence[Id]) -> None:
        ints = [isinstance(id_, int) for id_ in ids]
        self._text.extend(["" if is_int else id_ for id_, is_int in zip(ids, ints, strict=True)])  # type: ignore[misc]
        self._number.extend(np.array([id_ if is_int else 0 for id_, is_int in zip(ids, ints, strict=True)], np.int64))
        self._is_int.extend(np.array(ints, dtype=np.uint8))
        self._ints += sum(ints)

    def __getitem__(self, slot: int) -> Id:
        id_ = self._seen.get(slot)
        if id_ is None:
            id_ = int(self._number.data[slot]) if self._is_int.data[slot] else self._text[slot]
            self._seen[slot] = id_
        return id_

    def of(self, slots: list[int]) -> list[Id]:
        """The ids of a few slots."""
        seen = self._seen
        try:
            return [seen[slot] for slot in slots]
        except KeyError:
            return [self[slot] for slot in slots]

    def slots(self, alive: Callable[[], I32]) -> dict[Id, int]:
        """The live slots by id, to be changed with them; `alive` tells them where they are not known yet."""
        if self._slots is None:
            self._slots = {self[slot]: slot for slot in alive().tolist()}
        return self._slots

    @property
    def has_slots(self) -> bool:
        return self._slots is not None

    def forget_slots(self) -> None:
        """They are found again when asked for."""
        self._slots = None

    @property
    def type(self) -> IdType:
        """What the ids are: all of one kind, or mixed."""
        return "int" if self._ints == len(self) > 0 else "str" if self._ints == 0 else "mixed"

    def column(self, slots: I32, type: IdType) -> pa.Array:
        """The ids of many slots as Arrow: int64, large_string, or a union where both kinds occur in the index."""
        if type == "int":
            return pa.array(self._number.data[slots])
        texts = self._texts(int(slots.max()) + 1 if len(slots) else 0).take(pa.array(slots))
        if type == "str":
            return texts
        is_int = self._is_int.data[slots]
        kinds = pa.array((1 - is_int).astype(np.int8))
        return pa.UnionArray.from_sparse(kinds, [pa.array(self._number.data[slots]), texts], ["int", "str"])

    def _texts(self, count: int) -> pa.Array:
        start, data = self._text.first(count)
        return pa.LargeStringArray.from_buffers(len(start) - 1, pa.py_buffer(start), pa.py_buffer(data))

    def align(self, count: int) -> None:
        """Exactly so many ids: cut off, or filled up with empty ones that no live slot has."""
        self._text.align(count)
        for column in (self._is_int, self._number):
            column.reserve(max(0, count - column.count))
            column.data[column.count : count] = 0
            column.count = count
        self._ints = int(self._is_int.view.sum())
        for slot in [slot for slot in self._seen.copy() if slot >= count]:
            del self._seen[slot]

    def kept(self, slots: I32) -> Ids:
        """Only the ids of the given slots, numbered anew."""
        start, text = self._text.kept(slots).arrays()
        is_int, number = self._is_int.view[slots], self._number.view[slots]
        return Ids.restored({"is_int": is_int, "number": number, "start": start, "text": text})

    def adopt(self, other: Ids, slots: I32) -> None:
        """Append the ids that other slots have."""
        self._is_int.extend(other._is_int.view[slots])
        self._number.extend(other._number.view[slots])
        self._text.adopt(other._text, slots)
        self._ints += int(other._is_int.view[slots].sum())
        self._slots = None

    def arrays(self) -> dict[str, np.ndarray]:
        start, data = self._text.arrays()
        return {"is_int": self._is_int.view, "number": self._number.view, "start": start, "text": data}

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray]) -> Ids:
        ids = cls()
        ids._is_int = Growing(np.uint8, arrays["is_int"])
        ids._number = Growing(np.int64, arrays["number"])
        ids._text = Texts(arrays["start"], arrays["text"])
        ids._slots = None
        ids._ints = int(arrays["is_int"].sum())
        return ids
