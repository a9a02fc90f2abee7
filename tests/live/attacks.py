"""What an intruder tries at one live table: single attempts while the game waits for a ruling, floods, and the account of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tablectl.ledger.pin import TableName
from tablectl.mqtt.orders import Response, RulingCommand
from tablectl.mqtt.records import Refused, Taken
from tablectl.observations import Ack
from tests.broker import Broker
from tests.guest import NOBODY, REFUSED, SUCCESS, Guest
from tests.live.felt import CHIEF, TRUE, Felt, expires, percentile
from tests.live.raw import Flood, Flooded, Raw, publish_packet
from tests.live.running import assert_whole, until

__all__ = ["BASE", "T07", "T08", "Attacks", "Outcome", "answer", "kept_out", "listens", "no_words", "ruling", "too_large"]

T07 = TableName("site", "pit", "t07")
T08 = TableName("site", "pit", "t08")
BASE = f"tablectl/v1/{T07}"
MEGABYTE = 1_000_000


class Outcome(NamedTuple):
    """A case: who refused it and why, what the table wrote for it, and the cards that were dealt on afterwards."""

    name: str
    refused_by: str
    recorded: str
    grown: int
    dealt: int


def ruling(by: str = CHIEF, seconds: float = 60.0, **changes: Any) -> bytes:
    """A ruling that would act, if it were taken."""
    fields = {
        "id": f"false-{time.monotonic_ns()}",
        "expires": expires(seconds),
        "by": by,
        "do": "void_round",
        "reason": "intruder",
    }
    return msgspec.json.encode(fields | changes)


class Attacks:
    """What is tried at one table, and what came of it. `ear` hears what the table answers."""

    def __init__(self, felt: Felt, broker: Broker, ear: Guest, folder: Path) -> None:
        self.felt = felt
        self.broker = broker
        self.outcomes: list[Outcome] = []
        self.floods: list[tuple[str, Flooded, dict[str, Any]]] = []
        self.refused: Counter[str] = Counter()
        self._ear = ear
        self._folder = folder
        self._count = 0

    # Single ones

    def try_(self, name: str, expected: str, attack: Callable[[], str]) -> None:
        """One attack on a game that waits for a ruling. Asserts that it was refused as `expected`, and did nothing."""
        felt = self.felt
        felt.stop_the_game()
        before, disk = felt.state(), felt.bytes_on_disk()
        log = len(self.broker.log())
        refused_by = attack()
        assert refused_by == expected, f"{name}: {refused_by}, and not {expected}"
        time.sleep(0.05)
        after = felt.state()
        changed = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        assert not changed, (name, changed)
        grown = felt.bytes_on_disk() - disk
        said = [line.partition(": ")[2] for line in self.broker.log()[log:].splitlines()]
        if refused_by.startswith("table"):
            self.refused[refused_by.partition(" ")[2]] += refused_by.partition(" ")[2] not in ("repeat", "")
            recorded = "ledger"
        else:
            told = [line for line in said if any(word in line for word in ("OpenSSL", "malformed", "large", "u'"))]
            recorded = f"broker: {told[0][:60]}" if told else "broker: its coming and going"  # no more than that without debug
        dealt = len(felt.happened)
        felt.rule()
        felt.deal(4)
        self.outcomes.append(Outcome(name, refused_by, recorded, grown, len(felt.happened) - dealt))

    def publish(self, who: Guest, topic: str, payload: bytes, *, retain: bool = False) -> str:
        """Send it, and say who refused it; a repeat that was answered as before is `table repeat`."""
        response = self.asked(who, topic, payload, retain=retain)
        return response if isinstance(response, str) else f"table {response.reason or 'DONE'}"

    def asked(self, who: Guest, topic: str, payload: bytes, *, retain: bool = False) -> Response | str:
        """The table's response; or what the broker says."""
        self._count += 1
        answers = f"{BASE}/reply/case-{self._count}"
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.ResponseTopic = answers
        code = who.publish(topic, payload, retain=retain, properties=properties)
        if code == REFUSED:
            return "broker not authorised"
        if code == NOBODY:
            return "broker nobody listens"
        assert code == SUCCESS, hex(code)
        self._ear.wait(lambda: any(message.topic == answers for message in self._ear.received))
        body = next(message.payload for message in self._ear.received if message.topic == answers)
        return msgspec.json.decode(body, type=Response)

    def repeated(self, who: Guest, topic: str, payload: bytes, first: Response) -> str:
        """Send it again; it must be answered as it was `first`."""
        again = self.asked(who, topic, payload)
        return "table repeat" if again == first else f"table {again}"

    def true_ruling(self) -> RulingCommand:
        """A ruling of the supervisor's, for the game that waits."""
        self._count += 1
        return RulingCommand(id=f"true-{self._count}", expires=expires(120), by=CHIEF, do=TRUE.do, reason=TRUE.reason)

    # Floods

    def flood(self, name: str, plan: Flood) -> None:
        """Deal on while somebody floods; a supervisor's ruling is wanted again and again."""
        felt = self.felt
        felt.what = name
        path = self._folder / "flood.json"
        path.write_bytes(msgspec.json.encode(plan))
        disk, bodies, rulings, dealt = felt.bytes_on_disk(), felt.entries_bytes(), len(felt.rulings), len(felt.happened)
        memory = felt.program.memory()
        with subprocess.Popen([sys.executable, "-m", "tests.live.raw", str(path)], stdout=subprocess.PIPE) as process:
            while process.poll() is None:
                felt.stop_the_game()
                felt.rule()
                felt.deal(6)
            assert process.stdout is not None
            made = msgspec.json.decode(process.stdout.read(), type=Flooded)
        ruled = felt.rulings[rulings:]
        self.floods.append(
            (
                name,
                made,
                {
                    "dealt": len(felt.happened) - dealt,
                    "p50_ms": percentile(felt.delays[name], 0.5),
                    "p99_ms": percentile(felt.delays[name], 0.99),
                    "ruling_s": max((each.seconds for each in ruled), default=0.0),
                    "rulings": len(ruled),
                    "busy": sum(each.busy for each in ruled),
                    "unanswered": sum(each.unanswered for each in ruled),
                    "disk": felt.bytes_on_disk() - disk,
                    "records": felt.entries_bytes() - bodies,
                    "memory": felt.program.memory() - memory,
                },
            )
        )
        felt.what = "quiet"
        assert felt.program.code is None, felt.program.log()
        until(lambda: self._is_quiet(), 60, "an end of the flood")

    def _is_quiet(self) -> bool:
        """Whether what was sent before is through: the supervisor is answered at once."""
        self.felt.stop_the_game()
        return self.felt.rule().seconds < 0.5

    # The end

    def account(self, *, flooded: frozenset[str] = frozenset()) -> dict[str, int]:
        """Stop the table and look at its record: nothing but what happened, each attack refused for its reason, and all verifies.

        `flooded` are people whose allowed commands came in floods: their acknowledgements of alerts that never were may be there.
        """
        felt = self.felt
        assert not felt.lost, felt.lost
        assert felt.program.stop(60) == 0, felt.program.log()
        assert "Traceback" not in felt.program.log()
        observed = [seen for seen in felt.observed() if not (isinstance(seen, Ack) and seen.by in flooded)]
        assert observed == felt.happened
        for record in felt.records():
            if isinstance(record, Taken):
                assert record.person in {CHIEF, *flooded}, record
                assert record.person != CHIEF or record.id.startswith("true-"), record
            elif isinstance(record, Refused):
                assert record.digest is not None or record.size is None
        found = felt.refused()
        for reason, count in self.refused.items():
            assert found[reason] >= count, (reason, count, found)
        assert_whole(felt.file)
        return dict(found)


