"""From a notice that a table publishes to what changes on a screen, with a pit full of tables and many screens open.

The tables play by themselves (`tests.display.crowd`) and tell a real Mosquitto all that a daemon would, one thing every so often
each, spread evenly. `tablectl display` is a process of its own. One of the readers is a real browser on the page of one table, in
which a MutationObserver takes the time when the prompt there changed; the others hold their streams open and read what comes.
The clock is the system's on both sides: the browser's is compared with ours before and after, and put right.

Two more figures say whose the time is. `sent` is when the same prompt had come from the server to a reader that draws nothing.
`cpu_pressure` is the share of the time, in percent, in which something on this machine waited for a processor (0 where the kernel
does not tell): on a machine that has other things to do, most of a long wait is a wait for its turn.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from playwright.sync_api import Page, expect

from tablectl.display.view import path_of
from tablectl.ledger.pin import TableName
from tests.benchmarks.slices import rounded
from tests.broker import Broker
from tests.display.browser.stage import Seen, chromium
from tests.display.crowd import Player
from tests.display.screens import Screens, eventually

__all__ = ["SECONDS", "measure"]

TABLES: Final = 60
READERS: Final = 20
SECONDS: Final = 120.0
EVERY: Final = 1.0
"""Seconds from one thing that happens at a table to the next: a table has one every second or two."""
CLOCKS: Final = 2.0
"""Milliseconds by which the two clocks may be apart although they were put right."""
P99_BAR: Final = 250.0
CPU_BAR: Final = 1.0
MEMORY_BAR: Final = 200.0
WATCHED: Final = TableName("bench", "pit", "t00")
WATCH: Final = """() => {
    const now = document.getElementById("now");
    window.seen = [];
    new MutationObserver(() => window.seen.push([performance.timeOrigin + performance.now(), now.textContent]))
        .observe(now, {childList: true, characterData: true, subtree: true});
}"""
CLOCK: Final = "performance.timeOrigin + performance.now()"


class _Told(msgspec.Struct):
    now: str


class _Shown(msgspec.Struct):
    told: _Told


class _Readers:
    """So many open streams that are read and thrown away; `bytes` counts what came.

    Of the first one `prompts` are kept, each with the time in milliseconds at which it came.
    """

    def __init__(self, netloc: str, paths: Sequence[str]) -> None:
        self.bytes = 0
        self.prompts: list[tuple[float, str]] = []
        self._rest = b""
        self._host, _, port = netloc.partition(":")
        self._port = int(port)
        self._paths = paths
        self._selector = selectors.DefaultSelector()
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> _Readers:
        for number, path in enumerate(self._paths):
            sock = socket.create_connection((self._host, self._port))
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nAccept: text/event-stream\r\n\r\n".encode())
            sock.setblocking(False)
            self._selector.register(sock, selectors.EVENT_READ, number)
        self._thread.start()
        return self

    def _read(self) -> None:
        while not self._ended:
            for key, _ in self._selector.select(0.2):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                data = sock.recv(1 << 18)
                self.bytes += len(data)
                assert data, "the server hung up on a reader"
                if key.data == 0:
                    self._keep(data)

    def _keep(self, data: bytes) -> None:
        at = time.time_ns() / 1e6
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            if line.startswith(b"data: ") and b'"told":{' in line:
                told = msgspec.json.decode(line.removeprefix(b"data: "), type=_Shown).told
                self.prompts.append((at, told.now))

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()


@contextmanager
def _publishing(broker: Broker) -> Iterator[Client]:
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


def measure(seconds: float, tell: Callable[[str], None], *, tables: int = TABLES, readers: int = READERS) -> dict[str, object]:
    """Let so many tables play for so long before so many readers."""
    tell(f"display: {tables} tables, {readers} readers, {seconds:g} s")
    names = [WATCHED, *(TableName("bench", "pit", f"t{number:02}") for number in range(1, tables))]
    players = [Player(name, ("fr", "es", "lt")[number % 3], number + 1) for number, name in enumerate(names)]
    shared = ("/events/all", "/events/pit/bench/pit", "/events/alerts")
    others = [(*shared, f"/events/table/{path_of(names[number])}")[number % 4] for number in range(readers - 2)]
    paths = [f"/events/table/{path_of(WATCHED)}", *others]
    with (
        TemporaryDirectory(prefix="tablectl-bench-") as folder,
        Broker(Path(folder) / "broker") as broker,
        Screens(broker.url, "--aim", "60") as screens,
        _publishing(broker) as client,
        chromium() as browser,
    ):
        for player in players:
            for _, message in player.begin():
                client.publish(message.topic, message.payload, 1, message.retain)
        eventually(lambda: screens.get(f"/table/{path_of(names[-1])}").code == 200)
        seen = Seen(browser, f"http://{screens.netloc}/table/{path_of(WATCHED)}")
        with _Readers(screens.netloc, paths) as crowd:
            _play(players, client, 3.0)  # warm
            seen.page.evaluate(WATCH)
            ahead = _ahead(seen.page)
            spent, stalled, began = _cpu(screens.pid), _stalled(), time.monotonic()
            told, messages = _play(players, client, seconds)
            took = time.monotonic() - began
            cores, pressure = (_cpu(screens.pid) - spent) / took, 100 * (_stalled() - stalled) / took
            ahead = (ahead + _ahead(seen.page)) / 2
            expect(seen.page.locator("#now")).to_have_text(told[-1][1], timeout=20_000)  # on a busy machine it is late
            changed: list[tuple[float, str]] = [(at - ahead, text) for at, text in seen.page.evaluate("window.seen")]
            read, sent = crowd.bytes, list(_waits(told, crowd.prompts))
        megabytes = screens.kilobytes / 1000
        assert not seen.console, seen.console
    waits = list(_waits(told, changed))
    assert waits, "nothing was told"
    assert max(waits) < float("inf"), "what was told was not shown"
    more = {"messages_per_second": rounded(messages / took), "stream_kilobytes_per_second": rounded(read / 1000 / took)}
    more |= {"cpu_pressure": rounded(pressure), "sent_p50": _rank(sent, 50), "sent_p99": _rank(sent, 99)}
    return _figures(waits, cores, megabytes, {"tables": tables, "readers": readers, **more})


def _play(players: Sequence[Player], client: Client, seconds: float) -> tuple[list[tuple[float, str]], int]:
    """Let all of them play. Gives when (in milliseconds) the watched table published which prompt, and how many messages went."""
    told: list[tuple[float, str]] = []
    messages = 0
    half = len(players) // 2
    turns = [*players[:half], players[0], *players[half:]]  # it plays twice as often, so that more is seen
    began = time.monotonic()
    turn = 0
    while (due := began + turn * EVERY / len(turns)) < began + seconds:
        time.sleep(max(0.0, due - time.monotonic()))
        player = turns[turn % len(turns)]
        turn += 1
        for channel, message in player.next(time.time_ns() // 1000):
            if channel == "prompt" and player.name == WATCHED:
                told.append((time.time_ns() / 1e6, _text(message.payload)))
            client.publish(message.topic, message.payload, 1, message.retain)
            messages += 1
    return told, messages


def _text(payload: bytes) -> str:
    found: str = msgspec.json.decode(payload)["data"]["text"]
    return found


def _waits(told: Sequence[tuple[float, str]], changed: Sequence[tuple[float, str]]) -> Iterator[float]:
    """Milliseconds from each prompt that was published to the change that shows it or what overtook it, infinite where none does.

    Prompts that change nothing are passed over; of several that follow one another at once, only the last has to be seen.
    """
    shown = ""
    for number, (at, text) in enumerate(told):
        until = told[number + 1][0] if number + 1 < len(told) else float("inf")
        if until - at < EVERY * 250:
            continue
        if text != shown:
            due = {said for _, said in told[number : number + 10]}
            shows = next((when for when, said in changed if said in due and at - CLOCKS <= when), None)
            if shows is not None:
                yield max(0.0, shows - at)
            elif not changed or changed[-1][1] != text:  # else it stood there: what was told in between had been overtaken
                yield float("inf")
        shown = text


def _ahead(page: Page) -> float:
    """By how many milliseconds the browser's clock is ahead of ours: the tightest of some looks."""
    looks = []
    for _ in range(20):
        before = time.time_ns() / 1e6
        theirs = page.evaluate(CLOCK)
        after = time.time_ns() / 1e6
        looks.append((after - before, theirs - (before + after) / 2))
    return float(min(looks)[1])


def _cpu(pid: int) -> float:
    """Seconds of a processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _stalled() -> float:
    """Seconds in which something waited for a processor, since the machine was started."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return 0.0
    return int(some.rpartition("total=")[2]) / 1e6


def _rank(waits: Sequence[float], percent: int) -> float:
    """The wait that so many in a hundred do not exceed."""
    ranked = sorted(waits)
    return rounded(ranked[min(len(ranked) - 1, len(ranked) * percent // 100)])


def _figures(waits: Sequence[float], cores: float, megabytes: float, load: dict[str, float]) -> dict[str, object]:
    p99 = _rank(waits, 99)
    return {
        "what": "milliseconds from a notice's publishing to the change on a browser's page",
        **load,
        "bar": {"p99": P99_BAR, "cores": CPU_BAR, "megabytes": MEMORY_BAR},
        "reached": p99 <= P99_BAR and cores < CPU_BAR and megabytes < MEMORY_BAR,
        "p50": _rank(waits, 50),
        "p99": p99,
        "most": rounded(max(waits)),
        "changes": len(waits),
        "server_cores": rounded(cores),
        "server_megabytes": rounded(megabytes),
    }
