"""Firmware profiles: everything that is particular to one make of shoe or pad, as data.

A profile is one TOML file, its test vectors another beside it (`NAME.vectors.toml`), so that a new vector never changes the
profile's digest. Makers publish no specifications: a value that is a guess carries a comment that ends in `; assumed`.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tablectl.errors import ProfileError
from tablectl.resources import named_files
from tablectl.settings import digest, line_of, read_toml
from tablectl.shoe.fields import AnyField
from tablectl.shoe.framings import AnyFrame
from tablectl.shoe.messages import Command, Flaw, Message
from tablectl.shoe.wire import Wire

__all__ = ["ASSUMED", "FOLDER", "Held", "LinkSettings", "Profile", "ProfileFile", "SameFrame", "load", "names"]

ASSUMED = "; assumed"
FOLDER = "firmware_profiles"
_HEADER = re.compile(r"^\s*(\[\[?)\s*([a-z_.]+)\s*\]")


class LinkSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the serial port is set."""

    baud: Annotated[int, msgspec.Meta(ge=50, le=4_000_000)]
    bits: Literal[5, 6, 7, 8]
    parity: Literal["none", "even", "odd", "mark", "space"]
    stop: Literal[1, 2]


class SameFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="rule", tag="same_frame"):
    """A frame of one of these kinds that equals the one just before it, to the byte, is the same message sent again.

    Only the one just before is remembered: a longer memory loses cards once the sequence number has come round. It is
    forgotten on the messages of `forget_on` and on a reconnect.
    """

    frames: tuple[str, ...]
    forget_on: tuple[str, ...] = ()


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="rule", tag="held"):
    """The same text again within `window_ms` of when it was last seen is one thing held before the scanner.

    Another one of `messages` in between ends it. `untimed` says what it is where there are no times to judge by, or the
    clock went backwards.
    """

    messages: tuple[str, ...]
    window_ms: Annotated[int, msgspec.Meta(ge=1, le=600_000)]
    untimed: Literal["repeat", "event"]


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, eq=False):
    """One make of shoe or pad. Compared by identity, so that what is made of it is made once."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]*$", examples=["our-shoe"])]
    kind: Literal["shoe", "pad"]
    title: str
    link: LinkSettings
    frames: tuple[AnyFrame, ...]
    messages: tuple[Message, ...]
    fields: tuple[AnyField, ...] = ()
    commands: tuple[Command, ...] = ()
    repeats: SameFrame | Held | None = None

    def wire(self) -> Wire:
        """Make it ready to use. Raises `Flaw` when keys contradict each other; one that `load` gave never does."""
        return _wire(self)


@lru_cache(maxsize=32)
def _wire(profile: Profile) -> Wire:
    wire = Wire(profile.frames, profile.fields, profile.messages, profile.commands)
    if profile.repeats:
        named: dict[str, list[str]] = {"frames": [*wire.frames], "messages": [*wire.messages], "forget_on": [*wire.messages]}
        for key, known in named.items():
            for name in getattr(profile.repeats, key, ()):
                if name not in known:
                    raise Flaw(f"repeats.{key}", f"{name!r} is none of {', '.join(known)}")
    return wire


class ProfileFile(msgspec.Struct, frozen=True):
    """A profile as it was read: with its digest, and the dotted keys whose value is assumed."""

    profile: Profile
    path: Path
    digest: str
    assumed: frozenset[str]

    @property
    def vectors(self) -> Path:
        """Where its test vectors stand."""
        return self.path.with_name(self.path.name.removesuffix(".toml") + ".vectors.toml")


def names() -> list[str]:
    """The names of the profiles that ship."""
    return list(named_files(FOLDER))


def load(name: str) -> ProfileFile:
    """Read a profile by its name (`bee-tek`), or by the path of its TOML file.

    Raises `ProfileError` with file, line and key when there is none, or something in it cannot be.
    """
    known = named_files(FOLDER)
    path = known.get(name) or Path(name)
    if name not in known and not (path.suffix or path.exists()):
        raise ProfileError(f"no such profile; known are {', '.join(known)}, or give the path of a TOML file", where=name)
    profile, data = read_toml(path, Profile, ProfileError)
    text = data.decode()
    try:
        profile.wire()
    except Flaw as flaw:
        raise ProfileError(str(flaw), where=str(path), line=line_of(text, flaw.field), field=flaw.field) from None
    return ProfileFile(profile, path, digest(data), _assumed(text))


def _assumed(text: str) -> frozenset[str]:
    """The dotted keys that stand on the lines marked as assumed: `frames[0].checksum`, `repeats.window_ms`."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    table = ""
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header:
            table = f"{header[2]}."
            if header[1] == "[[":
                table = f"{header[2]}[{seen[header[2]]}]."
                seen[header[2]] += 1
        elif line.rstrip().endswith(ASSUMED) and "=" in line:
            found.add(table + line.partition("=")[0].strip())
    return frozenset(found)
