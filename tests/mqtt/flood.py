"""Somebody who speaks MQTT 3.1.1 by hand: to send what no client library would, and as fast as a broker takes it."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from types import TracebackType
from typing import Self

import msgspec

__all__ = ["Intruder"]


def _length(size: int) -> bytes:
    made = bytearray()
    while True:
        size, digit = divmod(size, 128)
        made.append(digit | (128 if size else 0))
        if not size:
            return bytes(made)


def packet(kind: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return bytes([kind]) + _length(len(body)) + body


def text(value: bytes) -> bytes:
    return len(value).to_bytes(2, "big") + value


class Intruder:
    """A connection of its own. What the broker answers is read and thrown away."""

    def __init__(self, port: int, name: str = "intruder"):
        self._sock = socket.create_connection(("127.0.0.1", port), 10)
        self._sock.sendall(packet(0x10, text(b"MQTT"), b"\x04\x02\x00\x3c", text(name.encode())))
        assert self._sock.recv(4) == b"\x20\x02\x00\x00"
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while self._sock.recv(1 << 16):
                pass
        except OSError:
            return

    def publish(self, topic: bytes, payload: bytes, *, qos: int = 0, retain: bool = False) -> None:
        """Raises `OSError` when the broker has hung up."""
        self._sock.sendall(self.made(topic, payload, qos=qos, retain=retain))

    @staticmethod
    def made(topic: bytes, payload: bytes, *, qos: int = 0, retain: bool = False, number: int = 1) -> bytes:
        return packet(0x30 | qos << 1 | retain, text(topic), number.to_bytes(2, "big") if qos else b"", payload)

    def flood(self, messages: list[tuple[bytes, bytes]], *, a_second: int, seconds: float, qos: int = 0) -> int:
        """Send them in turn, again and again; gives how many were sent."""
        sent = 0
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            due = min(int(now * a_second) - sent, 500)
            batch = bytearray()
            for number in range(sent, sent + due):
                batch += self.made(*messages[number % len(messages)], qos=qos, number=number % 65535 + 1)
            self._sock.sendall(batch)
            sent += due
            time.sleep(0.002)
        return sent

    def is_out(self, seconds: float = 5.0) -> bool:
        """Whether the broker has ended the connection, within that time."""
        self._reader.join(seconds)
        return not self._reader.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave once the broker has read everything; at once if it has hung up."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
        self._reader.join(30)
        self._sock.close()


class Flood(msgspec.Struct):
    """What `python -m tests.mqtt.flood` reads, as JSON, and says how many it sent."""

    port: int
    messages: list[tuple[bytes, bytes]]
    a_second: int
    seconds: float
    qos: int


if __name__ == "__main__":
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Flood)
    with Intruder(asked.port) as intruder:
        print(intruder.flood(asked.messages, a_second=asked.a_second, seconds=asked.seconds, qos=asked.qos))
