"""What `tablectl audit verify` says of whole ledgers and of others; what was changed in rows and bytes is in test_tamper.py."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from tablectl.errors import InputError
from tablectl.ledger.checkpoint import Checkpoint, key_name, succession
from tablectl.ledger.keys import Signer
from tablectl.ledger.pin import Follows
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.store import Ledger
from tablectl.ledger.verify import verify, verify_days
from tablectl.ledger.witnessed import Witnessed
from tests.conftest import Command
from tests.ledger.days import Day, back_up, make_day
from tests.mqtt.tables import PIN, TABLE

AT = "2026-11-30T05:57:42.000631Z"
SEEN = b'{"event":"tick"}'
OURS = key_name(TABLE)


def words(path: Path, *keys: Signer, witness: Witnessed | None = None) -> list[str]:
    report = verify(path, [key.verifier for key in keys], witness)
    return [f"{fault.entry}: {fault.what}" for fault in report.faults]


def change(day: Day, folder: Path, *statements: str, keep_triggers: bool = True) -> Path:
    """A copy in which somebody was at work with SQL; the triggers are put back as they were."""
    path = folder / "changed.db"
    shutil.copy(day.path, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, made in triggers if keep_triggers else ():
            connection.execute(made)
    return path


def test_a_whole_day_is_told_with_its_head_and_how_far_it_is_signed(day: Day) -> None:
    report = verify(day.path, day.keys, day.seen)
    assert report.faults == []
    with Ledger.resume(day.path) as ledger:
        head = ledger.head()
    assert (report.size, report.chain, report.root) == (head.size, head.chain.hex(), head.root.hex())
    assert (report.signed, report.witnessed, report.trusted) == (head.size, head.size, True)
    assert report.checkpoints == 4
    assert report.key == "tablectl/v1/site/pit/table"


def test_a_ledger_is_verified_while_it_is_written(tmp_path: Path) -> None:
    signer = Signer.make(OURS)
    path = tmp_path / "day.db"
    with Ledger.create(path, msgspec.structs.replace(PIN, signer=signer.verifier.vkey)) as ledger:
        for count in range(1, 6):
            ledger.append(SEEN)
            ledger.commit()
            ledger.checkpoint(signer, AT)
            ledger.append(SEEN)
            report = verify(path, [signer.verifier])
            assert (report.faults, report.size, report.signed) == ([], 2 * count, 2 * count)


def test_who_can_write_the_file_but_has_no_key_cannot_pass_for_the_table(day: Day) -> None:
    stranger = Signer.make(day.signers[0].verifier.name)
    assert [line for line in words(day.path, stranger) if "none of those given vouches for" in line]
    assert words(day.path, *day.signers) == []
    assert words(day.path, stranger, day.signers[0]) == []


def test_a_ledger_that_names_no_key_is_checked_with_the_one_given(tmp_path: Path) -> None:
    signer, stranger = Signer.make(OURS), Signer.make(OURS)
    with Ledger.create(tmp_path / "day.db", PIN) as ledger:
        ledger.checkpoint(signer, AT)
    assert words(tmp_path / "day.db", signer) == []
    assert words(tmp_path / "day.db") == []
    assert words(tmp_path / "day.db", stranger)[0] == "1: has a checkpoint that is not signed by a key that is known"


def test_another_tables_key_vouches_for_nothing_here(tmp_path: Path) -> None:
    other = Signer.make("tablectl/v1/Vilnius/pit%202/BJ-8")
    with Ledger.create(tmp_path / "named.db", msgspec.structs.replace(PIN, signer=other.verifier.vkey)) as ledger:
        ledger.checkpoint(other, AT)
    for keys in ([other], []):
        assert (
            words(tmp_path / "named.db", *keys)[0] == f"1: names a key that is not this table's, but called {other.verifier.name}"
        )
    with Ledger.create(tmp_path / "unnamed.db", PIN) as ledger:
        ledger.checkpoint(other, AT)
    assert words(tmp_path / "unnamed.db", other)[0] == "1: has a checkpoint that is not signed by a key that is known"


def test_nothing_signed_is_a_fault_only_where_a_key_is_given(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "day.db", PIN).close()
    assert words(tmp_path / "day.db") == []
    assert words(tmp_path / "day.db", Signer.make(OURS)) == ["None: nothing in it is signed: it has no checkpoint that is right"]


def test_after_a_new_key_the_old_one_signs_nothing(tmp_path: Path) -> None:
    old, new, thief = (Signer.make(OURS) for _ in range(3))
    path = tmp_path / "day.db"
    with Ledger.create(path, msgspec.structs.replace(PIN, signer=old.verifier.vkey)) as ledger:
        ledger.checkpoint(old, AT)
        ledger.note("key", succession(ledger.origin, new, old))
        ledger.commit()
        ledger.checkpoint(old, AT)
        ledger.note("key", succession(ledger.origin, thief, old))
        ledger.append(SEEN)
        ledger.commit()
        ledger.checkpoint(thief, AT)
    assert words(path, old)[:3] == [
        f"2: has a checkpoint that is not signed by {OURS}",
        "3: is a key that is not signed by the key before it",
        f"4: has a checkpoint that is not signed by {OURS}",
    ]


def test_newer_software_is_pinned_and_the_ledger_stays_whole(tmp_path: Path) -> None:
    signer = Signer.make(OURS)
    follows = Follows("ab" * 8, 7, "cd" * 32)
    pin = msgspec.structs.replace(PIN, signer=signer.verifier.vkey, follows=follows, carried="{}", opened=AT)
    with Ledger.create(tmp_path / "day.db", pin) as ledger:
        assert (ledger.begun, ledger.pin) == (pin, pin)
    newer = msgspec.structs.replace(PIN, software="tablectl 9", opened="2026-11-30T06:57:42.000631Z")
    with Ledger.resume(tmp_path / "day.db", newer) as ledger:
        assert (ledger.begun, ledger.pin) == (pin, newer)
        assert ledger.commit() == 2
        ledger.checkpoint(signer, AT)
    with Ledger.resume(tmp_path / "day.db", newer) as ledger:
        assert ledger.last == 2
    report = verify(tmp_path / "day.db", [signer.verifier])
    assert (report.faults, report.follows) == ([], follows)


# What stands beside the entries, and the file


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE latest SET body = x'7b7d' WHERE name = 'state'", "the latest 'state' is not what was written"),
        ("UPDATE latest SET seq = 1 WHERE name = 'recording'", "the latest 'recording' is not what was written"),
        ("DELETE FROM latest WHERE name = 'prompt'", "the latest prompt is not that of the entries"),
        ("DELETE FROM latest WHERE name = 'checkpoint'", "the latest checkpoint is not the last"),
        ("UPDATE cursors SET seq = 1", "the cursor 'mqtt' is not what was written"),
        ("UPDATE checkpoints SET at = 'x' WHERE size = (SELECT min(size) FROM checkpoints)", "another size or time"),
        ("UPDATE checkpoints SET body = x'00' WHERE size = (SELECT min(size) FROM checkpoints)", "is no signed note"),
        ("UPDATE checkpoints SET size = size - 1", "another size or time"),
        ("DELETE FROM checkpoints WHERE size = (SELECT max(size) FROM checkpoints)", "the latest checkpoint is not the last"),
        ("CREATE TABLE more (x)", "the table more was added"),
        ("DROP INDEX notices", "the index notices is missing or was changed"),
        ("PRAGMA user_version = 3", "is a ledger of version 3"),
        ("PRAGMA journal_mode = DELETE", "no write-ahead log"),
    ],
)
def test_a_change_beside_the_entries_is_found(statement: str, fault: str, day: Day, tmp_path: Path) -> None:
    found = words(change(day, tmp_path, statement))
    assert any(fault in line for line in found), found


def test_triggers_that_are_gone_are_missed(day: Day, tmp_path: Path) -> None:
    found = words(change(day, tmp_path, keep_triggers=False))
    assert len(found) == 6
    assert all("the trigger" in line for line in found)


def _nothing(path: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (_nothing, "there is no such ledger"),
        (Path.mkdir, "is a folder: name the ledgers in it"),
        (Path.touch, "is no ledger: it is empty"),
        (lambda path: path.write_text("a shopping list\n" * 500), "is no ledger: not an SQLite file"),
    ],
)
def test_what_is_no_ledger_is_said_to_be_none(make: Callable[[Path], object], fault: str, tmp_path: Path) -> None:
    make(tmp_path / "x.db")
    assert words(tmp_path / "x.db") == [f"None: {fault}"] or fault in words(tmp_path / "x.db")[0]


@pytest.fixture
def archive(day: Day) -> Iterator[Path]:
    """The day in a folder in which nobody may write, and a user who is not its owner."""
    folder = Path(tempfile.mkdtemp())
    shutil.copy(day.path, folder / "day.db")
    (folder / "day.db").chmod(0o444)
    folder.chmod(0o555)
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield folder / "day.db"
    finally:
        os.seteuid(mine)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_who_may_only_read_can_verify(archive: Path) -> None:
    assert words(archive) == []
    with Reader(archive) as reader:
        assert reader.last() == 142
    assert os.listdir(archive.parent) == ["day.db"]


# Days that follow each other


@pytest.fixture
def days(day: Day, tmp_path: Path) -> tuple[Path, Path]:
    for path in (day.path, day.path.with_name("next.db")):
        shutil.copy(path, tmp_path)
    return tmp_path / day.path.name, tmp_path / "next.db"


def faults(*paths: Path, day: Day) -> list[list[str]]:
    return [[f"{one.entry}: {one.what}" for one in report.faults] for report in verify_days(paths, day.keys)]


def test_a_day_that_follows_another_is_vouched_for_by_it(days: tuple[Path, Path], day: Day) -> None:
    assert faults(*days, day=day) == [[], []]
    assert faults(*reversed(days), day=day) == [[], []]
    [[alone]] = faults(days[1], day=day)
    assert "none of those given vouches for" in alone, "the key of the second day is the one that followed on the first"


def test_a_day_that_was_shortened_or_went_on_contradicts_the_next(days: tuple[Path, Path], day: Day) -> None:
    with Ledger.resume(days[0]) as ledger:
        ledger.append(SEEN)
        ledger.commit()
    assert "was added after" in faults(*days, day=day)[0][0]
    days[0].unlink()
    shutil.copy(day.older, days[0])
    assert "is missing" in faults(*days, day=day)[0][0]


def test_two_days_that_follow_one_and_a_copy_are_two_truths(days: tuple[Path, Path], day: Day, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with Ledger.resume(days[1]) as ledger:
        pin = msgspec.structs.replace(ledger.begun, opened="2026-12-01T09:00:00.000000Z")
    with Ledger.create(other, pin) as ledger:
        ledger.checkpoint(day.signers[1], AT)
    assert "one of two truths" in faults(*days, other, day=day)[2][0]
    shutil.copy(days[0], tmp_path / "copy.db")
    assert "of the same session" in faults(days[0], tmp_path / "copy.db", day=day)[1][0]


def test_a_day_that_follows_another_root_than_was_reached(session_entries: list[Entry], day: Day, tmp_path: Path) -> None:
    with Ledger.resume(day.path) as ledger:
        wrong = Follows(ledger.session, ledger.last, "ab" * 32)
    later = make_day(tmp_path, session_entries, name="later", follows=wrong)
    reports = verify_days([day.path, later.path])
    assert [fault.what for fault in reports[1].faults] == [
        f"follows another ledger than {day.path}, whose root is not the one it names"
    ]


# A witness


def seen(path: Path, *notes: bytes) -> Witnessed:
    lines = [{"seen": AT, "topic": "t/audit/checkpoint", "note": note.decode()} for note in notes]
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return Witnessed(path)


def test_a_witness_that_has_seen_another_truth(tmp_path: Path) -> None:
    signer, stranger = Signer.make(OURS), Signer.make(OURS)
    path, copy = tmp_path / "day.db", tmp_path / "copy.db"
    with Ledger.create(path, msgspec.structs.replace(PIN, signer=signer.verifier.vkey)) as ledger:
        first = ledger.checkpoint(signer, AT)
        back_up(path, copy)
        ledger.append(SEEN)
        ledger.commit()
        second = ledger.checkpoint(signer, AT)
        forged = Checkpoint(ledger.origin, 2, ledger.head().root, AT).signed(stranger)
        other = Checkpoint(ledger.origin, 2, bytes(32), AT).signed(stranger)
    with Ledger.resume(copy) as ledger:
        ledger.append(b'{"event":"another"}')
        ledger.commit()
        ledger.checkpoint(signer, AT)
    file = tmp_path / "seen.jsonl"
    assert words(path, signer, witness=seen(file, first, second)) == []
    assert words(copy, signer, witness=seen(file, first)) == []
    [fork] = words(copy, signer, witness=seen(file, first, second))
    assert fork == f"2: is not what the witness saw ({file}:2): a fork, or a record written anew"
    [word] = words(path, signer, witness=seen(file, first, second, forged))
    assert f"{file}:3: a note of 2 entries is not signed by this ledger's keys" in word
    [word] = words(path, signer, witness=seen(file, first, second, other))
    assert f"is not what the witness saw ({file}:3, signed by a key that this ledger does not know)" in word
    [unknown] = words(path, signer, witness=seen(file))
    assert "has seen nothing of this ledger" in unknown


def test_a_witness_s_file_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "seen.jsonl"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        Witnessed(file)
    file.write_text('{"seen": "x", "topic": "t", "note": "nothing"}\n')
    with pytest.raises(InputError, match=r"seen.jsonl:1: is no line of a witness"):
        Witnessed(file)


# The command


def test_the_command_tells_people_and_programs(day: Day, tablectl: Command, tmp_path: Path) -> None:
    public = tmp_path / "t.pub"
    public.write_text(f"# the table's key\n{day.keys[0].vkey}\n")
    done = tablectl("audit", "verify", day.path, "--key", public, "--witness", day.witness)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{day.path}: whole: 142 entries of table site/pit/table, session ")
    assert "witness  has seen 142 entries of it" in done.stdout
    done = tablectl("audit", "verify", day.older, "--json", "--key", day.keys[0].vkey, "--witness", day.witness)
    [older] = (msgspec.json.decode(line) for line in done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (7, "")
    assert (older["whole"], older["faults"][0]["entry"]) == (False, older["size"] + 1)


def test_the_command_names_the_first_bad_entry(day: Day, tablectl: Command, tmp_path: Path) -> None:
    path = change(day, tmp_path, "UPDATE entries SET body = x'7b7d' WHERE seq = 17")
    done = tablectl("audit", "verify", path)
    assert done.returncode == 7
    assert done.stderr == f"tablectl: {path}: entry 17 is not what was written: it does not fit its link of the chain\n"
    assert done.stdout.startswith(f"{path}: NOT WHOLE")


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (["nowhere.db"], 7, "there is no such ledger"),
        (["."], 7, ".: is a folder: name the ledgers in it"),
        ([], 2, "Missing argument 'LEDGER...'"),
        (["x.db", "--key", "nowhere"], 2, "nowhere: the key cannot be read: No such file or directory"),
        (["x.db", "--key", "a+b+c"], 2, "--key: is no public key"),
        (["x.db", "--key", Signer.make("t07").verifier.vkey], 2, "--key: t07 is the key of no table"),
        (["x.db", "--witness", "nowhere"], 1, "nowhere: cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said(given: list[str], code: int, words: str, tablectl: Command) -> None:
    done = tablectl("audit", "verify", *given)
    assert done.returncode == code
    assert words in done.stderr
    assert "NOT WHOLE" not in done.stdout
    assert "Traceback" not in done.stderr


def test_a_key_is_made_once_and_shown(tablectl: Command, tmp_path: Path) -> None:
    made = tablectl("audit", "key", "t.key", "--table", "Vilnius/pit 2/BJ-7")
    assert made.returncode == 0
    assert made.stdout.startswith("tablectl/v1/Vilnius/pit%202/BJ-7+")
    assert (tmp_path / "t.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "t.key").read_text().strip().split("+", 4)[4] not in made.stdout + made.stderr
    assert tablectl("audit", "key", "t.key").stdout == made.stdout
    for more, told in (
        (["t.key", "--witness"], "never written over"),
        (["t.key", "--table", "a/b"], "--table: give site, pit and table"),
        (["new.key", "--table", "a/b/"], "--table: is empty"),
        (["new.key"], "new.key: there is no such key; to make it, say for whom"),
        (["new.key", "--name", "hall"], "--name: is for --witness"),
        (["new.key", "--witness", "--name", "a b"], "--name: a key cannot be called 'a b'"),
    ):
        refused = tablectl("audit", "key", *more)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert told in refused.stderr
    assert not (tmp_path / "new.key").exists()
