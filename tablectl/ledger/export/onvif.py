"""Events in the form of ONVIF's JSON over MQTT (Core Specification, event broker): a topic, and `UtcTime`, `Source`, `Data`.

::

    hall/main/t07/onvif-ej/tns:tablectl/Table/Alert/&t07
    {"UtcTime":"2026-11-30T05:57:51.134182Z",
     "Source":{"Table":"hall/main/t07"},
     "Data":{"Id":"8f0c…-412","Text":"…","Code":"dealer.drew_on_17",…}}

ONVIF has no topics for a gaming table, so ours stand in a namespace of their own, as it asks of makers. Values are texts, as in
its XML. Pure: no network.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, Final, NamedTuple

import msgspec

from tablectl.instants import from_micros
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.export.speaking import TOLD, Spoken, What, spoken
from tablectl.ledger.export.telling import facts

__all__ = ["TOPICS", "Event", "event", "write"]

TOPICS: Final[dict[What, str]] = {
    "prompt": "Table/Prompt",
    "dealt": "Table/Card",
    "outcome": "Table/Outcome",
    "alert": "Table/Alert",
    "ruling": "Table/Ruling",
    "ack": "Table/Acknowledged",
    "round_closed": "Table/RoundClosed",
    "phase": "Table/Phase",
    "link": "Device/Connection",
    "shoe_fault": "Device/ShoeFault",
    "shoe_loaded": "Table/ShoeLoaded",
    "table": "Table/State",
}
"""ONVIF's local topics, below the namespace."""

_SOURCE: Final = frozenset({"site", "pit", "table"})


class Event(NamedTuple):
    """An event for MQTT."""

    topic: str
    payload: bytes


def write(selected: Iterable[Selected], file: BinaryIO, options: Options) -> int:
    """The events of what a feed tells by itself, a line of JSON each: `{"topic": ..., "payload": {...}}`."""
    count = 0
    for one in selected:
        told = spoken(one, options.language)
        if told is not None and told.what in TOLD:
            made = event(one, told, options)
            line = {"topic": made.topic, "payload": msgspec.Raw(made.payload)}
            file.write(msgspec.json.encode(line) + b"\n")
            count += 1
    return count


def event(one: Selected, told: Spoken, options: Options) -> Event:
    """One event. `Id` is the same as of the message on the table's own topics: who reads both can drop one."""
    prefix = (options.prefix or str(one.table)).strip("/")
    data = {_pascal(name): _text(value) for name, value in facts(one, told).items() if name not in _SOURCE}
    payload: dict[str, object] = {} if one.at is None else {"UtcTime": from_micros(one.at)}
    payload["Source"] = {"Table": str(one.table)}
    payload["Data"] = {"Id": one.id, "Text": told.text, **data}
    topic = f"{prefix}/onvif-ej/tns:tablectl/{TOPICS[told.what]}/&{one.table.table}"
    return Event(topic, msgspec.json.encode(payload))


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _text(value: str | int | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
