"""Where commands are carried out, one after the other, each once: also over a restart of the table. For the game's thread.

What is taken is recorded before it is done (`tablectl.mqtt.records`), so the ledger knows who ordered what follows. A response is
kept until its command has expired; a repeat is answered with it and not done twice. Where so many are kept that one would have to
be forgotten too early, new ones are refused. After a restart the ledger's records say which commands are still good, and the desk
is told of them by `remember` while the day is folded again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tablectl.game.table import Table
from tablectl.instants import from_micros, to_micros
from tablectl.mqtt.judgement import Order
from tablectl.mqtt.orders import Response, ShoeCommand, refusal
from tablectl.mqtt.records import Refusals, Refused, Taken, encode
from tablectl.mqtt.records import decode as decode_record
from tablectl.notices import Alert
from tablectl.notices import decode as decode_notice
from tablectl.observations import Ack, Observation, Ruling

__all__ = ["MOST_KEPT", "Desk"]

MOST_KEPT: Final = 1000
"""How many responses to one person are kept at a time."""
_INTERRUPTED: Final = "the table stopped meanwhile; whether it was done is not known"

_encode = msgspec.json.Encoder().encode


class Desk:
    """Carries out orders at `table`.

    `feed` takes an observation into the table, commits what it says, and gives the notices as their bytes. `record` keeps a
    record of a command that is about to be done, or that was refused, before what follows (None: nobody keeps any). `device` is
    asked to hand a host command to the shoe, and gives None, or the reason why it does not, such as `read_only` (None: that is
    the reason).
    """

    def __init__(
        self,
        table: Table,
        feed: Callable[[Observation], Sequence[bytes]],
        *,
        record: Callable[[bytes], object] | None = None,
        device: Callable[[ShoeCommand], str | None] | None = None,
    ):
        self._table = table
        self._feed = feed
        self._record = record or (lambda _: None)
        self._device = device or (lambda _: "read_only")
        self._refusals = Refusals()
        self._kept: OrderedDict[str, tuple[int, bytes, bytes, str]] = OrderedDict()

    def carry_out(self, order: Order, *, at: str | None, now: int) -> bytes:
        """Do what an order says, and give the response; to a repeat, the one it had.

        `at` is the time that the observation gets; `now` is held against `expires`, in microseconds since 1970. What `record`,
        `feed` and `device` raise goes through; a repeat of that order is then answered with `interrupted`, and not done.
        """
        command = order.command
        known = self._kept.get(command.id)
        if known is not None:
            _, digest, response, _ = known
            if digest == order.digest:
                return response
            return self._refuse(order, "id_used", "another command had it", at, now)
        if order.expires <= now:
            return self._refuse(order, "expired", "it had to wait", at, now)
        if not self._has_room(command.by, now):
            return self._refuse(order, "busy", "too many commands in too short a time", at, now)
        observation = command.observation(at)
        self._record(encode(_taken(order, at, observed=observation is not None)))
        self._keep(command.id, order.expires, order.digest, refusal(command.id, "interrupted", _INTERRUPTED), command.by)
        if observation is not None:
            finish = self._watch(command.id, observation)
            response = finish(self._feed(observation))
        else:
            assert isinstance(command, ShoeCommand)
            reason = self._device(command)
            if reason is not None:
                response = self._refuse(order, reason, "", at, now)
            else:
                response = _encode(Response(id=command.id, done=True))
        self._keep(command.id, order.expires, order.digest, response, command.by)
        return response

    def remember(self, record: bytes, observation: Observation | None, now: int) -> Callable[[Sequence[bytes]], object]:
        """A record of the ledger that is folded again; `observation` is the next entry, where that is one, else None.

        Call this before the table is fed the observation, and what it gives with the notices that follow. What has expired by
        `now` need not be remembered. Raises `msgspec.DecodeError` for what is no record.
        """
        taken = decode_record(record)
        if not isinstance(taken, Taken) or (expires := to_micros(taken.expires)) <= now:
            return lambda _: None
        name, digest = taken.id, bytes.fromhex(taken.digest)
        self._keep(name, expires, digest, refusal(name, "interrupted", _INTERRUPTED), taken.person)
        if not taken.observed or observation is None:
            return lambda _: None
        finish = self._watch(name, observation)
        return lambda lines: self._keep(name, expires, digest, finish(lines), taken.person)

    def sit_down(self, table: Table) -> None:
        """Carry out what is ordered from now on at another table: the next day's, which took this one's standing over."""
        self._table = table

    def settle(self, now: int, *, at_once: bool = False) -> None:
        """Record the count of what was refused here and is not on record yet, if its minute is over or it is wanted `at_once`."""
        for body in self._refusals.due(now, at_once=at_once):
            self._record(body)

    def _keep(self, name: str, expires: int, digest: bytes, response: bytes, by: str) -> None:
        self._kept[name] = (expires, digest, response, by)

    def _has_room(self, by: str, now: int) -> bool:
        """Where many are kept, each person has room of his own: nobody can use up that of the others."""
        if len(self._kept) < MOST_KEPT:
            return True
        self._kept = OrderedDict((name, kept) for name, kept in self._kept.items() if kept[0] > now)
        return sum(kept[3] == by for kept in self._kept.values()) < MOST_KEPT

    def _refuse(self, order: Order, reason: str, detail: str, at: str | None, now: int) -> bytes:
        def made() -> Refused:
            command = order.command
            return Refused(
                at=at,
                name=order.name,
                reason=reason,
                detail=detail,
                id=command.id,
                person=command.by,
                vouched=order.vouched,
                digest=order.digest.hex(),
            )

        for body in self._refusals.note(reason, now, made):
            self._record(body)
        return refusal(order.command.id, reason, detail)

    def _watch(self, name: str, observation: Observation) -> Callable[[Sequence[bytes]], bytes]:
        """Look at the table before it is fed; what is given makes the response of what it said."""
        before = {alert.id for alert in self._table.open_alerts}
        blocked = self._table.blockers

        def finish(lines: Sequence[bytes]) -> bytes:
            reason = _refused(lines, observation)
            if reason is None and isinstance(observation, Ack):
                still = {alert.id for alert in self._table.open_alerts}
                alert = observation.alert
                reason = "no_such_alert" if alert not in before else "needs_ruling" if alert in still else None
            elif reason is None and isinstance(observation, Ruling) and not lines and blocked == self._table.blockers:
                reason = "nothing_changed"  # also what a house that is silent about refused rulings leaves us to see
            return _encode(Response(id=name, done=reason is None, reason=reason, notices=[msgspec.Raw(line) for line in lines]))

        return finish


def _taken(order: Order, at: str | None, *, observed: bool) -> Taken:
    command, envelope = order.command, order.envelope
    return Taken(
        at=at,
        name=order.name,
        id=command.id,
        person=command.by,
        vouched=order.vouched,
        digest=order.digest.hex(),
        expires=from_micros(order.expires),
        observed=observed,
        topic=order.topic if envelope is not None else "",
        signed=envelope.signed if envelope is not None else None,
        signature=envelope.signature if envelope is not None else None,
    )


def _refused(lines: Sequence[bytes], observation: Observation) -> str | None:
    """The game's reason for refusing what it was just asked; None when it did not."""
    if not isinstance(observation, Ruling | Ack):
        return None
    action = observation.do if isinstance(observation, Ruling) else "ack"
    for line in lines:
        notice = decode_notice(line)
        if isinstance(notice, Alert) and notice.code in ("action.not_authorised", "action.out_of_turn"):
            operands = notice.operands
            if (operands.get("action"), operands.get("by")) == (action, observation.by) and operands.get("refused"):
                return str(operands["refused"])
    return None
