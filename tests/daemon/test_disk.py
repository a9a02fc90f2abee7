"""The orders of things when the disk refuses: nothing comes into the ledger that is not recorded, and all comes in the end."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tablectl.config import ConfigFile
from tablectl.errors import InputError, LedgerError
from tablectl.observations import TableState, decode
from tablectl.recording.chunks import Chunk
from tablectl.recording.day import rest_of_day
from tests.daemon.lines import BEGINS, chunks_of
from tests.daemon.test_table import DAY, Clock, Running, assert_rebuilds, cards_in, cards_of, cuts_a_frame, entries_of, ledgers
from tests.live.disk import Full, able
from tests.live.running import until
from tests.table_toml import configured


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, folder: str, **calls: int) -> Iterator[None]:
    """Calls of `os`, such as `write=errno.ENOSPC`, fail for files (or paths) in a folder of this name."""
    with monkeypatch.context() as patched:
        for name, code in calls.items():
            patched.setattr(os, name, _refused(name, code, folder))
        yield


def _refused(name: str, code: int, folder: str) -> Any:
    real = getattr(os, name)

    def call(file: int | str | Path, *rest: Any, **more: Any) -> Any:
        path = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else os.fspath(file)
        if folder in path.split("/"):
            raise OSError(code, os.strerror(code))
        return real(file, *rest, **more)

    return call


def feed_refused(running: Running, chunks: list[Any]) -> None:
    for chunk in chunks:
        running.clock.now = max(running.clock.now, chunk.at)
        running.seconds += 1.0
        running.table.take(chunk, running.seconds)
        assert not running.table.commit()


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """What we write beyond a file's size is refused."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def record_of(running: Running) -> str:
    return running.table.table.devices["record"].state


def test_what_is_not_recorded_comes_into_the_ledger_by_no_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the recording has no room the ledger may have some, as its log is written over: a checkpoint must not use it."""
    file = configured(tmp_path)
    running = Running(file, Clock())
    chunks = list(chunks_of("es", seed=11, rounds=2))
    running.feed(chunks[:20])
    committed = len(entries_of(ledgers(file)[0]))
    with refusing(monkeypatch, "recordings", write=errno.ENOSPC):
        feed_refused(running, chunks[20:40])
        assert not running.table.checkpoint()
        assert len(entries_of(ledgers(file)[0])) == committed
        assert record_of(running) == "down"
    running.feed(chunks[40:])
    assert record_of(running) == "up"
    running.stop()
    assert cards_of(file) == cards_in(chunks)
    assert_rebuilds(file)


def test_a_recording_that_could_not_be_synced_gives_way_to_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    chunks = list(chunks_of("es", seed=12, rounds=2))
    running.feed(chunks[:21])
    cut = next(index for index in range(40, len(chunks)) if not cuts_a_frame(chunks[:index]))
    with refusing(monkeypatch, "recordings", fdatasync=errno.EIO, fsync=errno.EIO):
        feed_refused(running, chunks[21:cut])
        running.tend(seconds=0.2)
        assert not running.table.commit()
    running.tend(seconds=0.2)
    assert running.table.live.trouble is None
    running.feed(chunks[cut:])
    running.stop()
    assert cards_of(file) == cards_in(chunks)
    assert_rebuilds(file)


def at_a_days_end(folder: Path) -> tuple[ConfigFile, Running, list[Chunk], list[Chunk]]:
    """A table that played a day's two rounds, and whose clock stands in the next; both days' chunks."""
    file = configured(folder)
    running = Running(file, Clock())
    first = list(chunks_of("es", seed=13, rounds=2))
    second = list(chunks_of("es", seed=14, rounds=1, begins=BEGINS + DAY))
    running.feed(first)
    running.clock.now = BEGINS + DAY
    return file, running, first, second


def test_a_day_that_cannot_begin_leaves_no_chunk_in_its_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ledger has no room, and then there is none to go back to the old day's recording either."""
    file, running, first, second = at_a_days_end(tmp_path)
    with refusing(monkeypatch, "ledger", rename=errno.ENOSPC):
        real = running.table.live.turn_back

        def no_room(*values: Any) -> None:
            with refusing(monkeypatch, "recordings", open=errno.ENOSPC):
                real(*values)
                feed_refused(running, second[:4])

        monkeypatch.setattr(running.table.live, "turn_back", no_room)
        running.tend()
    assert len(ledgers(file)) == 1
    monkeypatch.setattr(running.table.live, "turn_back", real)
    running.feed(second[4:])
    running.tend()
    assert len(ledgers(file)) == 2
    running.stop()
    assert cards_of(file) == cards_in(first + second)
    assert_rebuilds(file)


