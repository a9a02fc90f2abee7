"""What systemd is told, on a real datagram socket."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tablectl.daemon.notify import Notify


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """Who listens, and what NOTIFY_SOCKET says."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        name = str(tmp_path / "notify") if request.param == "path" else f"@tablectl-test-{os.getpid()}"
        listener.bind(name.replace("@", "\0", 1) if request.param == "abstract" else name)
        listener.settimeout(5)
        yield listener, name


def test_every_word(systemd: tuple[socket.socket, str]) -> None:
    listener, name = systemd
    notify = Notify({"NOTIFY_SOCKET": name})
    words: list[tuple[Callable[[], None], str]] = [
        (lambda: notify.ready("round 4, players"), "READY=1\nSTATUS=round 4, players"),
        (lambda: notify.status("waiting for\nthe shoe"), "STATUS=waiting for the shoe"),
        (lambda: notify.status("mise fermée"), "STATUS=mise fermée"),
        (notify.alive, "WATCHDOG=1"),
        (lambda: notify.stopping("the last checkpoint"), "STOPPING=1\nSTATUS=the last checkpoint"),
        (lambda: notify.more_time(2.5, "checking the ledger"), "EXTEND_TIMEOUT_USEC=2500000\nSTATUS=checking the ledger"),
    ]
    for tell, said in words:
        tell()
        assert listener.recv(4096).decode() == said


def test_a_reload_says_when_it_began(systemd: tuple[socket.socket, str]) -> None:
    listener, name = systemd
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    Notify({"NOTIFY_SOCKET": name}).reloading()
    first, second = listener.recv(4096).decode().split("\n")
    assert first == "RELOADING=1"
    key, _, value = second.partition("=")
    assert key == "MONOTONIC_USEC"
    assert before <= int(value) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "@nobody-listens-here", "vsock:2:1234", "/" + "x" * 200])
def test_nobody_listens_and_nobody_cares(address: str) -> None:
    notify = Notify({"NOTIFY_SOCKET": address} if address else {})
    notify.ready("open")
    notify.alive()
    assert notify.watchdog is None


def test_a_listener_that_does_not_read_holds_nothing_up(systemd: tuple[socket.socket, str]) -> None:
    _, name = systemd
    notify = Notify({"NOTIFY_SOCKET": name})
    began = time.monotonic()
    for _ in range(5000):
        notify.status("x" * 1000)
    assert time.monotonic() - began < 5


def test_the_process_of_the_service_is_who_is_heard(systemd: tuple[socket.socket, str]) -> None:
    """As systemd does it: the sender's process comes from the kernel, and must be the main one."""
    listener, name = systemd
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    code = "from tablectl.daemon.notify import Notify; Notify().ready('open')"
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "NOTIFY_SOCKET": name})
    data, ancillary, _, _ = listener.recvmsg(4096, 1024)
    assert process.wait(10) == 0
    assert data == b"READY=1\nSTATUS=open"
    assert int.from_bytes(ancillary[0][2][:4], sys.byteorder) == process.pid


def test_it_says_the_same_as_systemds_own_program(systemd: tuple[socket.socket, str]) -> None:
    listener, name = systemd
    program = shutil.which("systemd-notify")
    assert program, "install systemd: apt-get install systemd"
    subprocess.run([program, "--ready", "--status=open", "--no-block"], env={"NOTIFY_SOCKET": name}, check=True, timeout=10)
    theirs = listener.recv(4096)
    Notify({"NOTIFY_SOCKET": name}).ready("open")
    assert sorted(theirs.split()) == sorted(listener.recv(4096).split())


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({}, None),
    ],
)
def test_the_watchdog(variables: dict[str, str], seconds: float | None) -> None:
    assert Notify(variables).watchdog == seconds
