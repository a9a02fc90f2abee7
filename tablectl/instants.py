"""Times: RFC 3339, UTC, always six digits of microseconds, so that text order is time order.

`2026-11-30T05:57:42.000631Z` is the one form that is written. Inside the program a time is that text, because the game only
hands it on; where it is reckoned with, it is a whole number of microseconds since 1970 (never a float).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

__all__ = ["canonical", "from_micros", "to_micros"]

_CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONELESS = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def from_micros(micros: int) -> str:
    """Print microseconds since 1970 (UTC) as a canonical time. Raises `ValueError` outside the years 1 to 9999."""
    try:
        moment = _ZONELESS + timedelta(microseconds=micros)
    except OverflowError as error:
        raise ValueError(f"{micros} microseconds since 1970 is no date") from error
    return moment.isoformat(timespec="microseconds") + "Z"


def to_micros(at: str) -> int:
    """Microseconds since 1970 (UTC) of any RFC 3339 time. Raises `ValueError` when it is none."""
    match = _RFC3339.fullmatch(at)
    if match is None:
        raise ValueError(f"{at!r} is no RFC 3339 time with a zone")
    day, clock, fraction, zone = match.groups()
    text = f"{day}T{clock}.{(fraction or '')[:6]:0<6}{'+00:00' if zone in 'Zz' else zone}"
    return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND


def canonical(at: str) -> str:
    """Bring any RFC 3339 time to the canonical form. Raises `ValueError` when it is none, or no real date."""
    micros = to_micros(at)
    return at if _CANONICAL.fullmatch(at) else from_micros(micros)
