"""What a check found: whether all is well, in words, and the command that mends it."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tablectl.errors import EXIT_ALERTS

__all__ = ["ACCOUNT", "Account", "Finding", "Verdict", "account", "described", "exit_code", "failed", "passed", "warned"]

Verdict = Literal["pass", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor's. `mend` is what to do about it, a command where there is one; `code` the exit code of a fail."""

    check: str
    verdict: Verdict
    text: str
    mend: str = ""
    code: int = 0


def passed(check: str, text: str) -> Finding:
    """All is well."""
    return Finding(check, "pass", text)


def warned(check: str, text: str, mend: str = "") -> Finding:
    """A table can run, and somebody is to look at it."""
    return Finding(check, "warn", text, mend)


def failed(check: str, text: str, mend: str = "", code: int = 1) -> Finding:
    """A table cannot run, or not as it must. `code` is that of the family of errors it is one of."""
    return Finding(check, "fail", text, mend, code)


def exit_code(findings: Iterable[Finding]) -> int:
    """0: all is well. 3: there are warnings. Fails that are all of one family: its code; of several: 1."""
    seen = list(findings)
    codes = {finding.code for finding in seen if finding.verdict == "fail"}
    if codes:
        return codes.pop() if len(codes) == 1 else 1
    return EXIT_ALERTS if any(finding.verdict == "warn" for finding in seen) else 0


ACCOUNT = "tablectl"
"""The user that the service runs as (`systemd/sysusers.d/tablectl.conf`)."""


class Account(NamedTuple):
    """Who will run the table: what it may do is asked of the mode bits, since root may do everything."""

    name: str
    uid: int
    groups: frozenset[int]

    def may(self, path: Path, wanted: int) -> bool:
        """Whether it may read (4), write (2), enter (1) what is there. Raises `OSError`."""
        if self.uid == 0:
            return True
        found = path.stat()
        shift = 6 if found.st_uid == self.uid else 3 if found.st_gid in self.groups else 0
        return (found.st_mode >> shift) & wanted == wanted


def account() -> Account:
    """The service's user where we are root and it is there; else ourselves."""
    if os.geteuid() == 0:
        try:
            entry = pwd.getpwnam(ACCOUNT)
        except KeyError:
            return Account("root", 0, frozenset())
        return Account(ACCOUNT, entry.pw_uid, frozenset(os.getgrouplist(ACCOUNT, entry.pw_gid)))
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = str(uid)
    return Account(name, uid, frozenset({os.getegid(), *os.getgroups()}))


def described(path: Path) -> str:
    """Mode, owner and group: `crw-rw---- root:tablectl`. Raises `OSError`."""
    found = path.stat()
    names = []
    for number, look in ((found.st_uid, _user), (found.st_gid, _group)):
        try:
            names.append(look(number))
        except KeyError:
            names.append(str(number))
    return f"{stat.filemode(found.st_mode)} {':'.join(names)}"


def _user(number: int) -> str:
    return pwd.getpwuid(number).pw_name


def _group(number: int) -> str:
    return grp.getgrgid(number).gr_name