def test_a_day_that_cannot_follow_goes_on_in_a_recording_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next day's recording was begun already, and the ledger then takes nothing more."""
    file, running, first, second = at_a_days_end(tmp_path)
    live = running.table.live
    limit = file.beside("store/ledger/2026-11-30.db-wal").stat().st_size
    real = live.rotate

    def rotated(*values: Any) -> bool:
        done = real(*values)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        return done

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with monkeypatch.context() as patched:
        patched.setattr(live, "rotate", rotated)
        try:
            running.tend()
            assert len(ledgers(file)) == 1
            feed_refused(running, second[:4])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    until(running.table.commit)
    running.feed(second[4:])
    running.stop()
    assert cards_of(file) == cards_in(first + second)
    assert_rebuilds(file)


def test_a_start_that_fails_leaves_the_ledger_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    running = Running(configured(tmp_path / "a"), Clock())
    chunks = list(chunks_of("es", seed=15, rounds=1))
    running.feed(chunks[:10])
    running.feed(chunks[10:], commit=False)
    file = running.kill(tmp_path / "b")
    committed = len(entries_of(ledgers(file)[0]))
    real = rest_of_day

    def breaking(*values: Any, **more: Any) -> Iterator[Any]:
        for index, found in enumerate(real(*values, **more)):
            if index == 5:
                raise InputError("cannot be read")
            yield found

    with monkeypatch.context() as patched:
        patched.setattr("tablectl.daemon.table.rest_of_day", breaking)
        with pytest.raises(InputError):
            Running(file, running.clock)
    assert len(entries_of(ledgers(file)[0])) == committed
    running = Running(file, running.clock)
    running.stop()
    assert cards_of(file) == cards_in(chunks)
    assert_rebuilds(file)


@pytest.mark.skipif(not able(Full), reason="needs the right to mount")
def test_a_start_on_a_full_disk_says_so(tmp_path: Path) -> None:
    with Full(tmp_path) as disk:
        file = configured(tmp_path)
        Running(file, Clock()).stop()
        disk.fail(os.getpid())
        with pytest.raises(LedgerError, match="the disk is full"):
            Running(file, Clock())


def test_what_a_table_writes_is_for_its_user_and_group_alone(tmp_path: Path) -> None:
    file = configured(tmp_path)
    running = Running(file, Clock())
    found = {path.name: path.stat().st_mode & 0o777 for path in file.beside("store").rglob("*") if path.is_file()}
    running.stop()
    assert {name for name, mode in found.items() if mode & 0o007} == set(), found
    assert found["2026-11-30.db"] == 0o640


def test_what_was_said_of_the_disk_is_settled_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that was stopped, or killed, while its disk was full, or nearly: `status` does not say so for ever."""
    (tmp_path / "a").mkdir()
    running = Running(configured(tmp_path / "a"), Clock())
    chunks = list(chunks_of("es", seed=18, rounds=1))
    running.feed(chunks[:20])
    with refusing(monkeypatch, "recordings", write=errno.ENOSPC):
        feed_refused(running, chunks[20:22])
    running.table.live.commit()  # there is room again: that it was full is written, and before that it is over, it is killed
    file = running.kill(tmp_path / "b")
    running = Running(file, running.clock)
    assert record_of(running) == "up"
    running.storage.free_bytes = lambda: -1  # type: ignore[method-assign]
    running.tend(seconds=40.0)
    assert running.table.table.devices["record"].why.startswith("low")
    running.stop()
    running = Running(file, running.clock)
    running.tend(seconds=40.0)
    assert (record_of(running), running.table.table.devices["record"].why) == ("up", "room again")
    running.stop()
    assert_rebuilds(file)


def test_a_table_whose_first_start_failed_is_opened_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = configured(tmp_path)
    with refusing(monkeypatch, "recordings", open=errno.ENOSPC), pytest.raises(LedgerError, match="No space left"):
        Running(file, Clock())
    file.beside("store/ledger/2026-12-01.db.making").write_bytes(b"half")
    running = Running(file, Clock())
    running.stop()
    seen = [decode(entry.body) for entry in entries_of(ledgers(file)[0]) if entry.kind == "observation"]
    assert [each.state for each in seen if isinstance(each, TableState)] == ["open"]
    assert_rebuilds(file)


def test_a_ledger_that_fails_for_long_does_not_slow_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that waits is tried again and again: were it with every card, the ten thousandth would wait as for ten thousand."""
    file = configured(tmp_path)
    running = Running(file, Clock())
    chunks = list(chunks_of("es", seed=16, rounds=25))
    limit = file.beside("store/ledger/2026-11-30.db-wal").stat().st_size
    tries = 0
    real = running.table.ledger.commit

    def counted(*values: Any) -> int:
        nonlocal tries
        tries += 1
        return real(*values)

    monkeypatch.setattr(running.table.ledger, "commit", counted)
    with files_no_larger_than(limit):
        feed_refused(running, chunks)
    assert running.table.live.waiting > len(chunks)
    assert tries < len(chunks) / 4
    until(running.table.commit)
    running.stop()
    assert cards_of(file) == cards_in(chunks)
    assert_rebuilds(file)
