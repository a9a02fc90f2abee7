"""A day's recordings taken in again: by an audit from their beginning, by a table that starts from where its ledger ends.

Each file begins with fresh decoders, and at its end they account for the bytes they keep: as the live table did it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tablectl.recording.damage import Damage, lost_of
from tablectl.recording.folder import stem_of
from tablectl.recording.importers import open_log
from tablectl.recording.native import profiles_of
from tablectl.recording.sources import Decoding, Remark, Seen
from tablectl.recording.table_lines import TABLE
from tablectl.shoe.decoder import Decoder
from tablectl.shoe.profile import Profile, load

__all__ = ["RECORDED", "Done", "decoding_of", "rest_of", "rest_of_day"]

RECORDED = "recording"
"""Where in the ledger's `latest` stands how far the recordings are taken in: a `Done` as JSON."""


class Done(msgspec.Struct, frozen=True):
    """How far the recordings are taken in: the file's stem, how many of its bytes (unpacked), and whether it has `ended`."""

    file: str
    offset: int
    ended: bool = False


def decoding_of(profiles: Mapping[str, Profile]) -> Decoding:
    """Fresh decoders for a live table's ports."""
    return Decoding({port: Decoder(profile, port) for port, profile in profiles.items()}, live=True)


def rest_of(
    path: Path, known: Mapping[str, Profile], *, after: int = 0, lost: Callable[[Damage], object] = lambda _: None
) -> Iterator[Seen | Remark]:
    """What the chunks of a recording give from byte `after` on, and its end; those before only bring the decoders along.

    Its header names the profiles; they are looked up among the `known` by their names, and then among those that ship. Raises
    `InputError` when the recording cannot be read, `ProfileError` for a profile that is not known. `lost` is called at the end
    where lines of it could not be read.
    """
    log = open_log(path)
    named = profiles_of(log.header)
    ports = {port: known.get(name) or load(name).profile for port, name in named.items() if port != TABLE}
    decoding = decoding_of(ports)
    for chunk in log:
        found = decoding.take(chunk)
        if log.position > after:
            yield from found
    yield from decoding.finish()
    damage = lost_of(log)
    if damage is not None:
        lost(damage)


def rest_of_day(
    paths: Iterable[Path],
    known: Mapping[str, Profile],
    *,
    done: Done | None = None,
    lost: Callable[[Damage], object] = lambda _: None,
) -> Iterator[Seen | Remark]:
    """The same for a day's recordings, oldest first, from where they are `done`."""
    for path in paths:
        stem = stem_of(path.name) or path.name
        if done is not None and (stem < done.file or (stem == done.file and done.ended)):
            continue
        yield from rest_of(path, known, after=done.offset if done is not None and stem == done.file else 0, lost=lost)
