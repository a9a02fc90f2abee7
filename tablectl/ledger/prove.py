"""Proofs that entries are in a ledger, for who does not have the ledger: they stand in one JSON document and need a public key.

::

    {"proof": 1,
     "checkpoint": the signed note that covers them,
     "entries": [{"seq": N, "kind": ..., "text": the body (or "base64"), "index": N - 1, "path": [base64, ...]}, ...]}

A leaf is SHA-256 of a zero byte, `SEQ KIND` as a line, and the body; `path` is RFC 6962's audit path from it to the root that the
checkpoint signs. The first entry, the pin, is always among them: the checkpoint's first line ends with the SHA-256 of its body,
shortened, so that the proof also says of which table it is and by which rules was played.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tablectl.errors import ConfigError, InputError, LedgerError
from tablectl.ledger import chain as chains
from tablectl.ledger import pin as pins
from tablectl.ledger import schema
from tablectl.ledger.checkpoint import Checkpoint, origin, vouches_for
from tablectl.ledger.keys import Verifier
from tablectl.ledger.merkle import Tree, included
from tablectl.ledger.pin import Pin
from tablectl.ledger.reader import Entry
from tablectl.ledger.signed_note import Note, of_base64, to_base64

__all__ = ["Proved", "check_proof", "entries_of_round", "prove"]

MAX_PATH = 64
"""Longer paths are refused: no ledger has so many entries."""


class _ProvedEntry(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    seq: int
    kind: str
    index: int
    path: list[str]
    text: str | None = None
    base64: str | None = None


class _Proof(msgspec.Struct, forbid_unknown_fields=True):
    proof: Literal[1]
    checkpoint: str
    entries: list[_ProvedEntry]


class _Said(msgspec.Struct):
    notice: str
    round: int


class Proved(NamedTuple):
    """What a proof shows: these entries are in the ledger with this head, which `key` signed; `pin` is the ledger's first entry.

    `whole` is whether no entry is left out between the first and the last after the pin.
    """

    checkpoint: Checkpoint
    key: Verifier
    pin: Pin
    entries: tuple[Entry, ...]

    @property
    def whole(self) -> bool:
        """Whether the entries after the pin follow each other without a gap."""
        numbers = [entry.seq for entry in self.entries if entry.seq != 1]
        return not numbers or numbers[-1] - numbers[0] + 1 == len(numbers)


def prove(path: Path, wanted: Iterable[int]) -> bytes:
    """A proof of entries by their numbers, under the first checkpoint that covers them all.

    The whole ledger is read. Raises `LedgerError` when it cannot be read or is not what was written, has no such entry, or no
    checkpoint that covers them.
    """
    numbers = sorted({1, *wanted})
    with schema.faults(path):
        if not path.is_file():
            raise LedgerError("there is no such ledger", where=str(path))
        with closing(schema.connect(path, read_only=True)) as connection:
            connection.execute("BEGIN")
            schema.check(connection, path)
            query = "SELECT size, body FROM checkpoints WHERE size >= ? ORDER BY size LIMIT 1"
            row = connection.execute(query, (numbers[-1],)).fetchone()
            last: int = connection.execute("SELECT max(seq) FROM entries").fetchone()[0]
            missing = next((number for number in numbers if not 1 <= number <= last), None)
            if missing is not None:
                raise LedgerError(f"has no entry {missing}: it has {last}", where=str(path))
            if row is None:
                raise LedgerError(f"has no checkpoint yet that covers entry {numbers[-1]}", where=str(path))
            size, note = int(row[0]), bytes(row[1])
            tree, found, due = Tree(), [], set(numbers)
            try:
                for entry in chains.walk(connection.execute(schema.ROWS)):
                    tree.add(entry.leaf)
                    if entry.seq in due:
                        found.append(Entry(entry.seq, entry.kind, entry.body))
                    if entry.seq == size:
                        break
            except chains.Break as fault:
                raise LedgerError(f"is damaged: {fault}", where=str(path)) from None
    if Checkpoint.parse(Note.parse(note).text).root != tree.root():
        raise LedgerError(f"is damaged: its first {size} entries are not what the checkpoint signed", where=str(path))
    proof = _Proof(1, note.decode(), [_proved(entry, tree) for entry in found])
    return msgspec.json.format(msgspec.json.encode(proof), indent=1) + b"\n"


def entries_of_round(entries: Iterable[Entry], number: int) -> list[int]:
    """The numbers of the entries that belong to a round; empty where the ledger has no such round.

    They are those from where the round before it closed, so that its stakes are among them, to where the next one began, and what
    was corrected of it later.
    """
    found: list[int] = []
    begun = over = False
    for seqs, rounds, closed in _groups(entries):
        if number in rounds:
            begun = True
            found += seqs
        elif any(one > number for one in rounds):
            over = True
        elif not over:
            found += seqs
        if not begun and number - 1 in closed:
            found.clear()
    return found if begun else []


def _groups(entries: Iterable[Entry]) -> Iterator[tuple[list[int], set[int], set[int]]]:
    """What each observation or command began: the numbers of its entries, the rounds spoken of, and those closed."""
    seqs: list[int] = []
    rounds: set[int] = set()
    closed: set[int] = set()
    for entry in entries:
        if entry.kind != "notice" and seqs:
            yield seqs, rounds, closed
            seqs, rounds, closed = [], set(), set()
        if entry.kind != "pin":
            seqs.append(entry.seq)
        if entry.kind == "notice":
            said = msgspec.json.decode(entry.body, type=_Said)
            rounds.add(said.round)
            if said.notice == "round_closed":
                closed.add(said.round)
    if seqs:
        yield seqs, rounds, closed


def check_proof(body: bytes, keys: Sequence[Verifier], *, where: str) -> Proved:
    """Check a proof against public keys, one of which must have signed its checkpoint.

    Raises `InputError` for what is no proof, `LedgerError` for one that does not hold.
    """
    try:
        proof = msgspec.json.decode(body, type=_Proof)
        entries = [_entry(proved) for proved in proof.entries]
        paths = [[of_base64(step) for step in proved.path] for proved in proof.entries]
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(f"is no proof: {error}", where=where) from None
    try:
        note = Note.parse(proof.checkpoint.encode("utf-8", "surrogatepass"))
        checkpoint = Checkpoint.parse(note.text)
    except LedgerError as error:
        raise InputError(f"is no proof: its checkpoint {error.message}", where=where) from None
    signers = [key for key in keys if key.signed(note)]
    if not signers:
        raise LedgerError("does not hold: its checkpoint is not signed by the key that was given", where=where)
    for entry, proved, path in zip(entries, proof.entries, paths, strict=True):
        leaf = chains.leaf(*entry)
        right = proved.index == entry.seq - 1 and len(path) <= MAX_PATH
        if not right or not included(leaf, proved.index, checkpoint.size, path, checkpoint.root):
            raise LedgerError(f"does not hold: entry {entry.seq} is not in the ledger that was signed", where=where)
    numbers = [entry.seq for entry in entries]
    if numbers != sorted(set(numbers)) or numbers[:1] != [1]:
        raise InputError("is no proof: its entries are not in order from the first", where=where)
    try:
        pin = pins.decode(entries[0].body)
    except (msgspec.DecodeError, ConfigError, TypeError):
        raise LedgerError("does not hold: the first entry is no pin", where=where) from None
    if entries[0].kind != "pin" or checkpoint.origin != origin(pin.table, pins.session(entries[0].body)):
        raise LedgerError("does not hold: the checkpoint is of another ledger than the first entry", where=where)
    signer = next((key for key in signers if vouches_for(key, pin.table)), None)
    if signer is None:
        raise LedgerError(f"does not hold: it is of table {pin.table}, and signed by {signers[0].name}", where=where)
    return Proved(checkpoint, signer, pin, tuple(entries))


def _proved(entry: Entry, tree: Tree) -> _ProvedEntry:
    index = entry.seq - 1
    proved = _ProvedEntry(entry.seq, entry.kind, index, [to_base64(step) for step in tree.inclusion(index)])
    try:
        proved.text = entry.body.decode()
    except UnicodeDecodeError:
        proved.base64 = to_base64(entry.body)
    return proved


def _entry(proved: _ProvedEntry) -> Entry:
    if (proved.text is None) == (proved.base64 is None):
        raise ValueError("an entry has either text or base64")
    body = proved.text.encode() if proved.text is not None else of_base64(proved.base64 or "")
    return Entry(proved.seq, proved.kind, body)
