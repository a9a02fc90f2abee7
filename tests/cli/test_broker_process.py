"""A Mosquitto of our own: where it listens, and that nothing of it is left."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tablectl.cli import broker_process
from tablectl.cli.broker_process import BrokerProcess
from tablectl.errors import BrokerError
from tablectl.mqtt.listener import Listener
from tests.processes import named


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; a broker's command line names it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_runs_while_it_is_entered(folder: Path) -> None:
    with BrokerProcess() as broker:
        assert len(named(folder)) == 1
        with Listener(broker.address, "#") as listener:
            assert listener.turn(0.0) == []
    assert named(folder) == []
    assert list(folder.iterdir()) == []


def test_it_listens_on_the_loopback_and_nowhere_else(folder: Path) -> None:
    with BrokerProcess() as broker:
        assert broker.address.host == "127.0.0.1"
        port = f"{broker.address.port:04X}"
        (process,) = named(folder)
        sockets = {os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir() if link.is_symlink()}
        listening = [
            row[1]
            for table in ("tcp", "tcp6")
            for row in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
            if row[3] == "0A" and f"socket:[{row[9]}]" in sockets
        ]
        assert listening == [f"0100007F:{port}"]


def test_it_goes_with_whatever_happens(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), BrokerProcess():
        raise KeyboardInterrupt
    assert named(folder) == []
    assert list(folder.iterdir()) == []


def test_one_that_hangs_is_killed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_process, "STOP_SECONDS", 0.2)
    with BrokerProcess():
        os.kill(named(folder)[0], signal.SIGSTOP)
    assert named(folder) == []


def test_a_port_that_is_taken_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = broker_process._free_port
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [taken.getsockname()[1], free()]
        monkeypatch.setattr(broker_process, "_free_port", lambda: ports.pop(0))
        with BrokerProcess() as broker:
            assert broker.address.port != taken.getsockname()[1]
            assert ports == []


def test_no_mosquitto(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *args, **more: None)
    with pytest.raises(BrokerError, match=r"^this needs the MQTT broker mosquitto; install it: apt install mosquitto$"):
        BrokerProcess().__enter__()
    assert list(folder.iterdir()) == []


@pytest.fixture
def instead(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have a shell script stand where mosquitto should."""

    def put(script: str) -> None:
        place = tmp_path_factory.mktemp("bin")
        (place / "mosquitto").write_text(f"#!/bin/sh\n{script}\n")
        (place / "mosquitto").chmod(0o755)
        monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")

    return put


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo starting; echo 'Error: Unable to open the log.' >&2; exit 3", "Error: Unable to open the log."),
        ("exit 1", "it said nothing"),
    ],
)
def test_one_that_does_not_start(script: str, words: str, folder: Path, instead: Callable[[str], None]) -> None:
    instead(script)
    with pytest.raises(BrokerError) as raised:
        BrokerProcess().__enter__()
    assert raised.value.message == f"mosquitto does not start: {words}"
    assert list(folder.iterdir()) == []
