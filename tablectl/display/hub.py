"""From the broker's messages to the readers' streams: every table heard of, and what is new for whom.

Everything that is shown has a number, which grows with every change. A reader (one open page) remembers the last number it was
sent, so catching up after a break is the same act as following: it is sent what has a greater one. Of a picture only the newest
is of use; of alerts a ring a table is kept. What a browser sends back as `Last-Event-ID` is that number and this process's own
word: to a server that was started anew meanwhile it means nothing, and all is sent afresh.

One thread, the event loop's, does all this. The clock is handed in.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from tablectl.display.heard import INCIDENTS, Heard
from tablectl.display.view import alert_shown, path_of, picture, row
from tablectl.errors import ConfigError
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName

__all__ = ["SILENT_SECONDS", "Clock", "Hub", "Reader"]

SILENT_SECONDS: Final = 5.0
"""A table or a broker that was not heard of for longer is shown in grey, with the age of what is shown."""
MOST_TABLES: Final = 500
"""More tables than this are no pit: whoever makes them up is not to fill the memory."""
_SECOND: Final = 1_000_000

Kind = Literal["table", "pit", "all", "alerts"]
_encode = msgspec.json.Encoder().encode


class Clock(NamedTuple):
    """Microseconds: `steady` from any beginning and never back, `wall` since 1970."""

    steady: Callable[[], int]
    wall: Callable[[], int]


class _Age(msgspec.Struct, frozen=True):
    """How long ago a table was heard of, in milliseconds; whether it would have been heard of if it were well."""

    age: int
    online: bool
    beats: bool


class _Beat(msgspec.Struct, frozen=True):
    """Said every second: the time, how long ago the broker was heard of in milliseconds (None: never), and the tables.

    `silent` is beyond how many milliseconds of silence a page turns grey.
    """

    now: str
    broker: int | None
    why: str
    silent: int
    tables: dict[str, _Age]


class _Numbered(NamedTuple):
    number: int
    body: bytes


class _Kept:
    """What is kept of a table to be sent. `picture` and `row` are made when somebody asks; None after a change."""

    def __init__(self, heard: Heard) -> None:
        self.heard = heard
        self.changed = 0
        self.picture: bytes | None = None
        self.row = _Numbered(0, b"")
        self.row_is_old = True
        self.alerts: deque[_Numbered] = deque(maxlen=INCIDENTS)
        self.dropped = 0


class Hub:
    """All tables, and those who look at them. `aims` are the rounds an hour a house aims at, by house (`` for the others)."""

    def __init__(self, clock: Clock, aims: Mapping[str, int] | None = None) -> None:
        self.word = secrets.token_hex(4)
        self.readers: set[Reader] = set()
        self._clock = clock
        self._aims = dict(aims or {})
        self._tables: dict[TableName, _Kept] = {}
        self._named: dict[tuple[str, str, str], _Kept] = {}
        self._number = 0
        self._broker_at: int | None = None
        self._broker_why = "not reached yet"
        self.unreadable = 0

    @property
    def tables(self) -> dict[TableName, Heard]:
        """What was heard, by table, in the order of their names."""
        return {name: self._tables[name].heard for name in sorted(self._tables, key=str)}

    def hear(self, topic: str, payload: bytes) -> None:
        """Take in a message of a table. What is of no table is passed over."""
        self.broker_is_there()
        levels = topic.split("/", 5)
        if len(levels) < 6 or levels[:2] != ["tablectl", "v1"]:
            return
        kept = self._table(*levels[2:5])
        if kept is None:
            return
        before = kept.heard.unreadable
        seen = kept.heard.hear(levels[5], payload, self._clock.steady())
        self.unreadable += kept.heard.unreadable - before
        if not (seen.picture or seen.alerts):
            return
        self._number += 1
        for alert in seen.alerts:
            incident = kept.heard.incidents.get(alert)
            if incident is not None:
                if len(kept.alerts) == INCIDENTS:
                    kept.dropped = kept.alerts[0].number
                kept.alerts.append(_Numbered(self._number, _encode(alert_shown(kept.heard, incident))))
        kept.changed, kept.picture, kept.row_is_old = self._number, None, True
        for reader in self.readers:
            reader.wake(kept.heard.name, alerts=bool(seen.alerts))

    def _table(self, site: str, pit: str, table: str) -> _Kept | None:
        kept = self._named.get((site, pit, table))
        if kept is None and len(self._tables) < MOST_TABLES:
            try:
                name = TableName(site, pit, table)
            except ConfigError:
                return None
            kept = self._tables[name] = self._named[site, pit, table] = _Kept(Heard(name))
        return kept

    def broker_is_there(self) -> None:
        """The broker was heard of."""
        self._broker_at = self._clock.steady()
        self._broker_why = ""

    def broker_is_away(self, why: str) -> None:
        """The broker cannot be reached."""
        self._broker_why = why

    def tick(self) -> None:
        """Look at what changes by itself, such as the pace: the rows are made anew, and sent where they are other than before."""
        for kept in self._tables.values():
            kept.row_is_old = True
        for reader in self.readers:
            if reader.kind in ("pit", "all"):
                reader.wake_for_all()

    # What a reader is sent.

    def beat(self, names: Iterator[TableName]) -> bytes:
        """How old everything is."""
        now = self._clock.steady()
        broker = None if self._broker_at is None else (now - self._broker_at) // 1000
        tables = {}
        for name in names:
            kept = self._tables.get(name)
            if kept is None:
                continue
            heard = kept.heard
            tables[path_of(name)] = _Age((now - heard.at) // 1000, heard.online is not False, heard.beats)
        said = _Beat(from_micros(self._clock.wall()), broker, self._broker_why, round(SILENT_SECONDS * 1000), tables)
        return b"event: beat\ndata: " + _encode(said) + b"\n\n"

    def names(self, reader: Reader) -> Iterator[TableName]:
        """The tables that a reader looks at."""
        return (name for name in self._tables if reader.wants(name))

    def news(self, reader: Reader) -> bytes:
        """All that a reader was not sent yet."""
        dirty, reader.dirty = reader.dirty, set()
        reader.event.clear()
        found: list[tuple[int, str, bytes]] = []
        for name in dirty:
            kept = self._tables.get(name)
            if kept is None:
                continue
            if reader.kind == "table" and kept.changed > reader.last:
                if kept.picture is None:
                    kept.picture = _encode(picture(kept.heard))
                found.append((kept.changed, "picture", kept.picture))
            if reader.kind in ("pit", "all"):
                self._refresh(kept)
                if kept.row.number > reader.last:
                    found.append((kept.row.number, "row", kept.row.body))
            if reader.kind == "alerts":
                found += [(one.number, "alert", one.body) for one in kept.alerts if one.number > reader.last]
        reader.last = self._number
        found.sort(key=lambda item: item[0])
        return b"".join(
            b"id: %s-%d\nevent: %s\ndata: %s\n\n" % (self.word.encode(), number, kind.encode(), body)
            for number, kind, body in found
        )

    def _refresh(self, kept: _Kept) -> None:
        if not kept.row_is_old:
            return
        kept.row_is_old = False
        body = _encode(row(kept.heard, now=self._clock.wall(), aims=self._aims))
        if body != kept.row.body:
            self._number += 1
            kept.row = _Numbered(self._number, body)

    def missed(self, last: str | None) -> int | None:
        """The number in a `Last-Event-ID`; None where it is not of this process, or what followed it is no longer kept."""
        word, _, number = (last or "").partition("-")
        if word != self.word or not number.isascii() or not number.isdigit() or len(number) > 18:
            return None
        known = int(number)
        return known if known <= self._number and all(kept.dropped <= known for kept in self._tables.values()) else None


class Reader:
    """An open page: which tables it shows, and what it was sent. Used as a context manager it is among the hub's readers.

    `table` and `pit` narrow it down; `alerts` and `all` are every table's. `last` is a browser's `Last-Event-ID`.
    """

    def __init__(
        self, hub: Hub, kind: Kind, *, table: TableName | None = None, pit: tuple[str, str] | None = None, last: str | None = None
    ) -> None:
        self.kind = kind
        self.event = asyncio.Event()
        self.dirty: set[TableName] = set()
        self._hub = hub
        self._one = table
        self._pit = pit
        missed = hub.missed(last)
        self.is_new = missed is None
        self.last = missed or 0

    def wants(self, name: TableName) -> bool:
        """Whether this page shows that table."""
        if self.kind == "table":
            return name == self._one
        return self.kind != "pit" or (name.site, name.pit) == self._pit

    def wake(self, name: TableName, *, alerts: bool) -> None:
        """Something of this table changed."""
        if self.wants(name) and (alerts or self.kind != "alerts"):
            self.dirty.add(name)
            self.event.set()

    def wake_for_all(self) -> None:
        """Look at all its tables."""
        self.dirty.update(self._hub.names(self))
        self.event.set()

    def __enter__(self) -> Reader:
        self._hub.readers.add(self)
        self.wake_for_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._hub.readers.discard(self)
