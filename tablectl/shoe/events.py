"""What the thread of a device tells: bytes, the link going up and down, trouble on the line; each stamped when it happened."""

from __future__ import annotations

import msgspec

__all__ = ["Bytes", "Down", "Event", "Sent", "Trouble", "Up"]


class Bytes(msgspec.Struct, frozen=True, tag=True):
    """Bytes that came from the device, as many as were there together: at most 4096, never none.

    Here as below, `port` is the port's name, such as `shoe`, and `at` is in microseconds since 1970 UTC.
    """

    port: str
    at: int
    data: bytes


class Sent(msgspec.Struct, frozen=True, tag=True):
    """Bytes that were written to the device."""

    port: str
    at: int
    data: bytes


class Up(msgspec.Struct, frozen=True, tag=True):
    """The device was opened. `why` names what was opened, as the address may lead to another file each time."""

    port: str
    at: int
    why: str


class Down(msgspec.Struct, frozen=True, tag=True):
    """The device is gone, or was not there at the start. It is told once, and an `Up` follows when it is back."""

    port: str
    at: int
    why: str


class Trouble(msgspec.Struct, frozen=True, tag=True):
    """Something is wrong that does not end the link.

    A break, framing or parity errors, an overrun, another program that has the device open, bytes that could not be sent; or
    while the link is down, another reason why it cannot be opened.
    """

    port: str
    at: int
    why: str


Event = Bytes | Sent | Up | Down | Trouble
"""`Down` and `Up` of a port alternate, and `Bytes` and `Sent` come only after an `Up`."""
