"""One ledger while it is verified: its file, entries, links, keys, checkpoints, and what stands beside the entries.

`tablectl.ledger.verify` begins it, and holds several against each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

import msgspec

from tablectl.errors import ConfigError, LedgerError
from tablectl.ledger import chain as chains
from tablectl.ledger import pin as pins
from tablectl.ledger import schema
from tablectl.ledger.chain import Break, Linked
from tablectl.ledger.checkpoint import Checkpoint, key_name, origin, succeeds, vouches_for
from tablectl.ledger.keys import Verifier
from tablectl.ledger.merkle import Frontier
from tablectl.ledger.pin import Follows, Pin
from tablectl.ledger.report import Calibrated, Fault, Report
from tablectl.ledger.signed_note import Note
from tablectl.ledger.witnessed import Witnessed

__all__ = ["Examined"]

KINDS = frozenset({"pin", "observation", "notice", "command", "key", "evidence"})
"""The kinds of entries that there are."""

MOST = 100
"""So many faults of one ledger are told."""

_NAMES = frozenset({"prompt", "status"})


class Examined:
    """One ledger while it is verified."""

    def __init__(self, path: Path, keys: frozenset[Verifier], witness: Witnessed | None):
        self.path = path
        self.report = Report(ledger=str(path))
        self.begun: Pin | None = None
        self.roots: dict[int, bytes] = {}
        self.first_key: Verifier | None = None
        self._keys = keys
        self._judged = bool(keys)
        self._witness = witness
        self._key: Verifier | None = None
        self._known: set[Verifier] = set(keys)
        self._latest: dict[str, tuple[int, bytes]] = {}
        self._last_good = 0

    def fault(self, entry: int | None, what: str) -> None:
        """Note what is wrong."""
        if len(self.report.faults) < MOST:
            self.report.faults.append(Fault(entry, what))

    def peek(self) -> None:
        """Learn which ledger it is, from its first entry; `read` tells what is wrong with it."""
        try:
            with schema.faults(self.path), self._open() as connection:
                body = schema.check(connection, self.path)
                self.report.session = pins.session(body)
                self.begun = pins.decode(body)
        except (LedgerError, msgspec.DecodeError, ConfigError, TypeError):
            return
        self._keys = frozenset(key for key in self._keys if vouches_for(key, self.begun.table))
        self._known = set(self._keys)
        self.report.table = str(self.begun.table)
        self.report.follows = self.begun.follows

    def read(self, wanted: Iterable[int]) -> None:
        """Read all of it; `wanted` are sizes at which somebody else says what the root is."""
        try:
            with schema.faults(self.path), self._open() as connection:
                connection.execute("BEGIN")
                schema.check(connection, self.path)
                self._check_file(connection)
                notes = self._checkpoints(connection)
                sizes = {*wanted, *notes, *self._seen()}
                self._check_entries(connection, sizes, notes)
                self._check_latest(connection)
        except LedgerError as error:
            self.fault(None, error.message)
        self._check_witness()

    def _checkpoints(self, connection: Connection) -> dict[int, tuple[str, bytes]]:
        """Time and note of each checkpoint, by size; none of them where they cannot be read."""
        try:
            with schema.faults(self.path):
                rows = schema.read(connection, self.path, _CHECKPOINTS, int, str, bytes)
        except LedgerError as error:
            self.fault(None, f"its checkpoints cannot be read: {error.message}")
            return {}
        return {size: (at, body) for size, at, body in rows}

    def _open(self) -> closing[Connection]:
        if self.path.is_dir():
            raise LedgerError("is a folder: name the ledgers in it", where=str(self.path))
        if not self.path.is_file():
            raise LedgerError("there is no such ledger", where=str(self.path))
        return closing(schema.connect(self.path, read_only=True))

    def _check_file(self, connection: Connection) -> None:
        for (line,) in connection.execute("PRAGMA integrity_check(10)").fetchall():
            if line != "ok":
                self.fault(None, f"the file is damaged: {str(line).splitlines()[0]}")
        if not schema.archived(self.path) and connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            self.fault(None, "the file's head is not as it was written: no write-ahead log")
        there, due = schema.layout(connection), schema.expected_layout()
        for kind, name, _ in sorted(there ^ due):
            what = "was added" if (kind, name) not in {item[:2] for item in due} else "is missing or was changed"
            self.fault(None, f"its layout is not a ledger's: the {kind} {name} {what}")

    # Entries

    def _check_entries(self, connection: Connection, sizes: set[int], notes: dict[int, tuple[str, bytes]]) -> None:
        frontier, report = Frontier(), self.report
        chain = chains.START
        try:
            with schema.faults(self.path):
                for entry in chains.walk(connection.execute(schema.ROWS)):
                    frontier.add(entry.leaf)
                    chain = entry.chain
                    self._check_entry(entry)
                    if entry.seq in sizes:
                        self.roots[entry.seq] = frontier.root
                    if entry.seq in notes:
                        self._check_checkpoint(entry.seq, *notes.pop(entry.seq))
        except Break as fault:
            self.fault(fault.seq, fault.what)
        except LedgerError as error:
            self.fault(frontier.size + 1, f"cannot be read: the ledger {error.message}")
        else:
            for size in sorted(notes):
                self.fault(frontier.size + 1, f"is missing: a checkpoint signed {size} entries, and there are {frontier.size}")
        report.size, report.chain, report.root = frontier.size, chain.hex(), frontier.root.hex()

    def _check_entry(self, entry: Linked) -> None:
        if entry.kind not in KINDS:
            self.fault(entry.seq, f"is of the kind {entry.kind!a}, which is none")
        elif entry.seq == 1 or entry.kind == "pin":
            self._check_pin(entry)
        elif entry.kind == "key":
            self._check_key(entry)
        elif entry.kind == "notice":
            try:
                name = _name_of(entry.body).notice
            except msgspec.DecodeError:
                self.fault(entry.seq, "is no notice")
                return
            if name in _NAMES:
                self._latest[name] = (entry.seq, entry.body)

    def _check_pin(self, entry: Linked) -> None:
        try:
            if entry.kind != "pin":
                raise TypeError
            pin = pins.decode(entry.body)
        except (msgspec.DecodeError, ConfigError, TypeError):
            self.fault(entry.seq, "is not the pin that it has to be")
            return
        self._latest["pin"] = (entry.seq, entry.body)
        self._note_calibration(entry.seq, pin)
        if entry.seq == 1:
            self.begun = pin
            if pin.signer is not None:
                try:
                    key = Verifier.parse(pin.signer)
                except ConfigError as error:
                    self.fault(1, f"names a key that {error.message}")
                    return
                self._begin(key)
                if not vouches_for(key, pin.table):
                    self.fault(1, f"names a key that is not this table's, but called {key.name}")
        elif self.begun is not None:
            if (pin.table, pin.house) != (self.begun.table, self.begun.house):
                self.fault(entry.seq, "pins another table or house than the first entry")
            if any(getattr(pin, name) is not None for name in pins.BEGINNING):
                self.fault(entry.seq, "says what only a ledger's first entry says")

    def _note_calibration(self, seq: int, pin: Pin) -> None:
        known = self.report.calibrated
        before = (known[-1].calibration, known[-1].deck) if known else (None, None)
        if (pin.calibration, pin.deck) != before:
            known.append(Calibrated(seq, pin.calibration, pin.deck))

    def _check_key(self, entry: Linked) -> None:
        if self.begun is None:
            return
        try:
            key = succeeds(entry.body, self._origin, self._key)
        except LedgerError as error:
            self.fault(entry.seq, f"is a key that {error.message}")
            return
        self._begin(key)

    def _begin(self, key: Verifier) -> None:
        """A key signs from here on."""
        self.first_key = self.first_key or key
        self._key = key
        self._known.add(key)

    @property
    def _origin(self) -> str:
        assert self.begun is not None
        return origin(self.begun.table, self.report.session)

    # Checkpoints

    def _check_checkpoint(self, size: int, at: str, body: bytes) -> None:
        try:
            note = Note.parse(body)
            checkpoint = Checkpoint.parse(note.text)
        except LedgerError as error:
            self.fault(size, f"has a checkpoint that {error.message}")
            return
        if self.begun is not None and checkpoint.origin != self._origin:
            self.fault(size, f"has a checkpoint of another ledger: {checkpoint.origin!a}")
        elif (checkpoint.size, checkpoint.at) != (size, at):
            self.fault(size, "has a checkpoint of another size or time than it is kept under")
        elif not self._signed(note):
            whose = self._key.name if self._key else "a key that is known"
            self.fault(size, f"has a checkpoint that is not signed by {whose}")
        elif checkpoint.root != self.roots[size]:
            first = self._last_good + 1
            span = f"or one after it up to {size} " if size > first else ""
            self.fault(first, f"{span}is not what was signed: the checkpoint of {size} entries has another root")
        else:
            report = self.report
            report.checkpoints += 1
            report.signed, report.at = size, checkpoint.at
            report.key = next((one.name for one in note.signatures), "")
            self._last_good = size

    def _signed(self, note: Note) -> bool:
        """Whether the key in force signed; before any key is named, one of those given."""
        if self._key is not None:
            return bool(self._key.signed(note))
        return any(key.signed(note) for key in self._keys) or not self._judged

    def judge_keys(self, days: dict[str, Examined]) -> None:
        """Say whether the ledger's keys are vouched for, by the keys given or by the ledger before it."""
        report, key = self.report, self.first_key
        if not self._judged:
            return
        before = days.get(report.follows.session) if report.follows else None
        if key is None:
            report.trusted = report.checkpoints > 0
        elif key in self._keys or (before is not None and before is not self and before._key == key):
            report.trusted = True
        else:
            self.fault(1, f"or a key entry names a key that none of those given vouches for: {key.vkey}")
        if not report.checkpoints and self.begun is not None:
            self.fault(None, "nothing in it is signed: it has no checkpoint that is right")

    # What stands beside the entries

    def _check_latest(self, connection: Connection) -> None:
        size = self.report.size
        kept = {}
        query = "SELECT name, seq, body, digest FROM latest"
        for name, seq, body, digest in schema.read(connection, self.path, query, str, int, bytes, bytes):
            kept[name] = (seq, body)
            if chains.leaf(seq, name, body) != digest:
                self.fault(None, f"the latest {name!a} is not what was written beside the entries")
            elif not 1 <= seq <= size and not self.report.faults:
                self.fault(None, f"the latest {name!a} is said to be of entry {seq}; there are {size}")
        for name, seq, digest in schema.read(connection, self.path, "SELECT name, seq, digest FROM cursors", str, int, bytes):
            if chains.leaf(seq, name, b"") != digest or (seq > size and not self.report.faults):
                self.fault(None, f"the cursor {name!a} is not what was written")
        if self.report.faults:
            return  # what follows from the entries is not known
        for name in (*_NAMES, "pin"):
            if kept.get(name) != self._latest.get(name):
                self.fault(None, f"the latest {name} is not that of the entries")
        row = connection.execute("SELECT size, body FROM checkpoints ORDER BY size DESC LIMIT 1").fetchone()
        if kept.get("checkpoint") != row:
            self.fault(None, "the latest checkpoint is not the last of its checkpoints")

    # Others' word

    def _seen(self) -> set[int]:
        if self._witness is None or self.begun is None:
            return set()
        return {seen.checkpoint.size for seen in self._witness.of(self._origin)}

    def _check_witness(self) -> None:
        """See that every head that a witness has seen is the head of a beginning of this ledger."""
        if self._witness is None or self.begun is None:
            return
        report = self.report
        whole = not report.faults
        seen = self._witness.of(self._origin)
        if not seen:
            there = self._witness.tables(key_name(self.begun.table))
            more = f"; of this table it saw {len(there)} other ledgers" if there else ""
            self.fault(None, f"{self._witness.where} has seen nothing of this ledger{more}")
        for one in seen:
            head, where = one.checkpoint, f"{self._witness.where}:{one.line}"
            known = any(key.signed(one.note) for key in self._known)
            whose = "" if known or not self._known else ", signed by a key that this ledger does not know"
            if head.size in self.roots and self.roots[head.size] != head.root:
                first = report.witnessed + 1
                span = f"or one after it up to {head.size} " if head.size > first else ""
                self.fault(first, f"{span}is not what the witness saw ({where}{whose}): a fork, or a record written anew")
                return
            if head.size > report.size:
                if whole:
                    lost = f"the witness saw {head.size} entries{f' at {one.seen}' if one.seen else ''} ({where}{whose})"
                    self.fault(report.size + 1, f"is missing: {lost}, and there are {report.size}: shortened or rolled back")
                return
            if whose:
                self.fault(None, f"{where}: a note of {head.size} entries is not signed by this ledger's keys")
            report.witnessed = max(report.witnessed, head.size)

    def follow(self, before: Examined, follows: Follows) -> None:
        """See that the ledger before this one ended as this one says."""
        report = before.report
        if before.begun is not None and self.begun is not None and before.begun.table != self.begun.table:
            self.fault(1, f"follows a ledger of another table, {report.ledger}")
        elif report.size > follows.size:
            before.fault(
                follows.size + 1, f"was added after {self.report.ledger} had begun, which follows {follows.size} entries"
            )
        elif report.size < follows.size:
            if not report.faults:
                lost = f"{self.report.ledger} follows {follows.size} entries, and there are {report.size}"
                before.fault(report.size + 1, f"is missing: {lost}")
        elif report.root != follows.root:
            self.fault(1, f"follows another ledger than {report.ledger}, whose root is not the one it names")


class _Named(msgspec.Struct, frozen=True):
    notice: str


_name_of = msgspec.json.Decoder(_Named).decode
_CHECKPOINTS = "SELECT size, at, body FROM checkpoints ORDER BY size"
