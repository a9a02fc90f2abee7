"""The table at work: chunks in, recording, decoding, game and ledger, in this order. It belongs to the game's thread.

A chunk is recorded before it is decoded, and the recording is on the disk before the ledger is: so a day's recordings always
rebuild its ledger, and what a killed table had recorded is taken in when it starts again. What is no device's bytes (a tick, a
link, a command) goes the same way, as a line of the recording.

When the disk fails, what was taken in waits in memory, in order, and is tried again at each `commit`; the game goes on meanwhile,
so that the dealer is still told what to do. Nothing of it exists for MQTT's events, for it is not in the ledger.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

import msgspec

from tablectl.errors import LedgerError
from tablectl.fusion import Fusion, State
from tablectl.game.table import Table
from tablectl.game.view import encode as encode_view
from tablectl.ledger.refold import Watch
from tablectl.ledger.store import Ledger
from tablectl.notices import Prompt, Status
from tablectl.notices import encode as encode_notice
from tablectl.observations import Observation
from tablectl.observations import encode as encode_observation
from tablectl.recording.chunks import Chunk, pieces
from tablectl.recording.day import RECORDED, Done
from tablectl.recording.folder import stem_of
from tablectl.recording.fusing import FUSED, encode_state, fused, state_of
from tablectl.recording.keeper import Keeper
from tablectl.recording.sources import Decoding, Remark, Seen
from tablectl.recording.table_lines import TABLE, RemarkKind, line_of, remark_line

__all__ = ["MOST_WAITING", "Live"]

MOST_WAITING: Final = 50_000
"""Entries that may wait for a disk that fails; beyond them the table takes nothing more in."""
SPARING: Final = 20
"""After a try that failed the ledger is left alone for so many times as long as that took: the game goes on meanwhile."""
LONGEST_REST: Final = 2.0
"""But for no more seconds than this."""


class Live:
    """A table that takes in chunks.

    `watch` hears each observation before the table does, and then the notices that follow, at once and whether committed or not;
    `remark` hears each command's record. `fused` is what fusion knew where the ledger ends; None: the ledger begins here.
    `trouble` is why the record cannot be written at the moment, in words, or None.
    """

    def __init__(
        self,
        table: Table,
        ledger: Ledger,
        keeper: Keeper,
        decoding: Decoding,
        *,
        watch: Watch,
        remark: Callable[[bytes], object],
        fused: State | None = None,
    ) -> None:
        self.table = table
        self.ledger = ledger
        self.keeper = keeper
        self.decoding = decoding
        self.fusion = self._fusion(fused or state_of(table))
        self.trouble: str | None = None
        self._watch = watch
        self._remark = remark
        self._unrecorded: deque[Chunk] = deque()
        self._astray: int | None = None
        self._next_try = 0.0
        self._changed = False
        self._ended = False
        self._latest: dict[Any, bytes] = {}

    def latest(self, name: Literal["prompt", "status"]) -> bytes:
        """The last notice of this name, committed or not; empty before the first."""
        return self._latest.get(name, b"")

    @property
    def waiting(self) -> int:
        """How many entries and chunks are not on the disk yet."""
        return self.ledger.waiting + len(self._unrecorded)

    def take(self, chunk: Chunk) -> list[bytes]:
        """Take in the next chunk; gives the notices that follow, which are not committed yet."""
        self._unrecorded.append(chunk)
        self._record()
        return self.follow(self.decoding.take(chunk))

    def follow(self, found: Iterable[Seen | Remark]) -> list[bytes]:
        """Take in what was decoded, and recorded before that; gives the notices that follow."""
        lines: list[bytes] = []
        for each in fused(self.fusion, found):
            if isinstance(each, Seen):
                lines += self._feed(each.observation)
            elif each.kind in ("command", "evidence"):
                self.ledger.note(each.kind, each.body)
                self._changed = True
                if each.kind == "command":
                    self._remark(each.body)
        return lines

    def rotate(self, at: int, fresh: Decoding) -> bool:
        """End this recording and begin another, with fresh decoders. False where the disk does not let us: this one goes on."""
        if not self._record():
            return False
        try:
            self.keeper.rotate(at)
        except LedgerError as error:
            self.trouble = str(error)
            return False
        self.follow(self.decoding.finish())
        self.decoding = fresh
        self._changed = True
        self._next_try = 0.0
        return True

    def turn_back(self, at: int, fresh: Decoding) -> None:
        """End this recording, which was begun for a ledger that came to nothing: not a chunk is written before that is done."""
        self._astray, self.decoding = at, fresh
        self._record()

    def end(self) -> bool:
        """The recording ends, and its decoders account for what they keep; then all is committed, or False as in `commit`."""
        self.follow(self.decoding.finish())
        self._ended = self._changed = True
        self._next_try = 0.0
        return self.commit()

    def observe(self, at: int, observation: Observation) -> list[bytes]:
        """Take in what is no device's bytes. `at` is in microseconds since 1970."""
        return self._take_line(at, line_of(observation))

    def remark(self, at: int, kind: RemarkKind, body: bytes) -> None:
        """Take in a remark: a command or evidence as the ledger keeps it, what the felt showed, or how the daemon began."""
        self._take_line(at, remark_line(kind, body))

    def _take_line(self, at: int, line: bytes) -> list[bytes]:
        return [notice for piece in pieces(line) for notice in self.take(Chunk(at, TABLE, "<", piece))]

    def _feed(self, observation: Observation) -> list[bytes]:
        heard = self._watch(observation)
        notices = self.table.feed(observation)
        lines = [encode_notice(notice) for notice in notices]
        self.ledger.append(encode_observation(observation), lines)
        self._changed = True
        for notice, line in zip(notices, lines, strict=True):
            if isinstance(notice, Prompt | Status):
                self._latest[notice.__struct_config__.tag] = line
        heard(notices, lines)
        return lines

    def commit(self) -> bool:
        """Put what was taken in onto the disk. False: that is not possible at the moment, and `trouble` says why."""
        if not self._record():
            return False
        if self._changed or self.ledger.waiting:
            began = time.monotonic()
            if began < self._next_try:
                return False
            position = self.keeper.position
            self.done(Done(stem_of(position.file) or "", position.offset, self._ended))
            self.ledger.keep("state", encode_view(self.table))
            if not self.fusion.is_idle:
                self.ledger.keep(FUSED, encode_state(self.fusion.state))
            try:
                self.keeper.sync()
                self.ledger.commit()
                self._changed = False
            except LedgerError as error:
                self.trouble = str(error)
                now = time.monotonic()
                self._next_try = now + min(LONGEST_REST, SPARING * (now - began))
                return False
        self.trouble = None
        return True

    def done(self, done: Done) -> None:
        """How far the recordings are taken in, with the next commit."""
        self.ledger.keep(RECORDED, msgspec.json.encode(done))

    def sit_down(self, table: Table, ledger: Ledger) -> None:
        """Go on with another day's table and ledger."""
        self.table, self.ledger = table, ledger
        self.fusion = self._fusion(state_of(table))
        self._changed = True

    def _fusion(self, state: State) -> Fusion:
        return Fusion(lambda: self.table.due(), state)

    def _record(self) -> bool:
        """Write what is not recorded yet. False: that is not possible at the moment."""
        try:
            if self._astray is not None:
                self.keeper.rotate(self._astray)
                self._astray, self._changed = None, True
            while self._unrecorded:
                self.keeper.write(self._unrecorded[0])
                self._unrecorded.popleft()
        except LedgerError as error:
            self.trouble = str(error)
            return False
        return True
