"""One live table, from the ledger of its day to the next: what `Daemon` drives, in the game's thread. No thread, no socket.

It opens the ledger, folds it again, takes in what the recordings hold beyond it, and from then on what arrives. Between two
events it does what time asks for: ticks, checkpoints, new recordings, a new day's ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final

import msgspec

from tablectl.config import ConfigFile
from tablectl.daemon.live import MOST_WAITING, Live
from tablectl.daemon.metrics import Figures
from tablectl.daemon.opening import (
    Opened,
    Ruled,
    calibrated,
    doubt_of,
    first_seen,
    followed,
    fused_of,
    gaming_day,
    is_new_day,
    look_up,
    open_ledger,
    pin_of,
    see_ledgers,
    signer_of,
)
from tablectl.daemon.recorded import header_of, keeper_of
from tablectl.daemon.signing import Signing
from tablectl.daemon.storage import RECORD, ROOM_AGAIN, WRITTEN, Storage
from tablectl.errors import LedgerError
from tablectl.felt import sighting
from tablectl.felt.sighting import Tracked
from tablectl.game.carried import carry, may_be_carried
from tablectl.game.table import Table
from tablectl.instants import to_micros
from tablectl.ledger.checkpoint import KeyEntry
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.refold import apply_pin, refold
from tablectl.ledger.store import Ledger
from tablectl.mqtt.desk import Desk
from tablectl.mqtt.orders import ShoeCommand
from tablectl.notices import Notice
from tablectl.observations import Link, Observation, ShoeLoaded, Tick
from tablectl.recording.chunks import Chunk
from tablectl.recording.damage import headless
from tablectl.recording.day import RECORDED, Done, decoding_of, rest_of_day
from tablectl.recording.folder import of_ledger, stem_of
from tablectl.recording.sources import Decoding
from tablectl.shoe.profile import Profile

__all__ = ["LiveTable"]

TICK: Final = 60.0
"""Seconds between two ticks."""
QUIET: Final = 5.0
"""Seconds without a byte after which a recording may end: longer than any device repeats itself."""
ROOM: Final = 30.0
"""Seconds between two looks at the disk's room."""

Tell = Callable[[Observation, tuple[Notice, ...]], object]


