"""One file for each tool whose logs can be read, and `open_log`, which finds out which of them a file needs.

A new tool is one new file with an `Importer` in it, and one line in `IMPORTERS`.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from tablectl.errors import LossyLog, UsageError
from tablectl.recording import native
from tablectl.recording.chunks import checked_port
from tablectl.recording.importers import jpnevulator, putty, pyserial_spy, raw, ser2net, socat, stamped, strace, tio
from tablectl.recording.logs import Head, Importer, Log, Options, head_of
from tablectl.recording.stamps import base_of

__all__ = ["IMPORTERS", "guess", "open_log"]

IMPORTERS: dict[str, Importer] = {
    "native": native.IMPORTER,
    "putty": putty.IMPORTER,
    "socat": socat.IMPORTER,
    "jpnevulator": jpnevulator.IMPORTER,
    "ser2net": ser2net.IMPORTER,
    "pyserial-spy": pyserial_spy.IMPORTER,
    "strace": strace.IMPORTER,
    "tio-hex": tio.HEX,
    "tio": tio.LINES,
    "stamped": stamped.IMPORTER,
    "picocom": raw.PICOCOM,
    "minicom": raw.MINICOM,
    "tio-strip": raw.TIO_STRIP,
    "raw": raw.RAW,
}
"""The formats by name, in the order in which a file is tried: the narrow ones first, raw bytes, which anything is, last."""


def guess(path: str | PathLike[str]) -> str:
    """The format of a log, by how its content begins. Raises `InputError` when it cannot be read, or is empty."""
    return _guessed(head_of(Path(path)))


def open_log(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    port: str = "shoe",
    start: str | None = None,
    zone: str | None = None,
    fd: int | None = None,
    pattern: str | None = None,
    lossy_ok: bool = False,
    swap: bool = False,
) -> Log:
    """Open a log of any known tool. Nothing but its beginning is read before the `Log` is iterated over.

    `format` is a key of `IMPORTERS`, else it is guessed. `port` names the line (a native recording names its own). `start` and
    `zone` give a log its base where it has no date or zone (see `stamps`). `fd` chooses strace's file descriptor, `pattern` reads
    stamped text, `swap` exchanges the directions. Raises `InputError` for a file that is empty, unreadable or, while iterating,
    no such log; `LossyLog` for a tool that loses bytes, unless `lossy_ok`; `UsageError` for an option that makes no sense.
    """
    place = Path(path)
    options = Options(checked_port(port), base_of(start, zone), fd, pattern, swap)
    if format is not None and format not in IMPORTERS:
        raise UsageError(f"the format {format!r} is not known; there are {', '.join(IMPORTERS)}", field="--format")
    head = head_of(place)
    name = format or ("stamped" if pattern is not None else _guessed(head))
    importer = IMPORTERS[name]
    told: list[str] = []
    if format is None and name == "raw":
        told.append(f"{place}: {raw.GUESSED}")
    if importer.lossy is not None:
        if not lossy_ok:
            raise LossyLog(f"{importer.lossy}, and nothing in the log shows it; --lossy-ok takes it as it is", where=str(place))
        told.append(f"{place}: {importer.lossy}, and nothing in the log shows it")
    return Log(place, name, importer, head, options, native.header_of(head) if name == "native" else {}, told)


def _guessed(head: Head) -> str:
    return next(name for name, importer in IMPORTERS.items() if importer.sniff(head))
