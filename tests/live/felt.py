"""A table under attack: a real daemon on an emulated shoe and pad, dealt an observation at a time, and its ledger watched.

Every round stops at a card that nobody could read, so that a ruling would act at once; the supervisor's comes over MQTT. How long
each message of a device took from its first byte to the ledger is kept, by what was going on meanwhile.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from tablectl.cards import Card
from tablectl.config import ConfigFile
from tablectl.emulator.table import EmulatedTable
from tablectl.instants import from_micros
from tablectl.mqtt.orders import Response, RulingCommand
from tablectl.mqtt.records import Refused, RefusedCount, Taken
from tablectl.mqtt.records import decode as decode_record
from tablectl.observations import CardDrawn, Link, Observation, Ruling, TableState, Tick, decode
from tests.live.running import Program, entries, ledgers, until

__all__ = ["CHIEF", "TRUE", "Felt", "Ruled", "expires", "percentile"]

CHIEF = "CHIEF9"
PATIENCE = 20.0
TRUE = Ruling(do="void_round", by=CHIEF, reason="unread")
"""What the supervisor says of a card that was not read."""


def expires(seconds: float = 60.0) -> str:
    """So many seconds from now, as a command has it."""
    return from_micros(time.time_ns() // 1000 + int(seconds * 1_000_000))


def percentile(values: list[float], share: float) -> float:
    """Of values in seconds, in milliseconds."""
    ordered = sorted(values)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class Watch:
    """Reads a ledger's new entries a thousand times a second, and keeps its observations with the time when they were there."""

    def __init__(self, path: Path) -> None:
        self.seen: list[tuple[float, Observation]] = []
        self.state = b""
        self._path = path
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        ledger = sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)
        last = 0
        while not self._stop.wait(0.001):
            rows = ledger.execute("SELECT seq, kind, body FROM entries WHERE seq > ? ORDER BY seq", (last,)).fetchall()
            if not rows:
                continue
            now, last = time.monotonic(), rows[-1][0]
            with self._changed:
                self.seen += [(now, decode(body)) for _, kind, body in rows if kind == "observation"]
                self._changed.notify_all()
        ledger.close()

    def wait_for(self, wanted: Observation, since: int, seconds: float) -> float | None:
        """When this observation was there, among those from number `since` on; None when it does not come."""

        def found() -> float | None:
            for at, seen in self.seen[since:]:
                if type(seen) is type(wanted) and msgspec.structs.replace(seen, at=None) == wanted:
                    return at
            return None

        with self._changed:
            self._changed.wait_for(found, seconds)
            return found()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()


class Ruled(msgspec.Struct):
    """How a supervisor's ruling got through: in so many seconds, with so many answers `busy`, and so many that did not come."""

    seconds: float
    busy: int
    unanswered: int


