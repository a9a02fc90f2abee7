"""What one connection to a broker tells, and in what order. It reads the ledger; it knows nothing of sockets.

First what the broker retains, since it may have forgotten it: the pin, the state, the last prompt it was told, the ledger's
checkpoint, and that the table is online. Then every notice behind the cursor, in the ledger's order. Whenever there is no
notice to tell, a new checkpoint, and the state, if it changed, at most ten times a second; in an endless stream of notices both
are told all the same, within a second. A notice waits for neither.

A `status` or `prompt` that could not be written to the ledger, since its disk is full, is said aside: before all else, and again
after an older one that the ledger still had to tell. A newer one of the ledger takes its place.

A prompt from before the cursor is told again, one from beyond it is not told ahead of its turn: a reader that drops repeats by id
would then miss its place in the order.

A broker that died has lost what it had acknowledged and not yet delivered, and its readers with it; what is told before they are
back is told to nobody. So after a broken connection the last of what was acknowledged is told again (a repeat costs a reader
nothing), and if somebody had listened, notices are held back until an acknowledgement says that somebody listens again (MQTT 5
brokers say so), for a bounded time.

While there is nothing to tell, the last `status` is told again every two seconds, under its id: a reader who knows it hears that
the table lives, and who has heard nothing for longer knows that it is not heard.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from tablectl.errors import LedgerError
from tablectl.ledger.published import LATEST as ANNOUNCED
from tablectl.ledger.reader import Outbox
from tablectl.mqtt.messages import Message, Messages
from tablectl.mqtt.window import Window

__all__ = ["CURSOR", "Outgoing", "Telling"]

CURSOR: Final = "mqtt"
"""The name of the cursor in the ledger."""

Outgoing = tuple[Message, int | None]
"""A message, and the entry that it is (None: none, it does not move the cursor)."""

_CHUNK = 200
_STATE_EVERY = 0.1
_STATE_AT_LEAST_EVERY = 1.0
_STORE_EVERY = 0.05
_POLL = 1.0
_ASK_EVERY = 0.3
_BEAT_EVERY = 2.0
_UNTOLD_GATHER = 1.5
"""How long readers are waited for where the broker does not say whether there are any: MQTT 3.1.1."""
_SETTLE = 0.3
"""How long the other readers are waited for once one is there."""


class Telling:
    """The order of messages on one connection. Times are seconds of a clock that only goes forward.

    `online` is what says that the table is there; `size` how many messages may be under way; `again_from` the entry after which
    notices are told again although they were acknowledged (None: none are); `held_until` up to when notices wait for somebody to
    listen (a time that has passed: they do not wait). `listened` becomes true when somebody does.
    """

    def __init__(
        self,
        outbox: Outbox,
        messages: Messages,
        online: Message,
        *,
        size: int,
        now: float,
        held_until: float,
        again_from: int | None = None,
    ):
        self.listened = False
        self._online = online
        self._status = online
        self._beat_after = now + _BEAT_EVERY
        self._began = now
        self._held_until = held_until
        self._ask_after = now + _ASK_EVERY
        self._outbox = outbox
        self._messages = messages
        self._stored = outbox.cursor(CURSOR)
        self._store_after = 0.0
        self.window = Window(size, self._stored)
        self._read = self._stored if again_from is None else min(again_from, self._stored)
        self._more = True
        self._state_seq = 0
        self._state_changed = False
        self._state_after = now
        self._state_old: float | None = None  # since when a newer state than was told may be there
        self._queue: deque[Outgoing] = deque()
        self._checkpoint: tuple[int, bytes] | None = None
        self._checkpoint_due = False
        self._asides: dict[str, tuple[Message, int]] = {}
        self._outdated: set[str] = set()
        self._greet()

    def _greet(self) -> None:
        pin, state, prompt = (self._outbox.latest(name) for name in ("pin", "state", "prompt"))
        if pin is not None:
            self._queue.append((self._messages.of_pin(pin.seq, pin.body), None))
        if state is not None:
            self._state_seq = state.seq
            self._queue.append((self._messages.of_state(state.seq, state.body), None))
        if prompt is not None and prompt.seq <= self._read:
            self._queue.append((self._messages.of_notice(prompt.seq, prompt.body), None))
        self._take_checkpoint()
        self._queue.append((self._online, None))

    def say_aside(self, message: Message, after: int) -> bool:
        """Say something that is not in the ledger, whose last entry was `after` when it came about, in place of what was said so.

        Nothing is done when it was said on this connection. False: the ledger has said something newer on its topic since.
        """
        said = self._asides.get(message.topic)
        if said is None or said[0] != message:
            self._asides[message.topic] = said = (message, after)
            self._outdated.discard(message.topic)
            self._queue.appendleft((message, None))
        return message.topic not in self._outdated

    def look(self) -> None:
        """The ledger may have grown."""
        self._more = True
        self._state_changed = True
        self._checkpoint_due = True

    def next(self, now: float) -> Outgoing | None:
        """What to send now; None when there is nothing, or no room. What is given counts as sent: say so by `window.sent`."""
        if not self.window.has_room:
            return None
        if self._holds_back(now):
            if not self._queue:
                self._ask(now)
        elif self._state_changed:
            self._state_old = now if self._state_old is None else self._state_old
            if now >= self._state_old + _STATE_AT_LEAST_EVERY:
                if self._checkpoint_due:
                    self._take_checkpoint()
                self._take_state(now)
        if not (self._queue or self._holds_back(now)):
            self._fill(now)
        if not self._queue:
            return self._beat(now)
        outgoing = self._queue.popleft()
        message, seq = outgoing
        self._beat_after = now + _BEAT_EVERY
        if message.topic == self._online.topic:
            self._status = message
        aside = self._asides.get(message.topic)
        if aside is not None and message is not aside[0] and message.topic not in self._outdated:
            if seq is not None and seq > aside[1]:
                self._outdated.add(message.topic)
            else:
                self._queue.appendleft((aside[0], None))
        return outgoing

    def _beat(self, now: float) -> Outgoing | None:
        if now < self._beat_after or not self.window.is_empty:
            return None
        self._beat_after = now + _BEAT_EVERY
        return self._status, None

    def acknowledged(self, mid: int, heard: bool | None, now: float) -> None:
        """The broker has a message; `heard` says whether anybody has subscribed to it, None where the broker does not tell."""
        self.window.acknowledged(mid)
        self.listened = self.listened or heard is not False
        if heard is None:
            self._held_until = min(self._held_until, self._began + _UNTOLD_GATHER)
        elif heard:
            self._held_until = min(self._held_until, now + _SETTLE)

    def _holds_back(self, now: float) -> bool:
        return now < self._held_until

    def _ask(self, now: float) -> None:
        if now >= self._ask_after and self.window.is_empty:
            self._ask_after = now + _ASK_EVERY
            self._queue.append((self._online, None))

    def _fill(self, now: float) -> None:
        if self._more:
            entries = self._outbox.notices_after(self._read, _CHUNK)
            self._queue.extend((self._messages.of_notice(entry.seq, entry.body), entry.seq) for entry in entries)
            if entries:
                self._read = entries[-1].seq
            self._more = len(entries) == _CHUNK
        if self._checkpoint_due and (self._more or not self._queue):
            self._take_checkpoint()
        if not self._queue and now >= self._state_after:
            self._take_state(now)

    def _take_checkpoint(self) -> None:
        self._checkpoint_due = False
        kept = self._outbox.latest(ANNOUNCED)
        if kept is not None and (kept.seq, kept.body) != self._checkpoint:
            self._checkpoint = (kept.seq, kept.body)
            self._queue.append((self._messages.of_checkpoint(kept.body), None))

    def _take_state(self, now: float) -> None:
        if not self._state_changed:
            return
        self._state_changed, self._state_old = False, None
        state = self._outbox.latest("state")
        if state is not None and state.seq > self._state_seq:
            self._state_seq = state.seq
            self._state_after = now + _STATE_EVERY
            self._queue.appendleft((self._messages.of_state(state.seq, state.body), None))

    def wait(self, now: float) -> float:
        """How long nothing new is due, in seconds, if nobody calls `look`."""
        if self._holds_back(now):
            return min(_ASK_EVERY, self._held_until - now)
        return min(_POLL, max(0.0, self._state_after - now)) if self._state_changed else _POLL

    @property
    def is_done(self) -> bool:
        """Whether everything the ledger had at the last `look` was told and acknowledged."""
        return not (self._queue or self._more or self._state_changed or self._checkpoint_due) and self.window.is_empty

    def store(self, now: float, *, at_once: bool = False) -> None:
        """Move the ledger's cursor up to what was acknowledged, at most twenty times a second unless `at_once`.

        A cursor that cannot be moved (the writer is busy, the disk is full) costs repeats later, no notice: it is tried again.
        """
        if self.window.done > self._stored and (at_once or now >= self._store_after):
            self._store_after = now + _STORE_EVERY
            try:
                self._outbox.advance(CURSOR, self.window.done)
            except LedgerError:
                return
            self._stored = self.window.done

    @property
    def is_stored(self) -> bool:
        """Whether the ledger's cursor stands where it should."""
        return self._stored >= self.window.done
