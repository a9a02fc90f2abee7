"""`tablectl decode`: a stream of bytes to observations, every byte accounted for."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import click
import msgspec

from tablectl.cli.main import say
from tablectl.errors import InputError
from tablectl.instants import from_micros
from tablectl.observations import encode
from tablectl.recording.chunks import Chunk
from tablectl.recording.importers import IMPORTERS, open_log
from tablectl.shoe.decoder import Decoder, Piece, coalesced
from tablectl.shoe.profile import load

__all__ = ["decode"]

BLOCK = 1 << 16
EXAMPLES = """\b
Examples:
  tablectl decode capture.bin --profile bee-tek --json
  tablectl decode es-shoe.jpnevulator.log --profile angel-eye-ii
  cat /var/tmp/pad.raw | tablectl decode - --profile dealer-pad
"""


@click.command(epilog=EXAMPLES)
@click.argument("file", metavar="FILE")
@click.option("-p", "--profile", "profile_name", required=True, metavar="NAME|FILE", help="The firmware profile of the device.")
@click.option("--format", metavar="FORMAT", help=f"What FILE is, else guessed: {', '.join(IMPORTERS)}.")
@click.option("--port", metavar="PORT", help="The port to decode, where FILE holds several; shoe or pad, as the profile says.")
@click.option("--device", metavar="NAME", help="The name that observations give the device, else that of its port.")
@click.option("--start", metavar="TIME", help="When a log without a date begins, such as 2026-11-30T05:57:42.")
@click.option("--lossy-ok", is_flag=True, help="Accept the log of a tool that loses bytes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines: one for each run of bytes, and a summary.")
def decode(
    file: str,
    profile_name: str,
    format: str | None,
    port: str | None,
    device: str | None,
    start: str | None,
    lossy_ok: bool,
    as_json: bool,
) -> int:
    """Decode what a shoe or pad sent, and account for every byte.

    FILE holds raw bytes or is a serial log of any known tool; - is raw bytes on stdin. Each line is a run of bytes and what
    became of it: "frame" gave an observation, "repeat" came before, "ignored" is sound but tells the table nothing, "rejected"
    is in no sound frame. The bytes in frames and those rejected add up to the whole.

    Exit code 1 when a line of a log could not be read.
    """
    profile = load(profile_name).profile
    port = port or profile.kind
    decoder = Decoder(profile, device or port)
    source = _Stdin() if file == "-" else _File(file, format, port, start, lossy_ok)
    out = sys.stdout.buffer
    tally: Counter[str] = Counter()
    if not as_json:
        out.write(f"{'start':>10} {'bytes':>9}  {'what':<8}  message\n".encode())
    for piece in coalesced(_pieces(decoder, source.chunks())):
        tally[piece.what] += piece.end - piece.start
        tally[f"{piece.what} count"] += 1
        tally["observations"] += piece.observation is not None
        out.write(msgspec.json.encode(piece) + b"\n" if as_json else _line(piece))
    summary = _summary(decoder.offset, tally)
    out.write(msgspec.json.encode({"summary": summary}) + b"\n" if as_json else _told(summary))
    out.flush()
    for warning in source.warnings:
        say(warning)
    return 1 if source.damaged else 0


class _Stdin:
    """Raw bytes on stdin, without times."""

    warnings: tuple[str, ...] = ()
    damaged = 0

    def chunks(self) -> Iterator[tuple[str | None, bytes]]:
        """What comes, as it comes."""
        while data := sys.stdin.buffer.read(BLOCK):
            yield None, data


class _File:
    """A file of raw bytes, or a log of some tool: what one port's device sent."""

    def __init__(self, name: str, format: str | None, port: str, start: str | None, lossy_ok: bool):
        self._log = open_log(name, format, port=port, start=start, lossy_ok=lossy_ok)
        self._name, self._port = name, port

    @property
    def warnings(self) -> list[str]:
        """See `tablectl.recording.logs.Log`."""
        return self._log.warnings

    @property
    def damaged(self) -> int:
        """See `tablectl.recording.logs.Log`."""
        return self._log.damaged

    def chunks(self) -> Iterator[tuple[str | None, bytes]]:
        """The port's bytes from the device, with their times. Raises `InputError` when it has none and others have."""
        others: set[str] = set()
        found = False
        for chunk in self._log:
            if self._wanted(chunk):
                found = True
                yield None if chunk.at is None else from_micros(chunk.at), chunk.data
            else:
                others.add(f"{chunk.port} {chunk.direction}")
        if others and not found:
            message = f"has nothing from the device on port {self._port!r}, but {', '.join(sorted(others))}; choose with --port"
            raise InputError(message, where=self._name)

    def _wanted(self, chunk: Chunk) -> bool:
        return chunk.port == self._port and chunk.direction == "<"


def _pieces(decoder: Decoder, chunks: Iterator[tuple[str | None, bytes]]) -> Iterator[Piece]:
    for at, data in chunks:
        yield from decoder.feed(data, at)
    yield from decoder.finish()


def _summary(size: int, tally: Counter[str]) -> dict[str, int]:
    in_frames = tally["frame"] + tally["repeat"] + tally["ignored"]
    assert in_frames + tally["rejected"] == size, "a byte is in no piece, or in two"
    return {
        "bytes": size,
        "in_frames": in_frames,
        "rejected": tally["rejected"],
        "observations": tally["observations"],
        "repeats": tally["repeat count"],
    }


def _line(piece: Piece) -> bytes:
    """One line for people."""
    words = [piece.message or "", piece.why] if piece.observation is None else [piece.message or ""]
    text = ": ".join(word for word in words if word)
    line = f"{piece.start:>10} {piece.end - piece.start:>9}  {piece.what:<8}  {text}"
    shown = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)
    return shown.encode() + (b"" if piece.observation is None else b"  " + encode(piece.observation)) + b"\n"


def _told(summary: dict[str, int]) -> bytes:
    return (
        f"{summary['bytes']} bytes: {summary['in_frames']} in frames, {summary['rejected']} rejected;"
        f" {summary['observations']} observations, {summary['repeats']} repeats\n"
    ).encode()
