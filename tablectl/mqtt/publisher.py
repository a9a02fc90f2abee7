"""Carrying the ledger to the broker: one thread, one connection at a time, and the ledger as the only queue.

The thread tells what stands behind the ledger's cursor, keeps a small window of it under way, and moves the cursor when the
broker has acknowledged it. Whatever happens to the connection, what was under way is forgotten and told again from the cursor on,
under the same ids. A broker that is away, slow, frozen or refusing costs the table nothing but a growing distance between ledger
and cursor.

A live table has a ledger a day. What comes next is told when all of the one before was told and acknowledged, over a connection
of its own.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from tablectl.errors import BrokerError, LedgerError, TablectlError
from tablectl.instants import from_micros
from tablectl.ledger import pin as pins
from tablectl.ledger.reader import Outbox
from tablectl.mqtt.address import Address
from tablectl.mqtt.client import Lost, Refused
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.link import Link, open_link
from tablectl.mqtt.messages import PROMPT_SECONDS, Message, Messages
from tablectl.mqtt.patience import Patience
from tablectl.mqtt.telling import CURSOR, Telling
from tablectl.mqtt.window import Lately

__all__ = ["Patience", "Publisher"]

_AGAIN_ENTRIES = 6000
"""How much of what was acknowledged last is told again after a broken connection, at most; and no more than `Lately` knows of."""


@dataclass
class _Aside:
    """A notice that is not in the ledger; `after` is the ledger's last entry when it was first to be told."""

    body: bytes
    word: str
    after: int | None = None


