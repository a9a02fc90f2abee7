"""The ledger on real files: what is committed is there, whatever happens; what is wrong is said in words."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.errors import LedgerError
from tablectl.ledger import pin as pins
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.ledger.reader import Entry, Outbox, Reader
from tablectl.ledger.store import Ledger

PIN = Pin(software="tablectl 0.1.0", table=TableName("s", "p", "t"), house=Pinned("fr", "ab" * 32), language="fr", profiles={})
SEEN = b'{"event":"tick"}'
DEALT = b'{"notice":"dealt","seq":1}'
PROMPT = b'{"notice":"prompt","seq":2}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.ledger"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.create(path, PIN) as made:
        yield made


def everything(path: Path) -> list[Entry]:
    with Reader(path) as reader:
        return reader.entries(limit=1_000_000)


def test_entries_are_what_was_appended_in_order_numbered_without_a_gap(ledger: Ledger) -> None:
    assert ledger.append(SEEN, [DEALT, PROMPT], b"{}") == 2
    assert ledger.append(b"x\x00\xff") == 5
    ledger.commit()
    assert everything(ledger.path) == [
        (1, "pin", pins.encode(PIN)),
        (2, "observation", SEEN),
        (3, "notice", DEALT),
        (4, "notice", PROMPT),
        (5, "observation", b"x\x00\xff"),
    ]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.binary(max_size=30), st.lists(st.sampled_from([DEALT, PROMPT]), max_size=3), st.booleans()), max_size=12
    )
)
def test_any_grouping_into_batches_gives_the_same_ledger(script: list[tuple[bytes, list[bytes], bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        together, apart = Path(folder) / "together", Path(folder) / "apart"
        with Ledger.create(together, PIN) as one, Ledger.create(apart, PIN) as other:
            for seen, said, commit in script:
                one.append(seen, said, seen)
                other.append(seen, said, seen)
                if commit:
                    other.commit()
        assert everything(together) == everything(apart)
        with Reader(together) as first, Reader(apart) as second:
            for name in ("pin", "state", "prompt", "status"):
                assert first.latest(name) == second.latest(name)


def test_a_reader_sees_what_is_committed_and_nothing_else(ledger: Ledger) -> None:
    with Reader(ledger.path) as reader:
        ledger.append(SEEN, [DEALT])
        assert reader.last() == 1
        ledger.commit()
        assert reader.last() == 3
        assert reader.notices_after(0) == [(3, "notice", DEALT)]


def test_notices_are_read_in_pieces(ledger: Ledger) -> None:
    for _ in range(10):
        ledger.append(SEEN, [DEALT, PROMPT])
    ledger.commit()
    with Reader(ledger.path) as reader:
        pieces: list[Entry] = []
        while piece := reader.notices_after(pieces[-1].seq if pieces else 0, limit=3):
            assert len(piece) <= 3
            pieces += piece
        assert [entry.body for entry in pieces] == [DEALT, PROMPT] * 10
        assert reader.count_notices(0) == 20
        assert reader.count_notices(pieces[4].seq) == 15
        assert reader.entries(after=4, limit=2) == [(5, "observation", SEEN), (6, "notice", DEALT)]


def test_the_latest_of_what_is_retained_is_kept_with_its_number(ledger: Ledger) -> None:
    status = b'{"notice":"status","devices":{}}'
    with Reader(ledger.path) as reader:
        assert reader.latest("state") is None
        assert reader.latest("pin") == (1, "pin", pins.encode(PIN))
        ledger.append(SEEN, [PROMPT, status, b'{"notice":"prompt","seq":9}'], b'{"round":1}')
        ledger.append(SEEN, [DEALT])
        ledger.commit()
        assert reader.latest("prompt") == (5, "prompt", b'{"notice":"prompt","seq":9}')
        assert reader.latest("status") == (4, "status", status)
        assert reader.latest("state") == (5, "state", b'{"round":1}')


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET body = x'00' WHERE seq = 2",
        "UPDATE entries SET seq = 9 WHERE seq = 3",
        "DELETE FROM entries WHERE seq = 3",
        "DELETE FROM entries",
        "INSERT INTO entries VALUES (2, 'notice', x'00', zeroblob(32))",
        "INSERT OR REPLACE INTO entries VALUES (2, 'notice', x'00', zeroblob(32))",
        "INSERT INTO entries VALUES (9, 'notice', x'00', zeroblob(32))",
        "INSERT INTO entries VALUES (0, 'notice', x'00', zeroblob(32))",
        "INSERT INTO entries (kind, body, chain) VALUES ('notice', x'00', zeroblob(32))",
        "INSERT INTO entries VALUES (4, '', x'00', zeroblob(32))",
        "INSERT INTO entries VALUES (4, 'notice', x'00', x'00')",
        "INSERT INTO entries VALUES (4, 'notice', x'00', NULL)",
        "INSERT INTO entries VALUES (4, 'notice', NULL, zeroblob(32))",
        "INSERT INTO entries VALUES (4, 'notice', 7, zeroblob(32))",
    ],
)
def test_the_file_itself_refuses_to_be_changed(ledger: Ledger, change: str) -> None:
    ledger.append(SEEN, [DEALT])
    ledger.commit()
    before = everything(ledger.path)
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(change)
    connection.rollback()
    connection.close()
    assert everything(ledger.path) == before


def test_commits_are_on_the_disk_before_they_return(ledger: Ledger) -> None:
    assert ledger._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert ledger._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_notice_that_is_none_is_refused_before_anything_is_added(ledger: Ledger) -> None:
    with pytest.raises(msgspec.DecodeError):
        ledger.append(SEEN, [DEALT, b"no notice"])
    assert (ledger.last, ledger.waiting) == (1, 0)


def test_what_waits_is_committed_on_leaving_even_with_an_error(path: Path) -> None:
    def fail() -> None:
        with Ledger.create(path, PIN) as ledger:
            ledger.append(SEEN, [DEALT])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert len(everything(path)) == 3
    assert sorted(os.listdir(path.parent)) == [path.name]


# Resuming


def test_a_resumed_ledger_goes_on_numbering(path: Path) -> None:
    with Ledger.create(path, PIN) as ledger:
        ledger.append(SEEN, [DEALT])
        session = ledger.session
    with Ledger.resume(path, PIN) as ledger:
        assert (ledger.session, ledger.last, ledger.pin) == (session, 3, PIN)
        assert ledger.append(SEEN) == 4
    assert [entry.kind for entry in everything(path)] == ["pin", "observation", "notice", "observation"]


def test_new_software_is_pinned_once_and_the_session_stays(path: Path) -> None:
    newer = msgspec.structs.replace(PIN, software="tablectl 0.2.0", opened="2026-11-30T05:57:42.000631Z")
    with Ledger.create(path, PIN) as ledger:
        session = ledger.session
    for _ in range(2):
        with Ledger.resume(path, newer) as ledger:
            assert ledger.session == session
            ledger.append(SEEN)
    assert [entry.kind for entry in everything(path)] == ["pin", "pin", "observation", "observation"]
    with Reader(path) as reader:
        assert reader.latest("pin") == (2, "pin", pins.encode(newer))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"table": TableName("s", "p", "t2")}, "record of table s/p/t, not of s/p/t2"),
        ({"house": Pinned("es", "cd" * 32)}, "under the house fr, not under es"),
        ({"house": Pinned("fr", "cd" * 32)}, "under other rules (fr)"),
    ],
)
def test_the_ledger_of_another_game_is_refused(path: Path, other: dict[str, object], words: str) -> None:
    Ledger.create(path, PIN).close()
    with pytest.raises(LedgerError) as caught:
        Ledger.resume(path, msgspec.structs.replace(PIN, **other))
    assert words in str(caught.value)
    Ledger.resume(path, PIN).close()


# What can be wrong with the file


def test_a_ledger_is_never_written_over(path: Path) -> None:
    Ledger.create(path, PIN).close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(path, PIN)
    assert path.read_bytes() == before


def test_an_empty_file_may_become_a_ledger_but_is_none(path: Path) -> None:
    path.touch()
    with pytest.raises(LedgerError, match="is no ledger: it is empty"):
        Reader(path)
    with pytest.raises(LedgerError, match="is no ledger: it is empty"):
        Ledger.resume(path)
    Ledger.create(path, PIN).close()
    assert len(everything(path)) == 1


def test_one_writer_at_a_time(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="being written by another program"):
        Ledger.resume(ledger.path)


def test_a_lock_left_by_a_dead_process_means_nothing(path: Path) -> None:
    Ledger.create(path, PIN).close()
    path.with_name(path.name + "-lock").touch()
    Ledger.resume(path).close()


def _another_program(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bets (amount)")
    connection.close()


def _a_later_version(path: Path) -> None:
    Ledger.create(path, PIN).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 3")
    connection.close()


def _cut_off(path: Path) -> None:
    with Ledger.create(path, PIN) as ledger:
        for _ in range(2000):
            ledger.append(SEEN, [DEALT])
    os.truncate(path, path.stat().st_size // 2)


def _scribbled(path: Path) -> None:
    Ledger.create(path, PIN).close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(bytes(4000))


def _without_pin(path: Path) -> None:
    Ledger.create(path, PIN).close()
    connection = sqlite3.connect(path)
    connection.executescript("DROP TRIGGER entries_kept; DELETE FROM entries; DELETE FROM latest")
    connection.close()


def _pin_unreadable(path: Path) -> None:
    Ledger.create(path, PIN).close()
    connection = sqlite3.connect(path)
    connection.executescript("UPDATE latest SET body = x'7b' WHERE name = 'pin'")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_text("a shopping list\n" * 100), "is no ledger: not an SQLite file"),
        (lambda path: path.write_bytes(b"x"), "is no ledger"),
        (_another_program, "is no ledger: another program's file"),
        (_a_later_version, "is a ledger of version 3; this program reads version 2"),
        (_cut_off, "is damaged"),
        (_scribbled, "is damaged"),
        (_without_pin, "is damaged"),
        (_pin_unreadable, "is damaged: its latest pin is not that of its entries"),
        (lambda path: path.mkdir(), "there is no such ledger"),
        (lambda path: None, "there is no such ledger"),
    ],
)
def test_what_is_no_whole_ledger_is_named_with_its_fault(path: Path, spoil: object, words: str) -> None:
    assert callable(spoil)
    spoil(path)
    with pytest.raises(LedgerError) as caught:
        Ledger.resume(path, PIN)
    assert caught.value.where == str(path)
    assert caught.value.exit_code == 7
    assert words in caught.value.message
    assert not path.with_name(path.name + "-lock").exists()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened: No such file or directory"):
        Ledger.create(tmp_path / "nowhere" / "x.ledger", PIN)


# What can go wrong while writing


def test_a_full_disk_takes_nothing_and_loses_nothing(ledger: Ledger) -> None:
    limit = ledger._connection.execute("PRAGMA page_count").fetchone()[0]
    ledger._connection.execute(f"PRAGMA max_page_count = {limit}")
    for _ in range(200):
        ledger.append(SEEN, [DEALT], b"{}")
    with pytest.raises(LedgerError, match="the disk is full") as caught:
        ledger.commit()
    assert caught.value.where == str(ledger.path)
    assert everything(ledger.path) == [(1, "pin", pins.encode(PIN))]
    ledger.append(SEEN)
    ledger._connection.execute(f"PRAGMA max_page_count = {limit + 100}")
    assert ledger.commit() == 402
    assert [entry.seq for entry in everything(ledger.path)] == list(range(1, 403))


def test_a_disk_that_refuses_a_write_leaves_a_whole_ledger(path: Path) -> None:
    program = textwrap.dedent("""
        import resource, signal, sys
        from pathlib import Path
        from tablectl.errors import LedgerError
        from tablectl.ledger.store import Ledger
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        ledger = Ledger.resume(Path(sys.argv[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        try:
            while True:
                ledger.append(b"x" * 1000)
                ledger.commit()
        except LedgerError as error:
            print(ledger.last - ledger.waiting, error)
            sys.exit(error.exit_code)
    """)
    Ledger.create(path, PIN).close()
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (7, "")
    committed, words = done.stdout.split(" ", 1)
    assert words.startswith(str(path))
    with Ledger.resume(path) as ledger:
        assert ledger.last == int(committed) > 10


def test_a_file_that_another_connection_keeps_locked(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger._connection.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ledger.append(SEEN)
    with pytest.raises(LedgerError, match="is locked by another program"):
        ledger.commit()
    other.execute("ROLLBACK")
    other.close()
    assert ledger.commit() == 2


def test_every_committed_entry_outlives_a_kill(path: Path) -> None:
    program = textwrap.dedent("""
        import sys
        from pathlib import Path
        from tablectl.ledger.store import Ledger
        ledger = Ledger.resume(Path(sys.argv[1]))
        while True:
            for _ in range(7):
                ledger.append(b'{"event":"tick"}', [b'{"notice":"dealt"}'] * 3, b"{}")
            print(ledger.commit(), flush=True)
    """)
    Ledger.create(path, PIN).close()
    last = 1
    for lines in (3, 20, 60):
        with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = [int(process.stdout.readline()) for _ in range(lines)]
            process.send_signal(signal.SIGKILL)
            told += [int(line) for line in process.stdout]
        assert told[0] == last + 28
        with Ledger.resume(path) as ledger:
            last = ledger.last
        assert last >= told[-1]
        assert (last - 1) % 28 == 0, "a batch is there whole or not at all"
        assert [entry.seq for entry in everything(path)] == list(range(1, last + 1))


# Cursors


def test_a_cursor_goes_forward_only_and_is_kept(ledger: Ledger) -> None:
    with Outbox(ledger.path) as outbox:
        assert outbox.cursor("mqtt") == 0
        outbox.advance("mqtt", 5)
        outbox.advance("mqtt", 3)
        outbox.advance("other", 1)
    with Outbox(ledger.path) as outbox:
        assert (outbox.cursor("mqtt"), outbox.cursor("other")) == (5, 1)


def test_a_reader_can_change_nothing(ledger: Ledger) -> None:
    with Reader(ledger.path) as reader, pytest.raises(sqlite3.OperationalError):
        reader._connection.execute("INSERT INTO cursors VALUES ('mqtt', 1, zeroblob(32))")


def test_cursor_and_commits_do_not_hinder_each_other(ledger: Ledger) -> None:
    done = threading.Event()
    moved: list[int] = []

    def move() -> None:
        with Outbox(ledger.path) as outbox:
            while not done.is_set():
                with contextlib.suppress(LedgerError):  # the writer was in the way
                    outbox.advance("mqtt", outbox.last())
                moved.append(outbox.cursor("mqtt"))

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for _ in range(200):
            ledger.append(SEEN, [DEALT], b"{}")
            ledger.commit()
            time.sleep(0.001)
    finally:
        done.set()
        mover.join(30)
    assert len(everything(ledger.path)) == 401
    assert moved == sorted(moved)
    assert len(set(moved)) > 10
