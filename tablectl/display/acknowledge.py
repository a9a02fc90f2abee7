"""A supervisor's acknowledgement, from a page to the table: the one thing that goes the other way, and only through here.

The browser names a table and an alert; this server knows who asks, and speaks for them with their own key or certificate. The
table judges it like any command and records who gave it. Nothing else can be commanded from a page.
"""

from __future__ import annotations

import secrets
import time
from typing import Final

import msgspec

from tablectl.display.people import Member
from tablectl.errors import BrokerError, ConfigError
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import ask
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.orders import AckCommand, Response

__all__ = ["Answer", "Speaker"]

WAIT_SECONDS: Final = 8.0
GOOD_FOR: Final = 20
"""Seconds beyond the wait for which the command is good, so that clocks may differ a little."""


class Answer(msgspec.Struct, frozen=True):
    """What became of it, for the page. `reason` is a word of the table's, or `no_answer`; None when it was done."""

    done: bool
    reason: str | None = None
    detail: str = ""
    by: str = ""


class Speaker:
    """Speaks to the tables for members. `credentials` are the server's own, for those who sign."""

    def __init__(self, address: Address, credentials: Credentials) -> None:
        self._address = address
        self._credentials = credentials

    def acknowledge(self, member: Member, table: TableName, alert: int) -> Answer:
        """Ask the table and wait for its answer: not for the event loop."""
        expires = from_micros(time.time_ns() // 1000 + int((WAIT_SECONDS + GOOD_FOR) * 1_000_000))
        command = AckCommand(id=secrets.token_hex(16), expires=expires, by=member.name, alert=alert)
        shown, vouched = self._credentials, member.certificate is not None
        if vouched:
            shown = Credentials(authorities=shown.authorities, certificate=member.certificate, key=member.key)
        try:
            body = ask(
                self._address,
                table,
                "ack",
                command,
                seconds=WAIT_SECONDS,
                credentials=shown,
                vouched=vouched,
                key=member.sign,
            )
            response = msgspec.json.decode(body, type=Response)
        except (BrokerError, ConfigError) as error:
            return Answer(False, "no_answer", error.message, member.name)
        except msgspec.DecodeError as error:
            return Answer(False, "no_answer", f"the answer cannot be read: {error}", member.name)
        return Answer(response.done, response.reason, response.detail, member.name)
