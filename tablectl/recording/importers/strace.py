r"""strace -f -ttt -xx -s 65536 of a program that has the port open: its read() and write() calls.

::

    11587 1796014107.421005 read(3, "\x02\x43\x2c", 64) = 3
    11587 1796014107.430922 write(3, "\x06", 1) = 1

Bytes that were read are from the device, bytes that were written are to it. Which file descriptor is the port is the user's to
say (`--fd`) where the program read from several. A descriptor is many files in turn: where the log shows them being opened and
closed (or names them, `-y`), those that are not under `/dev/` do not count.

`-tt` (a time of day) is read as well, and so are `-T` and the escapes of `-x` and of no option. A call that strace shows in two
parts (`<unfinished ...>`, `resumed`) counts when it ended; any other when it began, or, with `-T`, when it ended. A string that
strace cut short (`"..."...`, without a large `-s`) is a bad line: its bytes are lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tablectl.errors import InputError
from tablectl.recording.chunks import Chunk
from tablectl.recording.logs import Head, Importer, Line, Reading

__all__ = ["IMPORTER"]

_CALL = re.compile(
    r"(?:\[pid +(?P<pid>\d+)\] |(?P<leading>\d+) +)?(?:(?P<at>\d{9,11}\.\d+|\d\d:\d\d:\d\d(?:\.\d+)?) )?"
    r"(?P<what>\w+\(.*|<\.\.\. \w+ resumed>.*|\+\+\+ .*|--- .*|strace: .*)",
    re.ASCII | re.DOTALL,
)
_OURS = re.compile(r"(?:read|write)\(|<\.\.\. (?:read|write) resumed>")
_TRANSFER = re.compile(
    r'(?P<kind>read|write)\((?P<fd>\d{1,9})(?:<(?P<file>[^"]*?)>)?, *"(?P<shown>(?:[^"\\]++|\\.)*+)"(?:\.\.\.)?, \d+\) += '
    r"(?P<count>\d{1,9})(?: <(?P<took>\d{1,9})\.(?P<micros>\d+)>)?",
    re.ASCII | re.DOTALL,
)
_NOTHING = re.compile(r"(?:read|write)\(\d+.* = (?:-1 .*|\?.*|0(?: <[\d.]+>)?)", re.ASCII | re.DOTALL)
_UNFINISHED = "<unfinished ...>"
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed> ?(.*)", re.DOTALL)
_OPENED = re.compile(r'open(?:at)?\([^"]*"((?:[^"\\]++|\\.)*+)".*\) += (\d{1,9})', re.ASCII)
_CLOSED = re.compile(r"close\((\d+)", re.ASCII)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f", "a": "\a", "b": "\b", "e": "\x1b"}
_LIMIT = 4096  # processes, and descriptors, that are kept in mind


class _Call(NamedTuple):
    """A call that ended, as `read(3, "...", 64) = 3`; when; `split` says that strace showed it in two parts."""

    line: Line
    at: str | None
    text: str
    split: bool


class _Files:
    """Which file each descriptor is, as far as the log shows."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.reliable = False  # the log shows files being closed as well, or names them in each call

    def note(self, call: str) -> None:
        """Learn from a call that is neither read() nor write()."""
        opened = _OPENED.match(call)
        closed = _CLOSED.match(call)
        if opened and len(self._names) < _LIMIT:
            self._names[opened[2]] = _unescaped(opened[1]).decode("utf-8", errors="replace")
        elif closed:
            self.reliable = True
            self._names.pop(closed[1], None)

    def name(self, transfer: re.Match[str]) -> str:
        """The file of a read() or write(); empty where it is not known."""
        if transfer["file"]:
            self.reliable = True
            return _unescaped(transfer["file"]).decode("utf-8", errors="replace")
        return self._names.get(transfer["fd"], "")


def sniff(head: Head) -> bool:
    """The first lines are all calls, and one of them shows its end."""
    first = [line for line in head.lines if line][:20]
    return (
        bool(first)
        and all(_CALL.fullmatch(line) for line in first)
        and any(") = " in line or "resumed>" in line for line in first)
    )


