"""The desk: each command is recorded before it is done, and done once, also when the table was stopped in between."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tablectl import observations
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.instants import from_micros
from tablectl.mqtt.desk import Desk
from tablectl.mqtt.identity import Person, SignedCommand, Trust, opened, public_key, sealed, verified
from tablectl.mqtt.judgement import Arrived, Order, judge
from tablectl.mqtt.orders import ShoeCommand
from tablectl.mqtt.records import IN_FULL, MINUTE, Refused, RefusedCount, Taken, decode
from tablectl.notices import encode
from tablectl.observations import Observation, ShoeLoaded
from tests.mqtt.test_identity import BASE, KEY, NOW, SIGNED

SECOND = 1_000_000
AT = from_micros(NOW)
OPENING = ('{"event":"bet","box":1,"amount":1000}', '{"event":"no_more_bets"}', '{"event":"card","card":"??"}')


class Run:
    """A table from its start to its end: what it wrote is `entries`, as the ledger would have it."""

    def __init__(self, before: Run | None = None, *, device: str | None = "read_only", now: int = NOW):
        self.table = Table(rules.load("es").house, supervisors=frozenset({"CHIEF7"}))
        self.entries: list[tuple[str, bytes]] = []
        self.fed: list[Observation] = []
        self.asked: list[ShoeCommand] = []
        self.broken: Exception | None = None
        self._device = device
        self.desk = Desk(self.table, self.feed, record=lambda body: self.entries.append(("command", body)), device=self.ask)
        if before is None:
            for line in OPENING:
                self.feed(observations.decode(line))
            self.fed.clear()
        else:
            self._again(before, now)

    def _again(self, before: Run, now: int) -> None:
        record: bytes | None = None
        for kind, body in before.entries:
            if kind == "command":
                if record is not None:
                    self.desk.remember(record, None, now)
                record = body
                self.entries.append((kind, body))
            elif kind == "observation":
                observation = observations.decode(body)
                finish = self.desk.remember(record, observation, now) if record is not None else None
                record = None
                lines = self.feed(observation)
                if finish is not None:
                    finish(lines)
        if record is not None:
            self.desk.remember(record, None, now)
        assert self.entries == before.entries
        self.fed.clear()

    def feed(self, observation: Observation) -> list[bytes]:
        if self.broken is not None:
            raise self.broken
        self.fed.append(observation)
        self.entries.append(("observation", observations.encode(observation)))
        lines = [encode(notice) for notice in self.table.feed(observation)]
        self.entries += [("notice", line) for line in lines]
        return lines

    def ask(self, command: ShoeCommand) -> str | None:
        self.asked.append(command)
        return self._device

    def say(self, order: Order, now: int = NOW) -> dict[str, Any]:
        answer: dict[str, Any] = msgspec.json.decode(self.desk.carry_out(order, at=from_micros(now), now=now))
        return answer

    @property
    def records(self) -> list[Taken | Refused | RefusedCount]:
        return [decode(body) for kind, body in self.entries if kind == "command"]


def order(name: str = "ruling", trust: Trust | None = None, **fields: Any) -> Order:
    whole = {"id": "7f3a", "expires": from_micros(NOW + 100 * SECOND), "by": "CHIEF7"} | fields
    if name == "ruling":
        whole = {"do": "accept"} | whole
    body = msgspec.json.encode(whole)
    topic = f"{BASE}/cmd/{name}"
    if trust is not None:
        body = sealed(body, topic=topic, person="CHIEF7", key=KEY)
    made = judge(Arrived(topic, body, False), base=BASE, now=NOW, trust=trust or Trust(open=True))
    assert isinstance(made, Order), made
    return made


def test_who_ordered_what_is_recorded_before_what_follows() -> None:
    run = Run()
    assert run.say(order(do="void_round"))["done"]
    kinds = [kind for kind, _ in run.entries]
    at = kinds.index("command")
    assert kinds[at : at + 3] == ["command", "observation", "notice"]
    (record,) = run.records
    assert record == Taken(
        at=AT,
        name="ruling",
        id="7f3a",
        person="CHIEF7",
        vouched="open",
        digest=order(do="void_round").digest.hex(),
        expires=from_micros(NOW + 100 * SECOND),
    )


def test_a_signed_order_can_be_proved_from_its_record_alone() -> None:
    run = Run()
    made = order(trust=SIGNED, do="void_round")
    run.say(made)
    (record,) = run.records
    assert isinstance(record, Taken)
    assert record.signed is not None
    assert record.signature is not None
    key = SIGNED.people["CHIEF7"].key
    assert key is not None
    body = opened(SignedCommand(record.signed, record.person, record.signature))
    assert verified(body, record.signature, topic=record.topic, key=key)
    assert msgspec.json.decode(body)["do"] == "void_round"


def test_a_repeat_after_a_restart_is_answered_as_before_and_not_done_twice() -> None:
    orders = [
        order(id="1", do="burn", alert=99),
        order("ack", id="2", alert=99),
        order(id="3", do="void_round"),
        order("ack", id="4", alert=2),
        order("ack", id="5", alert=2),
        order("seat", id="6", box=2, player="p1", state="taken"),
        order("bet", id="7", box=2, amount=500, bettor="p1"),
        order("table", id="8", state="closed"),
    ]
    first = Run()
    answers = [first.say(one) for one in orders]
    assert len({(answer["done"], answer["reason"]) for answer in answers}) >= 3
    again = Run(first)
    assert [again.say(one, NOW + SECOND) for one in orders] == answers
    assert again.fed == []
    third = Run(again)
    assert [third.say(one, NOW + SECOND) for one in orders] == answers
    assert third.say(order(id="1", do="accept"), NOW + SECOND)["reason"] == "id_used"
    assert third.fed == []


def test_what_has_expired_by_the_restart_needs_no_memory() -> None:
    first = Run()
    first.say(order(do="void_round"))
    again = Run(first, now=NOW + 101 * SECOND)
    assert again.say(order(do="void_round"), NOW + 101 * SECOND)["reason"] == "expired"
    assert again.fed == []


def test_what_was_recorded_and_perhaps_not_done_is_not_done_again() -> None:
    first = Run()
    first.broken = OSError(28, "No space left on device")
    with pytest.raises(OSError, match="No space"):
        first.say(order(do="void_round"))
    first.broken = None
    assert first.say(order(do="void_round"))["reason"] == "interrupted"
    again = Run(first)
    assert again.say(order(do="void_round"))["reason"] == "interrupted"
    assert again.fed == []


def test_orders_to_the_shoe_go_to_the_device_which_may_refuse() -> None:
    run = Run()
    assert run.say(order("shoe", do="lock"))["reason"] == "read_only"
    assert [type(record) for record in run.records] == [Taken, Refused]
    assert not run.fed
    writable = Run(device=None)
    assert writable.say(order("shoe", do="clear_error", number=21)) == {
        "id": "7f3a", "done": True, "reason": None, "detail": "", "notices": []
    }  # fmt: skip
    assert [(asked.do, asked.number) for asked in writable.asked] == [("clear_error", 21)]
    assert writable.say(order("shoe", do="clear_error", number=21))["done"]
    assert len(writable.asked) == 1
    assert not writable.fed


def test_an_order_to_the_shoe_is_not_repeated_after_a_restart_and_takes_no_ones_observation() -> None:
    first = Run(device=None)
    first.say(order("shoe", do="lock"))
    first.feed(observations.decode('{"event":"tick"}'))
    again = Run(first, device=None)
    answer = again.say(order("shoe", do="lock"))
    assert (answer["done"], answer["reason"], answer["notices"]) == (False, "interrupted", [])
    assert again.asked == []


def test_a_table_without_a_device_to_write_to_is_read_only() -> None:
    run = Run()
    desk = Desk(run.table, run.feed)
    answer = msgspec.json.decode(desk.carry_out(order("shoe", do="lock"), at=None, now=NOW))
    assert answer["reason"] == "read_only"


def test_a_shoe_that_was_loaded_is_seen_by_the_game() -> None:
    run = Run()
    run.say(order(id="1", do="void_round"))
    assert run.say(order("shoe", id="2", do="loaded", decks=6, cut=True))["done"]
    assert run.fed[-1] == ShoeLoaded(at=AT, decks=6, cut=True)


def test_what_is_refused_at_the_desk_is_recorded_and_a_flood_of_it_counted() -> None:
    run = Run()
    run.say(order(do="void_round"))
    for number in range(5000):
        assert run.say(order(do="burn", reason=str(number)))["reason"] == "id_used"
    refused = [record for record in run.records if isinstance(record, Refused)]
    assert len(refused) == IN_FULL
    assert (refused[0].reason, refused[0].person, refused[0].vouched, refused[0].id) == ("id_used", "CHIEF7", "open", "7f3a")
    run.desk.settle(NOW + MINUTE - 1)
    assert len(run.records) == 1 + IN_FULL
    run.desk.settle(NOW + MINUTE)
    counted = run.records[-1]
    assert isinstance(counted, RefusedCount)
    assert (counted.refused, counted.reasons) == (5000 - IN_FULL, {"id_used": 5000 - IN_FULL})
    run.desk.settle(NOW + 3 * MINUTE)
    assert run.records[-1] == counted


def test_a_persons_key_in_the_configuration_is_the_one_that_signs() -> None:
    assert public_key(_text(KEY)) == SIGNED.people["CHIEF7"].key == Person("x", frozenset(), public_key(_text(KEY))).key


def _text(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