class Felt:
    """The table. `ask` sends a ruling as the supervisor, in the same bytes each time, and gives the response, or None."""

    def __init__(
        self,
        file: ConfigFile,
        program: Program,
        emulated: EmulatedTable,
        ask: Callable[[RulingCommand], bytes | None],
        *,
        pause: float = 0.0,
    ) -> None:
        self.file = file
        self.program = program
        self.emulated = emulated
        self.pause = pause
        self.what = "quiet"
        self.delays: defaultdict[str, list[float]] = defaultdict(list)
        self.lost: list[Observation] = []
        self.rulings: list[Ruled] = []
        self.happened: list[Observation] = []
        """What the ledger must have, and nothing else: what the devices said and the supervisor ordered."""
        self._ask = ask
        self._base = f"tablectl/v1/{file.name}"
        self._play: Iterator[Observation] = iter(emulated.dealer)
        self._watch: Watch | None = None

    def start(self) -> None:
        """Start the daemon, or start it again."""
        self.program.start()
        self.program.ready()
        assert self.emulated.opened(10), self.program.log()
        self._follow()

    def _follow(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = Watch(ledgers(self.file)[-1])
        devices = self.emulated.devices
        until(lambda: self._up() == set(devices), 20, "both devices' links")

    def _up(self) -> set[str]:
        assert self._watch is not None
        state: dict[str, str] = {}
        for _, seen in list(self._watch.seen):
            if isinstance(seen, Link):
                state[seen.device] = seen.state
        return {name for name, now in state.items() if now == "up"} & {*self.emulated.devices}

    # Dealing

    def say(self, observation: Observation) -> None:
        """Let a device say it, and wait until the ledger has it."""
        assert self._watch is not None
        since = len(self._watch.seen)
        began = time.monotonic()
        message = self.emulated.say(observation)
        if message is None:
            return
        self.happened.append(message.observation)
        there = self._watch.wait_for(message.observation, since, PATIENCE)
        if there is None:
            self.lost.append(message.observation)
        else:
            self.delays[self.what].append(there - began)
        if self.pause:
            time.sleep(self.pause)

    def deal(self, count: int) -> None:
        """Deal on by so many observations. The supervisor rules on what stops the game."""
        done = 0
        while done < count:
            if self.emulated.table.phase == "suspended":
                self.rule()
            observation = next(self._play, None)
            if observation is None:
                self._play = iter(self.emulated.dealer)
                continue
            self.say(observation)
            done += 1

    def stop_the_game(self) -> None:
        """Deal until a card is due, which is then not read: the game waits for a ruling, and any would act."""
        while self._dealers_phase() not in ("first_cards", "second_cards"):
            self.deal(1)
        unread = CardDrawn(card=Card.UNREAD, source="shoe")
        self.emulated.dealer.told(unread)
        self.say(unread)
        assert self._dealers_phase() == "suspended"
        until(lambda: self.phase() == "suspended", 10, "the suspended game")

    def _dealers_phase(self) -> str:
        return self.emulated.table.phase

    def rule(self) -> Ruled:
        """The supervisor's word, over MQTT: the round is void. Asked again under a new name while the table is too busy."""
        ruled = Ruled(0.0, 0, 0)
        began = time.monotonic()
        while True:
            name = f"true-{secrets.token_hex(6)}"
            command = RulingCommand(
                id=name, expires=expires(), by=CHIEF, do=TRUE.do, reason=TRUE.reason, reply_to=f"{self._base}/reply/{name}"
            )
            while (answer := self._ask(command)) is None:  # the same again: that is answered, and not done twice
                ruled.unanswered += 1
                assert time.monotonic() - began < 60, f"no ruling gets through: {ruled}"
            response = msgspec.json.decode(answer, type=Response)
            if response.reason != "busy":
                assert response.done, response
                break
            ruled.busy += 1
            time.sleep(0.2)
        ruled.seconds = time.monotonic() - began
        self.rulings.append(ruled)
        self.was_ruled()
        return ruled

    def was_ruled(self) -> None:
        """The supervisor's word has come to the table."""
        self.happened.append(TRUE)
        self.emulated.dealer.told(TRUE)

    # What the table has

    def state(self) -> dict[str, Any]:
        """The table as its ledger has it, without the time and what is said of the lines."""
        ledger = sqlite3.connect(f"file:{ledgers(self.file)[-1]}?mode=ro", uri=True)
        try:
            (body,) = ledger.execute("SELECT body FROM latest WHERE name = 'state'").fetchone()
        finally:
            ledger.close()
        found: dict[str, Any] = msgspec.json.decode(body)
        del found["at"], found["devices"]
        found["alerts"] = [alert for alert in found["alerts"] if not alert["code"].startswith("link.")]
        return found

    def phase(self) -> str:
        """The game's phase, by its ledger."""
        return str(self.state()["phase"])

    def bytes_on_disk(self) -> int:
        """All that the table has written."""
        return sum(path.stat().st_size for path in self.file.beside("store").rglob("*") if path.is_file())

    def entries_bytes(self) -> int:
        """The bodies of the ledger's entries that are about commands."""
        return sum(len(entry.body) for path in ledgers(self.file) for entry in entries(path) if entry.kind == "command")

    def records(self) -> list[Taken | Refused | RefusedCount]:
        """What the ledgers say of commands."""
        return [decode_record(entry.body) for path in ledgers(self.file) for entry in entries(path) if entry.kind == "command"]

    def refused(self) -> Counter[str]:
        """How many were refused, by reason, as the ledgers have it."""
        found: Counter[str] = Counter()
        for record in self.records():
            if isinstance(record, Refused):
                found[record.reason] += 1
            elif isinstance(record, RefusedCount):
                found.update(record.reasons)
        return found

    def observed(self) -> list[Observation]:
        """What the table observed beside time, links and its own opening."""
        found = [decode(entry.body) for path in ledgers(self.file) for entry in entries(path) if entry.kind == "observation"]
        own = [seen for seen in found if isinstance(seen, TableState)][:1]
        return [msgspec.structs.replace(seen, at=None) for seen in found if not isinstance(seen, Tick | Link) and seen not in own]

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self.program.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
