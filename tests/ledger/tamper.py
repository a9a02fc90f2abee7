"""What becomes of a ledger that somebody has changed: `python -m tests.ledger.tamper --changes 1000` prints a table.

Every change is made to a copy of a signed day and looked for four times: by `audit verify` alone, with the public key, with a
witness's file as well, and together with the next day's ledger. It counts as found when verification is not whole. A changed
byte counts as *harmless* when it is not found and the file gives the same answers as before: every row of every table, the
layout, and SQLite's own description of the file are equal, so that the byte was in no record (free space between rows, counters
that SQLite does not need). Else it is missed.

The hands that change rows know what they do: they drop the triggers, change, and make the triggers again. They are of four sorts:

`plain`     changes the rows and nothing else
`chained`   makes every link of the chain anew, what stands beside the entries, and takes away the checkpoints that contradict
`own key`   begins the ledger with a key of its own as well, and signs as often as the table did
`insider`   has the table's own keys, and signs with them

An entry that is added at the end by an insider is what a table does all day: it is found because the next day's ledger says how
many entries this one had when it ended.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from tablectl.errors import LedgerError
from tablectl.instants import from_micros
from tablectl.ledger import chain, schema
from tablectl.ledger import pin as pins
from tablectl.ledger.checkpoint import Checkpoint, origin, succession
from tablectl.ledger.keys import Signer
from tablectl.ledger.merkle import Frontier
from tablectl.ledger.verify import Report, verify, verify_days
from tests.ledger.days import BEGAN, Day, make_day, next_day, played

SESSIONS = 10
"""So often the recorded session stands in the day."""

FINDERS = ("alone", "key", "witness", "next day")
"""Who finds a change, the first that does: verify alone, with --key, with --witness, with the next day's ledger."""

Row = tuple[int, str, bytes]


class Outcome(NamedTuple):
    """Who found a change first (`harmless` or `missed` where nobody did), and what was said."""

    found: str
    report: Report


def judge(path: Path, day: Day, before: object = None) -> Outcome:
    """Look for a change. `before` is what the file answered (`answers`), where a change may be harmless."""
    report = Report("")
    for finder in FINDERS:
        if finder == "next day":
            report = verify_days([path, day.path.with_name("next.db")], day.keys)[0]
        else:
            report = verify(path, [] if finder == "alone" else day.keys, day.seen if finder == "witness" else None)
        if not report.whole:
            return Outcome(finder, report)
    return Outcome("harmless" if before is not None and answers(path) == before else "missed", report)


def answers(path: Path) -> object:
    """Everything that a file answers: all rows, how its tables were made, and what SQLite says of it."""
    try:
        with schema.faults(path), closing(schema.connect(path, read_only=True)) as connection:
            tables = {
                name: connection.execute(f"SELECT * FROM {name}").fetchall()
                for name in ("entries", "checkpoints", "latest", "cursors")
            }
            said = [
                connection.execute(f"PRAGMA {name}").fetchone()
                for name in ("application_id", "user_version", "encoding", "journal_mode", "page_size", "page_count")
            ]
            return tables, said, sorted(schema.layout(connection))
    except LedgerError as error:
        return str(error)


# Bytes


def change_byte(source: Path, target: Path, chance: random.Random) -> int:
    """Copy a file and change one byte of it, to any other value. Gives its place."""
    body = bytearray(source.read_bytes())
    at = chance.randrange(len(body))
    body[at] ^= chance.randrange(1, 256)
    target.write_bytes(body)
    return at


def bytes_changed(day: Day, folder: Path, changes: int, chance: random.Random) -> Iterator[tuple[int, Outcome]]:
    """Change one byte at a time, each in a fresh copy."""
    before = answers(day.path)
    target = folder / "changed.db"
    for _ in range(changes):
        at = change_byte(day.path, target, chance)
        yield at, judge(target, day, before)
        for left in folder.glob("changed.db*"):
            left.unlink()


def killed(day: Day, folder: Path) -> Path:
    """The day as it lies there after a kill: all of it in the write-ahead log."""
    path = folder / "killed.db"
    with closing(schema.connect(day.path)) as source, closing(sqlite3.connect(path, isolation_level=None)) as target:
        target.execute("PRAGMA journal_mode = WAL")
        target.execute("PRAGMA wal_autocheckpoint = 0")
        target.execute("BEGIN")
        for kind in ("table", "index", "trigger"):  # rows before triggers would refuse none, and are as they were
            for (made,) in source.execute("SELECT sql FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL", (kind,)):
                target.execute(made)
            if kind == "table":
                for name in ("entries", "checkpoints", "latest", "cursors"):
                    for row in source.execute(f"SELECT * FROM {name}"):
                        target.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
        target.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        target.execute(f"PRAGMA user_version = {schema.VERSION}")
        target.execute("COMMIT")
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", folder / f"kept.db{suffix}")
    return folder / "kept.db"


