"""WebVTT: text tracks that browsers and video systems show, and can search.

A cue's identifier is the entry's number; its class says what it is (`prompt`, `dealt`, `outcome`, `alert`, `ruling`), so that a
page can style it. Prompts stand at the bottom, the rest at the top.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import BinaryIO, Final

from tablectl.instants import from_micros
from tablectl.ledger.export.cues import Cue, Cues, clock
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected

__all__ = ["write"]

_SETTINGS: Final = {
    "prompt": "",
    "dealt": " line:0 align:start",
    "outcome": " line:0 align:end",
    "alert": " line:2",
    "ruling": " line:2",
}
_BREAKS: Final = re.compile(r"[\r\n\x00]+")


def write(selected: Iterable[Selected], file: BinaryIO, options: Options) -> int:
    """One video's cues. What the times count from, and the table, stand in a note."""
    cues = Cues(selected, options)
    rest = iter(cues)
    first = next(rest, None)
    file.write(b"WEBVTT\n\n")
    if cues.start is not None:
        said = f"NOTE\nvideo starts: {from_micros(cues.start)}\n"
        file.write((said + (f"language: {options.language}\n" if options.language else "") + "\n").encode())
    count = 0
    for cue in chain([] if first is None else [first], rest):
        file.write(_block(cue).encode())
        count += 1
    return count


def _block(cue: Cue) -> str:
    text = _BREAKS.sub(" ", cue.text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    times = f"{clock(cue.start, '.')} --> {clock(cue.end, '.')}{_SETTINGS[cue.what]}"
    return f"{cue.number}\n{times}\n<c.{cue.what}>{text}</c>\n\n"
