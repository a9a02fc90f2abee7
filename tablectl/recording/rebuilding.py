"""A day's ledger made again from the recordings of its bytes: by the same decoders, the same game, to the same head.

Pins and keys are the ledger's own word and are taken as they stand; all else must follow from the recordings. So nothing is in
the ledger that did not come over the lines, and nothing that came is missing from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tablectl.errors import ConfigError, LedgerError
from tablectl.fusion import Fusion
from tablectl.game.table import Table
from tablectl.houses.rules import House
from tablectl.ledger import chain as chains
from tablectl.ledger import pin as pins
from tablectl.ledger.merkle import Frontier
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.refold import all_entries, apply_pin, table_of
from tablectl.notices import encode as encode_notice
from tablectl.observations import encode as encode_observation
from tablectl.recording.day import rest_of_day
from tablectl.recording.fusing import fused, state_of
from tablectl.recording.sources import Remark, Seen
from tablectl.shoe.profile import Profile

__all__ = ["Rebuilt", "rebuild"]


class Rebuilt(NamedTuple):
    """The head of the ledger that was made again: how many entries, the last one's link of the chain, the root of their tree."""

    size: int
    chain: bytes
    root: bytes


def rebuild(reader: Reader, recordings: Sequence[Path], house: House, known: Mapping[str, Profile]) -> Rebuilt:
    """Make a ledger again from its recordings, oldest first. `known` are profiles by name, beside those that ship.

    Raises `LedgerError` that names the first entry which the recordings do not give, or that is missing; `InputError` for a
    recording that cannot be read.
    """
    where = str(reader.path)
    entries = all_entries(reader)
    first = next(entries, None)
    if first is None:
        raise LedgerError("has no entries", where=where)
    table = _table(first, house, where)
    frontier, chain = Frontier(), chains.START
    due = _given(table, rest_of_day(recordings, known))
    entry: Entry | None = first
    last = 0
    while entry is not None:
        kind, body = entry.kind, entry.body
        if kind in ("pin", "key"):
            if kind == "pin" and entry.seq > 1:
                apply_pin(table, pins.decode(body))
        else:
            found = next(due, None)
            if found is None:
                raise LedgerError(f"entry {entry.seq} is in none of the recordings: they have ended", where=where)
            if found != (kind, body):
                raise LedgerError(
                    f"entry {entry.seq} is not what the recordings give there, which is {_short(*found)}", where=where
                )
        leaf = chains.leaf(entry.seq, kind, body)
        chain = chains.link(chain, leaf)
        frontier.add(leaf)
        last = entry.seq
        entry = next(entries, None)
    found = next(due, None)
    if found is not None:
        raise LedgerError(f"entry {last + 1} is missing: the recordings go on with {_short(*found)}", where=where)
    return Rebuilt(frontier.size, chain, frontier.root)


def _table(first: Entry, house: House, where: str) -> Table:
    try:
        return table_of(pins.decode(first.body), house)
    except (msgspec.DecodeError, ConfigError, ValueError) as error:
        raise LedgerError(f"is damaged: its pin cannot be read: {error}", where=where) from None


def _given(table: Table, stream: Iterator[Seen | Remark]) -> Iterator[tuple[str, bytes]]:
    """The entries that a stream of observations and remarks makes, one at a time: a pin may come between two observations."""
    for found in fused(Fusion(table.due, state_of(table)), stream):
        if isinstance(found, Remark):
            if found.kind in ("command", "evidence"):
                yield found.kind, found.body
            continue
        observation = found.observation
        yield "observation", encode_observation(observation)
        for notice in table.feed(observation):
            yield "notice", encode_notice(notice)


def _short(kind: str, body: bytes) -> str:
    text = body.decode(errors="replace")
    return f"the {kind} {text if len(text) <= 160 else text[:160] + '...'}"
