"""Servers between a publisher and a broker, or instead of one: what there is in the field that is no Mosquitto."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Literal, Self

_ANSWERS = {
    "says so": b"\x20\x03\x00\x84\x00",  # CONNACK of MQTT 5: unsupported protocol version
    "says so in 3.1.1": b"\x20\x02\x00\x01",  # CONNACK of MQTT 3.1.1: unacceptable protocol version
    "hangs up": b"",
}


class Server:
    """A TCP server on a loopback port; every connection is a thread of its own."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._serve(self._listener.accept()[0])

    def _serve(self, client: socket.socket) -> None:
        self._open.append(client)
        self._in_thread(lambda: self.talk(client))

    def _in_thread(self, work: object) -> None:
        def guarded() -> None:
            with contextlib.suppress(OSError):
                assert callable(work)
                work()

        thread = threading.Thread(target=guarded)
        self._threads.append(thread)
        thread.start()

    def talk(self, client: socket.socket) -> None:
        """What to do with a client; here nothing, for ever."""

    def __enter__(self) -> Self:
        self._in_thread(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for thread in self._threads:
            thread.join(5)
            assert not thread.is_alive()


class Speaking(Server):
    """A server of something else: it says `words` and waits."""

    def __init__(self, words: bytes):
        super().__init__()
        self._words = words

    def talk(self, client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(self._words)


class OldBroker(Server):
    """A broker of MQTT 3.1.1, made of the real one: what speaks MQTT 5 is answered as `manner` says, the rest is passed on.

    `levels` are the protocol levels that clients asked for, in order: 5 is MQTT 5, 4 is 3.1.1.
    """

    def __init__(self, behind: int, manner: Literal["says so", "says so in 3.1.1", "hangs up", "is silent"]):
        super().__init__()
        self._behind = behind
        self._manner = manner
        self.levels: list[int] = []

    def talk(self, client: socket.socket) -> None:
        first = client.recv(4096)
        level = first[first.index(b"MQTT") + 4]
        self.levels.append(level)
        if level == 5:
            if self._manner != "is silent":
                client.sendall(_ANSWERS[self._manner])
                client.close()
            return
        broker = socket.create_connection(("127.0.0.1", self._behind))
        self._open.append(broker)
        broker.sendall(first)
        self._in_thread(lambda: self._pass_on(broker, client))
        self._pass_on(client, broker)

    @staticmethod
    def _pass_on(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        finally:
            for sock in (source, sink):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
