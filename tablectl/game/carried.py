"""A table's standing between two rounds as bytes: a ledger ends with its gaming day, and the table goes on in the next one.

Everything that can still matter is carried: stakes and seats, the shoe's books, its burn and its cut card, faults, devices, the
open alerts and their numbers, the last round and its number. `seq` and `cause` count anew in each ledger. A correction does not
reach back over the cut: what a closed ledger says stands. Therefore left behind are the round's history with where its draws lie,
and the numbers of notices in the old ledger (those of the open alerts become 0).
"""

from __future__ import annotations

from typing import Any

import msgspec

from tablectl.complaints import explain
from tablectl.game.betting import Sitting, Stakes
from tablectl.game.books import Books
from tablectl.game.history import History
from tablectl.game.phases import BETWEEN_ROUNDS
from tablectl.game.prompting import Said
from tablectl.game.round import Round
from tablectl.game.state import State
from tablectl.notices import Alert, DeviceState, PhaseName

__all__ = ["Standing", "carry", "may_be_carried", "take_over"]


class Standing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is carried; the names are those of `tablectl.game.speech.KEPT`, in which sets are written in their order."""

    house: str
    phase: PhaseName
    round: Round
    claims_cards: bool
    dealt_since_load: bool
    stakes: Stakes
    seats: tuple[Sitting, ...]
    books: Books
    burn_left: int
    past_cut: bool
    resume_to: PhaseName
    waived: tuple[str, ...]
    waived_of_shoe: tuple[str, ...]
    faults: tuple[tuple[str, int], ...]
    drawn_at: str | None
    devices: dict[str, DeviceState]
    open_alerts: tuple[Alert, ...]
    paid_late: tuple[int, ...]
    prompted: Said | None
    at: str | None
    alerts: int


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Standing)
_AS_IT_IS = tuple(
    name
    for name in Standing.__struct_fields__
    if name not in ("house", "phase", "waived", "waived_of_shoe", "devices", "open_alerts")
)
"""The fields that hold a table's own values."""


def may_be_carried(table: State) -> bool:
    """Whether a ledger may end here: no round is open, and nothing waits for a ruling."""
    return not table.round_open and not table.blockers and table.phase in ("closed", *BETWEEN_ROUNDS)


def carry(table: State) -> bytes:
    """The table's standing as one line of JSON, always the same bytes for the same standing.

    Raises `ValueError` while a round is open or the game is suspended.
    """
    if not may_be_carried(table):
        raise ValueError("a table is carried between two rounds only, and not while it waits for a ruling")
    return _ENCODER.encode(
        Standing(
            house=table.house.name,
            phase=table.phase,
            waived=tuple(sorted(table.waived)),
            waived_of_shoe=tuple(sorted(table.waived_of_shoe)),
            devices=dict(sorted(table.devices.items())),
            open_alerts=tuple(msgspec.structs.replace(alert, seq=0, cause=0) for alert in table.open_alerts),
            **{name: getattr(table, name) for name in _AS_IT_IS},
        )
    )


def take_over(table: State, carried: bytes) -> None:
    """Let a fresh table of the same house go on from where another one stood.

    Raises `ValueError`, with the field named, for bytes that `carry` did not write, and for a table that is not fresh or of
    another house; then the table is as it was.
    """
    standing = _read(carried)
    if table.cause:
        raise ValueError("only a fresh table takes over where another one stood")
    if standing.house != table.house.name:
        raise ValueError(f"house: {standing.house!r} was carried, and this is a table of {table.house.name!r}")
    if standing.phase not in ("closed", *BETWEEN_ROUNDS):
        raise ValueError(f"phase: {standing.phase!r} is not between two rounds")
    table.phases.go_back_to(standing.phase)
    for name in _AS_IT_IS:
        setattr(table, name, getattr(standing, name))
    table.waived = frozenset(standing.waived)
    table.waived_of_shoe = frozenset(standing.waived_of_shoe)
    table.devices = dict(standing.devices)
    table.open_alerts = standing.open_alerts
    table.history = History(table.standing())


def _read(carried: bytes) -> Standing:
    try:
        standing = _DECODER.decode(carried)
    except msgspec.ValidationError as error:
        message, field = explain(error, Standing)
        raise ValueError(f"{field}: {message}" if field else message) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no JSON object: {error}") from None
    again = _ENCODER.encode(standing)
    if again != carried:  # a field that has a default is missing within one of the values, or there is one more
        field = _difference(msgspec.json.decode(carried), msgspec.json.decode(again))
        raise ValueError(f"{field}: is not what was carried" if field else "is not written as it was carried")
    return standing


def _difference(given: Any, meant: Any) -> str | None:
    """The path of the first value in which two JSON documents differ."""
    if isinstance(given, dict) and isinstance(meant, dict):
        pairs = [(str(key), given.get(key, ...), meant.get(key, ...)) for key in {**meant, **given}]
    elif isinstance(given, list) and isinstance(meant, list) and len(given) == len(meant):
        pairs = [(str(index), *pair) for index, pair in enumerate(zip(given, meant, strict=True))]
    else:
        return None
    for key, mine, other in pairs:
        if type(mine) is not type(other) or mine != other:
            deeper = _difference(mine, other)
            return f"{key}.{deeper}" if deeper else key
    return None
