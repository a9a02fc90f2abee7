"""The display's server as a process, a browser's side of it, and tables that tell a real broker how they stand."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import Commands
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.desk import Desk
from tablectl.mqtt.identity import Trust
from tablectl.mqtt.judgement import Order
from tablectl.observations import Observation
from tests.broker import Broker
from tests.display.told import NAME, Telling, Told
from tests.tls_broker import TlsBroker

__all__ = ["PATH", "Answer", "LiveTelling", "Screens", "Stream", "Teller", "eventually"]

PATH = "hall/main/t%207"


def eventually(true: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Wait until it is, and give what it gives."""
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)
    return found


class Answer(NamedTuple):
    """An answer: its code, headers (lower case) and body."""

    code: int
    headers: dict[str, str]
    body: str
    cookies: list[str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Screens:
    """`tablectl display` on a free port of loopback."""

    def __init__(self, broker: str, *options: str) -> None:
        self._command = [sys.executable, "-m", "tablectl", "display", "--mqtt", broker, "--listen", "127.0.0.1:0", *options]
        self.said: list[str] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TABLECTL_DEBUG": "0"}
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        found = re.search(r"http://(\S+)", line)
        assert found, line + self._process.stderr.read()
        self.netloc = found[1]
        self._reader = threading.Thread(target=lambda: self.said.extend(self._process.stderr or ()), daemon=True)
        self._reader.start()
        eventually(lambda: self._answers(), 10)
        return self

    def _answers(self) -> bool:
        try:
            return self.get("/healthz").code == 200
        except OSError:
            return False

    def stop(self) -> int:
        self._process.terminate()
        code = self._process.wait(10)
        self._reader.join(5)
        return code

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process.poll() is None:
            self.stop()
        assert self._process.stderr is not None
        self._process.stderr.close()
        assert not [line for line in self.said if "Traceback" in line], "".join(self.said)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def kilobytes(self) -> int:
        """Its memory."""
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self._process.pid}/status").read_text())
        assert found
        return int(found[1])

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection(self.netloc, timeout=15)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            said = {name.lower(): value for name, value in answer.getheaders()}
            cookies = [value for name, value in answer.getheaders() if name.lower() == "set-cookie"]
            return Answer(answer.status, said, answer.read().decode(), cookies)
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, body: object, **headers: str) -> Answer:
        if isinstance(body, str):
            return self.ask("POST", path, body.encode(), **{"content-type": "application/x-www-form-urlencoded", **headers})
        known = {"content-type": "application/json", "x-tablectl": "page", **headers}
        return self.ask("POST", path, json.dumps(body).encode(), **known)

    def stream(self, path: str, **headers: str) -> Stream:
        return Stream(self.netloc, path, headers)


class Event(NamedTuple):
    """A server-sent event."""

    name: str
    id: str
    data: Any


class Stream:
    """An open page's stream: `events` are all that came."""

    def __init__(self, netloc: str, path: str, headers: dict[str, str]) -> None:
        self._connection = http.client.HTTPConnection(netloc, timeout=30)
        self._connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        self._socket = self._connection.sock
        self.answer = self._connection.getresponse()
        self.events: list[Event] = []
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # else the thread that reads would keep us until the next beat
        self._thread.join(5)
        self.answer.close()
        self._connection.close()

    def _read(self) -> None:
        known: dict[str, str] = {}
        try:
            while line := self.answer.readline():
                text = line.decode().rstrip("\r\n")
                if not text:
                    if "data" in known:
                        self.events.append(Event(known.get("event", ""), known.get("id", ""), json.loads(known["data"])))
                    known = {}
                    continue
                name, _, value = text.partition(": ")
                known[name] = value
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return

    def named(self, name: str) -> list[Event]:
        return [event for event in self.events if event.name == name]

    def last(self, name: str) -> Any:
        """The data of the newest one of that name; None before the first."""
        found = self.named(name)
        return found[-1].data if found else None

    def wait(self, name: str, true: Callable[[Any], Any] = lambda _: True, seconds: float = 10.0) -> Any:
        """Wait for one of which this is true, and give its data."""
        found = eventually(lambda: [event for event in self.events if event.name == name and true(event.data)], seconds)
        return found[-1].data


class Teller:
    """Publishes a table's messages to a broker, as they are; over TLS with the table's certificate where there is one."""

    def __init__(self, broker: Broker) -> None:
        self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        self._client.reconnect_delay_set(1, 1)
        self._broker = broker
        if isinstance(broker, TlsBroker):
            self._client.tls_set_context(broker.site.context(broker.table()))

    def __enter__(self) -> Self:
        self._client.connect("127.0.0.1", self._broker.port)
        self._client.loop_start()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def tells(self, told: Iterable[Told]) -> None:
        for _, message in told:
            self._client.publish(message.topic, message.payload, 1, message.retain).wait_for_publish(10)


class LiveTelling:
    """A table that tells what it says and takes commands from those whom it trusts, in a thread of its own."""

    def __init__(self, broker: Broker, trust: Trust, name: TableName = NAME) -> None:
        self.telling = Telling(name=name)
        self.path = self.telling.path
        self.seen: list[Observation] = []
        self._teller = Teller(broker)
        shown = None
        if isinstance(broker, TlsBroker):
            shown = Credentials(broker.ca, broker.table().certificate, broker.table().key)
        self._commands = Commands(Address.parse(broker.url), name, trust=trust, log=lambda _: None, credentials=shown)
        self._desk = Desk(self.telling.table, self._feed)
        self._stopping = False
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._teller.__enter__()
        self._teller.tells(self.telling.begin())
        self._commands.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._thread.join()
        self._commands.__exit__(None, None, None)
        self._teller.__exit__()

    def feed(self, *seen: dict[str, Any]) -> None:
        self._teller.tells(self.telling.feed(*seen))

    def _run(self) -> None:
        while not self._stopping:
            taken = self._commands.take(0.05)
            if isinstance(taken, Order):
                self._commands.answer(taken, self._desk.carry_out(taken, at=None, now=time.time_ns() // 1000))

    def _feed(self, observation: Observation) -> list[bytes]:
        self.seen.append(observation)
        told = list(self.telling.seen(observation))
        self._teller.tells(told)
        return [bytes(msgspec.json.decode(one.message.payload, type=_Data).data) for one in told if one.channel != "state"]


class _Data(msgspec.Struct):
    data: msgspec.Raw
