"""MQTT 5 as an intruder speaks it: bytes on a socket, with nothing between that would refuse to send them.

As a program it floods: `python -m tests.live.raw PLAN.json` sends what the plan says and prints what came of it.
"""

from __future__ import annotations

import json
import select
import socket
import ssl
import struct
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

__all__ = ["COUNTED", "Flood", "Flooded", "Raw", "publish_packet"]

COUNTED = b"%%%%%%%%"
"""Eight bytes of a payload in a flood that are another number in each message."""
WINDOW = 100
"""Unacknowledged messages that a broker allows."""


def _number(length: int) -> bytes:
    out = bytearray()
    while True:
        length, low = length >> 7, length & 0x7F
        out.append(low | (0x80 if length else 0))
        if not length:
            return bytes(out)


def _text(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data


def publish_packet(topic: bytes, payload: bytes, *, qos: int = 0, retain: bool = False, mid: int = 1) -> bytes:
    """A PUBLISH. The topic is bytes: it may be no UTF-8."""
    head = _text(topic) + (struct.pack(">H", mid) if qos else b"") + b"\0"
    return bytes([0x30 | qos << 1 | retain]) + _number(len(head) + len(payload)) + head + payload


class Raw:
    """A connection. Raises `ConnectionError` when it is not let in."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None, name: str = "") -> None:
        self.acknowledged: list[int] = []
        """The broker's reason codes for what was sent with QoS 1."""
        self._in = bytearray()
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname="127.0.0.1")
            body = _text(b"MQTT") + b"\x05\x02\x00\x3c\0" + _text(name.encode())
            self._socket.sendall(b"\x10" + _number(len(body)) + body)
            kind, answer = self._packet()
        except OSError as error:
            self._socket.close()
            raise ConnectionError(str(error)) from None
        if kind != 0x20 or answer[1]:
            self._socket.close()
            raise ConnectionError(f"CONNACK {answer.hex()}")

    def send(self, data: bytes) -> None:
        """Send bytes. Raises `OSError` when the broker has hung up."""
        self._socket.sendall(data)

    def is_out(self, seconds: float = 10.0) -> bool:
        """Whether the broker hangs up within so many seconds."""
        self._socket.settimeout(seconds)
        try:
            while True:
                kind, _ = self._packet()
                if kind == 0xE0:
                    return True
        except TimeoutError:
            return False
        except OSError:
            return True

    def listen(self, seconds: float) -> None:
        """Take in acknowledgements that come within so many seconds. Raises `OSError` when the broker has hung up."""
        pending = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()
        if pending or select.select([self._socket], [], [], seconds)[0]:
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionError("the broker hung up")
            self._in += data
        while (packet := self._whole()) is not None:
            kind, body = packet
            if kind == 0x40:
                self.acknowledged.append(body[2] if len(body) > 2 else 0)
            elif kind == 0xE0:
                raise ConnectionError(f"the broker hung up: {body.hex()}")

    def _packet(self) -> tuple[int, bytes]:
        while (packet := self._whole()) is None:
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionError("the broker hung up")
            self._in += data
        return packet

    def _whole(self) -> tuple[int, bytes] | None:
        length, shift, at = 0, 0, 1
        while True:
            if at >= len(self._in):
                return None
            length |= (self._in[at] & 0x7F) << shift
            shift += 7
            at += 1
            if self._in[at - 1] < 0x80:
                break
        if len(self._in) < at + length:
            return None
        kind, body = self._in[0] & 0xF0, bytes(self._in[at : at + length])
        del self._in[: at + length]
        return kind, body

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Flood(msgspec.Struct, kw_only=True):
    """What is sent: the messages (topic, payload) in turn, `rate` a second, for `seconds`."""

    port: int
    qos: int
    rate: int
    seconds: float
    messages: list[tuple[str, bytes]]
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


class Flooded(msgspec.Struct, kw_only=True):
    """What came of it: how many went out in how many seconds, what the broker said to them, and how often it hung up."""

    sent: int
    seconds: float
    codes: dict[int, int]
    thrown_out: int


def flood(plan: Flood) -> Flooded:
    """Send it all; comes back when it is thrown out."""
    context = None
    if plan.ca is not None:
        context = ssl.create_default_context(cafile=plan.ca)
        if plan.certificate is not None:
            context.load_cert_chain(plan.certificate, plan.key)
    topics = [topic.encode() for topic, _ in plan.messages]
    bodies = [body for _, body in plan.messages]
    sent = thrown_out = 0
    codes: dict[int, int] = {}
    began = time.monotonic()
    while (now := time.monotonic()) - began < plan.seconds:
        try:
            with Raw(plan.port, context) as raw:
                open_since = sent
                while (now := time.monotonic()) - began < plan.seconds:
                    due = int((now - began) * plan.rate) - sent
                    if plan.qos:
                        due = min(due, WINDOW - (sent - open_since - len(raw.acknowledged)))
                    batch = b"".join(
                        publish_packet(
                            topics[number % len(topics)],
                            bodies[number % len(bodies)].replace(COUNTED, b"%08x" % number),
                            qos=plan.qos,
                            mid=1 + number % 60000,
                        )
                        for number in range(sent, sent + min(due, 500))
                    )
                    if batch:
                        raw.send(batch)
                        sent += min(due, 500)
                    raw.listen(0.0 if due >= 500 else 0.002)
                if plan.qos:
                    end = time.monotonic() + 1
                    while len(raw.acknowledged) < sent - open_since and time.monotonic() < end:
                        raw.listen(0.1)
                for code in raw.acknowledged:
                    codes[code] = codes.get(code, 0) + 1
        except OSError:
            thrown_out += 1
            time.sleep(0.05)
    return Flooded(sent=sent, seconds=time.monotonic() - began, codes=codes, thrown_out=thrown_out)


if __name__ == "__main__":
    made = flood(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Flood))
    print(json.dumps(msgspec.to_builtins(made)))