class LiveTable:
    """A table at work. Use it as a context manager; entering opens ledger and recording, leaving ends them.

    `tell` hears what is seen and said, at once; `device` is asked to carry out a host command (see `Desk`); `tried` is called
    with a line before what may take long, `warn` with what is lost of the recordings. Entering raises `ConfigError`,
    `LedgerError`.
    """

    def __init__(
        self,
        file: ConfigFile,
        storage: Storage,
        *,
        clock: Callable[[], int],
        tell: Tell,
        device: Callable[[ShoeCommand], str | None],
        tried: Callable[[str], object] = lambda _: None,
        warn: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.file = file
        self.figures = Figures(file.name)
        self._storage = storage
        self._clock = clock
        self._tell = tell
        self._device = device
        self._tried = tried
        self._warn = warn
        self._ruled: Ruled = look_up(file)
        see_ledgers(storage)
        self._signing = Signing(signer_of(file, storage, missing="refuse" if storage.days() else "make"))
        self._stack = ExitStack()
        self._record: bytes | None = None  # a command's, of which the next observation comes
        self._again = True  # folding again: nobody is told
        self._blank = True  # nothing was ever observed
        self._vkey: str | None = None  # of the key that signs the ledger
        self._trouble: str | None = None
        self._room: str | None = None
        self._due_tick = self._due_checkpoint = self._due_room = self._last_byte = 0.0
        self.live: Live
        self.desk: Desk

    # Opening

    def __enter__(self) -> LiveTable:
        with ExitStack() as stack:
            signer, now = self._signing.signer, self._clock()
            opened = open_ledger(self.file, self._ruled, self._storage, signer, now=now, tried=self._tried)
            name = opened.ledger.path.name
            self._keeper = keeper_of(self.file, self._ruled, self._storage, name, protected=lambda: [self.ledger.path.name])
            self.live = Live(
                opened.table,
                opened.ledger,
                self._keeper,
                self._decoding(),
                watch=self._watched,
                remark=self._remember,
                fused=fused_of(opened),
            )
            stack.callback(self._close_ledger)
            stack.callback(self._signing.close)
            self._signing.follow(opened.ledger)
            stack.callback(self._keeper.close)
            self.desk = Desk(opened.table, self._ordered, record=self._recorded, device=self._device)
            self._fold_again(opened)
            self._keeper.open(self._clock())
            self._again = False
            self._begin()
            self._stack = stack.pop_all()
        return self

    def _fold_again(self, opened: Opened) -> None:
        """Bring the table to where the record ends: the ledger first, then what the recordings hold beyond it."""
        self._vkey = opened.ledger.begun.signer
        if opened.fresh:
            return
        with Reader(opened.ledger.path) as reader:
            refold(reader, opened.table, watch=self._watched, other=self._other)
            apply_pin(opened.table, opened.ledger.pin)
            kept = reader.latest(RECORDED)
        self._signing.require(opened.ledger, self._vkey)
        done = msgspec.json.decode(kept.body, type=Done) if kept is not None else None
        self._tried("taking in what was recorded last")
        known = {found.profile.name: found.profile for found in self._ruled.profiles.values()}
        paths = of_ledger(self._storage.recordings, opened.ledger.path.name)
        self.live.follow(rest_of_day(paths, known, done=done, lost=lambda damage: self._warn(str(damage))))
        for damage in headless(self._storage.recordings):
            self._warn(str(damage))
        if paths:  # with what they gave, in one commit: else it would be taken in twice
            self.live.done(Done(stem_of(paths[-1].name) or "", 0, ended=True))

    def _begin(self) -> None:
        """What is to be seen first. Raises `LedgerError` when it cannot be written: a table does not begin without its record."""
        record = self.table.devices.get(RECORD)
        if record is not None and record.state == "up" and record.why not in (WRITTEN, ROOM_AGAIN):
            self._room = record.why  # what was said of the disk's room holds until it is looked at again
        now, blank = self._clock(), self._blank and self.ledger.begun.carried is None
        for observation in first_seen(self.table, self.file.config.table if blank else None):
            self.live.observe(now, observation)
        if not self.live.commit():
            raise LedgerError(self.live.trouble or "cannot be written")

    @property
    def table(self) -> Table:
        """The game."""
        return self.live.table

    @property
    def ledger(self) -> Ledger:
        """The day's ledger."""
        return self.live.ledger

    @property
    def profiles(self) -> dict[str, Profile]:
        """The firmware profiles by port."""
        return {port: found.profile for port, found in self._ruled.profiles.items()}

    @property
    def doubt(self) -> str | None:
        """What whoever starts the table is to know of its felt, where there is something."""
        return doubt_of(self._ruled)

    def _decoding(self) -> Decoding:
        return decoding_of(self.profiles)

    # What arrives

    def take(self, chunk: Chunk, now: float) -> None:
        """Take in bytes of a device, or to it. `now` is in seconds of a clock that only goes forward, here as below."""
        self._last_byte = now
        self.live.take(chunk)

    def observe(self, observation: Observation) -> None:
        """Take in what is no device's bytes, now."""
        self.live.observe(self._clock(), observation)

    def see(self, event: Tracked) -> None:
        """Take in what following saw of the felt, now."""
        self.live.remark(self._clock(), "felt", sighting.encode(event))

    def enter_evidence(self, body: bytes) -> None:
        """Enter what was kept of an alert's pictures: one JSON object."""
        self.live.remark(self._clock(), "evidence", body)

    @property
    def is_choked(self) -> bool:
        """Whether so much waits for the disk that nothing more may be taken in."""
        return self.live.waiting > MOST_WAITING

    def commit(self) -> bool:
        """Put what was taken in onto the disk, and say so when that begins or ceases to fail. False: it cannot be now."""
        done = self.live.commit()
        if (self.live.trouble is None) != (self._trouble is None):
            self._trouble = self.live.trouble
            if self._trouble is not None:
                self.observe(Link(device=RECORD, state="down", why=self._trouble[:500]))
                return False
            self.observe(Link(device=RECORD, state="up", why=WRITTEN))
            done = self.live.commit()
        return done

    def _ordered(self, observation: Observation) -> Sequence[bytes]:
        """Carry out a command; for the desk."""
        assert observation.at is not None
        lines = self.live.observe(to_micros(observation.at), observation)
        self.commit()
        return lines

    def _recorded(self, body: bytes) -> None:
        self.live.remark(self._clock(), "command", body)

    def refused(self, body: bytes) -> None:
        """Keep the record of a command that was refused before it came here."""
        self._recorded(body)

    # What is heard, of the present and of what is folded again

    def _other(self, entry: Entry) -> None:
        if entry.kind == "command":
            self._remember(entry.body)
        elif entry.kind == "key":
            self._vkey = KeyEntry.parse(entry.body)[0].vkey

    def _remember(self, body: bytes) -> None:
        if self._again:
            if self._record is not None:
                self.desk.remember(self._record, None, self._clock())
            self._record = body

    def _watched(self, observation: Observation) -> Callable[[tuple[Notice, ...], list[bytes]], object]:
        self._blank = False
        record, self._record = self._record, None
        finish = self.desk.remember(record, observation, self._clock()) if record is not None else None

        def heard(notices: tuple[Notice, ...], lines: list[bytes]) -> None:
            self.figures.take(observation, notices)
            if finish is not None:
                finish(lines)
            if not self._again:
                self._tell(observation, notices)
            if isinstance(observation, ShoeLoaded):
                self._due_checkpoint = 0.0

        return heard

    # What time asks for

    def tend(self, now: float) -> bool:
        """Do what is due. True: something was written beside what arrived, such as a checkpoint."""
        self.desk.settle(self._clock())
        if now >= self._due_tick:
            self._due_tick = now + TICK
            if self.table.phase != "closed":
                self.observe(Tick())
        wakes = self.live.fusion.wakes_at
        if wakes is not None and self._clock() >= wakes:
            self.observe(Tick())
        if now >= self._due_room:
            self._due_room = now + ROOM
            self._look_for_room()
        lull = now - self._last_byte >= QUIET
        if self._keeper.must and (lull or not self.live.decoding.pending):  # before the commit, which may wait for just this
            self.live.rotate(self._clock(), self._decoding())
        if not self.commit():
            return False
        quiet = lull and not self.live.decoding.pending
        written = False
        if now >= self._due_checkpoint:
            written = self.checkpoint()
            self._due_checkpoint = now + self.file.config.ledger.checkpoint_seconds
        if (
            quiet
            and self.live.fusion.wakes_at is None
            and is_new_day(self.file, self.ledger, self._clock())
            and may_be_carried(self.table)
        ):
            written |= self._next_day()
        elif self._keeper.must or (quiet and self._keeper.is_due(self._clock())):
            self.live.rotate(self._clock(), self._decoding())
        self._keeper.tend(self._clock())
        return written

    def checkpoint(self) -> bool:
        """Sign the head, and have it told. False: it cannot be written now."""
        if not self.live.commit():  # what waits for its recording must not come into the ledger by the back door
            return False
        try:
            self._signing.checkpoint(self.ledger, self._clock())
        except LedgerError as error:
            self.live.trouble = str(error)
            return False
        return True

    def _look_for_room(self) -> None:
        room = self._storage.room(self.file.config.storage.min_free_mb)
        if room != self._room and self._trouble is None:
            self.observe(Link(device=RECORD, state="up", why=room or ROOM_AGAIN))
        self._room = room

    def _next_day(self) -> bool:
        """Begin the next day's ledger, and a recording for it. False: it cannot be now, and this day goes on."""
        now = self._clock()
        old, standing = self.ledger, carry(self.table)
        self._record_for(self._storage.next_day(gaming_day(self.file, now)).name)
        rotated = self.live.rotate(now, self._decoding())
        opened = self._followed(standing, now) if rotated else None
        if opened is None:
            self._record_for(old.path.name)
            if rotated:
                self.live.turn_back(now, self._decoding())  # else what comes next would stand in the recording of no day
            return False
        self.live.sit_down(opened.table, opened.ledger)
        self.desk.sit_down(opened.table)
        self._signing.follow(opened.ledger)
        old.abandon()
        self.live.commit()
        self.checkpoint()
        return True

    def _record_for(self, ledger: str) -> None:
        """What is recorded from the next file on is for the ledger of this name."""
        self._keeper.header = header_of(self.file, self._ruled, ledger)

    def _followed(self, standing: bytes, now: int) -> Opened | None:
        """Begin the ledger that follows; None: it cannot be now, and where that is for the disk, `Live.trouble` says why."""
        if not self.live.commit() or carry(self.table) != standing:
            return None
        self.checkpoint()
        try:
            return followed(self.file, self._ruled, self._storage, self._signing.signer, self.ledger, standing, now=now)
        except LedgerError as error:
            self.live.trouble = str(error)
            return None

    # Changes, and the end

    def look_again(self) -> None:
        """Pin the calibration as it lies there now, where it is another than before: who watches the felt has read it again.

        Raises `ConfigError` for one that cannot be read.
        """
        calibration, deck = calibrated(self.file)
        if (calibration, deck) == (self._ruled.calibration, self._ruled.deck):
            return
        self._ruled = self._ruled._replace(calibration=calibration, deck=deck)
        self._record_for(self.ledger.path.name)
        self.ledger.repin(pin_of(self.file, self._ruled))

    def change(self, file: ConfigFile) -> None:
        """Take over what may change while the table runs; `tablectl.daemon.reload` has looked at it. Raises `ConfigError`."""
        signer = signer_of(file, self._storage, missing="make")  # the one before it is at hand, and hands over
        self.file = file
        pin = pin_of(file, self._ruled)
        if self.ledger.repin(pin):
            apply_pin(self.table, pin)
        if signer.verifier != self._signing.signer.verifier:
            self.checkpoint()
            self._signing.hand_over(self.ledger, signer)
        self.commit()

    def __exit__(self, *_: object) -> None:
        with self._stack:
            if self.live.end():
                self.checkpoint()

    def _close_ledger(self) -> None:
        """What is committed by now is all; what is recorded besides is taken in at the next start, and not half of it here."""
        self.ledger.abandon()
