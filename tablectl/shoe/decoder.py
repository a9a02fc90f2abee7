"""The decoder: bytes in, observations out, every byte accounted for.

It does no input or output and reads no clock. What it finds depends on the bytes alone, not on how they were split into reads;
random bytes never raise, and at most a frame's length of them is kept. A card is stamped with the time of the chunk that brought
its frame's last byte: the moment it was known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from tablectl.instants import to_micros
from tablectl.observations import Observation
from tablectl.shoe.frames import Candidate
from tablectl.shoe.messages import Reading
from tablectl.shoe.profile import Held, Profile, SameFrame

__all__ = ["Decoder", "Piece", "coalesced"]

NOISE = "no frame"
BETWEEN = "between frames"


class Piece(msgspec.Struct, frozen=True):
    """A run of bytes `start` to `end` (from the stream's first, `end` not included), and what became of it.

    `frame` gave its observation; `repeat` is a message that came before; `ignored` is sound but tells the table nothing;
    `rejected` is in no sound frame, and `why` says what was wrong. Pieces follow one another without a gap.
    """

    start: int
    end: int
    what: Literal["frame", "repeat", "ignored", "rejected"]
    message: str | None = None
    why: str = ""
    observation: Observation | None = None


class Decoder:
    """Decodes one stream of one device. `device` is the name that its observations give it."""

    def __init__(self, profile: Profile, device: str | None = None):
        self.profile = profile
        self.device = device or profile.kind
        self._wire = profile.wire()
        self._scanner = self._wire.scanner
        # What can be said is little, and said again and again.
        self._read = lru_cache(maxsize=4096)(self._wire.read)
        self._buffer = b""
        self._offset = 0  # of the buffer's first byte in the stream
        self._done = 0  # of the first byte that is in no piece yet
        self._times: deque[tuple[int, str | None]] = deque()  # where a chunk ends, and its time
        self._pieces: list[Piece] = []
        self._clean = True  # nothing but filler since the last frame
        self._bad: tuple[int, str] = (0, "")  # where the last false candidate ends, and what was wrong with it
        self._forget()

    @property
    def offset(self) -> int:
        """How many bytes were fed."""
        return self._offset + len(self._buffer)

    @property
    def pending(self) -> int:
        """How many bytes are kept because they may yet become a frame: never more than one frame's length, about."""
        return self.offset - self._done

    def feed(self, data: bytes, at: str | None = None) -> list[Piece]:
        """Take the next bytes of the stream, read at `at` (a canonical time); return what is now certain."""
        if not data:
            return []
        self._buffer += data
        if self._times and self._times[-1][1] == at:
            self._times.pop()
        self._times.append((self.offset, at))
        self._pieces = []
        return self._scan(final=False)

    def finish(self) -> list[Piece]:
        """No more bytes come: account for those that are kept."""
        return self._end("cut short")

    def reset(self) -> list[Piece]:
        """The line was lost and is back: reject what was cut, and forget what a repeat is known by."""
        pieces = self._end("cut by a reconnect")
        self._forget()
        self._clean = True
        return pieces

    def _forget(self) -> None:
        self._before: tuple[str, bytes] | None = None
        self._seen_at: str | None = None
        self._last_card: Observation | None = None

    def _end(self, why: str) -> list[Piece]:
        """Take what is kept for a frame that was cut, unless another begins in it."""
        self._pieces = []
        if self._bad[0] <= self._done:
            self._between(self.offset)
        self._bad = max(self._bad, (self.offset, why))
        return self._scan(final=True)

    def _scan(self, *, final: bool) -> list[Piece]:
        keep = self._scanner.scan(self._buffer, self._done - self._offset, final, self._judge) + self._offset
        self._leave(keep)
        self._buffer = self._buffer[keep - self._offset :]
        self._offset = keep
        while self._times and self._times[0][0] <= keep:
            self._times.popleft()
        return self._pieces

    def _judge(self, candidate: Candidate) -> int:
        """See `tablectl.shoe.framings.Judge`."""
        start, end = candidate.start + self._offset, candidate.end + self._offset
        self._leave(start)
        if candidate.doubtful and not self._clean:
            return candidate.retry
        reading = None if candidate.why else self._read(candidate.frame, candidate.body, self.device)
        why = candidate.why or ("fits no message of the profile" if reading is None else reading.fault)
        if reading is not None and not why:
            self._add(self._piece(start, end, candidate, reading))
            self._clean = True
            return candidate.end
        if candidate.retry < candidate.end:
            # What follows may be the frame that this one only seemed to be.
            self._bad = (end, why)
        else:
            self._reject(end, why)
            self._clean = True
        return candidate.retry

    def _piece(self, start: int, end: int, candidate: Candidate, reading: Reading) -> Piece:
        message = reading.message
        at = self._time_of(end - 1)
        if self._repeated(candidate, message.name, at):
            return Piece(start, end, "repeat", message.name, "sent again")
        observation = reading.observation
        if observation is None:
            return Piece(start, end, "ignored", message.name, reading.why)
        if message.reading == "accounted":
            return Piece(start, end, "ignored", message.name, reading.why or "not counted")
        if message.reading == "resent" and observation == self._last_card:
            return Piece(start, end, "repeat", message.name, "sent again")
        if observation.__struct_config__.tag == "card":
            self._last_card = observation
        if at is not None:
            observation = msgspec.structs.replace(observation, at=at)
        return Piece(start, end, "frame", message.name, reading.why, observation)

    def _repeated(self, candidate: Candidate, message: str, at: str | None) -> bool:
        rule = self.profile.repeats
        key = (candidate.frame, candidate.body)
        if isinstance(rule, SameFrame) and candidate.frame in rule.frames:
            same = key == self._before
            if message in rule.forget_on and not same:
                self._forget()
            self._before = key
            return same
        if isinstance(rule, Held) and message in rule.messages:
            same = key == self._before and _within(rule, self._seen_at, at)
            self._before, self._seen_at = key, at
            return same
        return False

    def _time_of(self, position: int) -> str | None:
        return next((at for end, at in self._times if end > position), None)

    def _leave(self, end: int) -> None:
        """Account for the bytes up to `end`, which are in no frame."""
        bad_end, why = self._bad
        if self._done < bad_end:
            self._reject(min(end, bad_end), why)
            self._clean = self._done == bad_end and bool(self._scanner.filling)  # an end byte stands there
        self._between(end)
        self._reject(end, NOISE)

    def _between(self, end: int) -> None:
        """Account for filler up to `end`, where nothing but filler came since the last frame."""
        filling = self._scanner.filling
        if self._clean and filling and self._done < end:
            run = self._buffer[self._done - self._offset : end - self._offset]
            self._add(Piece(self._done, end - len(run.lstrip(filling)), "ignored", None, BETWEEN))

    def _reject(self, end: int, why: str) -> None:
        if self._done < end:
            self._add(Piece(self._done, end, "rejected", None, why))
            self._clean = False

    def _add(self, piece: Piece) -> None:
        if piece.start == piece.end:
            return
        last = self._pieces[-1] if self._pieces else None
        if last is not None and _continues(last, piece):
            self._pieces[-1] = msgspec.structs.replace(last, end=piece.end)
        else:
            self._pieces.append(piece)
        self._done = piece.end


def coalesced(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Join neighbours that are of one run but came out of several reads: noise, and what stands between frames."""
    held: Piece | None = None
    for piece in pieces:
        if held is not None and _continues(held, piece):
            held = msgspec.structs.replace(held, end=piece.end)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


def _continues(piece: Piece, following: Piece) -> bool:
    """Whether two neighbours are one run."""
    return piece.message is None and (piece.what, piece.why) == (following.what, following.why) and following.message is None


def _within(rule: Held, before: str | None, now: str | None) -> bool:
    if before is None or now is None:
        return rule.untimed == "repeat"
    passed = to_micros(now) - to_micros(before)
    return passed <= rule.window_ms * 1000 if passed >= 0 else rule.untimed == "repeat"