class Publisher:
    """Tells a broker what a ledger says, and then those that follow it, until it is closed.

    All methods may be called from any thread.

    `credentials` are what is shown to the broker; `window` how many messages may be under way; `prompt_seconds` how long the
    broker is to keep a prompt. Raises `ConfigError` when a file of `credentials` cannot be used.
    """

    def __init__(
        self,
        ledger: Path,
        address: Address,
        *,
        credentials: Credentials | None = None,
        window: int = 100,
        patience: Patience | None = None,
        prompt_seconds: int = PROMPT_SECONDS,
    ):
        self._ledgers = deque([ledger])
        self._address = address
        if credentials is not None:
            credentials.check(address)
        self._credentials = credentials
        self._size = window
        self._patience = patience or Patience()
        self._prompt_seconds = prompt_seconds
        self._listened = False
        self._lately = Lately()
        self._versions = [5, 3]
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._thread = threading.Thread(target=self._run, name="tablectl-mqtt", daemon=True)
        self._changed = threading.Condition()
        # Below: read and written only under _changed.
        self._asides: dict[Literal["status", "prompt"], _Aside] = {}
        self._woken = 0
        self._told = -1
        self._stopping = False
        self._closed = False
        self._met = False
        self._online = False
        self._refused = False
        self._trouble: str | None = None
        self._failed: TablectlError | None = None

    @property
    def online(self) -> bool:
        """Whether there is a connection to the broker."""
        with self._changed:
            return self._online

    @property
    def trouble(self) -> str | None:
        """What is wrong between us and the broker, in words; None while nothing is."""
        with self._changed:
            return self._trouble

    def start(self) -> None:
        """Begin, whether the broker is there or not."""
        self._thread.start()

    def wait_online(self, timeout: float) -> None:
        """Wait until the broker was reached for the first time.

        Raises `BrokerError` when it was not within `timeout` seconds, or at once when it refuses us in a way that waiting does
        not mend; the publisher goes on trying. Raises `LedgerError` when the ledger cannot be read.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._met or self._refused or self._failed, timeout)
            if self._failed is not None:
                raise self._failed
            if not self._met:
                raise BrokerError(f"cannot be reached: {self._trouble or 'no answer'}", where=str(self._address))

    def wake(self) -> None:
        """Something was committed."""
        with self._changed:
            if self._closed:
                return
            self._woken += 1
            with suppress(BlockingIOError):  # so much unread that it will wake anyway
                os.write(self._wake_write, b"!")

    def follow(self, ledger: Path) -> None:
        """Go on with another ledger of the same table, when all that was committed to the ones before it has been told."""
        with self._changed:
            self._ledgers.append(ledger)
        self.wake()

    def aside(self, name: Literal["status", "prompt"], body: bytes) -> None:
        """Say a notice that cannot be written to the ledger (its disk is full), as its topic's retained message.

        At once, if there is a connection, and again with every new one; only the last of each name, and only until the ledger has
        a newer one to tell. There is no acknowledgement to wait for. What is no such notice is not said.
        """
        with self._changed:
            self._asides[name] = _Aside(body, secrets.token_hex(8))
        self.wake()

    def drain(self, timeout: float) -> bool:
        """Wait until the broker has acknowledged all that is committed now, at most `timeout` seconds. False: it has not.

        That is: to all ledgers up to the last one that was to follow.

        Raises `LedgerError` when the ledger cannot be read any more.
        """
        self.wake()
        with self._changed:
            wanted = self._woken
            self._changed.wait_for(lambda: self._told >= wanted or self._failed, timeout)
            if self._failed is not None:
                raise self._failed
            return self._told >= wanted

    def close(self) -> None:
        """Say that the table is offline, if there is a broker to hear it, and end the thread. Does not wait for what is untold.

        Takes at most about as long as `Patience` has for a connection or a goodbye.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(2 * self._patience.connect + self._patience.goodbye + 1.0)
        with self._changed:
            if self._closed or self._thread.is_alive():  # stuck in a name look-up, say: it ends with the process
                return
            self._closed = True
            os.close(self._wake_read)
            os.close(self._wake_write)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # The thread.

    def _run(self) -> None:
        failed: TablectlError | None = None
        try:
            while True:
                with Outbox(self._ledgers[0]) as outbox:
                    self._keep_telling(outbox)
                with self._changed:
                    if self._stopping:
                        break
                    self._ledgers.popleft()
                    for said in self._asides.values():
                        said.after = 0  # whatever the next ledger says of it is newer
                self._lately.clear()
        except LedgerError as error:
            failed = error
        except Exception as error:  # a fault of ours: told to whoever waits, since a thread's traceback reaches nobody
            failed = BrokerError(f"the publisher failed: {error!r}", where=str(self._address))
            failed.__cause__ = error
        self._note(online=False, failed=failed)

    def _note(
        self,
        *,
        online: bool | None = None,
        trouble: str | None = None,
        refused: bool = False,
        told: int | None = None,
        failed: TablectlError | None = None,
    ) -> None:
        with self._changed:
            if online is not None:
                self._online = online
                self._met = self._met or online
                self._refused = refused
                self._trouble = trouble
            if told is not None:
                self._told = told
            self._failed = failed or self._failed
            self._changed.notify_all()

    def _keep_telling(self, outbox: Outbox) -> None:
        pin = outbox.latest("pin")
        if pin is None:
            raise LedgerError("is damaged: it has no pin", where=str(outbox.path))
        messages = Messages(pins.decode(pin.body).table, outbox.session, prompt_seconds=self._prompt_seconds)
        delay = self._patience.first_retry
        while not self._stopping:
            began, before = time.monotonic(), outbox.cursor(CURSOR)
            try:
                if self._connected(outbox, messages):
                    return
            except Lost as lost:
                self._note(online=False, trouble=str(lost), refused=isinstance(lost, Refused))
                if isinstance(lost, Refused):
                    self._lately.clear()  # the broker is well and has what it acknowledged
                if outbox.cursor(CURSOR) > before or time.monotonic() - began > self._patience.last_retry:
                    delay = self._patience.first_retry
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._stopping, self._patience.last_retry if isinstance(lost, Refused) else delay
                    )
                delay = min(2 * delay, self._patience.last_retry)

    def _connected(self, outbox: Outbox, messages: Messages) -> bool:
        """Connect, tell until told to stop, and say goodbye; or (True) until all is told and another ledger follows.

        Raises `Lost`.
        """
        name = secrets.token_hex(4)
        seq = outbox.cursor(CURSOR)
        status = outbox.latest("status")

        def presence(word: Literal["online", "offline"], why: str, at: str | None) -> Message:
            known = status.body if status is not None and word == "online" else None
            return messages.of_presence(word, why, connection=name, seq=seq, status=known, at=at)

        client_id = "-".join(["tablectl", *messages.base.split("/")[2:]])
        link = open_link(
            self._address,
            self._credentials,
            client_id,
            presence("offline", "the connection was lost", None),
            versions=self._versions,
            seconds=self._patience.connect,
            wake=self._wake_read,
            given_up=lambda: self._stopping,
        )
        politely = False
        try:
            now = time.monotonic()
            telling = Telling(
                outbox,
                messages,
                presence("online", "connected", _now()),
                size=min(self._size, link.room),
                now=now,
                held_until=now + (self._patience.gather if self._listened else 0.0),
                again_from=None if (done := self._lately.first) is None else max(done, seq - _AGAIN_ENTRIES),
            )
            self._note(online=True)
            self._lately.note(now, seq)
            try:
                if self._tell(link, telling, outbox, messages):
                    politely = True
                    return True
                seq = telling.window.done
                politely = self._goodbye(link, telling, presence("offline", "stopped", _now()))
            finally:
                self._heard(link, telling)  # what came before the end
                self._listened = telling.listened
                self._store(telling)
        finally:
            link.close(politely=politely)
        return False

    def _tell(self, link: Link, telling: Telling, outbox: Outbox, messages: Messages) -> bool:
        """Tell until told to stop, or (True) until all is told and another ledger follows. Raises `Lost`."""
        looked = -1
        called = True
        heard = time.monotonic()
        while not self._stopping:
            if called:
                self._quiet()  # before looking at the count: a byte that is read was written after it was raised
            with self._changed:
                woken, followed, asides = self._woken, len(self._ledgers) > 1, dict(self._asides)
            for name, aside in asides.items():
                self._say_aside(name, aside, telling, messages, outbox.last())
            if woken != looked:
                telling.look()
                looked = woken
            now = time.monotonic()
            while (outgoing := telling.next(now)) is not None:
                heard = now if telling.window.is_empty else heard
                message, seq = outgoing
                telling.window.sent(link.publish(message), seq)
            telling.store(now)
            if telling.is_done and followed:
                self._store(telling)
                if telling.is_stored:
                    return True
            elif telling.is_done and self._told < looked:
                telling.store(now, at_once=True)
                self._note(told=looked)
            called = link.turn(telling.wait(now))
            if not self._heard(link, telling):
                if telling.window.is_empty:
                    telling.look()  # so that what another program committed is found too
                elif time.monotonic() > heard + self._patience.acknowledge:
                    raise Lost(f"it has acknowledged nothing for {self._patience.acknowledge:g} s")
            else:
                heard = time.monotonic()
        return False

    def _say_aside(
        self, name: Literal["status", "prompt"], aside: _Aside, telling: Telling, messages: Messages, last: int
    ) -> None:
        aside.after = last if aside.after is None else aside.after
        with suppress(LedgerError):  # it is no such notice
            if telling.say_aside(messages.of_aside(name, aside.body, seq=aside.after, word=aside.word), aside.after):
                return
        with self._changed:
            if self._asides.get(name) is aside:
                del self._asides[name]

    def _heard(self, link: Link, telling: Telling) -> bool:
        if not link.answers:
            return False
        now = time.monotonic()
        while link.answers:
            mid, heard = link.answers.popleft()
            telling.acknowledged(mid, heard, now)
        self._lately.note(now, telling.window.done)
        return True

    @staticmethod
    def _store(telling: Telling) -> None:
        for _ in range(50):  # the ledger's writer may be in the way for a moment
            telling.store(time.monotonic(), at_once=True)
            if telling.is_stored:
                return

    def _quiet(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._wake_read, 4096):
                pass

    def _goodbye(self, link: Link, telling: Telling, offline: Message) -> bool:
        """Leave `offline` behind, acknowledged. False: the broker is to publish the last will instead."""
        deadline = time.monotonic() + self._patience.goodbye
        self._quiet()
        said = False
        try:
            while not (said and telling.window.is_empty):
                if telling.window.has_room and not said:
                    telling.window.sent(link.publish(offline), None)
                    said = True
                if time.monotonic() > deadline:
                    return False
                link.turn(0.1, until_woken=False)
                self._heard(link, telling)
        except Lost:
            return False
        return True


def _now() -> str:
    return from_micros(time.time_ns() // 1000)
