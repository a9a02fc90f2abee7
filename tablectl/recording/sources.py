"""From recorded chunks to observations: each port's bytes through its decoder, and what a line suffered told as a `link`.

A port is up with its first chunk. Bytes in no sound frame are one `link` that says `corrupt`, and then silence until the next
sound frame, so that a long noise is one alert and not a thousand; what was decoded is never held back by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import NamedTuple

from tablectl.instants import from_micros
from tablectl.observations import Link, Observation
from tablectl.recording.chunks import Chunk
from tablectl.shoe.decoder import Decoder, Piece

__all__ = ["Decoding", "Seen", "merged", "observed"]


class Seen(NamedTuple):
    """An observation, and where it was read: for messages to people."""

    where: str
    observation: Observation


class Port:
    """One port being decoded: `rejected` counts the bytes that were in no sound frame, `sound` the messages."""

    def __init__(self, name: str, decoder: Decoder) -> None:
        self.name = name
        self.rejected = 0
        self.sound = 0
        self._decoder = decoder
        self._corrupt = False
        self._opened = False

    def feed(self, data: bytes, at: str | None) -> Iterator[Observation]:
        """Decode the next bytes."""
        if not self._opened:
            self._opened = True
            yield Link(device=self.name, state="up", why="opened", at=at)
        yield from self._told(self._decoder.feed(data, at), at)

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
    """Chunks of any ports on their way to observations. `undecoded` names the ports that had no decoder."""

    def __init__(self, decoders: Mapping[str, Decoder]) -> None:
        self.undecoded: set[str] = set()
        self._ports = {name: Port(name, decoder) for name, decoder in decoders.items()}

    @property
    def senseless(self) -> list[str]:
        """The ports whose bytes held not one message of their profile, so far."""
        return [port.name for port in self._ports.values() if port.rejected and not port.sound]

    def observed(self, chunks: Iterable[Chunk]) -> Iterator[Seen]:
        """Decode chunks as they come. What went to a device, and ports that nobody decodes, are passed over."""
        at: str | None = None
        for chunk in chunks:
            port = self._ports.get(chunk.port)
            if chunk.direction != "<":
                continue
            if port is None:
                self.undecoded.add(chunk.port)
                continue
            at = from_micros(chunk.at) if chunk.at is not None else None
            yield from (_seen(port, observation) for observation in port.feed(chunk.data, at))
        for port in self._ports.values():
            yield from (_seen(port, observation) for observation in port.finish(at))


def _seen(port: Port, observation: Observation) -> Seen:
    return Seen(f"{port.name} {observation.at or ''}".rstrip(), observation)


def observed(chunks: Iterable[Chunk], decoders: Mapping[str, Decoder]) -> Iterator[Seen]:
    """Decode chunks as they come, where nobody asks afterwards how it went."""
    return Decoding(decoders).observed(chunks)


def merged(*streams: Iterable[Seen]) -> Iterator[Seen]:
    """Several streams of observations as one, by time. One without a time stays behind the one before it in its stream."""
    if len(streams) == 1:
        yield from streams[0]
        return
    for _, seen in merge(*(_timed(stream) for stream in streams), key=lambda pair: pair[0]):
        yield seen


def _timed(stream: Iterable[Seen]) -> Iterator[tuple[str, Seen]]:
    latest = ""
    for seen in stream:
        latest = max(latest, seen.observation.at or "")
        yield latest, seen
