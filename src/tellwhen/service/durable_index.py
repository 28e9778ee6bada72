"""An index that loses no accepted change: a snapshot, and a journal of the changes since.

    folder/index/          the snapshot: a saved index, whose note is the number of the last change in it
    folder/log-<number>    the journal
    folder/acknowledged    how far the journal must reach

One thread writes a change to the journal and syncs it, then applies it, then delivers the result. It handles all queued
changes together. If the index rejects a change (an invalid expression, an unknown id), the journal lists the change as
refused. If the process is killed before that, the change is rejected again at the next start.
"""

from __future__ import annotations

import json
import logging
import queue
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tellwhen.errors import FormatError, TellwhenError
from tellwhen.index import Index
from tellwhen.index.listing import copy_ordinals
from tellwhen.language.schema import Schema
from tellwhen.persistence.directory import MANIFEST, read_note
from tellwhen.service.changes import (
    KINDS,
    Change,
    apply_change,
    count_subscriptions,
    encode_change,
    group_changes,
    join_changes,
)
from tellwhen.service.errors import StorageError
from tellwhen.service.journal import Journal

log = logging.getLogger("tellwhen")

CHANGES_PER_FRAME = 1_000
BYTES_PER_FRAME = 8 << 20

SNAPSHOT_AFTER_SUBSCRIPTIONS = 20_000
SNAPSHOT_AFTER_BYTES = 64 << 20
"""Save a snapshot once 20,000 subscriptions have changed or the journal has 64 MiB, which bounds the time to open."""


class PendingChange(NamedTuple):
    """A submitted change, its JSON, and the function that receives its result."""

    change: Change
    body: bytes
    deliver: Callable[[Any], None]


