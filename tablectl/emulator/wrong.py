"""What a serial line suffers, on demand and seeded; and an account of what arrived whole all the same.

A `Line` turns a message's copies into what happens on the wire: bytes, and the device vanishing and coming back. Noise comes
before or between frames, never so that it could be part of one: where a frame has a beginning of its own any bytes will do; lines
and records of text have none, so there it is of bytes that text has not. Harm comes to a copy: a byte lost, doubled or changed.
A drop-out cuts a message at any byte, and what was to follow is sent while nothing is plugged in, as a real device would.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import IO, Annotated, Literal, NamedTuple

import msgspec

from tablectl.emulator.script import Message, Voice
from tablectl.observations import CardDrawn, Observation
from tablectl.shoe.decoder import Decoder
from tablectl.shoe.ended import Ended, Lines
from tablectl.shoe.profile import Profile

__all__ = ["CALM", "ROUGH", "Account", "Entry", "Happening", "Line", "Weather"]

Chance = Annotated[float, msgspec.Meta(ge=0, le=1)]

Happening = bytes | Literal["unplug", "replug"]
"""Bytes that are written at once, or what becomes of the device."""

NOISE = 12
TEXT = range(0x20, 0x7F)


class Weather(msgspec.Struct, frozen=True):
    """How often what goes wrong with a line, as the chance for each message, or (`harm`) for each copy of one.

    `spare` leaves one copy of each message whole, so that nothing is lost; else there are no limits. `restarts` are a shoe's
    that says so; `splits` writes a frame byte by byte, or in two parts.
    """

    noise: Chance = 0.0
    harm: Chance = 0.0
    splits: Chance = 0.0
    dropouts: Chance = 0.0
    restarts: Chance = 0.0
    spare: bool = True


CALM = Weather()
ROUGH = Weather(noise=0.2, harm=0.2, splits=0.2, dropouts=0.01, restarts=0.01)


class Sent(NamedTuple):
    """What happens on the wire for one message, and whether a copy of it is whole."""

    happenings: tuple[Happening, ...]
    whole: bool


class Line:
    """One device's line. What it does follows from the seed alone."""

    def __init__(self, voice: Voice, weather: Weather, seed: int) -> None:
        self.weather = weather
        self._voice = voice
        self._profile = voice.profile
        self._random = random.Random(f"{seed} {voice.port}")
        self._noisy = _noise_bytes(voice.profile)

    def restarts(self) -> bool:
        """Whether the device is switched off and on before the next message."""
        return self._random.random() < self.weather.restarts

    def noise(self, length: int) -> bytes:
        """Noise, of this many bytes, that takes nothing with it."""
        return bytes(self._random.choices(self._noisy, k=length))

    def send(self, message: Message) -> Sent:
        """What happens to a message."""
        spared = self._random.randrange(len(message.copies)) if self.weather.spare else None
        cut = self._cut(message, spared)
        happenings: list[Happening] = []
        whole = False
        for index, copy in enumerate(message.copies):
            if self._random.random() < self.weather.noise:
                happenings.append(self.noise(self._random.randint(1, NOISE)))
            if cut is not None and cut[0] == index:
                happenings += [*([copy[: cut[1]]] if cut[1] else []), "unplug", "replug"]
                if spared != index:  # a spared one comes when the device is back
                    whole = whole or self._holds(copy[: cut[1]], copy)
                    break
            if index != spared and self._random.random() < self.weather.harm:
                copy, sound = self._harmed(copy, message.observation)
                whole = whole or sound
            else:
                whole = True
            happenings += self._split(copy)
        return Sent(tuple(happenings), whole)

    def _cut(self, message: Message, spared: int | None) -> tuple[int, int] | None:
        """In which copy, and at which of its bytes, the device vanishes: a spared copy is over, or not begun."""
        if self._random.random() >= self.weather.dropouts:
            return None
        last = len(message.copies) - 1
        if spared is None:
            return self._random.randint(0, last), self._random.randrange(len(message.copies[0]))
        if spared == last:
            return (0, 0) if last == 0 else None
        return self._random.randint(spared + 1, last), self._random.randrange(len(message.copies[0]))

    def _harmed(self, copy: bytes, said: Observation) -> tuple[bytes, bool]:
        """A copy with a byte lost, doubled or changed, and whether the frame is whole in it yet.

        Never so that it says something else: no table could know that of a frame without a checksum. Nor does a line lose its
        end, which would be harm to the next one.
        """
        ended = isinstance(self._profile.frames[0], Ended)
        for _ in range(20):
            place = self._random.randrange(len(copy) - ended)
            byte = copy[place]
            new = self._random.choice((b"", bytes([byte, byte]), bytes([byte ^ (1 << self._random.randrange(8))])))
            harmed = copy[:place] + new + copy[place + 1 :]
            whole = self._holds(harmed, copy)
            heard = _heard(self._profile, self._voice.port, harmed)
            if heard == ([said] if whole else []):
                return harmed, whole
        return copy, True

    def _holds(self, harmed: bytes, copy: bytes) -> bool:
        if isinstance(self._profile.frames[0], Lines):
            return harmed == copy
        return copy.strip(b" ") in harmed

    def _split(self, copy: bytes) -> Iterator[bytes]:
        if self._random.random() >= self.weather.splits:
            yield from self._voice.parts(copy)
        elif self._random.random() < 0.5:
            yield from (copy[index : index + 1] for index in range(len(copy)))
        else:
            place = self._random.randint(1, len(copy) - 1) if len(copy) > 1 else 1
            yield from filter(None, (copy[:place], copy[place:]))