def read(reading: Reading) -> Iterator[Chunk]:
    """One chunk for each call that moved bytes."""
    wanted, reliable = _survey(reading)
    files = _Files()
    met = False
    for call in _calls(reading, files):
        transfer = _TRANSFER.fullmatch(call.text)
        if transfer is None:
            if not _NOTHING.fullmatch(call.text):
                reading.bad("a read or write that cannot be understood", call.line)
            continue
        if transfer["fd"] != wanted or (reliable and _outside(files.name(transfer))):
            continue
        met = True
        count = int(transfer["count"])
        data = _unescaped(transfer["shown"])
        if call.line.torn:
            reading.torn(call.line.number, "the call's result is not complete")
            count = len(data)
        if len(data) < count:
            reading.bad(f"strace shows {len(data)} of {count} bytes; record with -s 65536", call.line, "bytes")
        try:
            at = None if call.at is None else reading.stamps.read(call.at)
            if at is not None and transfer["took"] and not call.split:
                at = reading.stamps.later(at, transfer["took"], transfer["micros"])
        except ValueError as error:
            reading.bad(str(error), call.line, "time")
            continue
        yield from reading.chunks(at, transfer["kind"] == "read", data[:count])
    if reading.recognised and not met and reading.options.fd is not None:
        raise InputError(f"nothing was read from or written to descriptor {wanted}", where=str(reading.path), field="--fd")


IMPORTER = Importer("strace", read, sniff)


def _calls(reading: Reading, files: _Files) -> Iterator[_Call]:
    """The read() and write() calls, those in two parts put together; `files` is told of the others."""
    begun: dict[str, str] = {}
    for line in reading.rows():
        match = _CALL.fullmatch(line.text)
        if match is None:
            if line.text:
                reading.bad("this is no call as strace shows it", line)
            continue
        reading.recognised = True
        what, process = match["what"], match["pid"] or match["leading"] or ""
        if not _OURS.match(what):
            files.note(what)
            continue
        resumed = _RESUMED.fullmatch(what)
        if what.endswith(_UNFINISHED):
            if len(begun) < _LIMIT:
                begun[process] = what.removesuffix(_UNFINISHED).rstrip(" ")
        elif resumed:
            start = begun.pop(process, "")
            if not start.startswith(f"{resumed[1]}("):
                reading.bad("the beginning of this call is not in the log", line)
            else:  # `read(3,` and `"\x02", 64) = 1`; or `write(3, "\x06", 1` and `) = 1`
                rest = resumed[2] if resumed[2].startswith(")") else f" {resumed[2]}"
                yield _Call(line, match["at"], start + rest, split=True)
        else:
            yield _Call(line, match["at"], what, split=False)


def _survey(reading: Reading) -> tuple[str | None, bool]:
    """Look through the whole log for the descriptor that is the port, and whether the files' names can be relied on.

    Raises `InputError` where there are several.
    """
    files = _Files()
    came: Counter[str] = Counter()  # bytes read, by descriptor
    elsewhere: Counter[str] = Counter()  # those of them that were no device's
    names: dict[str, str] = {}
    for call in _calls(reading.again(), files):
        transfer = _TRANSFER.fullmatch(call.text)
        if transfer is None or (transfer["fd"] not in came and len(came) >= _LIMIT):
            continue
        descriptor, name = transfer["fd"], files.name(transfer)
        count = int(transfer["count"]) if transfer["kind"] == "read" else 0
        came[descriptor] += count
        if _outside(name):
            elsewhere[descriptor] += count
        else:
            names[descriptor] = name or names.get(descriptor, "")
    if reading.options.fd is not None:
        return str(reading.options.fd), files.reliable
    if files.reliable:
        came.subtract(elsewhere)
    candidates = [descriptor for descriptor, count in came.items() if count > 0] or list(came)
    if len(candidates) > 1:
        known = ", ".join(
            f"{descriptor} ({' '.join([names.get(descriptor, ''), str(came[descriptor])]).strip()} bytes)"
            for descriptor in sorted(candidates, key=int)[:10]
        )
        message = f"the program used several descriptors: {known}; say which is the port with --fd"
        raise InputError(message, where=str(reading.path), field="--fd")
    return next(iter(candidates), None), files.reliable


def _outside(name: str) -> bool:
    """A file that is surely no serial port."""
    return name.startswith("/") and not name.startswith("/dev/")


def _unescaped(shown: str) -> bytes:
    return _ESCAPE.sub(_letter, shown).encode("latin-1")


def _letter(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] == "x" and len(code) == 3:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _LETTERS.get(code, code)
