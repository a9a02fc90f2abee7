"""Syslog over the network: UDP (RFC 5426), TCP (RFC 6587) and TLS (RFC 5425).

Syslog acknowledges nothing. What a broken connection may have swallowed, of the last `AGAIN_SECONDS`, is sent again over the next
one; who reads knows a repeat by `session` and `entry`.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections import deque
from typing import Final, Literal, NamedTuple, Self, get_args
from urllib.parse import urlsplit

from tablectl.errors import UsageError
from tablectl.feeds.feeding import Unreachable
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.selecting import Selected
from tablectl.ledger.export.speaking import Spoken
from tablectl.ledger.export.syslog import message

__all__ = ["FRAMINGS", "Framing", "Receiver", "Syslog"]

Framing = Literal["octets", "newline"]
FRAMINGS: Final[tuple[Framing, ...]] = get_args(Framing)
AGAIN: Final = 64
AGAIN_SECONDS: Final = 60.0
"""So many messages, and no older ones, are sent again after a connection broke."""
SECONDS: Final = 10.0
"""For a connection to be made, and for a message to be taken."""
_PORTS: Final = {"udp": 514, "tcp": 601, "tls": 6514}


class Receiver(NamedTuple):
    """Where messages go: `udp://`, `tcp://` or `tls://`, host, and a port where it is not 514, 601 or 6514."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address. Raises `UsageError`."""
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"no address of a syslog receiver: {error}", where=text) from None
        if parts.scheme not in _PORTS or not parts.hostname or port == 0 or parts.path not in ("", "/") or parts.username:
            raise UsageError("no address of a syslog receiver: udp://HOST, tcp://HOST or tls://HOST, and :PORT", where=text)
        return cls(parts.scheme, parts.hostname, port or _PORTS[parts.scheme])

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


class Syslog:
    """One receiver. Over TCP a message is framed by its length (`octets`), or ended by a line feed (`newline`); TLS has `octets`.

    `context` is what TLS is made with.
    """

    def __init__(
        self, receiver: Receiver, options: Options, *, framing: Framing = "octets", context: ssl.SSLContext | None = None
    ):
        self.where = str(receiver)
        self._receiver = receiver
        self._options = options
        self._framing = framing
        self._context = context
        self._socket: socket.socket | None = None
        self._recent: deque[tuple[float, bytes]] = deque(maxlen=AGAIN)
        self._broken = False

    def tell(self, one: Selected, told: Spoken) -> None:
        """Hand a message to the network. Raises `Unreachable`."""
        raw = message(one, told, self._options)
        if self._receiver.scheme != "udp":
            raw = b"%d %b" % (len(raw), raw) if self._framing == "octets" or self._receiver.scheme == "tls" else raw + b"\n"
        self._notice_end()
        try:
            if self._socket is None:
                self._socket = self._connect()
                if self._broken:
                    since = time.monotonic() - AGAIN_SECONDS
                    for at, before in self._recent:
                        if at >= since:
                            self._socket.sendall(before)
                    self._broken = False
            self._socket.sendall(raw)
        except OSError as error:
            self._hang_up()
            raise Unreachable(_why(error)) from error
        if self._receiver.scheme != "udp":
            self._recent.append((time.monotonic(), raw))

    def _connect(self) -> socket.socket:
        kind = socket.SOCK_DGRAM if self._receiver.scheme == "udp" else socket.SOCK_STREAM
        last: OSError | None = None
        for family, _, _, _, address in socket.getaddrinfo(self._receiver.host, self._receiver.port, type=kind):
            made = socket.socket(family, kind)
            try:
                made.settimeout(SECONDS)
                made.connect(address)
                if self._receiver.scheme != "udp":
                    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                if self._context is not None:
                    return self._context.wrap_socket(made, server_hostname=self._receiver.host)
            except OSError as error:
                made.close()
                last = error
            else:
                return made
        raise last or OSError("there is no such host")

    def _notice_end(self) -> None:
        """A receiver that hung up would take one more message and drop it: look before."""
        if self._socket is None or self._receiver.scheme == "udp":
            return
        try:
            while (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()) or select.select(
                [self._socket], [], [], 0
            )[0]:
                self._socket.settimeout(0.0)
                if not self._socket.recv(4096):
                    self._hang_up()
                    return
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except OSError:
            self._hang_up()
            return
        self._socket.settimeout(SECONDS)

    def _hang_up(self) -> None:
        self._broken = self._broken or self._socket is not None
        self.close()

    def rest(self, seconds: float) -> None:
        """Wait; a receiver that hangs up meanwhile is noticed."""
        time.sleep(seconds)
        self._notice_end()

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return error.strerror or str(error) or "it hung up"
