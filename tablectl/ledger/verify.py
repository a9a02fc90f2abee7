"""Whether a ledger is what was written: its file, entries, links, keys, checkpoints, and what stands beside the entries.

What each finds: the chain a changed, missing, moved or added entry; a checkpoint the same where the chain was made anew by
somebody without the key; a witness's notes (`Witnessed`) also a rollback, a shortened ledger and a fork, whoever holds the key.
Entries after the last checkpoint are bound by the chain alone, and `Report.signed` says where that begins.

A ledger may be verified while it is written: all is read as it stood when the reading began.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from tablectl.ledger.examined import Examined
from tablectl.ledger.keys import Verifier
from tablectl.ledger.report import Fault, Report
from tablectl.ledger.witnessed import Witnessed

__all__ = ["Fault", "Report", "verify", "verify_days"]


def verify_days(paths: Sequence[Path], keys: Collection[Verifier] = (), witness: Witnessed | None = None) -> list[Report]:
    """Verify ledgers, and that those of one table follow each other as they say. One report each, in the order given.

    `keys` are those that are trusted; where none are given a ledger's own word is taken for its keys.
    """
    days = [Examined(path, frozenset(keys), witness) for path in paths]
    wanted: dict[str, set[int]] = {}
    for day in days:
        day.peek()
        if day.begun is not None and day.begun.follows is not None:
            wanted.setdefault(day.begun.follows.session, set()).add(day.begun.follows.size)
    for day in days:
        day.read(wanted.get(day.report.session, ()))
    by_session: dict[str, Examined] = {}
    for day in days:
        session = day.report.session
        if session and session in by_session:
            day.fault(None, f"is of the same session as {by_session[session].report.ledger}: a copy, or one of two truths")
        by_session.setdefault(session, day)
    followed: dict[str, Examined] = {}
    for day in days:
        if day.begun is None or day.begun.follows is None:
            continue
        follows = day.begun.follows
        before = by_session.get(follows.session)
        if before is not None:
            day.follow(before, follows)
        if follows.session in followed and followed[follows.session] is not day:
            other = followed[follows.session].report.ledger
            day.fault(1, f"follows the same ledger as {other}: one of two truths")
        followed.setdefault(follows.session, day)
    for day in days:
        day.judge_keys(by_session)
    return [day.report for day in days]


def verify(path: Path, keys: Collection[Verifier] = (), witness: Witnessed | None = None) -> Report:
    """Verify one ledger."""
    return verify_days([path], keys, witness)[0]
