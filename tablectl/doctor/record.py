"""The record: who writes it, the ledger's head, the recordings; and the files of keys."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from tablectl.config import ConfigFile
from tablectl.daemon.credentials import PREFIX, others_may, secret
from tablectl.doctor.configuration import secrets
from tablectl.doctor.finding import Account, Finding, described, failed, passed, warned
from tablectl.errors import ConfigError, LedgerError, TablectlError
from tablectl.instants import to_micros
from tablectl.ledger import chain
from tablectl.ledger.checkpoint import Checkpoint
from tablectl.ledger.merkle import Frontier
from tablectl.ledger.reader import Reader
from tablectl.ledger.signed_note import Note
from tablectl.recording.damage import damage_of
from tablectl.recording.folder import recordings as recordings_in
from tablectl.shoe.holders import Holder, holders

__all__ = ["Running", "keys", "last_time", "ledger", "recordings", "running"]

_PATIENCE = 5.0
"""Seconds for which entries are read; a long ledger is for `tablectl audit verify`."""
_LATE = 3
"""A checkpoint is late after so many of its intervals."""
_FAULT = LedgerError.exit_code


class Running(NamedTuple):
    """Whether a daemon runs this table, and which processes have its lock open (none, where we may not see them)."""

    is_held: bool
    holders: tuple[Holder, ...]


def running(found: ConfigFile) -> Running:
    """Whether somebody holds the lock in the table's folder. It is not tried: a daemon that starts meanwhile would be refused."""
    path = found.beside(found.config.storage.folder) / "lock"
    try:
        wanted = path.stat().st_ino
        locks = Path("/proc/locks").read_text()
    except OSError:
        return Running(False, ())
    who = tuple(holders(path))
    rows = (line.split() for line in locks.splitlines())  # 3: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF
    held = [row[4] for row in rows if row[1] == "FLOCK" and row[5].rpartition(":")[2] == str(wanted)]
    # The device's number is not compared, as some file systems show stat() another: so its holder has to be seen, where we may.
    seen = tuple(holder for holder in who if str(holder.pid) in held)
    return Running(bool(seen) or bool(held and os.geteuid() != 0), seen)


def _newest(found: ConfigFile) -> Path | None:
    folder = found.beside(found.config.storage.folder) / "ledger"
    ledgers = [path for path in folder.glob("*.db") if path.is_file()]
    return max(ledgers, key=_place, default=None)


def _place(path: Path) -> tuple[str, int]:
    day, _, part = path.stem.partition(".")
    return day, int(part) if part.isdigit() else 1


def ledger(found: ConfigFile, runs: Running) -> Iterator[Finding]:
    """The newest ledger: it opens, its entries are those that were signed, and how old the last checkpoint is."""
    path = _newest(found)
    if path is None:
        yield passed("ledger", "there is none yet; the first start begins it")
        return
    verify = f"tablectl audit verify {path}"
    try:
        with Reader(path) as reader:
            last = reader.last()
            kept = reader.latest("checkpoint")
            signed = None if kept is None else Checkpoint.parse(Note.parse(kept.body).text)
            if signed is not None and signed.size > last:
                raise LedgerError(f"ends at entry {last}, but {signed.size} were signed", where=str(path))
            read, root = _root(reader, last if signed is None else signed.size)
    except LedgerError as error:
        yield failed("ledger", str(error), verify, _FAULT)
        return
    if signed is None:
        yield warned("ledger", f"{path.name} has {last} entries, and none is signed yet", verify)
        return
    if read < signed.size:
        yield passed("ledger", f"{path.name} opens: {last} entries; too many to read now ({verify})")
    elif root != signed.root:
        yield failed("ledger", f"{path}: its first {signed.size} entries are not those that were signed", verify, _FAULT)
        return
    else:
        yield passed("ledger", f"{path.name}: {last} entries, of which the first {signed.size} are those that were signed")
    yield from _age(found, signed.at, runs)


def _age(found: ConfigFile, at: str, runs: Running) -> Iterator[Finding]:
    if not at:
        return
    seconds = time.time() - to_micros(at) / 1_000_000
    text = f"the last checkpoint is {max(0.0, seconds):,.0f} s old ({at})"
    every = found.config.ledger.checkpoint_seconds
    if runs.is_held and seconds > _LATE * every:
        yield warned("ledger", f"{text}, though one is due every {every:g} s", f"journalctl -u tablectl@{found.path.stem} -n 50")
    else:
        yield passed("ledger", text)


def _root(reader: Reader, size: int) -> tuple[int, bytes]:
    """How many of the first entries were read in time, and the root of their tree."""
    frontier, deadline = Frontier(), time.monotonic() + _PATIENCE
    while frontier.size < size and time.monotonic() < deadline:
        entries = reader.entries(frontier.size, min(1000, size - frontier.size))
        if not entries:
            break
        for entry in entries:
            frontier.add(chain.leaf(*entry))
    return frontier.size, frontier.root


class _Timed(msgspec.Struct):
    at: str | None = None


def last_time(found: ConfigFile) -> int | None:
    """When the last notice of the newest ledger was made, in microseconds since 1970; None where nothing says."""
    path = _newest(found)
    if path is None:
        return None
    try:
        with Reader(path) as reader:
            for entry in reversed(reader.entries(max(0, reader.last() - 50), 50)):
                at = msgspec.json.decode(entry.body, type=_Timed).at if entry.kind in ("observation", "notice") else None
                if at is not None:
                    return to_micros(at)
    except (TablectlError, msgspec.DecodeError, ValueError):
        return None  # `ledger` says what is wrong with it
    return None


def recordings(found: ConfigFile, account: Account) -> Iterator[Finding]:
    """The folder of the raw bytes."""
    folder = found.beside(found.config.storage.folder) / "recordings"
    if not folder.is_dir():
        yield passed("recordings", "there are none yet; the first start makes the folder")
        return
    if not account.may(folder, 7):
        text = f"{folder} ({described(folder)}) may not be written by {account.name}"
        yield failed("recordings", text, f"chown -R {account.name} {folder}", _FAULT)
        return
    files = [path.stat() for path in folder.iterdir() if path.is_file()]
    size = sum(file.st_size for file in files) / 1_000_000
    yield passed("recordings", f"{len(files)} files, {size:,.1f} MB in {folder}")
    deadline = time.monotonic() + _PATIENCE
    for path in reversed(recordings_in(folder)):  # the newest first
        if time.monotonic() > deadline:
            break
        damage = damage_of(path) if path.stat().st_size and os.access(path, os.R_OK) else None
        if damage is not None:
            ledgers = found.beside(found.config.storage.folder) / "ledger"
            yield warned("recordings", str(damage), f"tablectl audit verify {ledgers}/DAY.db --replay {folder}")


def keys(found: ConfigFile) -> Iterator[Finding]:
    """Every secret that the configuration names, and that nobody but its owner may read it."""
    named = list(secrets(found))
    for field, value in named:
        path = secret(found, value)
        if path is None:
            path = found.path.with_suffix("") / value.removeprefix(PREFIX)
            if not path.exists():
                text = f"{field}: the service is handed {value}, but there is no {path} to hand over"
                yield warned("keys", text, f"install -D -m 600 FILE {path}")
                continue
        mode = others_may(path)
        if mode is not None:
            yield failed(
                "keys", f"{field}: {path} may be used by others (mode {mode})", f"chmod 600 {path}", ConfigError.exit_code
            )
        else:
            yield passed("keys", f"{field}: {path} is its owner's alone ({described(path)})")
    if not named:
        yield passed("keys", "none is named; the table makes its signing key in its own folder")
