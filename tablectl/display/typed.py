"""A time as people type it to find a round: with or without date, seconds and zone. Pure."""

from __future__ import annotations

import re
from typing import Final

from tablectl.instants import canonical, from_micros, to_micros

__all__ = ["time_of"]

_DAY: Final = 24 * 3600 * 1_000_000
_CLOCK: Final = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?[Zz]?", re.ASCII)
_NO_SECONDS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_ZONED: Final = re.compile(r"([Zz]|[+-]\d\d:\d\d)$", re.ASCII)


def time_of(typed: str, *, now: int) -> str | None:
    """The canonical form; None for what is no time. Without a zone it is UTC.

    Without a date it is the last time that it was so late; `now` is in microseconds since 1970.
    """
    text = typed.strip().replace(" ", "T", 1)
    dateless = _CLOCK.fullmatch(text) is not None
    if dateless:
        text = f"{from_micros(now)[:10]}T{text}"
    if _NO_SECONDS.fullmatch(text):
        text = f"{text[:16]}:00{text[16:]}"
    if not _ZONED.search(text.partition("T")[2]):
        text += "Z"
    try:
        at = canonical(text)
    except ValueError:
        return None
    return from_micros(to_micros(at) - _DAY) if dateless and to_micros(at) > now else at
