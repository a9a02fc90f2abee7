"""Test vectors: what a device sends, and what must come of it, written from facts and captures and never from our own output.

Each vector is decoded whole, byte by byte, after noise and before noise; what it must give goes back through the encoder and is
decoded again. The tests and `tablectl profile check` run this one function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from tablectl.complaints import explain
from tablectl.errors import ProfileError
from tablectl.observations import Observation, encode
from tablectl.settings import line_of, read_toml
from tablectl.shoe.decoder import Decoder, Piece
from tablectl.shoe.encoder import Encoder
from tablectl.shoe.ended import Ended
from tablectl.shoe.frames import Candidate, unhex
from tablectl.shoe.marked import Marked
from tablectl.shoe.profile import Profile, ProfileFile

__all__ = ["Checked", "Failure", "Vector", "VectorFile", "check", "read"]

HexBytes = Annotated[str, msgspec.Meta(pattern=r"^\s*[0-9A-F]{2}(\s*[0-9A-F]{2})*\s*$", examples=["02 41 0D"])]
Chunks = list[tuple[str | None, bytes]]
DEVICE = "shoe-under-test"


class Chunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes that arrived at one time."""

    at: str | None = None
    hex: HexBytes | None = None
    text: str | None = None

    def data(self) -> bytes:
        """Its bytes. Raises `ValueError` unless it has `hex` or `text`, and not both."""
        if (self.hex is None) == (self.text is None):
            raise ValueError("needs either hex or text")
        return unhex(self.hex) if self.hex is not None else str(self.text).encode("latin-1")


class Vector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stream and what it must give.

    `expect` is its observations, with `at` only where the time is part of what is tested. `messages` names all its sound
    messages in order, repeats left out. `repeats` counts messages, `rejected` bytes.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    expect: tuple[dict[str, Any], ...] = ()
    hex: HexBytes | None = None
    text: str | None = None
    chunks: tuple[Chunk, ...] | None = None
    messages: tuple[str, ...] | None = None
    repeats: int = 0
    rejected: int = 0

    def stream(self) -> Chunks:
        """Its bytes, with their times. Raises `ValueError` when it has none, or has them twice."""
        if self.chunks is None:
            return [(None, Chunk(hex=self.hex, text=self.text).data())]
        if self.hex is not None or self.text is not None:
            raise ValueError("needs chunks, or hex, or text")
        return [(chunk.at, chunk.data()) for chunk in self.chunks]


class CommandVector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command of the host's and the bytes it must be sent as."""

    name: str
    hex: HexBytes
    values: dict[str, str | int] = {}


class VectorFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A profile's `NAME.vectors.toml`."""

    vector: tuple[Vector, ...]
    command: tuple[CommandVector, ...] = ()


class Failure(msgspec.Struct, frozen=True):
    """A vector that does not hold: where it stands, how it was run, and what was wrong."""

    where: str
    line: int | None
    vector: str
    how: str
    problem: str


class Checked(msgspec.Struct, frozen=True):
    """What came of a profile's vectors; `untested` are messages and commands that no vector shows."""

    profile: str
    vectors: int
    failures: tuple[Failure, ...]
    untested: tuple[str, ...]


def read(path: Path) -> tuple[VectorFile, str]:
    """Read a vectors file, and its text. Raises `ProfileError` with file, line and key."""
    vectors, data = read_toml(path, VectorFile, ProfileError)
    text = data.decode()
    for index, vector in enumerate(vectors.vector):
        try:
            vector.stream()
        except ValueError as error:
            _raise(str(error), path, text, f"vector[{index}]")
        for number, expected in enumerate(vector.expect):
            try:
                msgspec.convert(expected, Observation)
            except msgspec.ValidationError as error:
                message, key = explain(error, Observation)
                _raise(f"observation {number + 1}: {key or 'event'}: {message}", path, text, f"vector[{index}].expect")
    return vectors, text


def check(file: ProfileFile) -> Checked:
    """Run all of a profile's vectors in every way. Raises `ProfileError` when its vectors cannot be read."""
    vectors, text = read(file.vectors)
    where = str(file.vectors)
    failures: list[Failure] = []
    for index, vector in enumerate(vectors.vector):
        line = line_of(text, f"vector[{index}]")
        failures += [Failure(where, line, vector.name, how, problem) for how, problem in _run(file.profile, vector)]
    encoder = Encoder(file.profile)
    for index, command in enumerate(vectors.command):
        try:
            sent = encoder.command(command.name, command.values)
            problem = "" if sent == unhex(command.hex) else f"gives {sent.hex(' ').upper()}"
        except ValueError as error:
            problem = str(error)
        if problem:
            line = line_of(text, f"command[{index}]")
            failures.append(Failure(where, line, command.name, "as a command", problem))
    shown = {name for vector in vectors.vector for name in _sound(_decoded(file.profile, vector.stream()))}
    commands = {command.name for command in vectors.command}
    untested = [message.name for message in file.profile.messages if message.name not in shown]
    untested += [command.name for command in file.profile.commands if command.name not in commands]
    return Checked(file.profile.name, len(vectors.vector) + len(vectors.command), tuple(failures), tuple(untested))


