"""Commands over a broker: the table's ear for them, and the one who asks.

The ear is a thread and a connection of its own, so that whoever floods it does not hold back what the table tells. It judges
what arrives (`tablectl.mqtt.judgement`), answers at once what is refused, and puts the rest into one queue of at most `WAITING`
for the game's thread; when that is full, or a person is too fast (`tablectl.mqtt.pace`), the answer is `busy`. What is refused
goes there too, as records for the ledger, of which there are few however much is refused (`tablectl.mqtt.records`): a flood
costs the game's thread nothing, and an order does not wait behind it there. It keeps no session on the broker: a command that
was sent while the table was not there is never done later. An answer that is lost with a connection is not sent again by
itself: who asks again under the same id gets it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tablectl.errors import BrokerError
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.client import NOBODY_LISTENS, Lost, Refused
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.identity import Trust, sealed
from tablectl.mqtt.judgement import Arrived, Order, Refusal, Reply, judge, printed
from tablectl.mqtt.orders import Command, reply_topic
from tablectl.mqtt.pace import A_MINUTE, FLOOD, Pace
from tablectl.mqtt.proofs import ProofCommand, Prover
from tablectl.mqtt.records import Refusals
from tablectl.mqtt.records import Refused as RefusedRecord
from tablectl.mqtt.talk import Talk, open_talk

__all__ = ["WAITING", "Commands", "ask"]

WAITING: Final = 64
"""How many commands may wait for the game, and how many records of what was refused."""
_LOGGED: Final = 10
_LOG_SECONDS: Final = 60.0
_REFUSED_ALOUD: Final = 50
"""How many refused commands a second are answered: an answer to somebody's flood would hold up the answers to others."""


