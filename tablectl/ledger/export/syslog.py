"""Syslog by RFC 5424: a line of plain text for people, and before it the same as structured data for programs.

::

    <132>1 2026-11-30T05:57:51.134182Z pit-pc tablectl - alert [tablectl@32473 site="hall" ...][meta sequenceId="412"] BOM text

The severity is the alert's (`critical` 2, `warning` 4, `info` 6); a ruling is 5, the rest 6. Pure: no socket, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import BinaryIO, Final

from tablectl.instants import from_micros
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.export.speaking import TOLD, Spoken, spoken
from tablectl.ledger.export.telling import facts

__all__ = ["LONGEST", "message", "write"]

LONGEST: Final = 2048
"""What every receiver should take (RFC 5424, 6.1), in bytes; a longer text is cut."""

_SEVERITY: Final = {"critical": 2, "warning": 4, "info": 6}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_ESCAPED: Final = re.compile(r'["\\\]]')
_NO_NAME: Final = re.compile(r"[^\x21-\x7e]+")
_CYCLE: Final = 2**31 - 1
_BOM: Final = b"\xef\xbb\xbf"


def write(selected: Iterable[Selected], file: BinaryIO, options: Options) -> int:
    """The messages of what a feed tells by itself, one a line."""
    count = 0
    for one in selected:
        told = spoken(one, options.language)
        if told is not None and told.what in TOLD:
            file.write(message(one, told, options) + b"\n")
            count += 1
    return count


def message(one: Selected, told: Spoken, options: Options) -> bytes:
    """One message, without framing and without a line end in it, at most `LONGEST` bytes."""
    severity = _SEVERITY.get(getattr(told.about, "severity", ""), 5 if told.what in ("ruling", "ack") else 6)
    at = "-" if one.at is None else from_micros(one.at)
    host = _NO_NAME.sub("-", options.hostname or "")[:255] or "-"
    data = " ".join(f'{name}="{_value(value)}"' for name, value in facts(one, told).items())
    meta = f'sequenceId="{(one.entry.seq - 1) % _CYCLE + 1}" language="{options.language or one.pin.language}"'
    head = f"<{options.facility * 8 + severity}>1 {at} {host} tablectl - {told.what}"
    raw = f"{head} [tablectl@{options.enterprise} {data}][meta {meta}] ".encode() + _BOM
    text = _CONTROL.sub(" ", told.text).encode()[: max(0, LONGEST - len(raw))]
    return raw + text.decode(errors="ignore").encode()  # not half a letter


def _value(value: str | int | bool) -> str:
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return _ESCAPED.sub(lambda found: "\\" + found[0], _CONTROL.sub(" ", text))
