"""A broker's address: `mqtt://[user:password@]host[:port]`, or `mqtts://` over TLS."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote, urlsplit

from tablectl.errors import UsageError

__all__ = ["Address"]

_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class Address:
    """Where a broker is, and who we are there. Printing it never shows user or password."""

    host: str
    port: int
    tls: bool = False
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address. User and password may be percent-encoded; an IPv6 host stands in brackets.

        Raises `UsageError` that says what is wrong with it, without repeating it: it may hold a password.
        """
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise UsageError(f"no broker address: {error}") from None
        if parts.scheme not in _PORTS:
            raise UsageError("no broker address: it begins with mqtt:// or mqtts://")
        if not host or not host.isprintable() or " " in host:
            raise UsageError(f"no broker address: {parts.scheme}:// is followed by a host")
        if port == 0:
            raise UsageError("no broker address: a port is 1 to 65535")
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            raise UsageError("no broker address: nothing may follow the port; the topics are fixed")
        if parts.username == "":
            raise UsageError("no broker address: a password needs a user")
        user = None if parts.username is None else unquote(parts.username)
        password = None if parts.password is None else unquote(parts.password)
        return cls(host, port or _PORTS[parts.scheme], parts.scheme == "mqtts", user, password)

    def __str__(self) -> str:
        """The address without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}"
