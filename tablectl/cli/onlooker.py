"""What a subscriber makes of a table's messages: its notices once by their ids, and the table as it stands. Pure."""

from __future__ import annotations

import msgspec

from tablectl import notices
from tablectl.game.view import TableView
from tablectl.mqtt.messages import CHANNELS, Envelope, type_name
from tablectl.notices import Notice

__all__ = ["Onlooker"]

_NOTICES = frozenset(type_name(name) for name in CHANNELS)
_STATE = type_name("state")

_envelope = msgspec.json.Decoder(Envelope).decode
_view = msgspec.json.Decoder(TableView).decode


class Onlooker:
    """Someone who knows of a table only what it says.

    `told` are the notices as they came, by their ids, in the order of their first arrival; `repeats` counts those that came
    again. `view` is the last state, and `view_holds` the number of the ledger's entry up to which it holds everything.
    """

    def __init__(self) -> None:
        self.told: dict[str, bytes] = {}
        self.repeats = 0
        self.view: TableView | None = None
        self.view_holds = 0

    def hear(self, payload: bytes) -> Notice | TableView | None:
        """Take in a message: a new notice, a new state, or None for a repeat and for what is neither.

        Raises `msgspec.DecodeError` for what no table of this version says.
        """
        event = _envelope(payload)
        data = bytes(event.data)
        if event.type == _STATE:
            self.view, self.view_holds = _view(data), int(event.sequence)
            return self.view
        if event.type not in _NOTICES:
            return None
        if event.id in self.told:
            self.repeats += 1
            return None
        self.told[event.id] = data
        return notices.decode(data)