class Entry(msgspec.Struct, frozen=True):
    """A message that was sent. It `arrived` whole, harmed, or nobody can tell, as it was not read before the line was lost."""

    port: str
    arrived: Literal["whole", "harmed", "doubtful"]
    observation: Observation


class Account:
    """What went over the wire. With a `file`, entries are written to it, a line of JSON each, and not kept.

    What was sent is held as unread until `read` says that the host has taken it, or `lost` that it may not have.
    """

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self.entries: list[Entry] = []
        self._file = file
        self._unread: dict[str, list[Entry]] = {}

    def sent(self, port: str, observation: Observation, *, whole: bool) -> None:
        """A message went out."""
        entry = Entry(port, "whole" if whole else "harmed", observation)
        self._unread.setdefault(port, []).append(entry)

    def read(self, port: str) -> None:
        """The host has read all that was sent."""
        self._settle(port, lambda entry: entry)

    def lost(self, port: str) -> None:
        """What the host has not read is gone; that which it has may be among it."""
        self._settle(port, lambda entry: msgspec.structs.replace(entry, arrived="doubtful"))

    def owed(self, kind: type[Observation] = CardDrawn) -> list[Observation]:
        """What arrived whole, in the order in which it was sent: the table must have each of these once."""
        return [entry.observation for entry in self.entries if entry.arrived == "whole" and isinstance(entry.observation, kind)]

    def _settle(self, port: str, settled: Callable[[Entry], Entry]) -> None:
        entries = [settled(entry) for entry in self._unread.pop(port, [])]
        if self._file is None:
            self.entries += entries
        else:
            for entry in entries:
                self._file.write(msgspec.json.encode(entry) + b"\n")
            self._file.flush()


def _noise_bytes(profile: Profile) -> bytes:
    """The bytes of which noise is made that is no part of a frame."""
    ended = [frame for frame in profile.frames if isinstance(frame, Ended)]
    if not ended:
        return bytes(range(256))
    meant = {*TEXT, *b"".join(frame.filling() + bytes.fromhex(frame.end) for frame in ended)}
    return bytes(byte for byte in range(256) if byte not in meant)


def _heard(profile: Profile, port: str, data: bytes) -> list[Observation]:
    decoder = Decoder(profile, port)
    return [piece.observation for piece in decoder.feed(data) + decoder.finish() if piece.observation is not None]