class DurableIndex:
    """An index in a folder. Any thread may `submit` changes and read `index`."""

    def __init__(
        self,
        folder: Path,
        create_index: Callable[[], Index] = Index,
        memory_limit: int | None = None,
        schema: Schema | None = None,
        *,
        accept_loss: bool = False,
        snapshot_after: int = SNAPSHOT_AFTER_SUBSCRIPTIONS,
    ) -> None:
        """Open the index in a folder, or save the one that `create_index` returns as its first snapshot.

        A `schema` replaces the schema of an existing index. With `accept_loss`, a missing or truncated journal is not
        an error.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._snapshot = folder / "index"
        self._snapshot_after = snapshot_after
        if (self._snapshot / MANIFEST).exists():
            self.index = Index.load(self._snapshot)
            self._snapshot_number = int(read_note(self._snapshot)["change"])
            self._journal = Journal(folder, self._snapshot_number, accept_loss=accept_loss)
        else:
            self._snapshot_number = 0
            # An error if the journal continues a snapshot, which is missing.
            self._journal = Journal(folder, accept_loss=accept_loss)
            shutil.rmtree(self._snapshot, ignore_errors=True)
            self.index = create_index()
            self.index.save(self._snapshot, note={"change": 0})
        self.replayed = 0  # subscriptions in the changes that were applied again
        self._unlisted_refused_numbers: list[int] = []  # numbers of refused changes that the journal does not list yet
        try:
            self._replay()
            self._changes_since_snapshot = self.replayed  # counted in subscriptions
            if schema is not None and schema != self.index.schema:
                self._change_schema(schema)
            # Set after the replay: changes that were accepted under a higher limit must not be rejected now.
            self.index.memory_limit = memory_limit
        except BaseException:
            self._journal.close()
            raise
        self._queue: queue.SimpleQueue[PendingChange | None] = queue.SimpleQueue()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name=f"tellwhen-{folder.name}", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> str | None:
        """The reason why no change can be written until a restart; None while changes are accepted."""
        return self._journal.failure

    @property
    def journal_bytes(self) -> int:
        return self._journal.size_bytes

    def submit(self, change: Change, deliver: Callable[[Any], None]) -> None:
        """Queue a change. Once it is on disk and visible, another thread calls `deliver` with the result or error."""
        self._queue.put(PendingChange(change, encode_change(change), deliver))

    def close(self) -> None:
        """Apply the queued changes and save a snapshot.

        The index in memory has every acknowledged change, so it is also saved if the journal failed or was deleted.
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._queue.put(None)
        self._thread.join()
        if not self._folder.exists():
            log.warning("tellwhen: %s was deleted; its index is not saved", self._folder)
        elif self._changes_since_snapshot or self.failure is not None or self._journal.is_file_deleted:
            self._try_snapshot()
        self._journal.close()

    def _change_schema(self, schema: Schema) -> None:
        """Compile all subscriptions again and save a snapshot; leave the folder unchanged after an error."""
        before = self.index
        after = Index(before.inspect.get_stats()["engine"], schema=schema).merge(before)
        copy_ordinals(before, after)  # so that cursors stay valid
        self.index = after
        self._save_snapshot()
        log.warning(
            "tellwhen: the schema of %s was changed; %d subscriptions were compiled again", self._folder, len(before)
        )

    # replaying

    def _replay(self) -> None:
        """Apply the changes since the snapshot again.

        All of them are valid, except the changes that the journal lists as refused, and perhaps changes of the last
        frame: the process may have been killed before it listed their refusals.
        """
        records = [
            (number, self._parse(number, body)) for number, body in self._journal.iter_records(self._snapshot_number)
        ]
        refused = {number for _, change in records if change["do"] == "refuse" for number in change["numbers"]}
        accepted = [(n, change) for n, change in records if n not in refused and change["do"] != "refuse"]
        valid = [change for number, change in accepted if number < self._journal.last_frame_first]
        for group in group_changes(valid):
            self.replayed += sum(map(count_subscriptions, group))
            try:
                apply_change(self.index, join_changes(group))
            except TellwhenError as error:
                raise FormatError(
                    f"a change in the log of {self._folder} cannot be applied again: {error}; use the version of "
                    "tellwhen that wrote the log"
                ) from None
        for number, change in accepted:
            if number >= self._journal.last_frame_first:
                self.replayed += count_subscriptions(change)
                self._replay_unconfirmed(number, change)

    def _parse(self, number: int, body: bytes) -> Change:
        try:
            change = json.loads(body)
            if change["do"] in KINDS:
                return dict(change)
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        raise FormatError(
            f"change {number} in the log of {self._folder} has an unknown form; use the version of tellwhen that wrote "
            "the log"
        )

    def _replay_unconfirmed(self, number: int, change: Change) -> None:
        """Apply a change of the last frame; if the index rejects it, remember it as refused."""
        try:
            apply_change(self.index, change)
        except TellwhenError as error:
            self._unlisted_refused_numbers.append(
                number
            )  # the journal must list it before the next frame, or a replay takes it for a valid change
            log.warning("tellwhen: a change that was never acknowledged is refused again: %s", error)

    # writing

    def _run(self) -> None:
        while (pending := self._take_pending()) is not None:
            try:
                self._write(pending)
            except Exception as error:  # without this thread, later changes would wait forever
                log.exception("tellwhen: changes failed with an unexpected error")
                for change in pending:
                    change.deliver(error)

    def _take_pending(self) -> list[PendingChange] | None:
        """Wait for a change; return all queued changes that fit into a frame; return None when the index is closed."""
        first = self._queue.get()
        if first is None:
            return None
        pending, length = [first], len(first.body)
        while len(pending) < CHANGES_PER_FRAME and length < BYTES_PER_FRAME:
            try:
                change = self._queue.get_nowait()
            except queue.Empty:
                break
            if change is None:
                self._queue.put(None)
                break
            pending.append(change)
            length += len(change.body)
        return pending

    def _write(self, pending: list[PendingChange]) -> None:
        """Write changes to the journal, apply them, and deliver the results."""
        refusals = (
            [encode_change({"do": "refuse", "numbers": self._unlisted_refused_numbers})]
            if self._unlisted_refused_numbers
            else []
        )
        try:
            first = self._journal.append(refusals + [change.body for change in pending]) + len(refusals)
        except OSError as error:
            for change in pending:
                change.deliver(StorageError(f"the change cannot be written: {error.strerror or error}"))
            return
        results = [self._apply(change.change) for change in pending]
        self._unlisted_refused_numbers = [
            first + place for place, result in enumerate(results) if isinstance(result, Exception)
        ]
        if self._unlisted_refused_numbers:
            self._write_refused_numbers()
        for change, result in zip(pending, results, strict=True):
            change.deliver(result)
        self._changes_since_snapshot += sum(count_subscriptions(change.change) for change in pending)
        if self._changes_since_snapshot >= self._snapshot_after or self._journal.size_bytes >= SNAPSHOT_AFTER_BYTES:
            self._try_snapshot()

    def _apply(self, change: Change) -> Any:
        try:
            return apply_change(self.index, change)
        except (TellwhenError, MemoryError, RecursionError) as error:
            return error

    def _write_refused_numbers(self) -> None:
        """List refused changes in the journal before their results are delivered.

        If this fails, the next frame lists them. Until then they are in the last frame, and a replay expects refused
        changes there.
        """
        with suppress(OSError):
            self._journal.append([encode_change({"do": "refuse", "numbers": self._unlisted_refused_numbers})])
            self._unlisted_refused_numbers = []

    def _try_snapshot(self) -> None:
        try:
            self._save_snapshot()
        except (OSError, TellwhenError) as error:
            log.warning("tellwhen: no snapshot of %s was saved: %s; the journal is kept", self._folder, error)
            self._changes_since_snapshot = 0  # try again after another `snapshot_after` subscriptions

    def _save_snapshot(self) -> None:
        self.index.save(self._snapshot, note={"change": self._journal.last_number})
        self._journal.rotate()
        self._changes_since_snapshot = 0