def listens(attacks: Attacks, who: Guest, topic: str) -> None:
    """Wait until the table listens for commands: one that has expired is refused by it."""
    until(lambda: attacks.publish(who, topic, ruling(seconds=-5)) == "table expired", 20, "an ear for commands")
    attacks.refused["expired"] += 1


def answer(who: Guest, topic: str, payload: bytes, answers: str, seconds: float = 1.0) -> bytes | None:
    """Send a command and give the answer to it; None when none comes in time."""
    heard = [message for message in who.received if message.topic == answers]
    if not heard:
        who.send(topic, payload)
        with suppress(AssertionError):
            who.wait(lambda: any(message.topic == answers for message in who.received[-200:]), seconds)
        heard = [message for message in who.received if message.topic == answers]
    return bytes(heard[0].payload) if heard else None


def too_large(broker: Broker, context: Any, topic: str) -> str:
    with Raw(broker.port, context) as raw:
        try:
            packet = publish_packet(topic.encode(), bytes(100 * MEGABYTE), qos=1)
            for start in range(0, len(packet), MEGABYTE):
                raw.send(packet[start : start + MEGABYTE])
            raw.listen(30.0)  # until it answers
        except OSError:
            return "broker hung up"
        return "broker hung up" if raw.is_out(0.5) else f"broker dropped it, code {raw.acknowledged}"


def no_words(broker: Broker, context: Any) -> str:
    with Raw(broker.port, context) as raw:
        raw.send(publish_packet(f"{BASE}/cmd/ruling/".encode() + b"\xff\xc3\x28", ruling()))
        return "broker hung up" if raw.is_out() else "NOTHING"


def kept_out(broker: Broker, context: Any) -> str:
    try:
        Raw(broker.port, context).close()
    except ConnectionError:
        return "broker not let in"
    return "LET IN"
