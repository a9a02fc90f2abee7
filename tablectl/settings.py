"""TOML files, read strictly: an unknown key, a missing key or a wrong value is an error that names file, line and key."""

from __future__ import annotations

import errno
import hashlib
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tablectl.complaints import explain
from tablectl.errors import ConfigError, HouseError, ProfileError

__all__ = ["MAX_BYTES", "bytes_of", "digest", "digest_of", "line_of", "read_toml"]

MAX_BYTES = 1 << 20
"""A configuration file larger than this is none of ours."""

T = TypeVar("T")
_NAMES: dict[type[ConfigError], str] = {HouseError: "house", ProfileError: "firmware profile"}
_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[^.\[\]"']+|"[^"]*"|'[^']*'|\[\d+\]""")


def digest(data: bytes) -> str:
    """SHA-256 of a file's bytes, in hexadecimal: what a ledger pins."""
    return hashlib.sha256(data).hexdigest()


def digest_of(path: Path) -> str:
    """SHA-256 of a file of any length, in hexadecimal. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bytes_of(path: Path, most: int = MAX_BYTES) -> bytes:
    """The bytes of an ordinary file, one beyond `most` of them at the most.

    Raises `OSError`, at once also for a pipe or a device: those might keep one waiting for ever.
    """
    mode = path.stat().st_mode  # looked at before it is opened, which would wait at a pipe, and may do something to a device
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a folder says what is wrong
        raise OSError(errno.EINVAL, "it is no ordinary file, but a pipe or a device", str(path))
    with path.open("rb") as file:
        return file.read(most + 1)


def read_toml(path: Path, kind: type[T], error: type[ConfigError] = ConfigError) -> tuple[T, bytes]:
    """Read a TOML file as `kind` (a msgspec Struct), together with its bytes.

    Raises `error` (a `ConfigError`) with file, line and key when the file is missing, no TOML, or not what `kind` asks for.
    """
    where = str(path)
    try:
        data = bytes_of(path)
    except OSError as fault:
        raise error(f"cannot be read: {fault.strerror}", where=where) from None
    if len(data) > MAX_BYTES:
        raise error(f"is larger than {MAX_BYTES} bytes", where=where)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        raise error("is not UTF-8", where=where, line=line) from None
    return convert(text, kind, where=where, error=error), data


def convert(text: str, kind: type[T], *, where: str, error: type[ConfigError] = ConfigError) -> T:
    """`read_toml` for text that is at hand."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        message, line = _syntax(str(fault), text)
        raise error(f"no TOML: {message}", where=where, line=line) from None
    except RecursionError:
        raise error("no TOML: nested too deeply", where=where) from None
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as fault:
        if not values:
            raise error("is empty", where=where) from None
        known = [found.encode_name for found in msgspec.structs.fields(kind)] if issubclass(kind, msgspec.Struct) else []
        if known and not values.keys() & known:
            what = f"is no {_NAMES[error]}" if error in _NAMES else "is another kind of file"
            raise error(f"{what}: it has none of the keys {', '.join(known)}", where=where) from None
        message, field = explain(fault, kind)
        raise error(message, where=where, line=line_of(text, field), field=field) from None


def _syntax(message: str, text: str) -> tuple[str, int]:
    match = re.search(r" \(at line (\d+), column \d+\)$", message)
    if match:
        return message[: match.start()], int(match[1])
    return message.removesuffix(" (at end of document)"), text.count("\n") + 1


def line_of(text: str, field: str | None) -> int | None:
    """The line (from 1) where a key such as `frame.checksum.name` or `vector[2].bytes` stands, or the nearest key above it.

    None when nothing of the path is in the file. Good for the way people write these files: one key a line.
    """
    if not field:
        return None
    wanted = _parts(field)
    best: tuple[int, int] | None = None
    table: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            table = _parts(header[2])
            if header[1] == "[[":
                name = ".".join(table)
                seen[name] = seen.get(name, -1) + 1
                if table == wanted and best is None:  # of all of them, the first
                    best = (len(table), number)
                table = [*table, f"[{seen[name]}]"]
            here = table
        else:
            key = _KEY.match(line)
            if not key:
                continue
            here = table + _parts(key[1])
        if here == wanted[: len(here)] and (best is None or len(here) > best[0]):
            best = (len(here), number)
    return best[1] if best else None


def _parts(path: str) -> list[str]:
    """`a.b[2]."c d"` -> `["a", "b", "[2]", "c d"]`."""
    return [part.strip().strip("\"'") for part in _PART.findall(path) if part.strip()]


def as_dict(value: object) -> dict[str, Any]:
    """A settings Struct as plain JSON-like values, for `show --json`."""
    result: dict[str, Any] = msgspec.to_builtins(value)
    return result
