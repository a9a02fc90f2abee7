"""The times that tools write into their logs, brought to microseconds since 1970 UTC.

Four kinds occur. *Dates with a zone* and *epoch seconds* stand for themselves. *Dates without a zone* are the clock on the wall
where the tool ran: `--zone`, else the zone of `--start`, else UTC, which is then said. *Times of day* need the day of `--start`;
*seconds since the tool began* need `--start` itself. Without it these two give no time at all: an invented one would merge two
ports in an order that never was.

An hour that the wall clock shows twice (summer time's end) is told apart by the log's own order where it can be: when a time
would step back, it is the second pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tablectl.errors import UsageError

__all__ = ["LATEST", "Base", "Stamps", "base_of", "micros_of"]

LATEST = 253_402_300_799_999_999
"""The last microsecond of the year 9999: no stamp is later."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000
_HOUR = 3600 * _SECOND
_EPOCH_FROM = 10**8  # seconds: a larger number is a date (1973 and later), a smaller one the running time of a tool

_FRACTION = r"(?:[.,](\d{1,9}))?"
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)", re.ASCII)
_DAY = re.compile(r"(\d{4})[-/.](\d\d)[-/.](\d\d)", re.ASCII)
_DATED = re.compile(rf"{_DAY.pattern}[T _](\d\d:\d\d:\d\d){_FRACTION} ?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)
_CLOCK = re.compile(rf"(\d\d:\d\d:\d\d){_FRACTION}", re.ASCII)
_NUMBER = re.compile(rf"(\d{{1,12}}){_FRACTION}", re.ASCII)


class Base(NamedTuple):
    """What the user says of a log's times.

    `zone` is None when nothing was said. `start` is in microseconds since 1970 UTC; with `whole_day` only its day was given.
    """

    zone: tzinfo | None = None
    start: int | None = None
    whole_day: bool = False


def base_of(start: str | None, zone: str | None) -> Base:
    """Read the options `--start` and `--zone`. Raises `UsageError` for what is no time, or no zone known here."""
    place = None if zone is None else _zone(zone)
    if start is None:
        return Base(place)
    text = start.strip()
    try:
        day = _DAY.fullmatch(text)
        if day:
            midnight = datetime.fromisoformat("-".join(day.groups())).replace(tzinfo=place or UTC)
            return Base(place, _bounded(_micros(midnight)), whole_day=True)
        dated = _DATED.fullmatch(text)
        if dated:
            year, month, of_month, clock, fraction, offset = dated.groups()
            here = place if offset is None else _offset(offset)
            moment = datetime.fromisoformat(f"{year}-{month}-{of_month}T{clock}").replace(tzinfo=here or UTC)
            return Base(place or here, _bounded(_micros(moment) + micros_of(fraction or "")))
        number = _NUMBER.fullmatch(text)
        if number and int(number[1]) >= _EPOCH_FROM:
            return Base(place, _epoch(number[1], number[2] or ""))
    except ValueError as error:
        raise UsageError(f"{start!r} is no time: {error}", field="--start") from None
    raise UsageError(f"{start!r} is no time; write 2026-11-30 or 2026-11-30T05:57:42+01:00", field="--start")


def micros_of(fraction: str) -> int:
    """Microseconds of a second's decimals: `5` is 500000. Digits after the sixth are dropped."""
    return int(fraction[:6].ljust(6, "0"))


class Stamps:
    """Reads one log's times, in the log's order. `warn` is told, once each, what the user should know."""

    def __init__(self, base: Base, warn: Callable[[str], None]):
        self._base = base
        self._warn = warn
        self._zone: tzinfo = base.zone or UTC
        self._fixed = isinstance(self._zone, timezone)
        self._last: int | None = None

    @property
    def start(self) -> int | None:
        """The time that the user gave the log, for one that has none of its own."""
        return self._base.start

    def moment(self, day: str, clock: str, fraction: str, zone: str | None = None) -> int:
        """A date `2026-11-30`, a time `05:57:42`, its decimals, and a zone where the log has one. Raises `ValueError`."""
        local = datetime.fromisoformat(f"{day}T{clock}")
        if zone is not None:
            return _bounded(_micros(local.replace(tzinfo=_offset(zone))) + micros_of(fraction))
        if self._base.zone is None:
            self._warn("its times carry no zone: taken as UTC (--zone says otherwise)")
        at = _micros(local.replace(tzinfo=self._zone)) + micros_of(fraction)
        if not self._fixed and self._last is not None and at < self._last - _SECOND:
            again = _micros(local.replace(tzinfo=self._zone, fold=1)) + micros_of(fraction)
            at = again if again >= self._last - _SECOND else at
        self._last = at
        return _bounded(at)

    def time_of_day(self, clock: str, fraction: str) -> int | None:
        """`05:57:42` and its decimals: the first such time from an hour before the last one on. Raises `ValueError`.

        For the first of a log the last one is `--start`, or the midnight that begins its day. None without `--start`.
        """
        of_day = time.fromisoformat(clock)
        if self._base.start is None:
            self._warn("its times have no day, so they are not used: give --start, such as 2026-11-30")
            return None
        earliest = self._base.start if self._last is None else self._last
        if self._last is not None or not self._base.whole_day:
            earliest -= _HOUR
        at = -1
        try:
            day = (_EPOCH + timedelta(microseconds=earliest)).astimezone(self._zone).date()
            for days in (0, 1, 2):
                at = _micros(datetime.combine(day + timedelta(days=days), of_day, self._zone)) + micros_of(fraction)
                if at >= earliest:
                    break
        except OverflowError:
            raise ValueError("the time is after the year 9999") from None
        self._last = at
        return _bounded(at)

    def elapsed(self, seconds: str, fraction: str) -> int | None:
        """Seconds since the tool began. None without `--start`."""
        if self._base.start is None:
            self._warn("its times count from when the tool began, so they are not used: give --start")
            return None
        return self.later(self._base.start, seconds, fraction)

    def later(self, at: int, seconds: str, fraction: str) -> int:
        """Some seconds and their decimals after `at`. Raises `ValueError` after the year 9999."""
        return _bounded(at + int(seconds) * _SECOND + micros_of(fraction))

    def epoch(self, seconds: str, fraction: str) -> int:
        """Seconds since 1970 UTC. Raises `ValueError` after the year 9999."""
        return _epoch(seconds, fraction)

    def read(self, text: str) -> int | None:
        """Any of the four kinds, told by its look. Raises `ValueError` when it is none."""
        dated = _DATED.fullmatch(text)
        if dated:
            year, month, day, clock, fraction, zone = dated.groups()
            return self.moment(f"{year}-{month}-{day}", clock, fraction or "", zone)
        of_day = _CLOCK.fullmatch(text)
        if of_day:
            return self.time_of_day(of_day[1], of_day[2] or "")
        number = _NUMBER.fullmatch(text)
        if number is None:
            raise ValueError(f"{text!r} is no time")
        known = self.epoch if int(number[1]) >= _EPOCH_FROM else self.elapsed
        return known(number[1], number[2] or "")


def _zone(name: str) -> tzinfo:
    if name in ("UTC", "Z", "z"):
        return UTC
    try:
        return _offset(name) if _OFFSET.fullmatch(name) else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"the zone {name!r} is not known here; write Europe/Paris or +01:00", field="--zone") from None


def _offset(text: str) -> timezone:
    """`+01:00` or `Z`. Raises `ValueError` for more than a day."""
    match = _OFFSET.fullmatch(text)
    if match is None:
        return UTC
    away = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-away if match[1] == "-" else away)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _epoch(seconds: str, fraction: str) -> int:
    return _bounded(int(seconds) * _SECOND + micros_of(fraction))


def _bounded(at: int) -> int:
    if not 0 <= at <= LATEST:
        raise ValueError("the time is not between the years 1970 and 9999")
    return at