def _run(profile: Profile, vector: Vector) -> Iterator[tuple[str, str]]:
    """Each way in which a vector fails, and what was wrong."""
    stream = vector.stream()
    plain = _decoded(profile, stream)
    problem = _accounted(plain, stream) or _wrong(vector, plain) or _wrong_counts(vector, plain)
    if problem:
        yield "whole", problem
        return  # the other ways would only say so again
    single = [(at, data[index : index + 1]) for at, data in stream for index in range(len(data))]
    ways: dict[str, tuple[Chunks, Callable[[Vector, list[Piece]], str]]] = {"byte by byte": (single, _wrong_counts)}
    first = stream[0][0] if stream else None
    last = stream[-1][0] if stream else None
    for noise in _noises(profile, b"".join(data for _, data in stream)):
        shown = noise.hex(" ").upper()
        ways[f"after the noise {shown}"] = ([(first, noise), *stream], _nothing)
        ways[f"before the noise {shown}"] = ([*stream, (last, noise)], _nothing)
    for how, (chunks, also) in ways.items():
        pieces = _decoded(profile, chunks)
        problem = _accounted(pieces, chunks) or _wrong(vector, pieces) or also(vector, pieces)
        if problem:
            yield how, problem
    yield from _back(profile, vector, b"".join(data for _, data in stream))


def _decoded(profile: Profile, chunks: Iterable[tuple[str | None, bytes]]) -> list[Piece]:
    decoder = Decoder(profile, DEVICE)
    pieces = [piece for at, data in chunks for piece in decoder.feed(data, at)]
    return pieces + decoder.finish()


def _accounted(pieces: list[Piece], chunks: Chunks) -> str:
    """Why the pieces do not hold every byte once."""
    end = 0
    for piece in pieces:
        if piece.start != end or piece.end <= piece.start:
            return f"bytes {end} to {piece.start} are in no piece, or in two"
        end = piece.end
    size = sum(len(data) for _, data in chunks)
    return "" if end == size else f"{size} bytes came, {end} are accounted for"


def _wrong(vector: Vector, pieces: list[Piece]) -> str:
    got = [piece.observation for piece in pieces if piece.observation is not None]
    wanted = [msgspec.convert(_named(expected), Observation) for expected in vector.expect]
    for number, (have, want) in enumerate(zip(got, wanted, strict=False), start=1):
        timed = have if want.at is not None else _timeless(have)
        if timed != want:
            return f"observation {number} is {encode(timed).decode()}, expected {encode(want).decode()}"
    if len(got) < len(wanted):
        return f"no observation {len(got) + 1}, expected {encode(wanted[len(got)]).decode()}"
    if len(got) > len(wanted):
        return f"one observation too many: {encode(_timeless(got[len(wanted)])).decode()}"
    return ""


def _wrong_counts(vector: Vector, pieces: list[Piece]) -> str:
    names = _sound(pieces)
    if vector.messages is not None and names != list(vector.messages):
        return f"messages are {names}, expected {list(vector.messages)}"
    repeats = sum(piece.what == "repeat" for piece in pieces)
    if repeats != vector.repeats:
        return f"{repeats} repeats, expected {vector.repeats}"
    rejected = sum(piece.end - piece.start for piece in pieces if piece.what == "rejected")
    return "" if rejected == vector.rejected else f"{rejected} bytes rejected, expected {vector.rejected}"


def _nothing(vector: Vector, pieces: list[Piece]) -> str:
    return ""


def _sound(pieces: list[Piece]) -> list[str]:
    return [piece.message for piece in pieces if piece.message is not None and piece.what != "repeat"]


def _noises(profile: Profile, data: bytes) -> list[bytes]:
    """Noise that must cost no message: stray bytes, false starts, a frame cut by a power cycle."""
    noises = [b"\x00", b"\xff\x00\xff\xff\x80"]
    frame = profile.frames[0]
    if isinstance(frame, Marked):
        noises += [unhex(frame.start), unhex(frame.start) * 3]
    cut = data[: len(data) // 2]
    # A line cut short runs into the next one, unless a byte that no line holds stands between them.
    noises.append(cut + b"\x00" if isinstance(frame, Ended) else cut)
    return [noise for noise in noises if noise and not _sound(_decoded(profile, [(None, noise)]))]


def _back(profile: Profile, vector: Vector, data: bytes) -> Iterator[tuple[str, str]]:
    """Through the encoder: every observation, and the values of every sound frame."""
    encoder = Encoder(profile)
    for expected in vector.expect:
        want = _timeless(msgspec.convert(_named(expected), Observation))
        try:
            sent = encoder.observation(want)
        except ValueError as error:
            yield "through the encoder", str(error)
            continue
        got = [piece.observation for piece in _decoded(profile, [(None, sent)]) if piece.observation is not None]
        if got != [want]:
            yield "through the encoder", f"{encode(want).decode()} is sent as {sent.hex(' ').upper()}, which gives {got}"
    for name, values, frame in _readings(profile, data):
        sent = encoder.message(name, values)
        if [(name, values)] != [(again, same) for again, same, _ in _readings(profile, sent)]:
            yield "through the encoder", f"{frame.hex(' ').upper()} ({name}) comes back as {sent.hex(' ').upper()}"


def _readings(profile: Profile, data: bytes) -> list[tuple[str, Mapping[str, object], bytes]]:
    wire = profile.wire()
    found: list[tuple[str, Mapping[str, object], bytes]] = []

    def judge(candidate: Candidate) -> int:
        reading = None if candidate.why else wire.read(candidate.frame, candidate.body, DEVICE)
        if reading is None or reading.fault:
            return candidate.retry
        found.append((reading.message.name, reading.values, data[candidate.start : candidate.end]))
        return candidate.end

    wire.scanner.scan(data, 0, True, judge)
    return found


def _named(expected: Mapping[str, Any]) -> dict[str, Any]:
    """An expected observation; `device` stands for the name that the decoder under test was given."""
    return {key: DEVICE if (key, value) == ("device", "{device}") else value for key, value in expected.items()}


def _timeless(observation: Observation) -> Observation:
    return msgspec.structs.replace(observation, at=None)


def _raise(message: str, path: Path, text: str, key: str) -> None:
    raise ProfileError(message, where=str(path), line=line_of(text, key), field=key)
