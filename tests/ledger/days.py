"""Signed ledgers for the tests: a recorded session in them, checkpoints on the way, a command, a new key, a witness's file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from tablectl.instants import from_micros
from tablectl.ledger import pin as pins
from tablectl.ledger.checkpoint import succession
from tablectl.ledger.keys import Signer, Verifier
from tablectl.ledger.pin import Follows
from tablectl.ledger.reader import Entry, Outbox, Reader
from tablectl.ledger.store import Ledger
from tablectl.ledger.witnessed import Witnessed

ROOT = Path(__file__).resolve().parents[2]
BEGAN = 1_796_014_107_421_005
"""Microseconds since 1970: when the day began."""

EVERY = 12
"""Observations between two checkpoints."""

COMMAND = b'{"command":"ruling","id":"0f1e","by":"person:anna","refused":"stale"}'


class Day(NamedTuple):
    """A ledger, an earlier copy of it, who signed it (the second key followed the first), and what a witness saw of it."""

    path: Path
    older: Path
    signers: tuple[Signer, Signer]
    witness: Path

    @property
    def keys(self) -> list[Verifier]:
        return [self.signers[0].verifier]

    @property
    def seen(self) -> Witnessed:
        return Witnessed(self.witness)


def played(folder: Path) -> list[Entry]:
    """The entries of a recorded session, as `tablectl replay` writes them."""
    path = folder / "played.ledger"
    words = ["replay", "tablectl/samples/fr.rec", "--ledger", str(path)]
    subprocess.run([sys.executable, "-m", "tablectl", *words], cwd=ROOT, check=True, capture_output=True)
    with Reader(path) as reader:
        return reader.entries(limit=100_000)


def make_day(folder: Path, entries: list[Entry], *, name: str = "day", follows: Follows | None = None) -> Day:
    """A day at the table: the session's entries, and a few more kinds; closed, and signed to its end."""
    old, new = Signer.make("tablectl/v1/site/pit/table"), Signer.make("tablectl/v1/site/pit/table")
    path, older, witness = folder / f"{name}.db", folder / f"{name}-older.db", folder / f"{name}.jsonl"
    pin = msgspec.structs.replace(
        pins.decode(entries[0].body),
        opened="2026-11-30T05:57:42.000631Z",
        signer=old.verifier.vkey,
        follows=follows,
        carried=None if follows is None else '{"round":7}',
    )
    signer, at = old, BEGAN
    with Ledger.create(path, pin) as ledger, witness.open("w") as seen:
        groups = list(_groups(entries[1:]))
        for count, (observation, *notices) in enumerate(groups, start=1):
            ledger.append(observation.body, [notice.body for notice in notices], b'{"round":%d}' % count)
            if count == len(groups) // 2:
                ledger.note("command", COMMAND)
                ledger.note("key", succession(ledger.origin, new, old))
                signer = new
            ledger.keep("recording", b'{"position":%d}' % count)
            ledger.commit()
            at += 1_000_000
            if count % EVERY == 0 or count == len(groups):
                note = ledger.checkpoint(signer, from_micros(at))
                line = {
                    "seen": from_micros(at + 5),
                    "topic": "tablectl/v1/site/pit/table/audit/checkpoint",
                    "note": note.decode(),
                }
                seen.write(msgspec.json.encode(line).decode() + "\n")
                if not older.exists():
                    back_up(path, older)
        with Outbox(path) as outbox:
            outbox.advance("mqtt", ledger.last)
    return Day(path, older, (old, new), witness)


def next_day(folder: Path, day: Day) -> Path:
    """The ledger that was begun after this one."""
    with Ledger.resume(day.path) as ledger:
        head = ledger.head()
        after = msgspec.structs.replace(
            ledger.begun,
            opened="2026-12-01T05:57:42.000631Z",
            signer=day.signers[1].verifier.vkey,
            follows=Follows(ledger.session, head.size, head.root.hex()),
        )
    path = folder / "next.db"
    with Ledger.create(path, after) as ledger:
        ledger.checkpoint(day.signers[1], "2026-12-01T05:57:43.000631Z")
    return path


def back_up(source: Path, target: Path) -> None:
    """A copy of a ledger that is being written, as `sqlite3 LEDGER '.backup COPY'` makes it."""
    with closing(sqlite3.connect(source)) as open_one, closing(sqlite3.connect(target)) as copy:
        open_one.backup(copy)


def _groups(entries: list[Entry]) -> Iterator[list[Entry]]:
    group: list[Entry] = []
    for entry in entries:
        if entry.kind == "observation" and group:
            yield group
            group = []
        group.append(entry)
    yield group
