"""Megabytes per second through each profile's decoder, beside a bare search for the same bytes.

Three contents: what the device sends in legal play; the same bytes in random order, which is full of false beginnings; and random
bytes. Read in blocks as a replay does, and the first also in the few bytes that a serial port gives at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import NamedTuple

from tablectl.shoe import profile as profiles
from tablectl.shoe.decoder import Decoder
from tablectl.shoe.profile import Profile
from tests.benchmarks.slices import alternate, ratio, rounded, summary
from tests.benchmarks.traffic import Sent, alike, noise, sent

__all__ = ["measure"]

BLOCK = 4096
READ = 16
SLICE = 2048
ENDS = re.compile(rb"[\x03\x0a\x0d>]")
MEGA = 1_000_000


class Content(NamedTuple):
    """What is decoded: reads with their times, and how long they are in all."""

    reads: list[Sent]
    length: int


def measure(turns: int, slices: int) -> dict[str, object]:
    """The rates for each profile that ships."""
    return {
        "what": "megabytes per second through the decoder; `of_bare`: divided by a bare re.finditer for what frames end with",
        "block": BLOCK,
        "read": READ,
        "profiles": {name: _profile(profiles.load(name).profile, turns, slices) for name in profiles.names()},
    }


def _profile(profile: Profile, turns: int, slices: int) -> dict[str, object]:
    writes: list[Sent] = []
    length = 0
    for write in sent(profile, rounds=10**6):
        writes.append(write)
        length += len(write.data)
        if length > SLICE * 4:
            break
    stream = b"".join(write.data for write in writes)
    at = writes[0].at
    contents = {
        "stream": _cut(stream, at, BLOCK),
        "stream_as_written": writes,
        "stream_in_short_reads": _cut(stream, at, READ),
        "alike": _cut(alike(stream), at, BLOCK),
        "noise": _cut(noise(len(stream)), at, BLOCK),
    }
    sides: dict[str, Callable[[], Callable[[], int]]] = {"bare": _bare(contents["stream"])}
    sides |= {name: _decoding(profile, reads) for name, reads in contents.items()}
    rates = alternate(sides, turns, slices)
    line = profile.link.baud / (1 + profile.link.bits + (profile.link.parity != "none") + profile.link.stop)
    return {
        name: {
            "megabytes_per_second": rounded(summary(rates, name) / MEGA),
            "of_bare": ratio(rates, name, "bare"),
            "times_the_line": rounded(summary(rates, name) / line),
        }
        for name in contents
    } | {"bare_megabytes_per_second": rounded(summary(rates, "bare") / MEGA)}


def _cut(data: bytes, at: str, length: int) -> list[Sent]:
    return [Sent(at, data[start : start + length]) for start in range(0, len(data), length)]


def _turns(reads: list[Sent]) -> Iterator[list[Sent]]:
    """A slice's worth of reads, again and again from where the last ended."""
    again = cycle(reads)
    while True:
        some: list[Sent] = []
        length = 0
        while not some or length + len(some[-1].data) <= SLICE:
            some.append(next(again))
            length += len(some[-1].data)
        yield some


def _decoding(profile: Profile, reads: list[Sent]) -> Callable[[], Callable[[], int]]:
    decoder, parts = Decoder(profile), _turns(reads)

    def prepare() -> Callable[[], int]:
        part = next(parts)

        def work() -> int:
            for at, data in ((read.at, read.data) for read in part):
                decoder.feed(data, at)
            return sum(len(read.data) for read in part)

        return work

    return prepare


def _bare(reads: list[Sent]) -> Callable[[], Callable[[], int]]:
    parts = _turns(reads)

    def prepare() -> Callable[[], int]:
        part = next(parts)

        def work() -> int:
            for read in part:
                for _ in ENDS.finditer(read.data):
                    pass
            return sum(len(read.data) for read in part)

        return work

    return prepare
