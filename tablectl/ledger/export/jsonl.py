"""Every entry as it is: one JSON object a line, its body what was written, to the byte. The other formats are views of this."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

import msgspec

from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.reader import Entry
from tablectl.ledger.signed_note import to_base64

__all__ = ["line", "write"]


def write(selected: Iterable[Selected], file: BinaryIO, options: Options) -> int:
    """Number, kind and body of each entry; a body that is no JSON on one line is given as `base64`."""
    count = 0
    for one in selected:
        file.write(line(one.entry).encode() + b"\n")
        count += 1
    return count


def line(entry: Entry) -> str:
    """An entry as a line of JSON; its body as it is, where it is JSON on one line."""
    head = f'{{"seq":{entry.seq},"kind":{msgspec.json.encode(entry.kind).decode()}'
    try:
        if b"\n" in entry.body or b"\r" in entry.body:
            raise ValueError
        msgspec.json.decode(entry.body)
        body = entry.body.decode()
    except (ValueError, RecursionError):
        return f'{head},"base64":"{to_base64(entry.body)}"}}'
    return f'{head},"body":{body}}}'
