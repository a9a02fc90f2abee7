"""CSV (RFC 4180): a line of names, then one row an entry. Lines end with CR LF; what is not known is empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import BinaryIO

from tablectl.ledger.export.columns import COLUMNS, row, shown
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected

__all__ = ["write"]


def write(selected: Iterable[Selected], file: BinaryIO, options: Options) -> int:
    """Times are RFC 3339 in UTC, cards stand with blanks between them."""
    line = io.StringIO(newline="")
    writer = csv.writer(line, lineterminator="\r\n")
    writer.writerow([column.name for column in COLUMNS])
    count = 0
    for count, one in enumerate(selected, start=1):
        writer.writerow([shown(value, column.kind) for value, column in zip(row(one), COLUMNS, strict=True)])
        if count % 100 == 0:
            _pass_on(line, file)
    _pass_on(line, file)
    return count


def _pass_on(line: io.StringIO, file: BinaryIO) -> None:
    file.write(line.getvalue().encode())  # bytes, so that no system makes other line ends of it
    line.seek(0)
    line.truncate()
