"""Kill: a table killed at random moments, while it starts too, loses no recorded card, doubles none, and goes on where it was.

`python -m tests.live.kill --runs 200` kills and prints figures; it ends at the first thing that is not as it must be. A table
keeps its folder for `FOLDER` runs, then another begins, with another make of shoe. What must be in the ledger is read from the
recordings by patterns of this file, not by the table's own decoders; where the game must stand, by folding all recordings from
their beginning.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from pathlib import Path
from statistics import median

import msgspec

from tablectl.config import ConfigFile
from tablectl.emulator.table import EmulatedTable
from tablectl.game.table import Table
from tablectl.game.view import TableView
from tablectl.houses import rules
from tablectl.ledger import pin as pins
from tablectl.ledger.reader import Reader
from tablectl.ledger.refold import table_of
from tablectl.ledger.verify import verify_days
from tablectl.mqtt.messages import Envelope
from tablectl.observations import Observation, encode
from tablectl.recording import folder as recordings
from tablectl.recording.day import rest_of_day
from tablectl.recording.importers import open_log
from tablectl.recording.sources import Seen
from tests.broker import Broker
from tests.live.running import (
    Program,
    Standing,
    Subscriber,
    assert_told,
    assert_whole,
    cards,
    configured,
    ledgers,
    observations,
    recordings_of,
)

__all__ = ["Figures", "killed"]

FOLDER = 20
SHOES = ("bee-tek", "angel-eye-ii")
EARLY, RUSHED = 0.35, 0.3
LONGEST = 1.5
"""Seconds between a table's being ready and its end, at the most."""

_TEXT = re.compile(rb"\[(?:Game|Manual Burn Cards)\]<Card:(10|[2-9TJQKA])([CDHS])>")
_DRAWN = re.compile(rb"\x05([^\x05]D[^\x05]{2}\x03)([0-9A-F]{2})", re.DOTALL)
_SUITS, _RANKS = " DCSH", " A23456789TJQK"

_envelope = msgspec.json.Decoder(Envelope).decode
_view = msgspec.json.Decoder(TableView).decode


@dataclass
class Figures:
    """What was seen. `sent` cards went over the lines, `recorded` are whole in the recordings, `kept` in the ledgers."""

    runs: int = 0
    tables: int = 0
    sent: int = 0
    recorded: int = 0
    kept: int = 0
    entries: int = 0
    notices: int = 0
    repeats: int = 0
    resumed: int = 0
    taken_in: int = 0
    restarts: list[float] = field(default_factory=list)
    phases: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """The table of figures."""
        yield f"runs killed                  {self.runs} of {self.tables} tables"
        yield f"cards sent                   {self.sent}"
        yield f"cards whole in a recording   {self.recorded}"
        yield f"cards in the ledgers         {self.kept}"
        yield f"ledger entries               {self.entries}, verified after each kill, rebuilt to the same head"
        yield f"recorded, not in the ledger  {self.taken_in} observations at a kill, all taken in at the next start"
        yield f"notices                      {self.notices}, each heard once by id, in order; {self.repeats} repeats dropped"
        yield f"game resumed                 {self.resumed} times as the table said itself"
        yield f"restart, seconds             median {median(self.restarts):.2f}, slowest {max(self.restarts):.2f}"
        yield "killed in                    " + ", ".join(f"{phase} {count}" for phase, count in self.phases.most_common())


def cards_in_recordings(file: ConfigFile, shoe: str) -> list[str]:
    """The cards whose frames are whole in one recording, each once."""
    found: list[str] = []
    for path in recordings_of(file):
        if path.stat().st_size:
            data = b"".join(chunk.data for chunk in open_log(path) if chunk.port == "shoe" and chunk.direction == "<")
            found += _text_cards(data) if shoe == "bee-tek" else _drawn_cards(data)
    return found


def _text_cards(data: bytes) -> Iterator[str]:
    for rank, suit in _TEXT.findall(data):
        yield (rank + suit).decode().replace("10", "T")


def _drawn_cards(data: bytes) -> Iterator[str]:
    """Each message is sent three times under one number; the next one has another."""
    last = None
    for body, check in _DRAWN.findall(data):
        if reduce(xor, body) == int(check, 16) and body != last:
            last = body
            card = body[3]
            yield f"{_RANKS[card & 15]}{_SUITS[(card >> 4) & 7]}"


class Recorded:
    """A table as its recordings say it must be: what was observed, and the game that follows."""

    def __init__(self, file: ConfigFile) -> None:
        path = ledgers(file)[-1]
        with Reader(path) as reader:
            pin = pins.decode(reader.entries(0, 1)[0].body)
        self.table = table_of(pin, rules.load(file.config.table.house).house)
        self.observed: list[Observation] = []
        paths = recordings.of_ledger(file.beside("store/recordings"), path.name)
        for found in rest_of_day(paths, {}):
            if isinstance(found, Seen):
                self.table.feed(found.observation)
                self.observed.append(found.observation)


