"""The head of a ledger while it is written: chain, root, checkpoints; and what a damaged one says when it is to go on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.errors import LedgerError
from tablectl.ledger import chain
from tablectl.ledger import pin as pins
from tablectl.ledger.checkpoint import Checkpoint
from tablectl.ledger.keys import Signer
from tablectl.ledger.merkle import Tree
from tablectl.ledger.reader import Outbox, Reader
from tablectl.ledger.signed_note import Note
from tablectl.ledger.store import Head, Ledger
from tests.mqtt.tables import PIN

AT = "2026-11-30T05:57:42.000631Z"
SEEN = b'{"event":"tick"}'
DEALT = b'{"notice":"dealt"}'
SIGNER = Signer.make("tablectl/v1/s/p/t")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "day.db"


def head_of(path: Path) -> Head:
    """The head by the entries themselves, as the documentation defines it."""
    link, tree = chain.START, Tree()
    with Reader(path) as reader:
        for entry in reader.entries(limit=100_000):
            leaf = chain.leaf(*entry)
            link = chain.link(link, leaf)
            tree.add(leaf)
    return Head(tree.size, link, tree.root())


@settings(max_examples=20)
@given(st.lists(st.tuples(st.binary(max_size=20), st.integers(0, 3), st.booleans()), max_size=15))
def test_the_head_is_of_what_is_committed_and_outlives_the_program(
    tmp_path_factory: pytest.TempPathFactory, script: list[tuple[bytes, int, bool]]
) -> None:
    path = tmp_path_factory.mktemp("head") / "day.db"
    with Ledger.create(path, PIN) as ledger:
        for body, notices, commit in script:
            before = ledger.head()
            ledger.append(body, [DEALT] * notices)
            assert ledger.head() == before
            if commit:
                ledger.commit()
                assert ledger.head() == head_of(path)
    with Ledger.resume(path) as ledger:
        assert ledger.head() == head_of(path)


def test_a_batch_that_could_not_be_written_is_not_in_the_head(path: Path) -> None:
    with Ledger.create(path, PIN) as ledger:
        limit = ledger._connection.execute("PRAGMA page_count").fetchone()[0]
        ledger._connection.execute(f"PRAGMA max_page_count = {limit}")
        for _ in range(400):
            ledger.append(SEEN, [DEALT])
        before = ledger.head()
        with pytest.raises(LedgerError, match="the disk is full"):
            ledger.commit()
        assert ledger.head() == before == head_of(path)
        ledger._connection.execute("PRAGMA max_page_count = 100000")
        ledger.commit()
        assert ledger.head() == head_of(path)


def test_a_checkpoint_is_signed_kept_and_found_again(path: Path) -> None:
    with Ledger.create(path, PIN) as ledger:
        ledger.append(SEEN)
        note = ledger.checkpoint(SIGNER, AT, ["shoe 7"])
        head = Checkpoint(ledger.origin, 1, head_of(path).root, AT, ("shoe 7",))
        assert Checkpoint.parse(Note.parse(note).text) == head
        assert SIGNER.verifier.signed(Note.parse(note)) is True
        assert ledger.origin == f"tablectl/v1/Vilnius/pit%202/BJ-7/{ledger.session}"
        assert ledger.checkpoint(SIGNER, "2026-11-30T05:58:42.000631Z") == note, "of one size there is one checkpoint"
        with pytest.raises(LedgerError, match="signed by another key"):
            ledger.checkpoint(Signer.make("other"), AT)
        ledger.commit()
        later = ledger.checkpoint(SIGNER, AT)
    with Reader(path) as reader:
        assert reader.latest("checkpoint") == (2, "checkpoint", later)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT size, body FROM checkpoints").fetchall() == [(1, note), (2, later)]


def test_a_checkpoint_that_cannot_be_written_is_not_told(path: Path) -> None:
    with Ledger.create(path, PIN) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ledger._connection.execute("PRAGMA busy_timeout = 20")
        with pytest.raises(LedgerError, match="locked by another program"):
            ledger.checkpoint(SIGNER, AT)
        other.close()
        assert ledger.checkpoint(SIGNER, AT)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE checkpoints SET at = ''",
        "DELETE FROM checkpoints",
        "INSERT INTO checkpoints VALUES (1, '', x'00')",
        "INSERT OR REPLACE INTO checkpoints VALUES (2, '', x'00')",
        "INSERT INTO checkpoints VALUES (4, '', x'00')",
        "INSERT INTO checkpoints (at, body) VALUES ('', x'00')",
    ],
)
def test_the_file_itself_refuses_to_change_a_checkpoint(path: Path, change: str) -> None:
    with Ledger.create(path, PIN) as ledger:
        ledger.append(SEEN)
        ledger.commit()
        ledger.checkpoint(SIGNER, AT)
        ledger.append(SEEN)
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(change)


def test_commands_and_keys_are_entries_and_notes_of_the_writer_are_not(path: Path) -> None:
    with Ledger.create(path, PIN) as ledger:
        assert ledger.note("command", b"{}") == 2
        assert ledger.note("key", b"{}") == 3
        ledger.commit()
        ledger.keep("recording", b"a")
        ledger.keep("recording", b"b")
        with pytest.raises(ValueError, match="written by the ledger itself"):
            ledger.keep("checkpoint", b"")
        with Reader(path) as reader:
            assert reader.latest("recording") is None
            ledger.commit()
            assert reader.latest("recording") == (3, "recording", b"b")
            assert [entry.kind for entry in reader.entries()] == ["pin", "command", "key"]


# Damage, when a table is to go on


def _edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE entries SET body = x'00' WHERE seq = 3", "entry 3 is not what was written"),
        ("UPDATE entries SET kind = 'key' WHERE seq = 2", "entry 2 is not what was written"),
        ("UPDATE entries SET chain = zeroblob(32) WHERE seq = 4", "entry 4 is not what was written"),
        ("DELETE FROM entries WHERE seq = 3", "entry 3 is missing"),
        ("DELETE FROM entries WHERE seq = 5", "entry 5 is missing: a checkpoint signed 5"),
        ("UPDATE checkpoints SET body = x'00'", "a checkpoint is no signed note"),
        ("UPDATE latest SET body = x'00' WHERE name = 'pin'", "its latest pin is not that of its entries"),
    ],
)
def test_a_ledger_that_was_changed_does_not_go_on_and_says_where(path: Path, statement: str, words: str) -> None:
    with Ledger.create(path, PIN) as ledger:
        for _ in range(4):
            ledger.append(SEEN)
        ledger.commit()
        ledger.checkpoint(SIGNER, AT)
    _edit(path, statement)
    with pytest.raises(LedgerError, match="is damaged") as caught:
        Ledger.resume(path)
    assert words in caught.value.message
    assert not path.with_name("day.db-lock").exists()


def test_a_chain_made_anew_contradicts_the_checkpoint(path: Path) -> None:
    with Ledger.create(path, PIN) as ledger:
        ledger.append(SEEN)
        ledger.commit()
        ledger.checkpoint(SIGNER, AT)
    first = chain.link(chain.START, chain.leaf(1, "pin", pins.encode(PIN)))
    second = chain.link(first, chain.leaf(2, "observation", b"{}"))
    _edit(path, f"UPDATE entries SET body = x'7b7d', chain = x'{second.hex()}' WHERE seq = 2")
    with pytest.raises(LedgerError, match="entry 2 or one before it is not what was signed"):
        Ledger.resume(path)


def test_what_stands_beside_the_entries_is_not_believed_when_it_went_bad(path: Path) -> None:
    with Ledger.create(path, PIN) as ledger:
        ledger.append(SEEN, [DEALT], b"{}")
        ledger.commit()
        with Outbox(path) as outbox:
            outbox.advance("mqtt", 3)
    _edit(path, "UPDATE latest SET body = x'00' WHERE name = 'state'", "UPDATE cursors SET seq = 900")
    with Outbox(path) as outbox:
        with pytest.raises(LedgerError, match="its latest state is not what was written"):
            outbox.latest("state")
        assert outbox.cursor("mqtt") == 0
        outbox.advance("mqtt", 2)
        assert outbox.cursor("mqtt") == 2
