"""A witness that missed something asks the table for the proof: the command `proof`, and what is answered.

It changes nothing at the table and is in no ledger: the answer is a proof by RFC 6962 that one size of a ledger extends another,
hashes only, which show nothing of the entries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import msgspec

from tablectl.errors import LedgerError
from tablectl.ledger.published import prove
from tablectl.ledger.reader import Reader
from tablectl.mqtt.orders import Command, refusal

__all__ = ["ProofCommand", "ProofResponse", "Prover"]

REST: Final = 5.0
"""Seconds between two ledgers that are read for it: reading one takes about a second, which the table has better uses for."""
KEPT: Final = 256
"""So many proofs are remembered."""

_Size = Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class ProofCommand(Command, frozen=True, rename={"old": "from", "new": "to"}):
    """Which ledger of the table (its session), and from which size to which, in entries."""

    session: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    old: _Size
    new: _Size

    def observation(self, at: str | None) -> None:
        """Nothing happens on the felt."""
        return


class ProofResponse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A response like any other, with the hashes in base64."""

    id: str | None
    done: bool
    reason: str | None = None
    detail: str = ""
    consistency: list[str] = []


class Prover:
    """Answers for one table. `find` gives the file of the ledger with a session, None where there is none (any more).

    It belongs to one thread, and reads ledgers by connections of its own.
    """

    def __init__(self, find: Callable[[str], Path | None]) -> None:
        self._find = find
        self._kept: dict[tuple[str, int, int], list[str]] = {}
        self._rested = 0.0

    def answer(self, command: ProofCommand) -> bytes:
        """The response. Never raises."""
        wanted = (command.session, command.old, command.new)
        if wanted not in self._kept:
            if time.monotonic() < self._rested:
                return refusal(command.id, "busy", f"one proof in {REST:g} s")
            try:
                proof = self._proof(command)
            except (ValueError, LedgerError) as error:
                return refusal(command.id, "no_such_proof", str(error)[:200])
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[wanted] = proof
        return msgspec.json.encode(ProofResponse(id=command.id, done=True, consistency=self._kept[wanted]))

    def _proof(self, command: ProofCommand) -> list[str]:
        path = self._find(command.session)
        if path is None:
            raise ValueError(f"there is no ledger {command.session} here")
        try:
            with Reader(path) as reader:
                return prove(reader, command.old, command.new)
        finally:
            self._rested = time.monotonic() + REST
