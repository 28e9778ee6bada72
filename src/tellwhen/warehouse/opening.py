"""Opening of a folder as a `Shard`: of a saved index, of one shard of a version, or of a whole version.

All shards of a version share one dictionary, which is stored beside them:

    saved index     manifest names the attributes      arrays of the shard, and of the dictionary
    shard-<hex>     manifest has no attributes         arrays of the shard; the dictionary is in ../dictionary-<hex>
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.extract import extract
from tellwhen.compile.store import Store
from tellwhen.compile.translation import translate_predicates
from tellwhen.containers.text_blocks import CompressedTexts, NoTexts
from tellwhen.containers.texts import Texts
from tellwhen.errors import FormatError
from tellwhen.index.ids import Ids
from tellwhen.index.payloads import Payloads
from tellwhen.index.shard import Shard
from tellwhen.kernels.arrays import I32
from tellwhen.persistence import directory
from tellwhen.persistence.attributes import restore_attributes
from tellwhen.persistence.paths import resolve_path
from tellwhen.profile import Profile
from tellwhen.warehouse.leases import renew_lease
from tellwhen.warehouse.versions import CURRENT, list_version_numbers, locate_index, read_version


class Subscriptions(Protocol):
    """Subscriptions by slot, in a shard or in a block."""

    @property
    def store(self) -> Store: ...

    @property
    def ids(self) -> Ids: ...

    @property
    def payloads(self) -> Payloads: ...

    @property
    def texts(self) -> Texts | CompressedTexts | NoTexts: ...


def open_as_shard(path: str | os.PathLike[str], verify: bool = True) -> Shard:
    """Open a saved index, a version or a shard of a version as one shard; `verify=False` skips the checksums."""
    root = resolve_path(path)
    if (root / CURRENT).exists():
        return open_version(root, verify=verify)
    parts, meta = directory.load(root, verify)
    if "attributes" in meta:
        return Shard.join(parts, meta)
    dictionary = _find_dictionary(root.absolute())
    return Shard.restore(parts, meta, read_dictionary(dictionary, verify), read_profile(dictionary))


def open_version(path: str | os.PathLike[str], version: int | None = None, *, verify: bool = True) -> Shard:
    """Open a version, the current one by default, with all its subscriptions in one shard.

    A single shard is mapped into memory as it is. Several shards are copied into one, which is then indexed.
    """
    root = locate_index(path)
    opened = read_version(root, version)
    renew_lease(root, opened.version)
    attributes, profile = read_dictionary(root / opened.dictionary, verify), read_profile(root / opened.dictionary)
    shards = (read_shard(root / info.name, attributes, verify, profile) for info in opened.shards)
    if len(opened.shards) == 1:
        return next(shards)
    whole = Shard.empty(opened.engine, opened.schema, profile)
    whole.store.attributes = attributes
    for shard in shards:
        copy_subscriptions(whole, shard, shard.store.find_alive())
    whole.index_all()
    return whole


def read_dictionary(folder: Path, verify: bool = True) -> Attributes:
    """Read the attributes that the shards of a version share, mapped into memory."""
    parts, meta = directory.load(folder, verify)
    return restore_attributes(meta["attributes"], parts["dictionaries"])


def read_profile(folder: Path) -> Profile:
    """Read the profile that a version was built with, which is stored beside its dictionary."""
    parts, _ = directory.load(folder, verify=False)
    return Profile.from_bytes(parts["profile"]["json"].tobytes())


def read_shard(folder: Path, attributes: Attributes, verify: bool = True, profile: Profile | None = None) -> Shard:
    """Open one shard of a version, mapped into memory. Matching needs no profile."""
    parts, meta = directory.load(folder, verify)
    return Shard.restore(parts, meta, attributes, profile)


def copy_subscriptions(target: Shard, source: Subscriptions, slots: I32) -> None:
    """Append subscriptions to a shard, translated to its attributes, which must know theirs; does not index them."""
    if len(slots):
        extracted = extract(source.store.snapshot(), slots)
        if source.store.attributes is not target.store.attributes:
            literals = translate_predicates(extracted.literals, source.store.attributes, target.store.attributes)
            extracted = extracted._replace(literals=literals)
        target.store.scores.adopt(source.store.scores, len(target.store), slots)
        target.payloads.adopt(source.payloads, len(target.store), slots)
        target.store.adopt(extracted)
        target.ids.adopt(source.ids, slots)
        target.texts.adopt(source.texts, slots)


def _find_dictionary(shard: Path) -> Path:
    """Return the dictionary that any version with the shard names."""
    root = shard.parent
    for number in reversed(list_version_numbers(root) if (root / CURRENT).exists() else []):
        version = read_version(root, number)
        if any(info.name == shard.name for info in version.shards):
            return root / version.dictionary
    raise FormatError(f"no version in {root} has the shard {shard.name}, so its dictionary is not known")