def log_changed(day: Day, folder: Path, changes: int, chance: random.Random) -> Iterator[Outcome]:
    """Change one byte of the write-ahead log of a table that was killed."""
    kept = killed(day, folder)
    target = folder / "log.db"
    shutil.copy(kept, target)
    shutil.copy(f"{kept}-wal", f"{target}-wal")
    before = answers(target)
    for _ in range(changes):
        for left in folder.glob("log.db*"):
            left.unlink()
        shutil.copy(kept, target)
        change_byte(Path(f"{kept}-wal"), Path(f"{target}-wal"), chance)
        yield judge(target, day, before)


# Rows


def edit_body(rows: list[Row], at: int) -> int:
    """One digit of a body; the number of the first entry that is no longer what was written."""
    seq, kind, body = rows[at]
    place = max(index for index, letter in enumerate(body) if chr(letter).isdigit())
    rows[at] = (seq, kind, body[:place] + (b"7" if body[place : place + 1] != b"7" else b"3") + body[place + 1 :])
    return seq


def edit_kind(rows: list[Row], at: int) -> int:
    seq, kind, body = rows[at]
    rows[at] = (seq, "command" if kind != "command" else "observation", body)
    return seq


def edit_number(rows: list[Row], at: int) -> int:
    """A number that is not the next; all after it move up."""
    first = rows[at][0]
    rows[at:] = [(seq + 1, kind, body) for seq, kind, body in rows[at:]]
    return first


def delete(rows: list[Row], at: int) -> int:
    """An entry is taken out, and those after it are given new numbers."""
    first = rows[at][0]
    rows[at:] = [(seq - 1, kind, body) for seq, kind, body in rows[at + 1 :]]
    return first


def leave_gap(rows: list[Row], at: int) -> int:
    return rows.pop(at)[0]


def insert(rows: list[Row], at: int) -> int:
    first = rows[at][0]
    moved = [(seq + 1, kind, body) for seq, kind, body in rows[at:]]
    rows[at:] = [(first, "observation", b'{"event":"ack","alert":1,"by":"nobody"}'), *moved]
    return first


def append(rows: list[Row], at: int) -> int:
    rows.append((len(rows) + 1, "observation", b'{"event":"ack","alert":1,"by":"nobody"}'))
    return len(rows)


def swap(rows: list[Row], at: int) -> int:
    """Two neighbours change places, numbers staying in order."""
    other = at + 1 if at + 1 < len(rows) else at - 1
    (one, kind, body), (two, kind2, body2) = rows[at], rows[other]
    rows[at], rows[other] = (one, kind2, body2), (two, kind, body)
    return min(one, two)


def truncate(rows: list[Row], at: int) -> int:
    first = rows[at][0]
    del rows[at:]
    return first


KINDS: dict[str, Callable[[list[Row], int], int]] = {
    "body edited": edit_body,
    "kind edited": edit_kind,
    "number edited": edit_number,
    "deleted": delete,
    "deleted, gap left": leave_gap,
    "inserted": insert,
    "appended": append,
    "swapped": swap,
    "truncated": truncate,
}

HANDS = ("plain", "chained", "own key", "insider")

PLAIN_ONLY = ("number edited", "deleted, gap left")
"""Changes that are none, or another, once the entries are numbered anew."""


def change_rows(day: Day, target: Path, kind: str, hand: str, at: int) -> int:
    """Change the rows of a copy; `at` is the place of an entry, from 0. Gives the number of the first bad entry."""
    shutil.copy(day.path, target)
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        links = dict(connection.execute("SELECT seq, chain FROM entries").fetchall())
        rows: list[Row] = connection.execute("SELECT seq, kind, body FROM entries ORDER BY seq").fetchall()
        first = KINDS[kind](rows, at)
        if hand == "own key":
            pin = pins.decode(rows[0][2])
            stranger = Signer.make(day.signers[0].verifier.name)
            rows[0] = (1, "pin", pins.encode(msgspec.structs.replace(pin, signer=stranger.verifier.vkey)))
            _rewrite(connection, rows, [(stranger, stranger)], first)
        elif hand == "insider":
            _rewrite(connection, rows, [day.signers], first)
        elif hand == "chained":
            _rewrite(connection, rows, [], first)
        else:
            connection.execute("DELETE FROM entries")
            kept = [(*row, links.get(row[0], links[max(links)])) for row in rows]
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", kept)
        for _, made in triggers:
            connection.execute(made)
    return first


