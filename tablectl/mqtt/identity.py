"""Who commands a table, and how it knows. Pure: no network, no clock, no file.

A person is believed in one of two ways. Either the broker vouches: it lets only that person's client certificate write to
`cmd/{name}/{person}`, and the table is told that its broker does so. Or the person signs: the payload on `cmd/{name}` is then::

    {"signed": base64url(the command's bytes), "person": "CHIEF7", "signature": base64url(64 bytes)}

The signature is Ed25519 over `tablectl command v1`, a line end, the whole topic, a line end, and the command's bytes. So it holds
for one table and one command, and what is signed is what is read: the bytes are not encoded a second time.

A command that is neither is `unsigned`, and refused; only a table that is configured to be open (a demonstration on loopback)
takes it, and then anybody is who he says he is.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from tablectl.errors import ConfigError
from tablectl.ledger.pin import TableName

__all__ = ["Person", "SignedCommand", "Trust", "Vouched", "opened", "private_key", "public_key", "sealed", "verified"]

Vouched = Literal["certificate", "signature", "open"]
"""How a table knows who commands: by the broker's word, by a signature, or not at all."""

MAX_NAME: Final = 80
_CONTEXT: Final = b"tablectl command v1\n"
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*={0,2}", re.ASCII)


class SignedCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A signed command: its bytes, who signed them, and the signature. Bytes are in base64url, with or without padding."""

    signed: str
    person: str
    signature: str


@dataclass(frozen=True)
class Person:
    """Somebody who may command: under this name, these commands, known by this key (None: only by the broker's word).

    Raises `ConfigError` for a name that cannot be a level of a topic.
    """

    name: str
    may: frozenset[str]
    key: Ed25519PublicKey | None = None

    def __post_init__(self) -> None:
        name = self.name
        if (
            not name
            or len(name) > MAX_NAME
            or name != name.strip()
            or not name.isprintable()
            or set(name) & set(TableName.FORBIDDEN)
        ):
            raise ConfigError(f"{name!r} is no person's name: 1 to {MAX_NAME} characters that can be printed, without / + #")


@dataclass(frozen=True)
class Trust:
    """Whom a table believes.

    `vouched`: the broker's access list lets each person alone write to `cmd/+/{person}`. `open`: unsigned commands are taken from
    anybody; where `people` are named, only in their names and for what they may.
    """

    people: Mapping[str, Person] = field(default_factory=dict)
    vouched: bool = False
    open: bool = False


def _spoken(topic: str, command: bytes) -> bytes:
    return _CONTEXT + topic.encode() + b"\n" + command


def sealed(command: bytes, *, topic: str, person: str, key: Ed25519PrivateKey) -> bytes:
    """The payload that carries a command, signed for one topic."""
    signature = key.sign(_spoken(topic, command))
    return msgspec.json.encode(SignedCommand(_base64url(command), person, _base64url(signature)))


def verified(command: bytes, signature: str, *, topic: str, key: Ed25519PublicKey) -> bool:
    """Whether the owner of `key` signed these bytes for this topic."""
    try:
        key.verify(_unbase64url(signature), _spoken(topic, command))
    except (InvalidSignature, ValueError, UnicodeEncodeError):
        return False
    return True


def opened(envelope: SignedCommand) -> bytes:
    """The command's bytes. Raises `ValueError` when they are no base64url."""
    return _unbase64url(envelope.signed)


def public_key(text: str) -> Ed25519PublicKey:
    """A person's key as it is configured: base64 of its 32 bytes, or PEM. Raises `ConfigError` for anything else."""
    try:
        if "-----" not in text:
            return Ed25519PublicKey.from_public_bytes(base64.b64decode(text.strip(), validate=True))
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigError("is no Ed25519 public key: base64 of 32 bytes, or PEM")
    return key


def private_key(pem: bytes) -> Ed25519PrivateKey:
    """A person's own key, in the PEM of `openssl genpkey -algorithm ed25519`. Raises `ConfigError` for anything else."""
    try:
        key = load_pem_private_key(pem, None)
    except TypeError:
        raise ConfigError("is encrypted; an Ed25519 key without a password is needed") from None
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError("is no Ed25519 private key in PEM: openssl genpkey -algorithm ed25519 makes one")
    return key


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unbase64url(text: str) -> bytes:
    if not _BASE64URL.fullmatch(text):  # the decoder passes over what does not belong
        raise ValueError("no base64url")
    try:
        return base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except binascii.Error as error:
        raise ValueError(f"no base64url: {error}") from None
