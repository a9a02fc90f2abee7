"""Breaks, framing and parity errors and overruns: counted by the driver, or told by a converter that speaks RFC 2217.

The bytes themselves show none of this. A pseudo-terminal has no line, and so no counts.
"""

from __future__ import annotations

import fcntl
import struct
from typing import NamedTuple

__all__ = ["NONE_YET", "LineErrors", "counted", "of_line_state"]

_TIOCGICOUNT = 0x545D  # Linux, asm-generic/ioctls.h: the termios module does not have it
_COUNTS = struct.Struct("20i")
_FRAME, _OVERRUN, _PARITY, _BREAK, _BUFFER_OVERRUN = 6, 7, 8, 9, 10

_LINE_STATE = {"breaks": 0x10, "framing": 0x08, "parity": 0x04, "overruns": 0x02}  # RFC 2217, section 3.1


class LineErrors(NamedTuple):
    """How many of each there were since some beginning."""

    breaks: int = 0
    framing: int = 0
    parity: int = 0
    overruns: int = 0

    def since(self, before: LineErrors) -> str:
        """`1 break, 3 framing errors`: what was added; empty for nothing. A count that fell was begun anew by the driver."""
        words = ("break", "framing error", "parity error", "overrun")
        added = [(now - then if now >= then else now, word) for now, then, word in zip(self, before, words, strict=True)]
        return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in added if count)


NONE_YET = LineErrors()


def counted(fd: int) -> LineErrors | None:
    """What the driver of this open device has counted, or None where it counts nothing."""
    try:
        counts = _COUNTS.unpack(fcntl.ioctl(fd, _TIOCGICOUNT, bytes(_COUNTS.size)))
    except OSError:
        return None
    return LineErrors(counts[_BREAK], counts[_FRAME], counts[_PARITY], counts[_OVERRUN] + counts[_BUFFER_OVERRUN])


def of_line_state(before: LineErrors, state: int) -> LineErrors:
    """Count in a notice of the line's state by RFC 2217: one byte, a bit for each kind."""
    return LineErrors(*(count + bool(state & _LINE_STATE[kind]) for count, kind in zip(before, before._fields, strict=True)))