def _rewrite(connection: sqlite3.Connection, rows: list[Row], signers: list[tuple[Signer, Signer]], first: int) -> None:
    """Write the entries with a chain that fits them, heads signed by `signers` where there are any, and what stands beside."""
    rows[:] = [(seq, kind, body) for seq, (_, kind, body) in enumerate(rows, start=1)]
    sizes = dict(connection.execute("SELECT size, at FROM checkpoints").fetchall())
    where = origin(pins.decode(rows[0][2]).table, pins.session(rows[0][2]))
    signing = None
    if signers:
        signing, second = signers[0]
        connection.execute("DELETE FROM checkpoints")
        for at, (seq, kind, _) in enumerate(rows):
            if kind == "key":
                rows[at] = (seq, kind, succession(where, second, signing))
        sizes[len(rows)] = from_micros(BEGAN + 900_000_000)
    else:
        connection.execute("DELETE FROM checkpoints WHERE size >= ?", (first,))
    connection.execute("DELETE FROM entries")
    frontier, link = Frontier(), chain.START
    for seq, kind, body in rows:
        leaf = chain.leaf(seq, kind, body)
        link = chain.link(link, leaf)
        frontier.add(leaf)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (seq, kind, body, link))
        if signing is not None:
            signing = signers[0][1] if kind == "key" else signing
            if seq in sizes:
                note = Checkpoint(where, seq, frontier.root, sizes[seq]).signed(signing)
                connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?)", (seq, sizes[seq], note))
    _beside(connection, rows)


def _beside(connection: sqlite3.Connection, rows: list[Row]) -> None:
    """Make what stands beside the entries agree with them."""
    latest: dict[str, tuple[int, bytes]] = {}
    for seq, kind, body in rows:
        name = msgspec.json.decode(body).get("notice") if kind == "notice" else kind
        if name in ("pin", "prompt", "status"):
            latest[name] = (seq, body)
    row = connection.execute("SELECT size, body FROM checkpoints ORDER BY size DESC LIMIT 1").fetchone()
    if row is not None:
        latest["checkpoint"] = row
    for name, seq, body in connection.execute("SELECT name, seq, body FROM latest WHERE name IN ('state', 'recording')"):
        latest[name] = (min(seq, len(rows)), body)
    connection.execute("DELETE FROM latest")
    for name, (seq, body) in latest.items():
        connection.execute("INSERT INTO latest VALUES (?, ?, ?, ?)", (name, seq, body, chain.leaf(seq, name, body)))
    connection.execute("DELETE FROM cursors")
    last = len(rows)
    connection.execute("INSERT INTO cursors VALUES ('mqtt', ?, ?)", (last, chain.leaf(last, "mqtt", b"")))


def rows_changed(
    day: Day, folder: Path, tries: int, chance: random.Random, hands: tuple[str, ...] = HANDS
) -> Iterator[tuple[str, str, int, Outcome]]:
    """Every kind of change by every hand, at places by chance after the pin: kind, hand, first bad entry, outcome."""
    with closing(schema.connect(day.path, read_only=True)) as connection:
        last = connection.execute("SELECT max(seq) FROM entries").fetchone()[0]
    target = folder / "rows.db"
    for kind in KINDS:
        for hand in hands:
            for _ in range(tries if hand == "plain" or kind not in PLAIN_ONLY else 0):
                first = change_rows(day, target, kind, hand, chance.randrange(1, last - 1))
                yield kind, hand, first, judge(target, day)
                for left in folder.glob("rows.db*"):
                    left.unlink()


def main() -> int:
    """Print what was found, and by whom; 1 when anything was missed."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--changes", type=int, default=1000, help="single-byte changes")
    words.add_argument("--tries", type=int, default=10, help="changes of each kind by each hand")
    words.add_argument("--seed", type=int, default=1)
    options = words.parse_args()
    chance = random.Random(options.seed)
    told: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(dir=next((folder for folder in ("/dev/shm",) if Path(folder).is_dir()), None)) as name:
        folder = Path(name)
        pin, *session = played(folder)
        day = make_day(folder, [pin, *session * SESSIONS])
        next_day(folder, day)
        print(f"a day of {verify(day.path).size} entries, {day.path.stat().st_size} bytes")
        told["a byte of the file"] = Counter(one.found for _, one in bytes_changed(day, folder, options.changes, chance))
        logs = log_changed(day, folder, options.changes // 10, chance)
        told["a byte of a killed table's log"] = Counter(one.found for one in logs)
        for kind, hand, _, outcome in rows_changed(day, folder, options.tries, chance):
            told.setdefault(f"{kind}, {hand}", Counter())[outcome.found] += 1
        told["rolled back to an older copy"] = Counter([judge(day.older, day).found])
    heads = (*FINDERS, "harmless", "missed")
    print(f"{'found by':<36}" + "".join(f"{head:>10}" for head in heads))
    for kind, counts in told.items():
        print(f"{kind:<36}" + "".join(f"{counts[head]:>10}" for head in heads))
    return 1 if any(counts["missed"] for counts in told.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