class Commands:
    """Listens for a table's commands until it is closed. A context manager; `take` and `answer` are for the game's thread.

    `trust` says whom the table believes. `log` is called with a line for each refusal, from our own thread and at most ten times
    a minute; `notify` from our own thread whenever there is something to `take`, and must not block. Raises `ConfigError` when a
    file of `credentials` cannot be used.
    """

    def __init__(
        self,
        address: Address,
        table: TableName,
        *,
        trust: Trust,
        log: Callable[[str], object],
        credentials: Credentials | None = None,
        notify: Callable[[], object] | None = None,
        prover: Prover | None = None,
    ):
        if credentials is not None:
            credentials.check(address)
        self._address = address
        self._credentials = credentials
        self._trust = trust
        self._base = f"tablectl/v1/{table}"
        self._client_id = "-".join(["tablectl", *str(table).split("/"), "cmd"])
        self._log = log
        self._notify = notify or (lambda: None)
        self._prover = prover
        self._logged: deque[float] = deque(maxlen=_LOGGED)
        self._unlogged = 0
        self._refusals = Refusals()
        self._pace = Pace()
        self._aloud = (0.0, 0)
        self._changed = threading.Condition()
        self._orders: deque[Order] = deque()  # under _changed, and so are the records
        self._records: deque[bytes] = deque()
        self._answers: deque[tuple[Reply, bytes]] = deque(maxlen=2 * WAITING)
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._stopping = threading.Event()
        self._met = threading.Event()
        self._trouble = "no answer"
        self._deaf = False
        self._thread = threading.Thread(target=self._run, name="tablectl-commands", daemon=True)

    def believe(self, trust: Trust) -> None:
        """Judge what arrives from now on by this trust."""
        self._trust = trust

    def wait_online(self, timeout: float) -> None:
        """Wait until commands are listened for. Raises `BrokerError` when they are not within `timeout` seconds."""
        if not self._met.wait(timeout):
            raise BrokerError(f"commands cannot be listened for: {self._trouble}", where=str(self._address))

    def take(self, seconds: float) -> Order | bytes | None:
        """The next command for the game, or the record of one that was refused; waits at most `seconds` for it.

        Orders come before records. A record is the body of a ledger's entry (`tablectl.mqtt.records`).
        """
        with self._changed:
            self._changed.wait_for(lambda: self._orders or self._records, max(0.0, seconds))
            if self._orders:
                return self._orders.popleft()
            return self._records.popleft() if self._records else None

    def answer(self, order: Order, response: bytes) -> None:
        """Send the response, where one is wanted."""
        if order.reply is not None:
            self._answers.append((order.reply, response))
            self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._wake_write, b"!")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop listening. What was not taken yet can still be taken; the count of what was refused last is among it."""
        self._stopping.set()
        self._wake()
        self._thread.join(10.0)
        if not self._thread.is_alive():
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._hand_over(self._refusals.due(_now(), at_once=True))

    def _run(self) -> None:
        pause = 0.2
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                talk = open_talk(self._address, self._credentials, self._client_id, f"{self._base}/cmd/#", 5.0, self._wake_read)
            except Lost as lost:
                self._note_lost(lost)
            else:
                self._met.set()
                if self._deaf:
                    self._deaf = False
                    self._say("commands are listened for again")
                try:
                    self._listen(talk)
                except Lost as lost:
                    self._note_lost(lost)
                finally:
                    talk.close()
            pause = 0.2 if time.monotonic() - began > 15.0 else min(pause * 2, 15.0)
            self._hand_over(self._refusals.due(_now()))
            self._stopping.wait(pause)

    def _note_lost(self, lost: Lost) -> None:
        self._trouble = str(lost)
        if not self._deaf:
            self._deaf = True
            self._say(f"commands are not listened for at the moment: {lost}")

    def _listen(self, talk: Talk) -> None:
        while not self._stopping.is_set() or self._answers:
            while self._answers:
                reply, response = self._answers[0]
                if talk.publish(reply, response) is None:  # so much is under way that this one waits for its turn
                    break
                self._answers.popleft()
            talk.turn(0.0 if self._stopping.is_set() else 1.0)
            with suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
            while talk.arrived:
                self._judge(talk, talk.arrived.popleft())
            self._hand_over(self._refusals.due(_now()))
            if talk.hears != (topics := self._topics(_now())):
                talk.hear(topics)

    def _topics(self, now: int) -> list[str]:
        """All commands; or, while somebody floods, those of whom the table knows, but for him."""
        deaf = self._pace.deaf(now)
        if not deaf:
            return [f"{self._base}/cmd/#"]
        return [f"{self._base}/cmd/+", *(f"{self._base}/cmd/+/{name}" for name in sorted(self._trust.people) if name not in deaf)]

    def _judge(self, talk: Talk, arrived: Arrived) -> None:
        now = _now()
        name, slash, person = arrived.topic[len(self._base) + 5 :].partition("/")
        if slash and self._trust.vouched and not self._pace.hears(person, now):
            flood = f"more than {FLOOD} in a second: not listened to for a while"
            self._refuse(talk, Refusal(name, None, "busy", flood, None, printed(person, 80), "certificate"), arrived.payload, now)
            return
        judged = judge(arrived, base=self._base, now=now, trust=self._trust)
        if isinstance(judged, Order) and isinstance(judged.command, ProofCommand):
            self._prove(talk, judged, judged.command)
            return
        if isinstance(judged, Order):
            repeat = self._pace.knows(judged.digest)
            why = self._queued(judged, now)
            if why is None:
                self._notify()
                return
            reply = None if repeat else judged.reply  # `busy` says that it was not done, and that may not be so
            judged = Refusal(judged.name, judged.command.id, "busy", why, reply, judged.command.by, judged.vouched)
        self._refuse(talk, judged, arrived.payload, now)

    def _queued(self, order: Order, now: int) -> str | None:
        """Let an order wait for the game; gives the reason why it may not."""
        if not self._pace.admits(order.command.by, order.digest, now):
            return f"more than {A_MINUTE} a minute"
        with self._changed:
            if len(self._orders) >= WAITING:
                return "too many at once"
            self._orders.append(order)
            self._changed.notify()
        return None

    def _prove(self, talk: Talk, order: Order, command: ProofCommand) -> None:
        """Answer a witness from here: the game has nothing to do with it."""
        if self._prover is not None and order.reply is not None:
            talk.publish(order.reply, self._prover.answer(command))

    def _refuse(self, talk: Talk, refused: Refusal, payload: bytes | None, now: int) -> None:
        self._say(f"cmd/{refused.name[:64]}: refused: {refused.reason}: {refused.detail}")

        def made() -> RefusedRecord:
            return RefusedRecord(
                at=from_micros(now),
                name=refused.name[:64],
                reason=refused.reason,
                detail=refused.detail,
                id=refused.id,
                person=refused.person,
                vouched=refused.vouched,
                digest=None if payload is None else hashlib.sha256(payload).hexdigest(),
                size=None if payload is None else len(payload),
            )

        self._hand_over(self._refusals.note(refused.reason, now, made))
        if refused.reply is not None and self._may_answer():
            talk.publish(refused.reply, refused.response)

    def _may_answer(self) -> bool:
        now = time.monotonic()
        since, count = self._aloud
        if now - since >= 1.0:
            since, count = now, 0
        self._aloud = (since, count + 1)
        return count < _REFUSED_ALOUD

    def _hand_over(self, records: list[bytes]) -> None:
        if not records:
            return
        with self._changed:
            self._records.extend(records)
            while len(self._records) > WAITING:  # nobody has taken any for minutes
                self._records.popleft()
            self._changed.notify()
        self._notify()

    def _say(self, line: str) -> None:
        now = time.monotonic()
        if len(self._logged) == _LOGGED and now - self._logged[0] < _LOG_SECONDS:
            self._unlogged += 1
            return
        self._logged.append(now)
        more = f" ({self._unlogged} lines before this one were left out)" if self._unlogged else ""
        self._unlogged = 0
        self._log(line + more)


def _now() -> int:
    return time.time_ns() // 1000


def ask(
    address: Address,
    table: TableName,
    name: str,
    command: Command,
    *,
    seconds: float,
    credentials: Credentials | None = None,
    vouched: bool = False,
    key: Ed25519PrivateKey | None = None,
) -> bytes:
    """Send a command to a table and give its response as it came.

    It is signed with `key`, or (`vouched`) sent to the topic on which the broker vouches for who wrote; else anybody may have
    sent it. After a broken connection it is sent again, under its id, while there is time. Raises `BrokerError` when the broker
    cannot be reached or refuses, when nobody listens for this table's commands, and when no response came within `seconds`;
    `ConfigError` when a file of `credentials` cannot be used.
    """
    if credentials is not None:
        credentials.check(address)
    base = f"tablectl/v1/{table}"
    client = f"rule-{secrets.token_hex(8)}"
    answers = reply_topic(base, client)
    topic = f"{base}/cmd/{name}/{command.by}" if vouched and key is None else f"{base}/cmd/{name}"
    payload = msgspec.json.encode(msgspec.structs.replace(command, reply_to=answers))
    if key is not None:
        payload = sealed(payload, topic=topic, person=command.by, key=key)
    deadline = time.monotonic() + seconds
    sent = False
    while True:
        try:
            talk = open_talk(address, credentials, f"tablectl-{client}", answers, min(5.0, seconds))
            try:
                mid = talk.publish(Reply(topic, command.id.encode()), payload, response_topic=answers)
                sent = True
                return _response(talk, mid, command.id, deadline, address, table)
            finally:
                talk.close()
        except Lost as lost:
            if not sent or isinstance(lost, Refused):
                raise BrokerError(f"cannot be reached: {lost}", where=str(address)) from None
        if time.monotonic() > deadline:
            raise _unknown(address, seconds)
        time.sleep(0.3)


def _response(talk: Talk, mid: int | None, command: str, deadline: float, address: Address, table: TableName) -> bytes:
    began = time.monotonic()
    while (now := time.monotonic()) < deadline:
        talk.turn(min(deadline - now, 1.0))
        reason = talk.acknowledged.pop(mid, None) if mid is not None else None
        if reason is not None and reason.is_failure:
            raise BrokerError(f"refuses a command for {table}: {reason}", where=str(address))
        if reason is not None and talk.v5 and reason.value == NOBODY_LISTENS:
            raise BrokerError(f"nobody there listens for commands to {table}", where=str(address))
        while talk.arrived:
            arrived = talk.arrived.popleft()
            if arrived.payload and _is_for(arrived, command):
                return arrived.payload
    raise _unknown(address, deadline - began)


def _is_for(arrived: Arrived, command: str) -> bool:
    if arrived.correlation is not None:
        return arrived.correlation == command.encode()
    try:
        return bool(msgspec.json.decode(arrived.payload or b"", type=_Named).id == command)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


class _Named(msgspec.Struct):
    id: str | None


def _unknown(address: Address, seconds: float) -> BrokerError:
    return BrokerError(f"no answer from the table within {seconds:.0f} s; whether it was done is not known", where=str(address))