class KilledTable:
    """One table, and what is done to it."""

    def __init__(
        self,
        folder: Path,
        shoe: str,
        draw: random.Random,
        broker: Broker,
        subscriber: Subscriber,
        figures: Figures,
        longest: float,
    ) -> None:
        self.shoe = shoe
        self.draw = draw
        self.subscriber = subscriber
        self.figures = figures
        self.longest = longest
        self.file = configured(folder, broker=broker.url, name=folder.name, shoe=shoe)
        self.emulated = EmulatedTable(folder / "devices", "es", shoe, seed=draw.randrange(10**6), patience=0.5, gap=0.015)
        self.program = Program(self.file)
        self.before: Recorded | None = None
        self.usual = 0.6

    def run(self) -> None:
        """Start the table, kill it, and see what it left."""
        heard = len(self.subscriber.messages)
        rushed, early = self.draw.random() < RUSHED, self.draw.random() < EARLY
        self.program.start()
        if rushed:
            self.emulated.start()
        if early:
            time.sleep(self.draw.uniform(0, self.usual))
        else:
            took = self.program.ready()
            self.figures.restarts.append(took)
            self.usual = took
            if not rushed:
                assert self.emulated.opened(10), self.program.log()
                self.emulated.start()
            time.sleep(self.draw.uniform(0, self.longest))
        assert self.program.code is None, self.program.log()
        ready = self.program.is_ready()
        self.program.kill()
        self.emulated.stop()
        self.figures.runs += 1
        self._look(ready=ready, heard=heard)

    def _look(self, *, ready: bool, heard: int) -> None:
        if not ledgers(self.file):
            self.figures.phases["start-up"] += 1
            return  # killed before it had one
        for report in verify_days(ledgers(self.file)):
            assert report.whole, report.faults
        recorded, kept = Recorded(self.file), list(observations(self.file))
        assert [*map(encode, kept)] == [*map(encode, recorded.observed[: len(kept)])], "the ledger is not what was recorded"
        there = cards_in_recordings(self.file, self.shoe)
        assert cards(self.file) == there[: len(cards(self.file))]
        self.figures.taken_in += len(recorded.observed) - len(kept)
        self.figures.phases[recorded.table.phase if ready else "start-up"] += 1
        if ready and self.before is not None:
            self._see_resumed(self.before, kept, heard)
        self.before = recorded
        # The dealer looks at what the table has, as one would who has seen the lights go out.
        self.emulated.dealer.table = Recorded(self.file).table

    def _see_resumed(self, before: Recorded, kept: list[Observation], heard: int) -> None:
        """What was recorded before the last kill is in the ledger, and the table went on from there by its own word."""
        done = len(before.observed)
        assert [*map(encode, before.observed)] == [*map(encode, kept[:done])], "what was recorded was not all taken in"
        state = next(
            (event for message in self.subscriber.messages[heard:] if (event := self._state(message.payload, message.topic))),
            None,
        )
        if state is None:
            return  # killed before it had told anyone
        view = _view(bytes(state.data))
        said = Standing(view.phase, view.round)
        assert said == self._stood(before.table, done, int(state.sequence))
        self.figures.resumed += 1

    def _state(self, payload: bytes, topic: str) -> Envelope | None:
        ours = topic.endswith(f"/{self.file.name.table}/state") and payload
        return _envelope(payload) if ours else None

    def _stood(self, table: Table, done: int, last: int) -> Standing:
        """Where the game stood at entry `last`, from where the recordings had it after `done` observations."""
        with Reader(ledgers(self.file)[-1]) as reader:
            entries = [entry for entry in reader.entries(0, last) if entry.kind == "observation"]
        for entry in entries[done:]:
            table.feed(msgspec.json.decode(entry.body, type=Observation))
        return Standing(table.phase, table.round.number)

    def end(self) -> None:
        """Start it once more, stop it in order, and see that all is there."""
        self.program.start()
        self.figures.restarts.append(self.program.ready())
        assert self.program.stop() == 0, self.program.log()
        there = cards_in_recordings(self.file, self.shoe)
        assert cards(self.file) == there
        self.figures.tables += 1
        self.figures.sent += sum(self._sent())
        self.figures.recorded += len(there)
        self.figures.kept += len(cards(self.file))
        self.figures.entries += assert_whole(self.file)
        self.figures.notices += assert_told(self.file, self.subscriber)

    def _sent(self) -> Iterator[bool]:
        return (entry.observation.__struct_config__.tag == "card" for entry in self.emulated.account.entries)

    def close(self) -> None:
        """Leave nothing behind."""
        self.emulated.close()
        self.program.__exit__(None, None, None)


def killed(folder: Path, runs: int, seed: int, longest: float = LONGEST) -> Figures:
    """Kill tables in this folder so often. An `AssertionError` says what was not as it must be."""
    draw, figures = random.Random(seed), Figures()
    with Broker(folder / "broker") as broker, Subscriber(broker.port) as subscriber:
        for number, begun in enumerate(range(0, runs, FOLDER)):
            with ExitStack() as stack:
                shoe = SHOES[number % len(SHOES)]
                table = KilledTable(folder / f"t{number:02}", shoe, draw, broker, subscriber, figures, longest)
                stack.callback(table.close)
                for _ in range(min(FOLDER, runs - begun)):
                    table.run()
                table.end()
        figures.repeats = subscriber.repeats
    return figures


def main() -> int:
    """Kill, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.kill", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tablectl-kill-") as folder:
        figures = killed(Path(folder), given.runs, given.seed)
    print("\n".join(figures.lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
