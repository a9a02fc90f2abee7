"""One table being replayed: observations into the game, notices into the ledger, and from there to stdout and the broker.

A notice exists once it is committed, so nothing is printed or published before. At full speed the commits are in batches; a
replay that keeps the recorded pace commits after each observation, as a live table does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tablectl.cli.feeding import Feeding
from tablectl.errors import BrokerError, LedgerError
from tablectl.fusion import Fusion
from tablectl.game.table import Due, Table
from tablectl.game.view import encode as encode_view
from tablectl.ledger.pin import Pin
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.refold import all_entries, refold
from tablectl.ledger.store import Ledger
from tablectl.mqtt.address import Address
from tablectl.mqtt.publisher import Publisher
from tablectl.notices import Notice
from tablectl.observations import Ack, Ruling
from tablectl.observations import decode as decode_observation
from tablectl.observations import encode as encode_observation
from tablectl.recording.sources import Seen

__all__ = ["BATCH", "RULED", "Session", "with_bar"]

BATCH = 500
"""Observations in one commit, at full speed."""
RULED = "MQTT"
"""Where an observation was read that is none of the stream's."""


class Session:
    """A table, its ledger (None: none is kept), and its publisher. A context manager: leaving it commits what was seen.

    `resume` goes on with the ledger of a replay that was cut: the table is folded again from it, and what it holds of the stream
    is passed over. `fusion` is the stream's, which asks the table what is due: it is answered as the table stood where the stream
    is, also while that is passed over. `patience` is how many seconds the broker has to answer at the beginning, and to take what
    is untold at the end.
    """

    def __init__(
        self,
        table: Table,
        pin: Pin,
        *,
        ledger: Path | None = None,
        resume: bool = False,
        broker: Address | None = None,
        batch: int = BATCH,
        patience: float = 60.0,
        write: Callable[[bytes], object] | None = None,
        tell: Callable[[Notice], object] | None = None,
    ) -> None:
        self._pin = pin
        self._path = ledger
        self._resume = resume
        self._known: _Known | None = None
        self.fusion = Fusion(self._due)
        self._broker = broker
        self._batch = batch
        self._patience = patience
        self._write = write
        self._feeding = Feeding(table, tell=tell)
        self._table = table
        self._stack = ExitStack()
        self._ledger: Ledger | None = None
        self._publisher: Publisher | None = None
        self._newest: tuple[bytes, list[bytes]] | None = None
        self._unwritten: list[bytes] = []
        self._uncommitted = 0

    @property
    def exit_code(self) -> int:
        """3 when there was an alert of severity critical, else 0."""
        return self._feeding.exit_code

    def __enter__(self) -> Self:
        """Make the ledger, reach the broker. Raises `LedgerError`, `BrokerError`."""
        with ExitStack() as stack:
            path = self._path
            if path is None and self._broker is not None:
                path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tablectl-"))) / "replay.db"
            if path is not None:
                ledger = Ledger.resume(path, self._pin) if self._resume else Ledger.create(path, self._pin)
                stack.callback(self._unmake, ledger)  # after it was closed
                self._ledger = stack.enter_context(ledger)
                if self._resume:
                    reader = stack.enter_context(Reader(path))
                    fresh = partial(Table, self._table.house, supervisors=self._table.supervisors)
                    refold(reader, self._table)
                    self._known = _Known(reader, fresh, self.fusion)
            if path is not None and self._broker is not None:
                self._publisher = stack.enter_context(Publisher(path, self._broker))
                self._publisher.wait_online(min(self._patience, 10.0))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Commit and hand on what was seen, whatever happened; then close the publisher and the ledger, in that order."""
        with self._stack:
            self.commit()

    def _unmake(self, ledger: Ledger) -> None:
        """Remove a ledger that never came to hold anything: the corrected call must not find it in its way."""
        if ledger.last == 1 and not self._resume:
            for name in (ledger.path.name, f"{ledger.path.name}-wal", f"{ledger.path.name}-shm"):
                ledger.path.with_name(name).unlink(missing_ok=True)

    def take(self, seen: Seen) -> list[bytes]:
        """Feed one observation; gives the notices that follow, which may not be committed yet.

        Of a replay that goes on: none, and nothing is fed, while the ledger knows the observation. Raises `LedgerError` when it
        knows another one.
        """
        if self._known is not None and seen.where != RULED:  # who rules meanwhile rules where the ledger ends
            if self._known.has(seen):
                return []
            self._known = None
        self._append(None)
        lines = self._feeding.feed(seen.observation, where=seen.where)
        self._unwritten += lines
        self._newest = (encode_observation(seen.observation), lines)
        self._uncommitted += 1
        if self._uncommitted >= self._batch:
            self.commit()
        return lines

    def _due(self) -> Due:
        """What is due where the stream is."""
        return (self._table if self._known is None else self._known.table()).due()

    def finish(self) -> None:
        """Commit the rest, and wait until the broker has all of it. Raises `BrokerError` when it does not take it in time."""
        self.commit()
        if self._publisher is not None and not self._publisher.drain(self._patience):
            trouble = self._publisher.trouble or "no acknowledgement"
            raise BrokerError(f"has not taken all notices within {self._patience:g} s: {trouble}", where=str(self._broker))

    def commit(self) -> None:
        """Write what was seen and said to the ledger, and hand it on."""
        if self._ledger is not None:
            self._append(encode_view(self._table))
            self._ledger.commit()
        if self._publisher is not None:
            self._publisher.wake()
        lines, self._unwritten = self._unwritten, []
        self._uncommitted = 0
        if self._write is not None:
            for line in lines:
                self._write(line + b"\n")

    def _append(self, view: bytes | None) -> None:
        """Add the newest observation to the ledger. What is retained is the latest view: in a batch, that of its last one."""
        if self._ledger is not None and self._newest is not None:
            observation, lines = self._newest
            self._ledger.append(observation, lines, view)
        self._newest = None


class _Known:
    """The observations that a ledger holds, met again in a stream. What was ruled over MQTT stands between them."""

    def __init__(self, reader: Reader, fresh: Callable[[], Table], fusion: Fusion) -> None:
        self._reader = reader
        self._left = self._observations(0, reader.last())
        self._met = 0
        self._fresh = fresh
        self._table: Table | None = None
        self._fusion = fusion
        self._where = str(reader.path)

    def _observations(self, after: int, last: int) -> Iterator[Entry]:
        entries = takewhile(lambda entry: entry.seq <= last, all_entries(self._reader, after))
        return (entry for entry in entries if entry.kind == "observation")

    def table(self) -> Table:
        """The table as it stood where the stream is. It is folded from the first question on: without a camera nobody asks."""
        if self._table is None:
            self._table = self._fresh()
            for entry in self._observations(0, self._met):
                self._table.feed(decode_observation(entry.body))
        return self._table

    def has(self, seen: Seen) -> bool:
        """Whether the ledger holds this one next; False when it has ended. Raises `LedgerError` when it holds another.

        Raises it also for a ruling over MQTT where a camera was: among what the felt showed, its place is not known.
        """
        body = encode_observation(seen.observation)
        for entry in self._left:
            self._met = entry.seq
            observation = decode_observation(entry.body)
            if self._table is not None:
                self._table.feed(observation)
            if entry.body == body:
                return True
            if not isinstance(observation, Ack | Ruling):
                raise LedgerError(f"entry {entry.seq} is not what the recording has there ({seen.where})", where=self._where)
            if not self._fusion.is_idle:
                raise LedgerError(
                    f"entry {entry.seq} came over MQTT while a camera saw the felt, and so cannot be gone on with: "
                    "replay the recording into a new ledger",
                    where=self._where,
                )
        return False


def with_bar(stream: Iterator[Seen], *, size: int, position: Callable[[], int]) -> Iterator[Seen]:
    """Show a bar on stderr while a long stream goes by. `position` tells how many of `size` bytes were read."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("replay", total=size)
        for count, seen in enumerate(stream):
            if count % 200 == 0:
                progress.update(task, completed=position())
            yield seen
