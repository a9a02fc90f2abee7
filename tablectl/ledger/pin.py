"""What a ledger is the record of: its first entry, which pins the table, the rules and the software.

The pin is JSON in one fixed form: the same facts are always the same bytes. The session, which begins the id of every message
that leaves the table, is read off those bytes: a day that is replayed from the same recording has the same ids, and a reader that
drops repeats by id drops it.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import ClassVar

import msgspec

from tablectl.errors import ConfigError

__all__ = ["MAX_NAME", "Follows", "Pin", "Pinned", "TableName", "decode", "encode", "session"]

MAX_NAME = 64
"""The longest name of a site, a pit or a table, in characters."""


class TableName(msgspec.Struct, frozen=True):
    """Which table of which pit of which site. The three are parts of an MQTT topic, so what has a meaning there is refused.

    Raises `ConfigError`, naming the field, for a name that is empty, longer than `MAX_NAME` characters, begins or ends with a
    space, or has a `/`, `+`, `#` or a character that cannot be printed.
    """

    site: str
    pit: str
    table: str

    FORBIDDEN: ClassVar[str] = "/+#"

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            name: str = getattr(self, field)
            if not name:
                raise ConfigError("is empty", field=field)
            if len(name) > MAX_NAME:
                raise ConfigError(f"is longer than {MAX_NAME} characters", field=field)
            if name != name.strip():
                raise ConfigError(f"{name!r} begins or ends with a space", field=field)
            for letter in name:
                if letter in self.FORBIDDEN or unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
                    raise ConfigError(f"{name!r} has a {letter!r}, which a topic cannot carry", field=field)

    def __str__(self) -> str:
        """`site/pit/table`."""
        return f"{self.site}/{self.pit}/{self.table}"


class Pinned(msgspec.Struct, frozen=True):
    """A data file: its name, and the SHA-256 of its bytes in hexadecimal (None where it was never a file, such as stdin)."""

    name: str
    digest: str | None


class Follows(msgspec.Struct, frozen=True):
    """The ledger before this one: its session, how many entries it has, and the root of their tree in hexadecimal."""

    session: str
    size: int
    root: str


class Pin(msgspec.Struct, frozen=True, kw_only=True, tag_field="pin", tag=1):
    """The table, its rules, its devices and the software.

    `profiles` are the firmware profiles by port; `supervisors` who may rule, where not anybody may. `opened` is when the ledger
    was begun (`tablectl.instants`): it keeps two ledgers of one table apart. A replay leaves it None and names its recordings in
    `sources` instead, so that it can be repeated to the byte.

    `calibration` is what cameras measured the felt by, `deck` the deck that is enrolled in it. Both are left out of the bytes
    where there is none: a table without cameras is pinned in the bytes that it always had.

    Three are said of a ledger's beginning, in its first entry alone, and are left out of the bytes where they are None:
    `follows` is the table's ledger before this one, `carried` the table's standing that was taken over (JSON in a text),
    `signer` the public key (`tablectl.ledger.keys`) that signs the heads until a `key` entry names another.
    """

    software: str
    table: TableName
    house: Pinned
    language: str
    profiles: dict[str, Pinned]
    calibration: Pinned | None = None
    deck: Pinned | None = None
    supervisors: tuple[str, ...] = ()
    opened: str | None = None
    sources: tuple[Pinned, ...] = ()
    follows: Follows | None = None
    carried: str | None = None
    signer: str | None = None


BEGINNING = ("follows", "carried", "signer")
"""What is said in a ledger's first entry alone."""
WHERE_ANY = ("calibration", "deck", *BEGINNING)
"""What is left out of the bytes where it is None."""

_DECODER = msgspec.json.Decoder(Pin)


def encode(pin: Pin) -> bytes:
    """The pin as an entry's body."""
    said = {name: getattr(pin, name) for name in pin.__struct_fields__}
    said["profiles"] = dict(sorted(pin.profiles.items()))
    for name in WHERE_ANY:
        if said[name] is None:
            del said[name]
    return msgspec.json.encode({"pin": 1, **said})


def decode(body: bytes) -> Pin:
    """Read a pin back. Raises `msgspec.DecodeError` (of which `msgspec.ValidationError` is one) for what is none."""
    return _DECODER.decode(body)


def session(body: bytes) -> str:
    """The 16 hexadecimal digits that begin the ids of a ledger's messages: SHA-256 of its first entry's body, shortened."""
    return hashlib.sha256(body).hexdigest()[:16]
