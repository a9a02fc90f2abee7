"""A live table without its threads: what it is fed is in its record, whatever stops it and however often."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest

from tablectl import config
from tablectl.config import ConfigFile
from tablectl.daemon.storage import Storage
from tablectl.daemon.table import LiveTable
from tablectl.errors import ConfigError, LedgerError
from tablectl.houses import rules
from tablectl.ledger import pin as pins
from tablectl.ledger.checkpoint import key_name
from tablectl.ledger.keys import Signer
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.refold import all_entries
from tablectl.ledger.verify import verify_days
from tablectl.mqtt.judgement import Order
from tablectl.mqtt.orders import Response, RulingCommand, ShoeCommand
from tablectl.observations import CardDrawn, decode
from tablectl.recording.chunks import Chunk
from tablectl.recording.folder import of_ledger
from tablectl.recording.rebuilding import rebuild
from tests.daemon.lines import BEGINS, SECOND, chunks_of
from tests.table_toml import configured

DAY = 86400 * SECOND


class Clock:
    """The time, as the test says it."""

    def __init__(self, now: int = BEGINS) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Running:
    """A table with its storage; `stop` ends it in order, `kill` leaves everything as it lies and gives a copy of its folder."""

    def __init__(self, file: ConfigFile, clock: Clock, *, warn: Callable[[str], object] = lambda _: None) -> None:
        self.file = file
        self.clock = clock
        self.seconds = 1000.0
        self.storage = Storage(file.beside("store"))
        try:
            self.table = LiveTable(file, self.storage, clock=clock, tell=lambda *_: None, device=lambda _: "read_only", warn=warn)
            self.table.__enter__()
        except BaseException:
            self.storage.close()
            raise

    def feed(self, chunks: Iterable[Chunk], *, commit: bool = True) -> None:
        for chunk in chunks:
            self.clock.now = max(self.clock.now, chunk.at or 0)
            self.seconds += 1.0
            self.table.take(chunk, self.seconds)
            if commit:
                assert self.table.commit()

    def tend(self, *, seconds: float = 10.0) -> bool:
        self.seconds += seconds
        self.clock.now += int(seconds * SECOND)
        return self.table.tend(self.seconds)

    def stop(self) -> None:
        self.table.__exit__(None, None, None)
        self.storage.close()

    def kill(self, copy: Path) -> ConfigFile:
        _copy(self.file.path.parent, copy)
        self.stop()
        return config.load(copy / "table.toml")


def _copy(folder: Path, copy: Path) -> None:
    """A folder as it lies; a recording that is packed meanwhile is there as it was before or after."""
    while True:
        try:
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-lock", "*-shm", "*.part"))
            return
        except shutil.Error:
            shutil.rmtree(copy)


def entries_of(path: Path) -> list[Entry]:
    with Reader(path) as reader:
        return list(all_entries(reader))


def ledgers(file: ConfigFile) -> list[Path]:
    return sorted(file.beside("store").glob("ledger/*.db"))


def cards_of(file: ConfigFile) -> list[str]:
    entries = [entry for path in ledgers(file) for entry in entries_of(path) if entry.kind == "observation"]
    return [str(seen.card) for seen in map(decode, (entry.body for entry in entries)) if isinstance(seen, CardDrawn)]


def cards_in(chunks: Iterable[Chunk]) -> list[str]:
    text = b"".join(chunk.data for chunk in chunks if chunk.port == "shoe").decode()
    return [part.partition(">")[0].replace("10", "T") for part in text.split("<Card:")[1:]]


def assert_rebuilds(file: ConfigFile) -> None:
    """Each ledger is made again from its recordings, to the same head, and verifies."""
    for report in verify_days(ledgers(file)):
        assert report.whole, report.faults
        path = Path(report.ledger)
        with Reader(path) as reader:
            again = rebuild(reader, of_ledger(file.beside("store/recordings"), path.name), rules.load("es").house, {})
        assert again.root.hex() == report.root


def standing(running: Running) -> tuple[object, ...]:
    """Where the game stands, but for the alerts of a restart."""
    table = running.table.table
    return table.phase, table.round.number, table.round.hands, table.round.dealer, table.books, table.stakes


def test_a_day_is_in_its_ledger_and_is_rebuilt_from_its_recording(tmp_path: Path) -> None:
    file = configured(tmp_path)
    chunks = list(chunks_of("es", seed=1, rounds=4))
    running = Running(file, Clock())
    running.feed(chunks)
    running.stop()
    assert cards_of(file) == cards_in(chunks)
    assert_rebuilds(file)


def test_killed_anywhere_and_started_again_it_loses_no_card_and_doubles_none(tmp_path: Path) -> None:
    chunks = list(chunks_of("es", seed=2, rounds=3))
    draw = random.Random(7)
    (tmp_path / "0").mkdir()
    file, clock = configured(tmp_path / "0"), Clock()
    running = Running(file, clock)
    left, times = chunks, 0
    while left:
        committed = draw.randint(0, 6)
        recorded = draw.randint(0, 2)  # the kill comes between the recording and the commit
        while cuts_a_frame(left[: committed + recorded]):
            recorded += 1
        running.feed(left[:committed])
        running.feed(left[committed : committed + recorded], commit=False)
        left = left[committed + recorded :]
        stood = standing(running)
        times += 1
        file = running.kill(tmp_path / str(times))
        running = Running(file, clock)
        assert standing(running) == stood
    running.stop()
    assert times > 20
    assert cards_of(file) == cards_in(chunks)
    assert_rebuilds(file)


def cuts_a_frame(chunks: list[Chunk]) -> bool:
    return bool(chunks) and chunks[-1].port == "shoe" and b">" not in chunks[-1].data


def test_a_frame_that_a_kill_cut_is_told_and_the_next_ones_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    running = Running(configured(tmp_path / "a"), Clock())
    chunks = list(chunks_of("es", seed=3, rounds=2))
    cut = next(index for index in range(len(chunks)) if cuts_a_frame(chunks[: index + 1]))
    running.feed(chunks[: cut + 1])
    file = running.kill(tmp_path / "b")
    running = Running(file, running.clock)
    running.feed(chunks[cut + 2 :])
    running.stop()
    assert cards_of(file) == cards_in(chunks[:cut] + chunks[cut + 2 :])
    bodies = [entry.body for entry in entries_of(ledgers(file)[0])]
    assert sum(b'"code":"link.corrupt"' in body for body in bodies) == 1
    assert_rebuilds(file)


def test_a_new_day_begins_a_ledger_that_follows_and_takes_over(tmp_path: Path) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    first = list(chunks_of("es", seed=4, rounds=3))
    second = list(chunks_of("es", seed=5, rounds=3, begins=BEGINS + DAY))
    running.feed(first)
    number, books = running.table.table.round.number, running.table.table.books
    running.clock.now = BEGINS + DAY - 7 * 3600 * SECOND  # five in the morning: the gaming day is the same
    running.tend()
    assert len(ledgers(file)) == 1
    running.clock.now = BEGINS + DAY - 3600 * SECOND
    running.tend()
    assert [path.name for path in ledgers(file)] == ["2026-11-30.db", "2026-12-01.db"]
    assert (running.table.table.round.number, running.table.table.books) == (number, books)
    running.feed(second)
    running.stop()
    old, new = (entries_of(path) for path in ledgers(file))
    begun = pins.decode(new[0].body)
    assert begun.follows is not None
    assert (begun.follows.session, begun.follows.size) == (pins.session(old[0].body), len(old))
    assert cards_of(file) == cards_in(first) + cards_in(second)
    assert_rebuilds(file)
    again = Running(file, running.clock)
    assert again.table.table.round.number == number + 3
    again.stop()


def test_a_day_does_not_end_in_the_middle_of_a_round(tmp_path: Path) -> None:
    running = Running(configured(tmp_path), Clock())
    chunks = list(chunks_of("es", seed=6, rounds=1))
    running.feed(chunks[:20])
    assert running.table.table.round_open
    running.clock.now += DAY
    running.tend()
    assert len(ledgers(running.file)) == 1
    running.feed(chunks[20:])
    running.tend()
    assert len(ledgers(running.file)) == 2
    running.stop()


def order(command: RulingCommand | ShoeCommand, digest: bytes = b"\1" * 32) -> Order:
    return Order("ruling", command, BEGINS + 10 * DAY, digest, None, "topic", "open")


def test_a_command_is_done_once_also_over_a_kill(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    clock = Clock()
    running = Running(configured(tmp_path / "a"), clock)
    bets = [Chunk(clock.now, "pad", "<", line) for line in (b"L6\n", b"B1 1000\n", b"N\n")]
    running.feed([*bets, Chunk(clock.now, "shoe", "<", b" [Game]<Game> ")])  # a burn card that was not read: suspended
    command = RulingCommand(id="one", expires="2026-12-09T00:00:00Z", do="accept", by="CHIEF7", reason="seen on the felt")
    blocked = len(running.table.table.blockers)
    assert blocked, "there must be something to rule on"
    answer = running.table.desk.carry_out(order(command), at="2026-11-30T12:05:00.000000Z", now=clock.now)
    assert msgspec.json.decode(answer, type=Response).done
    file = running.kill(tmp_path / "b")
    running = Running(file, clock)
    assert not running.table.table.blockers
    last = running.table.ledger.last
    assert running.table.desk.carry_out(order(command), at="2026-11-30T12:06:00.000000Z", now=clock.now) == answer
    assert running.table.ledger.last == last, "a repeat adds nothing"
    running.stop()
    assert_rebuilds(file)


def test_who_may_rule_changes_while_it_runs_and_the_record_says_from_where_on(tmp_path: Path) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    running.feed(list(chunks_of("es", seed=8, rounds=1)))
    changed = configured(tmp_path, more='[[people]]\nname = "CHIEF8"\nmay = ["ruling"]\n')
    running.table.change(changed)
    assert running.table.table.supervisors == frozenset({"CHIEF7", "CHIEF8"})
    running.stop()
    pinned = [pins.decode(entry.body).supervisors for entry in entries_of(ledgers(file)[0]) if entry.kind == "pin"]
    assert pinned == [("CHIEF7",), ("CHIEF7", "CHIEF8")]
    running = Running(changed, running.clock)
    assert running.table.table.supervisors == frozenset({"CHIEF7", "CHIEF8"})
    running.stop()
    assert_rebuilds(file)


def test_other_rules_begin_another_ledger_but_not_in_the_middle_of_a_round(tmp_path: Path) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    chunks = list(chunks_of("es", seed=9, rounds=1))
    running.feed(chunks[:15])
    assert running.table.table.round_open
    running.stop()
    other = configured(tmp_path, house="fr")
    with pytest.raises(LedgerError, match="in the middle of a round under other rules"):
        Running(other, running.clock)
    running = Running(configured(tmp_path), running.clock)
    running.feed(chunks[15:])
    running.stop()
    running = Running(configured(tmp_path, house="fr"), running.clock)
    running.stop()
    assert [path.name for path in ledgers(file)] == ["2026-11-30.2.db", "2026-11-30.db"]
    assert all(report.whole for report in verify_days(ledgers(file)))


def test_one_daemon_a_table(tmp_path: Path) -> None:
    running = Running(configured(tmp_path), Clock())
    with pytest.raises(LedgerError, match="another tablectl runs this table"):
        Running(running.file, running.clock)
    running.stop()


def test_a_changed_entry_is_found_at_the_next_start(tmp_path: Path) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    running.feed(list(chunks_of("es", seed=10, rounds=1)))
    running.stop()
    ledger = ledgers(file)[0]
    data = ledger.read_bytes()
    place = data.index(b'"event":"card","card":"')
    ledger.write_bytes(data[:place] + data[place:].replace(b'"card":"K', b'"card":"Q', 1).replace(b'"card":"2', b'"card":"3', 1))
    with pytest.raises(LedgerError, match="damaged"):
        Running(file, running.clock)


def test_the_layout_is_held_against_the_house_when_the_table_opens_by_itself(tmp_path: Path) -> None:
    file = configured(tmp_path)
    file.path.write_text(file.path.read_text().replace('house = "es"', 'house = "es"\nlayout = { dealer_stands = "hard_17" }'))
    running = Running(config.load(file.path), Clock())
    assert running.table.table.phase == "closed"
    running.stop()
    assert any(b"rules.layout_mismatch" in entry.body for entry in entries_of(ledgers(file)[0]))


def test_a_profile_of_the_wrong_kind_is_named_with_its_line(tmp_path: Path) -> None:
    file = configured(tmp_path)
    file.path.write_text(file.path.read_text().replace('"bee-tek"', '"dealer-pad"'))
    with pytest.raises(ConfigError, match=r"table.toml:\d+: devices\[0\].profile: dealer-pad is the profile of a pad"):
        Running(config.load(file.path), Clock())


def test_a_missing_key_is_not_made_anew_where_it_has_signed(tmp_path: Path) -> None:
    file = configured(tmp_path)
    key = file.beside("store/signing-key")
    Running(file, Clock()).stop()
    kept = key.read_bytes()
    key.unlink()
    with pytest.raises(ConfigError, match="store/signing-key: the signing key is missing"):
        Running(file, Clock())
    assert not key.exists()
    key.touch(0o600)
    key.write_bytes(kept)
    running = Running(file, Clock())
    key.unlink()
    running.table.change(file)  # it still has the key in hand, and hands over to another
    assert key.exists()
    running.stop()
    Running(file, Clock()).stop()
    assert_rebuilds(file)


def test_a_ledger_that_is_gone_is_not_begun_anew_beside_its_recordings(tmp_path: Path) -> None:
    file = configured(tmp_path)
    chunks = list(chunks_of("es", seed=6, rounds=2))
    running = Running(file, Clock())
    running.feed(chunks[:40])
    running.stop()
    ledger = ledgers(file)[0]
    older = ledger.read_bytes()
    running = Running(file, Clock(running.clock.now))
    running.feed(chunks[40:])
    running.stop()
    lost = entries_of(ledger)
    ledger.unlink()
    names = [path.name for path in of_ledger(file.beside("store/recordings"), ledger.name)]
    with pytest.raises(LedgerError, match=rf"2026-11-30\.db: is gone, and of it 2 .*{names[0]} to {names[1]}"):
        Running(file, running.clock)
    ledger.write_bytes(older)  # an older copy: what it lacks is in the recordings
    Running(file, Clock(running.clock.now)).stop()
    assert entries_of(ledger)[: len(lost)] == lost
    assert cards_of(file) == cards_in(chunks)
    assert_rebuilds(file)
    ledger.unlink()
    shutil.move(file.beside("store/recordings"), tmp_path / "elsewhere")
    Running(file, Clock(running.clock.now)).stop()
    assert cards_of(file) == []


def test_ledgers_before_the_newest_may_be_in_an_archive(tmp_path: Path) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    running.feed(chunks_of("es", seed=6, rounds=1))
    running.clock.now += DAY
    running.tend()
    running.stop()
    old, new = ledgers(file)
    old.unlink()
    Running(file, running.clock).stop()
    assert ledgers(file) == [new]


def test_another_key_follows_the_first_by_its_word_and_by_no_other(tmp_path: Path) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    running.feed(list(chunks_of("es", seed=11, rounds=1)))
    new = Signer.make(key_name(file.name))
    new.save(tmp_path / "new.key")
    Signer.make("tablectl/v1/a/b/c").save(tmp_path / "another.key")
    with pytest.raises(ConfigError, match=f"another.key: is the key tablectl/v1/a/b/c, not that of table {file.name}"):
        running.table.change(configured(tmp_path, more='[ledger]\nkey = "another.key"\n'))
    changed = configured(tmp_path, more='[ledger]\nkey = "new.key"\n')
    running.table.change(changed)
    running.tend(seconds=100.0)
    running.stop()
    (report,) = verify_days(ledgers(file))
    assert report.whole, report.faults
    assert (report.signed, report.key) == (report.size, new.verifier.name)
    Running(changed, running.clock).stop()
    with pytest.raises(LedgerError, match="the table has another key; hand it over with: tablectl audit rotate-key"):
        Running(configured(tmp_path), running.clock)
    assert_rebuilds(file)


def test_a_damaged_recording_is_taken_in_as_far_as_it_goes_and_named(tmp_path: Path) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    running.feed(list(chunks_of("es", seed=12, rounds=1)), commit=False)
    copy = running.kill(tmp_path / "copy")
    [path] = (tmp_path / "copy/store/recordings").iterdir()
    lines = path.read_bytes().split(b"\n")
    lines[-3] = b"\xff" * 40
    path.write_bytes(b"\n".join(lines))
    headless = path.with_name("20200101T000000.000000Z.rec.gz")
    headless.write_bytes(b"\x1f\x8b\x08" + bytes(range(256)))
    warned: list[str] = []
    again = Running(copy, running.clock, warn=warned.append)
    again.stop()
    assert [line.partition(" is damaged")[0] for line in warned] == [f"{path}:", f"{headless}:"]
