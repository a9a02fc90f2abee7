"""The emulated table through real pseudo-terminals: a host that reads them sees the game that the dealer deals."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tablectl.emulator.table import EmulatedTable
from tablectl.emulator.wrong import Account, Entry, Weather
from tablectl.errors import UsageError
from tablectl.game.table import Table
from tablectl.houses.rules import load as load_house
from tablectl.houses.rules import names as houses
from tablectl.observations import CardDrawn
from tablectl.recording.importers import open_log
from tablectl.resources import data_folder
from tablectl.shoe.decoder import Decoder
from tablectl.shoe.profile import load, names
from tests.emulator.host import Host

SHOES = [name for name in names() if load(name).profile.kind == "shoe"]
ROUGH = Weather(noise=0.2, harm=0.3, splits=0.1, dropouts=0.03, restarts=0.05)


def host(table: EmulatedTable) -> Host:
    decoders = {port: Decoder(voice.profile, port) for port, voice in table.script.voices.items()}
    return Host({port: device.path for port, device in table.devices.items()}, decoders)


@pytest.mark.parametrize("house", houses())
@pytest.mark.parametrize("shoe", SHOES)
def test_the_host_sees_the_same_game(tmp_path: Path, shoe: str, house: str) -> None:
    mistakes = ["late_bet", "unread_card"]
    with (
        EmulatedTable(tmp_path, house, shoe, boxes=(2, 3), gap=0.01, mistakes=mistakes, every=1) as table,
        host(table) as reader,
    ):
        assert table.opened()
        assert table.run(2) == 2
    seen = Table(load_house(house).house)
    for observation in reader.heard:
        seen.feed(observation)
    assert seen.phase == table.table.phase
    assert seen.round == msgspec.structs.replace(table.table.round, opened_at=None)
    assert reader.heard == [entry.observation for entry in table.account.entries]
    assert {entry.arrived for entry in table.account.entries} == {"whole"}


@pytest.mark.parametrize("shoe", SHOES)
def test_over_rough_lines_every_card_that_arrived_whole_is_seen_once(tmp_path: Path, shoe: str) -> None:
    weather = {"shoe": ROUGH, "pad": msgspec.structs.replace(ROUGH, spare=False)}
    with (
        EmulatedTable(tmp_path, "es", shoe, seed=5, boxes=(2, 3), gap=0.0, outage=0.005, weather=weather) as table,
        host(table) as reader,
    ):
        assert table.opened()
        table.run(3)
    assert table.account.owed() == [one for one in reader.of["shoe"] if isinstance(one, CardDrawn)]
    assert reader.of["pad"] == [
        entry.observation for entry in table.account.entries if entry == Entry("pad", "whole", entry.observation)
    ]
    assert any(entry.arrived == "harmed" for entry in table.account.entries)
    assert sum(reader.hung_up.values()) > 0


def test_a_device_that_is_unplugged_and_back_loses_what_is_sent_meanwhile_and_nothing_else(tmp_path: Path) -> None:
    with EmulatedTable(tmp_path, "es", "bee-tek", gap=0.0) as table, host(table) as reader:
        assert table.opened()
        for _ in range(30):
            table.step()
        table.unplug("shoe")
        for _ in range(30):
            table.step()
        table.replug("shoe")
        for _ in range(30):
            table.step()
    arrived = [entry for entry in table.account.entries if entry.arrived == "whole"]
    for port in table.devices:
        assert reader.of[port] == [entry.observation for entry in arrived if entry.port == port]
    assert reader.hung_up == {"shoe": 1, "pad": 0}
    doubtful = [entry.port for entry in table.account.entries if entry.arrived == "doubtful"]
    assert doubtful == ["shoe"] * len(doubtful)
    assert doubtful


def test_without_a_host_it_goes_on_and_owes_nothing(tmp_path: Path) -> None:
    with EmulatedTable(tmp_path, "es", gap=0.0, patience=0.0) as table:
        for _ in range(40):
            table.step()
    assert len(table.account.entries) == 40
    assert table.account.owed() == []


@pytest.mark.parametrize("house", ["fr", "es"])
def test_a_recording_is_played_to_the_byte(tmp_path: Path, house: str) -> None:
    log = open_log(data_folder("samples") / f"{house}.rec")
    chunks = list(log)[:120]
    with EmulatedTable(tmp_path, house, log.header["profile.shoe"], log.header["profile.pad"], gap=0.0) as table:
        decoders = {port: Decoder(voice.profile, port) for port, voice in table.script.voices.items()}
        told = [
            (chunk.port, piece.observation)
            for chunk in chunks
            for piece in decoders[chunk.port].feed(chunk.data)
            if piece.observation is not None
        ]
        with host(table) as reader:
            assert table.opened()
            assert table.play(chunks) == len(chunks)
    for port in table.devices:
        assert reader.of[port] == [observation for where, observation in told if where == port]
        assert reader.of[port]


def test_a_recording_of_other_ports_is_refused(tmp_path: Path) -> None:
    chunks = list(open_log(data_folder("samples") / "es.rec"))[:5]
    with EmulatedTable(tmp_path, "es") as table, pytest.raises(UsageError, match="nothing of the ports shoe and pad"):
        table.play(msgspec.structs.replace(chunk, port="scale") for chunk in chunks)


def test_it_deals_in_a_thread_of_its_own_until_it_is_stopped(tmp_path: Path) -> None:
    with EmulatedTable(tmp_path, "es", gap=0.0) as table, host(table) as reader:
        assert table.opened()
        table.start()
        with pytest.raises(UsageError, match="dealing already"):
            table.start()
        deadline = time.monotonic() + 5
        while len(reader.heard) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        table.stop()
        count = len(table.account.entries)
        table.start(rounds=1)
        assert table.join(10)
    assert len(table.account.entries) > count >= 20
    for port in table.devices:
        assert reader.of[port] == [entry.observation for entry in table.account.entries if entry.port == port]


def test_the_account_can_be_a_file(tmp_path: Path) -> None:
    with (
        (tmp_path / "account.jsonl").open("wb") as file,
        EmulatedTable(tmp_path, "es", gap=0.0, account=Account(file)) as table,
        host(table) as reader,
    ):
        assert table.opened()
        table.run(1)
    lines = (tmp_path / "account.jsonl").read_bytes().splitlines()
    entries = [msgspec.json.decode(line, type=Entry) for line in lines]
    for port in table.devices:
        assert reader.of[port] == [entry.observation for entry in entries if entry.port == port]
    assert table.account.entries == []


def test_as_a_process_it_says_its_devices_and_ends_when_asked(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tablectl.emulator", "--folder", str(tmp_path), "--house", "es", "--shoe-profile", "bee-tek"]
    with subprocess.Popen([*command, "--forever", "--gap", "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        paths = {port: Path(process.stdout.readline().strip()) for port in ("shoe", "pad")}
        assert paths == {"shoe": tmp_path / "shoe", "pad": tmp_path / "pad"}
        decoders = {"shoe": Decoder(load("bee-tek").profile), "pad": Decoder(load("dealer-pad").profile)}
        with Host(paths, decoders) as reader:
            deadline = time.monotonic() + 10
            while len(reader.heard) < 60 and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGTERM)
            told = json.loads(process.stdout.read())
            assert process.wait(10) == 0
    assert len(reader.heard) >= 60
    assert told["rounds"] >= 0
    assert told["mistakes"] == []


def test_as_a_process_it_ends_soon_though_its_reader_has_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tablectl.emulator", "--folder", str(tmp_path), "--forever", "--patience", "300"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ports = [os.open(process.stdout.readline().strip(), os.O_RDWR | os.O_NOCTTY) for _ in range(2)]
        try:
            assert select.select(ports, [], [], 20)[0]  # it deals, and nobody takes what it says
            process.terminate()
            assert process.wait(20) == 0
        finally:
            process.kill()
            for port in ports:
                os.close(port)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [(["--house", "xx"], 4, "no such house"), (["--mistake", "sleep"], 2, "is not one of"), (["--rounds", "0"], 2, "--rounds")],
)
def test_as_a_process_it_says_what_is_wrong_with_a_call(tmp_path: Path, options: list[str], code: int, words: str) -> None:
    command = [sys.executable, "-m", "tablectl.emulator", "--folder", str(tmp_path), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
