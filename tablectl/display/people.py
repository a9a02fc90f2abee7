"""Who may acknowledge alerts at the screens, and with what this server speaks for them: a TOML file that it alone can read.

::

    [[people]]
    name = "CHIEF7"                  # as the tables know them
    user = "anna.k"                  # what the reverse proxy calls them; else the name
    token_sha256 = "9f86d0818…"      # SHA-256 of the token they sign in with, where there is no proxy to do it
    sign = "chief7.pem"              # their Ed25519 key, where the tables check signatures; or
    certificate = "chief7.crt"       # their client certificate, where the broker vouches,
    key = "chief7.key"               # and its private key

Paths are relative to the file's folder. Whoever is named with neither key nor certificate commands unsigned, which only a table
that is configured to be open takes.
"""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tablectl.errors import ConfigError
from tablectl.mqtt.identity import Person, private_key
from tablectl.settings import line_of, read_toml

__all__ = ["LEAST_TOKEN", "Member", "digest_of", "load", "token_of"]

LEAST_TOKEN: Final = 16
"""Characters that a token has at least; one that a program made has more."""


class _Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    user: str | None = None
    token_sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F]{64}$")] | None = None
    sign: str | None = None
    certificate: str | None = None
    key: str | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    people: list[_Member]


@dataclass(frozen=True)
class Member:
    """Somebody who may acknowledge: the tables' name, the proxy's, the token's digest, and what we speak for them with."""

    name: str
    user: str
    digest: str | None = None
    sign: Ed25519PrivateKey | None = None
    certificate: Path | None = None
    key: Path | None = None


def load(path: Path) -> tuple[Member, ...]:
    """Read the file. Raises `ConfigError` with file, line and key; also where others on this machine may read it or a key."""
    file, text = read_toml(path, _File)
    found: list[Member] = []
    _ours_alone(path)
    for index, one in enumerate(file.people):

        def wrong(message: str, key: str, index: int = index) -> ConfigError:
            field = f"people[{index}].{key}"
            return ConfigError(message, where=str(path), line=line_of(text.decode(), field), field=field)

        try:
            Person(one.name, frozenset())
        except ConfigError as error:
            raise wrong(error.message, "name") from None
        if one.sign is not None and one.certificate is not None:
            raise wrong("either signs, or has a certificate", "sign")
        if one.key is not None and one.certificate is None:
            raise wrong("belongs to a certificate", "key")
        user, digest = one.user or one.name, one.token_sha256
        for other in found:
            if one.name == other.name:
                raise wrong(f"{one.name!r} is named twice", "name")
            if user == other.user:
                raise wrong(f"{user!r} is another's already", "user")
            if digest is not None and digest.lower() == other.digest:
                raise wrong("is another's already", "token_sha256")
        signing = None
        if one.sign is not None:
            key = path.parent / one.sign
            _ours_alone(key)
            try:
                signing = private_key(key.read_bytes())
            except ConfigError as error:
                raise ConfigError(error.message, where=str(key)) from None
        pair = [None if name is None else path.parent / name for name in (one.certificate, one.key)]
        if (secret := pair[1] or pair[0]) is not None:
            _ours_alone(secret)
        found.append(Member(one.name, user, digest and digest.lower(), signing, pair[0], pair[1]))
    return tuple(found)


def token_of(path: Path) -> str:
    """The token in a file: its first line. Raises `ConfigError` for one that is short, no text, or that others may read."""
    _ours_alone(path)
    try:
        with path.open(encoding="utf-8") as file:
            token = file.readline(1000).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path)) from None
    if len(token) < LEAST_TOKEN or not token.isprintable() or not token.isascii():
        raise ConfigError(
            f"its first line is no token: at least {LEAST_TOKEN} letters and digits; `openssl rand -hex 24` makes one",
            where=str(path),
        )
    return token


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _ours_alone(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if not stat.S_ISREG(mode):
        raise ConfigError("cannot be read: it is no ordinary file", where=str(path))
    if mode & 0o007:
        raise ConfigError("may be read by everybody on this machine: chmod o= it", where=str(path))
