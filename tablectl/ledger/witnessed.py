"""What a witness has seen, for who holds a ledger against it: the signed heads of its file, by ledger.

Every note counts, whatever the witness made of it: one that it refused was signed by the table all the same, and one that a
person has settled since still contradicts a ledger that does not begin with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tablectl.errors import InputError, LedgerError
from tablectl.ledger.checkpoint import Checkpoint
from tablectl.ledger.signed_note import Note
from tablectl.ledger.witness_file import lines

__all__ = ["Seen", "Witnessed"]


class Seen(NamedTuple):
    """A head that a witness has seen: the line of its file (from 1), when, and the note."""

    line: int
    seen: str
    note: Note
    checkpoint: Checkpoint


class Witnessed:
    """A witness's file, read whole; `where` is its name. What was cut off at its end is passed over.

    Raises `InputError` for a file that cannot be read, or a line that is none of a witness.
    """

    def __init__(self, path: Path):
        self.where = str(path)
        self._by_origin: dict[str, list[Seen]] = {}
        for number, line in lines(path):
            if line.note is None:
                continue
            try:
                note = Note.parse(line.note.encode("utf-8", "surrogatepass"))
                checkpoint = Checkpoint.parse(note.text)
            except LedgerError as error:
                raise InputError(f"is no line of a witness: {error}", where=self.where, line=number) from None
            self._by_origin.setdefault(checkpoint.origin, []).append(Seen(number, line.seen, note, checkpoint))

    def of(self, origin: str) -> list[Seen]:
        """What it has seen of one ledger, by size."""
        return sorted(self._by_origin.get(origin, ()), key=lambda seen: (seen.checkpoint.size, seen.line))

    def tables(self, name: str) -> list[str]:
        """The origins it has seen that are of the table with this key name."""
        return [origin for origin in self._by_origin if origin.startswith(name + "/")]
