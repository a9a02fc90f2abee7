"""Commands over a broker: the table's ear for them, and the one who asks.

The ear is a thread and a connection of its own, so that whoever floods it does not hold back what the table tells. It judges what
arrives (`tablectl.mqtt.orders`), answers at once what is refused, and puts the rest into one queue of at most `WAITING` for the
game's thread; when that is full the answer is `busy`. It keeps no session on the broker: a command that was sent while the table
was not there is never done later. An answer that is lost with a connection is not sent again by itself: who asks again under the
same id gets it.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import msgspec

from tablectl.errors import BrokerError
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.link import Lost, Refused
from tablectl.mqtt.orders import Arrived, Command, Order, Refusal, Reply, judge, reply_topic
from tablectl.mqtt.talk import NOBODY_LISTENS, Talk, open_talk

__all__ = ["WAITING", "Commands", "ask"]

WAITING: Final = 64
"""How many commands may wait for the game."""
_LOGGED: Final = 10
_LOG_SECONDS: Final = 60.0


class Commands:
    """Listens for a table's commands until it is closed. A context manager; `take` and `answer` are for the game's thread.

    `log` is called with a line for each refusal, from our own thread and at most ten times a minute.
    """

    def __init__(self, address: Address, table: TableName, *, log: Callable[[str], object]):
        self._address = address
        self._base = f"tablectl/v1/{table}"
        self._client_id = "-".join(["tablectl", *str(table).split("/"), "cmd"])
        self._log = log
        self._logged: deque[float] = deque(maxlen=_LOGGED)
        self._unlogged = 0
        self._orders: queue.Queue[Order] = queue.Queue(WAITING)
        self._answers: deque[tuple[Reply, bytes]] = deque(maxlen=2 * WAITING)
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._stopping = threading.Event()
        self._met = threading.Event()
        self._trouble = "no answer"
        self._thread = threading.Thread(target=self._run, name="tablectl-commands", daemon=True)

    def wait_online(self, timeout: float) -> None:
        """Wait until commands are listened for. Raises `BrokerError` when they are not within `timeout` seconds."""
        if not self._met.wait(timeout):
            raise BrokerError(f"commands cannot be listened for: {self._trouble}", where=str(self._address))

    def take(self, seconds: float) -> Order | None:
        """The next command for the game, waiting at most `seconds` for it."""
        try:
            return self._orders.get(timeout=seconds) if seconds > 0 else self._orders.get_nowait()
        except queue.Empty:
            return None

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
        self._stopping.set()
        self._wake()
        self._thread.join(10.0)
        if not self._thread.is_alive():
            os.close(self._wake_read)
            os.close(self._wake_write)

    def _run(self) -> None:
        pause = 0.2
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                talk = open_talk(self._address, self._client_id, f"{self._base}/cmd/+", 5.0, self._wake_read)
            except Lost as lost:
                self._trouble = str(lost)
            else:
                self._met.set()
                try:
                    self._listen(talk)
                except Lost as lost:
                    self._trouble = str(lost)
                    self._say(f"commands are not listened for at the moment: {lost}")
                finally:
                    talk.close()
            pause = 0.2 if time.monotonic() - began > 15.0 else min(pause * 2, 15.0)
            self._stopping.wait(pause)

    def _listen(self, talk: Talk) -> None:
        while not self._stopping.is_set() or self._answers:
            while self._answers:
                reply, response = self._answers.popleft()
                talk.publish(reply, response)
            talk.turn(0.0 if self._stopping.is_set() else 1.0)
            with suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
            while talk.arrived:
                self._judge(talk, talk.arrived.popleft())

    def _judge(self, talk: Talk, arrived: Arrived) -> None:
        judged = judge(arrived, base=self._base, now=time.time_ns() // 1000)
        if isinstance(judged, Order):
            try:
                self._orders.put_nowait(judged)
            except queue.Full:
                self._refuse(talk, Refusal(judged.name, judged.command.id, "busy", "too many at once", judged.reply))
        else:
            self._refuse(talk, judged)

    def _refuse(self, talk: Talk, refused: Refusal) -> None:
        self._say(f"cmd/{refused.name[:64]}: refused: {refused.reason}: {refused.detail}")
        if refused.reply is not None:
            talk.publish(refused.reply, refused.response)

    def _say(self, line: str) -> None:
        now = time.monotonic()
        if len(self._logged) == _LOGGED and now - self._logged[0] < _LOG_SECONDS:
            self._unlogged += 1
            return
        self._logged.append(now)
        more = f" ({self._unlogged} lines before this one were left out)" if self._unlogged else ""
        self._unlogged = 0
        self._log(line + more)


def ask(address: Address, table: TableName, name: str, command: Command, *, seconds: float) -> bytes:
    """Send a command to a table and give its response as it came.

    After a broken connection it is sent again, under its id, while there is time. Raises `BrokerError` when the broker cannot be
    reached or refuses, when nobody listens for this table's commands, and when no response came within `seconds`.
    """
    base = f"tablectl/v1/{table}"
    client = f"rule-{secrets.token_hex(8)}"
    topic = reply_topic(base, client)
    payload = msgspec.json.encode(msgspec.structs.replace(command, reply_to=topic))
    deadline = time.monotonic() + seconds
    sent = False
    while True:
        try:
            talk = open_talk(address, f"tablectl-{client}", topic, min(5.0, seconds))
            try:
                mid = talk.publish(Reply(f"{base}/cmd/{name}", command.id.encode()), payload, response_topic=topic)
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
