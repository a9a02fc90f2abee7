"""A live table's signatures: the head of its ledger is signed, and the note made ready to be told."""

from __future__ import annotations

from contextlib import ExitStack

from tablectl.errors import LedgerError
from tablectl.instants import from_micros
from tablectl.ledger.checkpoint import succession
from tablectl.ledger.keys import Signer
from tablectl.ledger.published import LATEST as ANNOUNCED
from tablectl.ledger.published import Announcer, follows_line
from tablectl.ledger.reader import Reader
from tablectl.ledger.store import Ledger

__all__ = ["Signing"]


class Signing:
    """Who signs, and what of the day's ledger. `follow` it before the first `checkpoint`, and `close` at the end."""

    def __init__(self, signer: Signer) -> None:
        self.signer = signer
        self._announcer: Announcer
        self._reading = ExitStack()

    def follow(self, ledger: Ledger) -> None:
        """Tell this ledger's checkpoints from now on."""
        self._reading.close()
        self._announcer = Announcer(self._reading.enter_context(Reader(ledger.path)))

    def checkpoint(self, ledger: Ledger, now: int) -> None:
        """Sign the head, and have it told. `now` is in microseconds since 1970. Raises `LedgerError`: it cannot be written."""
        before = ledger.begun.follows
        note = ledger.checkpoint(self.signer, from_micros(now), [] if before is None else [follows_line(before)])
        ledger.keep(ANNOUNCED, self._announcer.announce(note))
        ledger.commit()

    def require(self, ledger: Ledger, vkey: str | None) -> None:
        """See that the key that signs this ledger is ours. Raises `LedgerError`."""
        if vkey != self.signer.verifier.vkey:
            raise LedgerError(
                f"is signed by {vkey}, and the table has another key; hand it over with: tablectl audit rotate-key",
                where=str(ledger.path),
            )

    def hand_over(self, ledger: Ledger, signer: Signer) -> None:
        """Another key signs from here on, with the next commit."""
        ledger.note("key", succession(ledger.origin, signer, self.signer))
        self.signer = signer

    def close(self) -> None:
        """Let go of the ledger."""
        self._reading.close()
