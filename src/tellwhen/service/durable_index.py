"""How is an index kept so that nothing accepted is lost? A snapshot, and a journal of what came after it.

    folder/index/        the snapshot: a saved index, whose note is the number of the last change in it
    folder/log-<number>  the journal

A change is written to the journal and synced, then applied, then answered. One thread does it, for all changes that
wait at once. What is refused when it is applied (an expression that cannot be parsed, an unknown id) is named in the
journal as refused; after a kill before that, it is refused again.
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
from tellwhen.service.changes import KINDS, Change, apply, groups, joined, size, written
from tellwhen.service.errors import StorageError
from tellwhen.service.journal import Journal

log = logging.getLogger("tellwhen")

TOGETHER_MAX = 1_000
"""Changes in one frame."""
TOGETHER_BYTES = 8 << 20

SNAPSHOT_CHANGES = 20_000
SNAPSHOT_BYTES = 64 << 20
"""So many changes, or so long a journal, and a snapshot is made: opening must not take long."""


class Waiting(NamedTuple):
    """A change, and whom to tell."""

    change: Change
    body: bytes
    done: Callable[[Any], None]


class DurableIndex:
    """An index in a folder. Any thread may `submit` changes and read `index`."""

    def __init__(
        self,
        folder: Path,
        make: Callable[[], Index] = Index,
        memory_limit: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        """Open what is there, or begin with what `make` gives. If a schema is given, it has that one from now on."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._snapshot = folder / "index"
        if (self._snapshot / MANIFEST).exists():
            self.index = Index.load(self._snapshot)
            self._kept = int(read_note(self._snapshot)["change"])
            self._journal = Journal(folder, self._kept)
        else:
            self._kept = 0
            self._journal = Journal(folder)  # an error if it goes on behind a snapshot, which is missing
            shutil.rmtree(self._snapshot, ignore_errors=True)
            self.index = make()
            self.index.save(self._snapshot, note={"change": 0})
        self.replayed = 0
        self._refused: list[int] = []  # numbers of refused changes that the journal does not name yet
        try:
            self._replay()
            self._since = self.replayed  # changes since the snapshot
            if schema is not None and schema != self.index.schema:
                self._declare(schema)
            # Only now: what was accepted is not refused because less is allowed today. It is an error if it takes too
            # much.
            self.index.memory_limit = memory_limit
        except BaseException:
            self._journal.close()
            raise
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name=f"tellwhen-{folder.name}", daemon=True)
        self._thread.start()

    # asking

    @property
    def failure(self) -> str | None:
        """Why no change can be taken until the service is started again; None if changes are taken."""
        return self._journal.failure

    @property
    def journal_bytes(self) -> int:
        return self._journal.bytes

    def submit(self, change: Change, done: Callable[[Any], None]) -> None:
        """`done` gets the result, or the error, from another thread, when the change is on disk and visible."""
        self._queue.put(Waiting(change, written(change), done))

    def close(self) -> None:
        """Finish what waits, and make a snapshot."""
        if not self._is_closed:
            self._is_closed = True
            self._queue.put(None)
            self._thread.join()
            if self._since and self.failure is None:
                self._save()
            self._journal.close()

    def _declare(self, schema: Schema) -> None:
        """All subscriptions are compiled again, and a snapshot has them; or an error, and nothing has changed."""
        before = self.index
        after = Index(before.inspect.get_stats()["engine"], schema=schema).merge(before)
        copy_ordinals(before, after)  # cursors stay valid
        self.index = after
        self._snap()
        log.warning("tellwhen: %s has another schema now; %d subscriptions were read again", self._folder, len(before))

    # replaying

    def _replay(self) -> None:
        """Make the changes behind the snapshot again. All of them were good, but for those that are named as refused,
        and perhaps some of the last frame, which may not be named yet."""
        records = [(number, self._read(number, body)) for number, body in self._journal.records(self._kept)]
        refused = {number for _, change in records if change["do"] == "refuse" for number in change["numbers"]}
        good = [(n, change) for n, change in records if n not in refused and change["do"] != "refuse"]
        certain = [change for number, change in good if number < self._journal.last_frame]
        for group in groups(certain):
            self.replayed += sum(map(size, group))
            try:
                apply(self.index, joined(group))
            except TellwhenError as error:
                raise FormatError(f"a change in the log of {self._folder} cannot be made again: {error}") from None
        for number, change in good:
            if number >= self._journal.last_frame:
                self.replayed += size(change)
                self._again(number, change)

    def _read(self, number: int, body: bytes) -> Change:
        try:
            change = json.loads(body)
            if change["do"] in KINDS:
                return dict(change)
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        raise FormatError(
            f"change {number} in the log of {self._folder} is none that this version of tellwhen knows; "
            "use the version that wrote it"
        )

    def _again(self, number: int, change: Change) -> None:
        try:
            apply(self.index, change)
        except TellwhenError as error:
            self._refused.append(number)  # named before others follow, or it would be taken for a good one
            log.warning("tellwhen: a change that was never acknowledged is refused again: %s", error)

    # writing

    def _run(self) -> None:
        while (together := self._next()) is not None:
            try:
                self._write(together)
            except Exception as error:  # the thread must go on: the others would wait for ever
                log.exception("tellwhen: changes failed")
                for one in together:
                    one.done(error)

    def _next(self) -> list[Waiting] | None:
        """All that wait, up to a limit; None at the end."""
        first = self._queue.get()
        if first is None:
            return None
        together, length = [first], len(first.body)
        while len(together) < TOGETHER_MAX and length < TOGETHER_BYTES:
            try:
                one = self._queue.get_nowait()
            except queue.Empty:
                break
            if one is None:
                self._queue.put(None)
                break
            together.append(one)
            length += len(one.body)
        return together

    def _write(self, together: list[Waiting]) -> None:
        note = [written({"do": "refuse", "numbers": self._refused})] if self._refused else []
        try:
            first = self._journal.append(note + [one.body for one in together]) + len(note)
        except OSError as error:
            return self._tell(together, StorageError(f"the change cannot be written: {error.strerror or error}"))
        results = [self._applied(one.change) for one in together]
        self._refused = [first + place for place, result in enumerate(results) if isinstance(result, Exception)]
        if self._refused:
            self._note_refused()
        for one, result in zip(together, results, strict=True):
            one.done(result)
        self._since += sum(size(one.change) for one in together)
        if self._since >= SNAPSHOT_CHANGES or self._journal.bytes >= SNAPSHOT_BYTES:
            self._save()
        return None

    def _applied(self, change: Change) -> Any:
        try:
            return apply(self.index, change)
        except (TellwhenError, MemoryError, RecursionError) as error:
            return error

    def _note_refused(self) -> None:
        """Name them before it is told, or else with the next changes: until then they are of the last frame."""
        with suppress(OSError):
            self._journal.append([written({"do": "refuse", "numbers": self._refused})])
            self._refused = []

    @staticmethod
    def _tell(together: list[Waiting], error: Exception) -> None:
        for one in together:
            one.done(error)

    def _save(self) -> None:
        try:
            self._snap()
        except (OSError, TellwhenError) as error:
            log.warning("tellwhen: no snapshot of %s: %s; the journal is kept", self._folder, error)
            self._since = 0  # it is tried again when as many changes have come

    def _snap(self) -> None:
        self.index.save(self._snapshot, note={"change": self._journal.last})
        self._journal.rotate()
        self._since = 0
