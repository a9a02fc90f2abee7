"""The doctor on real pseudo-terminals, a real Mosquitto, real ledgers and folders."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tablectl import config
from tablectl.doctor import record
from tablectl.doctor.broker import broker
from tablectl.doctor.checkup import checkup
from tablectl.doctor.commented import commented
from tablectl.doctor.finding import Account, Finding, account, exit_code, failed, passed, warned
from tablectl.doctor.machine import Clock, disk, metrics
from tablectl.doctor.ports import ports
from tablectl.doctor.record import Running
from tablectl.instants import from_micros
from tablectl.ledger.checkpoint import key_name
from tablectl.ledger.keys import Signer
from tablectl.ledger.pin import Pin, Pinned, TableName
from tablectl.ledger.reader import Reader
from tablectl.ledger.store import Ledger
from tablectl.mqtt.broker_config import table_identity
from tablectl.shoe.holders import Holder
from tests.broker import Broker
from tests.shoe.plugs import Plug
from tests.tls_broker import TlsBroker

Command = Callable[..., subprocess.CompletedProcess[str]]
NOBODY = Running(False, ())
TABLE = TableName("my-casino", "pit-1", "bj07")
CARD = b" [Game]<Card:4S> "


class Desk:
    """A table's configuration in a folder, with a shoe that can be plugged in."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.path = folder / "bj07.toml"
        self.plug = Plug(folder / "shoe")
        text = commented("bj07").replace("/var/lib/tablectl/bj07", str(folder / "state"))
        self.path.write_text(text.replace("/dev/tablectl/bj07-shoe", str(self.plug.link)).replace("angel-eye-ii", "bee-tek"))

    def change(self, old: str, new: str) -> config.ConfigFile:
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new, 1))
        return self.found

    @property
    def found(self) -> config.ConfigFile:
        return config.load(self.path)

    @property
    def state(self) -> Path:
        return self.folder / "state"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.plug.pull()


def verdicts(findings: list[Finding], check: str) -> list[str]:
    return [finding.verdict for finding in findings if finding.check == check]


@contextmanager
def sending(plug: Plug, data: bytes) -> Iterator[None]:
    """The device sends this again and again."""
    done = threading.Event()

    def send() -> None:
        while not done.wait(0.05):
            plug.send(data)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# The ports.


def test_a_port_that_sends_what_its_profile_says(desk: Desk) -> None:
    desk.plug.plug_in()
    with sending(desk.plug, CARD):
        access, profile = ports(desk.found, account(), NOBODY, 5)
    assert (access.verdict, profile.verdict) == ("pass", "pass")
    assert "sound messages of bee-tek at 9600 8N1" in profile.text


def test_a_port_that_sends_what_its_profile_does_not_know(desk: Desk) -> None:
    desk.plug.plug_in()
    with sending(desk.plug, bytes(range(128, 160))):
        _, profile = ports(desk.found, account(), NOBODY, 0.5)
    assert (profile.check, profile.verdict, profile.code) == ("profile shoe", "fail", 5)
    assert "no sound frame of bee-tek" in profile.text
    assert "tablectl profile show bee-tek" in profile.mend


def test_a_port_that_is_silent(desk: Desk) -> None:
    desk.plug.plug_in()
    _, profile = ports(desk.found, account(), NOBODY, 0.3)
    assert profile.verdict == "warn"
    assert "nothing was heard in 0.3 s (9600 8N1)" in profile.text


def test_a_port_that_is_not_there_or_is_none(desk: Desk) -> None:
    (missing,) = ports(desk.found, account(), NOBODY, 1)
    assert (missing.verdict, missing.code) == ("fail", 5)
    desk.plug.link.write_text("a file")
    (none,) = ports(desk.found, account(), NOBODY, 1)
    assert "is no serial port" in none.text


def test_a_port_that_the_table_may_not_open(desk: Desk) -> None:
    desk.plug.plug_in()
    stranger = Account("tablectl", 64123, frozenset({64123}))
    (denied,) = ports(desk.found, stranger, NOBODY, 1)
    assert denied.verdict == "fail"
    assert re.search(r"\(crw-.* root.*\) may not be opened by tablectl|may not be opened by tablectl", denied.text)
    assert re.fullmatch(r"usermod -aG \S+ tablectl", denied.mend)


