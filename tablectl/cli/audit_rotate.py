"""`tablectl audit rotate-key`: another key signs a ledger from here on, by the word of the one before it."""

from __future__ import annotations

import time
from pathlib import Path

import click

from tablectl.cli.given import signer
from tablectl.errors import UsageError
from tablectl.instants import from_micros
from tablectl.ledger.checkpoint import KeyEntry, succession, vouches_for
from tablectl.ledger.keys import SIGNS, Signer, Verifier
from tablectl.ledger.published import follows_line
from tablectl.ledger.reader import Reader
from tablectl.ledger.store import Ledger

__all__ = ["rotate_key"]

PAGE = 2000
_FILE = click.Path(path_type=Path)


@click.command(
    "rotate-key",
    epilog="\b\nExample:\n  tablectl audit key new.key --table hall/main/t07 > new.pub\n"
    "  tablectl audit rotate-key day.ledger --old t07.key --new new.key",
)
@click.argument("ledger", metavar="LEDGER", type=_FILE)
@click.option("--old", required=True, metavar="KEYFILE", type=_FILE, help="The key that has signed up to now.")
@click.option("--new", required=True, metavar="KEYFILE", type=_FILE, help="The one that is to sign from here on.")
def rotate_key(ledger: Path, old: Path, new: Path) -> None:
    """Hand LEDGER over to another key: an entry says so, signed by both, and a checkpoint by the new one covers it.

    For a ledger that nobody writes at the moment. A table that runs does this itself when it is reloaded with another key file in
    its configuration. Prints the new public key, which is for those who verify; a witness that trusts the old one follows.
    """
    before, after = _signer(old, "--old"), _signer(new, "--new")
    if before.verifier == after.verifier:
        raise UsageError("is the key that has signed up to now", where=str(new))
    with Ledger.resume(ledger) as writer:
        table = writer.begun.table
        if not vouches_for(after.verifier, table):
            raise UsageError(f"is the key {after.verifier.name}, not that of table {table}", where=str(new))
        force = _in_force(writer)
        if force is None:
            raise UsageError("is of a ledger that was never signed: there is no key to follow", where=str(old))
        if force != before.verifier:
            raise UsageError(f"is not the key that signs this ledger, which is {force.vkey}", where=str(old))
        writer.note("key", succession(writer.origin, after, before))
        writer.commit()
        extensions = () if writer.begun.follows is None else (follows_line(writer.begun.follows),)
        writer.checkpoint(after, from_micros(time.time_ns() // 1000), extensions)
    click.echo(after.verifier.vkey)


def _signer(path: Path, option: str) -> Signer:
    key = signer(path, option)
    if key.verifier.use != SIGNS:
        raise UsageError("is a witness's key, which signs no ledger", where=str(path))
    return key


def _in_force(writer: Ledger) -> Verifier | None:
    """The key that the last `key` entry, or else the first pin, brought into force."""
    key = None if writer.begun.signer is None else Verifier.parse(writer.begun.signer)
    with Reader(writer.path) as reader:
        after = 0
        while page := reader.entries(after, PAGE):
            for entry in page:
                if entry.kind == "key":
                    key = KeyEntry.parse(entry.body)[0]
            after = page[-1].seq
    return key
