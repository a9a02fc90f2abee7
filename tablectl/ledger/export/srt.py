"""SRT (SubRip), for players that know no WebVTT. No notes, no classes: a cue is a number, two times and a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import BinaryIO, Final

from tablectl.ledger.export.cues import Cues, clock
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected

__all__ = ["write"]

_BREAKS: Final = re.compile(r"[\r\n\x00]+")


def write(selected: Iterable[Selected], file: BinaryIO, options: Options) -> int:
    """One video's cues, numbered from 1. Lines end with CR LF, as those who invented it have it."""
    count = 0
    for count, cue in enumerate(Cues(selected, options), start=1):
        text = _BREAKS.sub(" ", cue.text)
        block = f"{count}\r\n{clock(cue.start, ',')} --> {clock(cue.end, ',')}\r\n{text}\r\n\r\n"
        file.write(block.encode())
    return count
