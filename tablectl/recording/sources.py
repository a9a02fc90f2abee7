"""From recorded chunks to observations: each port's bytes through its decoder, and what a line suffered told as a `link`.

A port is up with its first chunk, unless the recording is a live table's: there the links that came and went are recorded, on
the port `table` (see `table_lines`), and a device's decoder begins anew where its link came up. Bytes in no sound frame are one
`link` that says `corrupt`, and then silence until the next sound frame, so that a long noise is one alert and not a thousand;
what was decoded is never held back by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import NamedTuple

from tablectl.instants import from_micros
from tablectl.observations import Link, Observation
from tablectl.recording.chunks import Chunk
from tablectl.recording.table_lines import TABLE, Lines, Remark
from tablectl.shoe.decoder import Decoder, Piece

__all__ = ["Decoding", "Remark", "Seen", "merged", "observed"]


class Seen(NamedTuple):
    """An observation, and where it was read: for messages to people."""

    where: str
    observation: Observation


class Port:
    """One port being decoded: `rejected` counts the bytes that were in no sound frame, `sound` the messages."""

    def __init__(self, name: str, decoder: Decoder, *, opened: bool = False) -> None:
        self.name = name
        self.rejected = 0
        self.sound = 0
        self._decoder = decoder
        self._corrupt = False
        self._opened = opened
        self._filling = decoder.profile.wire().scanner.filling
        self._newest = b""

    @property
    def pending(self) -> int:
        """How many bytes are kept because they may yet become a frame; what may stand between two frames is none of them."""
        kept = self._decoder.pending
        return len(self._newest[-kept:].lstrip(self._filling)) if kept else 0

    def feed(self, data: bytes, at: str | None) -> Iterator[Observation]:
        """Decode the next bytes."""
        self._newest = self._newest[len(self._newest) - self._decoder.pending :] + data
        if not self._opened:
            self._opened = True
            yield Link(device=self.name, state="up", why="opened", at=at)
        yield from self._told(self._decoder.feed(data, at), at)

    def reset(self, at: str | None) -> Iterator[Observation]:
        """The line was lost and is back: what was cut is no frame, and nothing is a repeat of what came before."""
        yield from self._told(self._decoder.reset(), at)

    def finish(self, at: str | None) -> Iterator[Observation]:
        """No more bytes come."""
        yield from self._told(self._decoder.finish(), at)

    def _told(self, pieces: Iterable[Piece], at: str | None) -> Iterator[Observation]:
        for piece in pieces:
            self.sound += piece.message is not None
            if piece.what == "rejected":
                self.rejected += piece.end - piece.start
                if not self._corrupt:
                    self._corrupt = True
                    yield Link(device=self.name, state="up", why=f"corrupt: {piece.why}, byte {piece.start}", at=at)
            elif piece.what == "frame":
                if self._corrupt:
                    self._corrupt = False
                    yield Link(device=self.name, state="up", why="sound again", at=at)
                if piece.observation is not None:
                    yield piece.observation


class Decoding:
    """Chunks of any ports on their way to observations. `undecoded` names the ports that had no decoder.

    `live` says that the chunks are a live table's: their port `table` is read as `table_lines`, and no link is inferred from a
    port's first chunk. The live table itself, a replay of its recording and an audit all decode here, so that they find the same.
    """

    def __init__(self, decoders: Mapping[str, Decoder], *, live: bool = False) -> None:
        self.undecoded: set[str] = set()
        self._ports = {name: Port(name, decoder, opened=live) for name, decoder in decoders.items()}
        self._lines = Lines() if live else None
        self._up: set[str] = set()
        self._at: str | None = None

    @property
    def senseless(self) -> list[str]:
        """The ports whose bytes held not one message of their profile, so far."""
        return [port.name for port in self._ports.values() if port.rejected and not port.sound]

    @property
    def damaged(self) -> int:
        """How many lines of the port `table` were none, so far. More than 0 makes a command exit with 1."""
        return self._lines.bad if self._lines else 0

    @property
    def warnings(self) -> list[str]:
        """What the user should know of the port `table`, so far."""
        return self._lines.warnings if self._lines else []

    @property
    def pending(self) -> int:
        """How many bytes are kept because they may yet become a frame: 0 when the lines are quiet, and a recording may end."""
        return sum(port.pending for port in self._ports.values()) + (self._lines.pending if self._lines else 0)

    def take(self, chunk: Chunk) -> list[Seen | Remark]:
        """Decode the next chunk. What went to a device, and ports that nobody decodes, are passed over."""
        if chunk.direction != "<":
            return []
        if self._lines is not None and chunk.port == TABLE:
            self._at = _time(chunk)
            return list(self._of_table(self._lines, chunk.data, self._at))
        port = self._ports.get(chunk.port)
        if port is None:
            self.undecoded.add(chunk.port)
            return []
        self._at = _time(chunk)
        return [_seen(port.name, observation) for observation in port.feed(chunk.data, self._at)]

    def reset(self, name: str, at: str | None) -> list[Seen | Remark]:
        """The line of a port was lost and is back. A `link` that comes up on the port `table` does this by itself."""
        port = self._ports.get(name)
        return [] if port is None else [_seen(port.name, observation) for observation in port.reset(at)]

    def finish(self) -> list[Seen | Remark]:
        """No more chunks come: account for the bytes that are kept."""
        if self._lines is not None:
            self._lines.finish()
        return [_seen(port.name, observation) for port in self._ports.values() for observation in port.finish(self._at)]

    def decoded(self, chunks: Iterable[Chunk]) -> Iterator[Seen | Remark]:
        """Decode chunks as they come, to their end."""
        for chunk in chunks:
            yield from self.take(chunk)
        yield from self.finish()

    def observed(self, chunks: Iterable[Chunk]) -> Iterator[Seen]:
        """The same, and the observations only."""
        return (seen for seen in self.decoded(chunks) if isinstance(seen, Seen))

    def _of_table(self, lines: Lines, data: bytes, at: str | None) -> Iterator[Seen | Remark]:
        for found in lines.feed(data, at):
            if isinstance(found, Remark):
                yield found
                continue
            yield _seen(TABLE, found)
            if isinstance(found, Link):
                came_up = found.state == "up" and found.device not in self._up
                (self._up.add if found.state == "up" else self._up.discard)(found.device)
                if came_up:  # one that was up all the time, and in trouble, has lost no bytes
                    yield from self.reset(found.device, at)


def _time(chunk: Chunk) -> str | None:
    return from_micros(chunk.at) if chunk.at is not None else None


def _seen(name: str, observation: Observation) -> Seen:
    return Seen(f"{name} {observation.at or ''}".rstrip(), observation)


def observed(chunks: Iterable[Chunk], decoders: Mapping[str, Decoder]) -> Iterator[Seen]:
    """Decode chunks as they come, where nobody asks afterwards how it went."""
    return Decoding(decoders).observed(chunks)


def merged(*streams: Iterable[Seen | Remark]) -> Iterator[Seen | Remark]:
    """Several streams of observations and remarks as one, by time. One without a time stays behind the one before it."""
    if len(streams) == 1:
        yield from streams[0]
        return
    for _, seen in merge(*(_timed(stream) for stream in streams), key=lambda pair: pair[0]):
        yield seen


def _timed(stream: Iterable[Seen | Remark]) -> Iterator[tuple[str, Seen | Remark]]:
    latest = ""
    for seen in stream:
        latest = max(latest, (seen.observation.at if isinstance(seen, Seen) else seen.at) or "")
        yield latest, seen