HOLDS = """
import fcntl, os, sys, time
files = [os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_CREAT) for name in sys.argv[1:]]
for file, name in zip(files, sys.argv[1:]):
    if name.endswith("lock"):
        fcntl.flock(file, fcntl.LOCK_EX)
print("ready", flush=True)
time.sleep(60)
"""


@contextmanager
def another(*paths: Path) -> Iterator[int]:
    """A process that has these open, and holds the lock among them."""
    process = subprocess.Popen([sys.executable, "-c", HOLDS, *map(str, paths)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def test_a_second_program_on_the_port_is_named_and_the_port_is_not_opened(desk: Desk) -> None:
    desk.plug.plug_in()
    with another(desk.plug.link) as pid:
        _, stolen = ports(desk.found, account(), NOBODY, 5)
    assert stolen.verdict == "fail"
    assert f"(pid {pid})" in stolen.text
    assert stolen.mend == f"kill {pid}"


def test_a_running_table_keeps_its_ports(desk: Desk) -> None:
    desk.plug.plug_in()
    desk.state.mkdir()
    assert record.running(desk.found) == NOBODY
    with another(desk.state / "lock", desk.plug.link) as pid:
        runs = record.running(desk.found)
        assert (runs.is_held, [holder.pid for holder in runs.holders]) == (True, [pid])
        _, held = ports(desk.found, account(), runs, 5)
    assert held.verdict == "pass"
    assert f"is held by tablectl (pid {pid})" in held.text
    assert not record.running(desk.found).is_held


def test_a_running_table_whose_port_is_shut_is_not_helped_by_opening_it(desk: Desk) -> None:
    desk.plug.plug_in()
    findings = list(ports(desk.found, account(), Running(True, (Holder(1, "tablectl"),)), 5))
    assert verdicts(findings, "profile shoe") == []


# Clock and disk.


def test_a_clock_behind_the_record(desk: Desk) -> None:
    now = time.time_ns() // 1000
    first, *_ = Clock().findings(now + 3_600_000_000)
    assert first.verdict == "fail"
    assert re.match(r"it is 3,(600|599)\.\d s behind the record, which ends at ", first.text)
    assert [finding.verdict for finding in Clock().findings(now - 1)] in (["pass"], ["warn"])


def test_a_clock_that_jumps_while_one_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    wall = time.time
    monkeypatch.setattr(time, "time", lambda: wall() - 3600)
    first, *_ = clock.findings(None)
    assert first.text == "it jumped by -3600.00 s while the doctor looked"


def test_a_folder_with_room(desk: Desk) -> None:
    desk.state.mkdir()
    room, speed = disk(desk.found, account())
    assert room.verdict == "pass"
    assert re.fullmatch(r"fsync takes [\d.]+ ms \(the slowest of 7: [\d.]+ ms\).*", speed.text)
    assert list(desk.state.iterdir()) == []


def test_a_folder_that_is_missing_foreign_or_nearly_full(desk: Desk) -> None:
    missing, *_ = disk(desk.found, account())
    assert missing.verdict == "warn"
    assert missing.mend.endswith(f" {desk.state}")
    desk.state.mkdir(mode=0o750)
    foreign, *_ = disk(desk.found, Account("tablectl", 64123, frozenset()))
    assert (foreign.verdict, foreign.code) == ("fail", 7)
    little, *_ = disk(desk.change("#min_free_mb = 500", "min_free_mb = 900000000"), account())
    assert little.verdict == "warn"


def test_a_file_in_the_place_of_the_folder(desk: Desk) -> None:
    desk.state.write_text("a file")
    (found,) = disk(desk.found, account())
    assert (found.verdict, found.text) == ("fail", f"{desk.state} is no folder, and is in the place of one")


def test_a_port_for_the_figures_that_somebody_has(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = desk.change("#[metrics]", f'[metrics]\nlisten = "127.0.0.1:{server.getsockname()[1]}"')
        (busy,) = metrics(found, is_running=False)
        assert list(metrics(found, is_running=True)) == []
    (free,) = metrics(found, is_running=False)
    assert (busy.verdict, free.verdict) == ("warn", "pass")
    assert "Address already in use" in busy.text


def test_a_folder_that_cannot_be_written(desk: Desk) -> None:
    found = desk.change(str(desk.state), "/proc/self")  # nothing can be made there, not even by root
    assert "fail" in [finding.verdict for finding in disk(found, Account("root", 0, frozenset()))]


# The record.


def write_ledger(desk: Desk, *, signed_at: datetime | None, entries: int = 10) -> Path:
    path = desk.state / "ledger" / "2026-11-30.db"
    path.parent.mkdir(parents=True)
    pin = Pin(software="tablectl", table=TABLE, house=Pinned("fr", "ab" * 32), language="fr", profiles={})
    with Ledger.create(path, pin) as ledger:
        for number in range(entries):
            ledger.append(b'{"event":"tick","at":"2026-11-30T10:00:%02d.000000Z"}' % number)
        ledger.commit()
        if signed_at is not None:
            at = from_micros(round(signed_at.timestamp() * 1_000_000))
            ledger.checkpoint(Signer.make(key_name(TABLE)), at)
    return path


def test_a_ledger_that_is_what_was_signed(desk: Desk) -> None:
    write_ledger(desk, signed_at=datetime.now(UTC))
    whole, age = record.ledger(desk.found, NOBODY)
    assert whole.text == "2026-11-30.db: 11 entries, of which the first 11 are those that were signed"
    assert (whole.verdict, age.verdict) == ("pass", "pass")
    assert record.last_time(desk.found) == 1_796_032_809_000_000


def test_a_checkpoint_that_is_late_while_the_table_runs(desk: Desk) -> None:
    write_ledger(desk, signed_at=datetime.now(UTC) - timedelta(hours=1))
    _, late = record.ledger(desk.found, Running(True, ()))
    assert late.verdict == "warn"
    assert "one is due every 60 s" in late.text
    _, rest = record.ledger(desk.found, NOBODY)
    assert rest.verdict == "pass"


def test_a_ledger_that_was_touched(desk: Desk) -> None:
    import sqlite3

    path = write_ledger(desk, signed_at=datetime.now(UTC))
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER entries_unchanged")
    connection.execute("UPDATE entries SET body = CAST('{}' AS BLOB) WHERE seq = 5")
    connection.commit()
    connection.close()
    (finding,) = record.ledger(desk.found, NOBODY)
    assert (finding.verdict, finding.code) == ("fail", 7)
    assert finding.mend == f"tablectl audit verify {path}"


def test_a_ledger_that_is_none_unsigned_or_absent(desk: Desk) -> None:
    (absent,) = record.ledger(desk.found, NOBODY)
    assert absent.verdict == "pass"
    path = write_ledger(desk, signed_at=None)
    (unsigned,) = record.ledger(desk.found, NOBODY)
    assert unsigned.verdict == "warn"
    path.write_text("none")
    (none,) = record.ledger(desk.found, NOBODY)
    assert none.verdict == "fail"
    assert record.last_time(desk.found) is None


def test_a_damaged_recording_is_named(desk: Desk) -> None:
    folder = desk.state / "recordings"
    folder.mkdir(parents=True)
    (folder / "20261130T100000.000000Z.rec").write_bytes(b"# tablectl recording 1\n# ledger: 2026-11-30.db\nspoilt\n")
    (folder / "20261130T110000.000000Z.rec").write_bytes(b"# tablectl recording 1\n# ledger: 2026-11-30.db\n(1796")
    all_of_them, damaged = record.recordings(desk.found, account())
    assert (all_of_them.verdict, damaged.verdict) == ("pass", "warn")
    assert f"{folder}/20261130T100000.000000Z.rec: is damaged: 1 lines" in damaged.text


def test_keys_that_others_may_use(desk: Desk) -> None:
    key = desk.folder / "signing.key"
    Signer.make("t").save(key)
    found = desk.change('#key = "credential:signing.key"', 'key = "signing.key"')
    (private,) = record.keys(found)
    assert private.verdict == "pass"
    key.chmod(0o644)
    (public,) = record.keys(found)
    assert (public.verdict, public.code, public.mend) == ("fail", 4, f"chmod 600 {key}")


def test_a_credential_that_systemd_would_not_find(desk: Desk) -> None:
    found = desk.change('#key = "credential:signing.key"', 'key = "credential:signing.key"')
    (missing,) = record.keys(found)
    assert missing.verdict == "warn"
    assert str(desk.folder / "bj07/signing.key") in missing.mend
    (desk.folder / "bj07").mkdir()
    Signer.make("t").save(desk.folder / "bj07/signing.key")
    (there,) = record.keys(found)
    assert there.verdict == "pass"


# The broker.


def with_broker(desk: Desk, broker: TlsBroker, certificate: Path, key: Path) -> config.ConfigFile:
    keys = f'url = "{broker.url}"\nca = "{broker.ca}"\ncertificate = "{certificate}"\nkey = "{key}"'
    return desk.change("#[broker]", f"[broker]\n{keys}")


def test_a_broker_as_ours_writes_it(desk: Desk, tmp_path: Path) -> None:
    with TlsBroker(tmp_path / "broker", tables=[TABLE], people=["CHIEF7"]) as real:
        found = with_broker(desk, real, *real.table())
        findings = list(broker(found, 3))
        assert [finding.verdict for finding in findings] == ["pass"] * len(findings), findings
        texts = " / ".join(finding.text for finding in findings)
        for said in (
            "over TLS",
            f"we are {table_identity(TABLE)} for ",
            "speaks MQTT 5",
            "comes back to us",
            "does not let us write on another table's topics (Not authorized)",
            "does not let in who has no identity",
        ):
            assert said in texts


def test_another_identity_is_seen_and_what_it_may_not(desk: Desk, tmp_path: Path) -> None:
    with TlsBroker(tmp_path / "broker", tables=[TABLE], people=["CHIEF7"]) as real:
        found = with_broker(desk, real, *real.person("CHIEF7"))
        findings = list(broker(found, 1))
    assert [finding.text for finding in findings if finding.verdict == "warn"] == [
        f"our certificate is for CHIEF7; access lists of ours know {table_identity(TABLE)}"
    ]
    assert any(finding.verdict == "fail" and "does not come back" in finding.text for finding in findings)
    assert exit_code(findings) == 6


def test_a_certificate_of_a_stranger_does_not_get_in(desk: Desk, tmp_path: Path) -> None:
    with TlsBroker(tmp_path / "broker", tables=[TABLE], people=["CHIEF7"]) as real:
        found = with_broker(desk, real, *real.stranger(table_identity(TABLE)))
        findings = list(broker(found, 2))
    assert exit_code(findings) == 6
    assert not any("lets us in" in finding.text for finding in findings)
    assert not any("has no identity" in finding.text for finding in findings)  # of a broker that lets nobody in one cannot tell


def test_an_open_broker_on_loopback_is_a_warning(desk: Desk, tmp_path: Path) -> None:
    with Broker(tmp_path / "broker") as real:
        found = desk.change("#[broker]", f'[broker]\nurl = "{real.url}"')
        findings = list(broker(found, 2))
    assert exit_code(findings) == 3
    assert {
        "it lets us write on another table's topics: its access list is open",
        "what we write on our own topics comes back to us",
    } <= {finding.text for finding in findings}


def test_no_broker_where_there_should_be_one(desk: Desk) -> None:
    found = desk.change("#[broker]", '[broker]\nurl = "mqtt://127.0.0.1:1"')
    findings = list(broker(found, 1))
    assert any("Connection refused" in finding.text and finding.code == 6 for finding in findings)


# The whole.


def test_exit_codes() -> None:
    good, doubt = passed("a", "b"), warned("a", "b")
    device, other = failed("a", "b", code=5), failed("a", "b", code=6)
    assert [exit_code(found) for found in ([], [good], [good, doubt], [doubt, device], [device, device], [device, other])] == [
        0,
        0,
        3,
        5,
        5,
        1,
    ]


def test_a_bad_configuration_is_told_whole_and_stops_it(desk: Desk) -> None:
    desk.path.write_text(desk.path.read_text().replace("[storage]", "[storige]").replace('site = "my-casino"', "site = 7"))
    findings = list(checkup(desk.path, 0))
    assert {finding.check for finding in findings} == {"configuration"}
    assert len(findings) == 3
    assert exit_code(findings) == 4


def test_a_layout_that_is_not_the_houses(desk: Desk) -> None:
    desk.change("#layout = {", "layout = { decks = 4,")
    findings = list(checkup(desk.path, 0))
    (layout,) = [finding for finding in findings if finding.check == "layout"]
    assert (layout.verdict, layout.code) == ("fail", 4)
    assert "the house says 6" in layout.text


def test_the_command_line(desk: Desk, tablectl: Command) -> None:
    desk.plug.plug_in()
    desk.state.mkdir()
    with sending(desk.plug, CARD):
        result = tablectl("doctor", "--config", desk.path, "--json", "--listen", "5")
    assert result.stderr == ""
    told = json.loads(result.stdout)
    seen = {finding["check"]: finding["verdict"] for finding in told["findings"] if finding["check"] != "clock"}
    assert set(seen) == {
        *(
            "configuration",
            "layout",
            "table",
            "port shoe",
            "profile shoe",
            "camera",
            "disk",
            "recordings",
            "ledger",
            "keys",
            "broker",
        )
    }
    kept_right = [finding["verdict"] for finding in told["findings"] if finding["check"] == "clock"] == ["pass"]
    assert set(seen.values()) == {"pass"}
    assert result.returncode == (0 if kept_right else 3)

    desk.plug.pull()
    desk.plug.link.unlink()
    text = tablectl("doctor", "--config", desk.path, "--listen", "0")
    assert text.returncode == 5
    lines = text.stdout.splitlines()
    number = lines.index(f"fail  port shoe: {desk.plug.link} is not there")
    assert lines[number + 1].startswith("      mend: udevadm trigger")
    assert "\x1b" not in text.stdout


@contextmanager
def running(desk: Desk) -> Iterator[subprocess.Popen[str]]:
    """The real daemon, from the moment it runs."""
    line = [sys.executable, "-m", "tablectl", "run", "--config", str(desk.path)]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert "runs; its record is" in process.stderr.readline()
        yield process
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


def cards(desk: Desk) -> int:
    """How many cards are in the newest ledger."""
    (path,) = (desk.state / "ledger").glob("*.db")
    with Reader(path) as reader:
        return sum(entry.kind == "observation" and b'"card"' in entry.body for entry in reader.entries(0, 1000))


def test_a_running_table_is_not_disturbed(desk: Desk) -> None:
    desk.plug.plug_in()
    with running(desk) as process, sending(desk.plug, CARD):
        findings = list(checkup(desk.path, 2))
        (table,) = [finding for finding in findings if finding.check == "table"]
        assert f"(pid {process.pid})" in table.text
        assert any(f"is held by tablectl (pid {process.pid})" in finding.text for finding in findings)
        assert {finding.check for finding in findings if finding.verdict == "fail"} == set()
        before = cards(desk)
        deadline = time.monotonic() + 5
        while cards(desk) < before + 5 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert cards(desk) >= before + 5


def test_a_port_known_by_its_serial_number(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.plug.plug_in()
    by_id = tmp_path / "by-id"
    by_id.mkdir()
    monkeypatch.setattr("tablectl.doctor.ports._BY_ID", by_id)
    found = desk.change(f'port = "{desk.plug.link}"', 'port = "usb:A10LWJZR"')
    (missing,) = ports(found, account(), NOBODY, 0)
    assert missing.text == f"{by_id}/A10LWJZR is not there"
    (by_id / "usb-FTDI_FT232R_USB_UART_A10LWJZR-if00-port0").symlink_to(desk.plug.link)
    (there,) = ports(found, account(), NOBODY, 0)
    assert there.verdict == "pass"


def test_what_root_may_see_is_not_what_the_table_may(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(0o640)
    me = path.stat()
    for mode, who, may in [
        (0o600, Account("a", me.st_uid + 1, frozenset({me.st_gid})), False),
        (0o060, Account("a", me.st_uid + 1, frozenset({me.st_gid})), True),
        (0o606, Account("a", me.st_uid + 1, frozenset()), True),
        (0o066, Account("a", me.st_uid or 64123, frozenset({me.st_gid})), me.st_uid == 0),
        (0o000, Account("root", 0, frozenset()), True),
    ]:
        path.chmod(mode)
        assert who.may(path, 6) is may, oct(mode)
    assert account().uid == os.geteuid() or account().name == "tablectl"
