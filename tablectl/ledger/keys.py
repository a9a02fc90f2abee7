"""The keys that sign a ledger's heads: Ed25519, in the forms that C2SP's notes and Go's checksum database use.

A public key is written `NAME+ID+BASE64` (a *vkey*), a private one `PRIVATE+KEY+NAME+ID+BASE64`, alone in a file that nobody but
its owner may read. The private form leaves this module for that file alone: it is in no message, log or repr.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tablectl.errors import ConfigError
from tablectl.ledger.signed_note import ID, Note, Signature, named, of_base64, to_base64

__all__ = ["COSIGNS", "SIGNS", "Signer", "Verifier"]

Use = Literal[1, 4]
SIGNS: Use = 1
"""A key that signs a note's text."""
COSIGNS: Use = 4
"""A witness's key: it signs the text and the time at which the witness had seen nothing larger (C2SP tlog-cosignature)."""

_PRIVATE = "PRIVATE+KEY+"
_KEY = 32
_SIGNATURE = 64
_TIME = 8
_MAX_FILE = 4096


class Verifier:
    """A public key by its name; `use` says what its signatures mean, `id` are the 4 bytes that stand before each.

    Raises `ConfigError` for a name that is empty, or has a blank, a `+` or what cannot be printed.
    """

    def __init__(self, name: str, public: bytes, use: Use = SIGNS):
        if not named(name):
            raise ConfigError(f"a key cannot be called {name!r}: it is a name without blanks and +")
        self.name = name
        self.public = public
        self.use = use
        self.id = sha256(name.encode() + b"\n" + bytes([use]) + public).digest()[:ID]
        self._key = Ed25519PublicKey.from_public_bytes(public)

    @classmethod
    def parse(cls, vkey: str) -> Self:
        """Read `NAME+ID+BASE64`. Raises `ConfigError` for anything else, also where the id is not that of name and key."""
        name, use, key = _parts(vkey.strip(), "is no public key (NAME+ID+BASE64)")
        try:
            verifier = cls(name, key, use)
        except ValueError:
            raise ConfigError("is no public key: no Ed25519 key has these bytes") from None
        if verifier.vkey != vkey.strip():
            raise ConfigError("is no public key: its id is not that of its name and its bytes")
        return verifier

    @property
    def vkey(self) -> str:
        """The key as it is given to those who check."""
        return f"{self.name}+{self.id.hex()}+{to_base64(bytes([self.use]) + self.public)}"

    def signed(self, note: Note) -> bool | None:
        """Whether this key signed a note: None where it has no signature of the key, False where one of them is wrong."""
        mine = [one for one in note.signatures if (one.name, one.id) == (self.name, self.id)]
        return all(self._right(note.text.encode(), one.signature) for one in mine) if mine else None

    def seconds(self, note: Note) -> int | None:
        """When this witness cosigned, in seconds since 1970 UTC (the latest, of several); None where it did not."""
        if self.use != COSIGNS or not self.signed(note):
            return None
        mine = [one.signature for one in note.signatures if (one.name, one.id) == (self.name, self.id)]
        return max(int.from_bytes(signature[:_TIME], "big") for signature in mine)

    def _right(self, text: bytes, signature: bytes) -> bool:
        if self.use == COSIGNS:
            seconds, signature = int.from_bytes(signature[:_TIME], "big"), signature[_TIME:]
            text = _cosigned(text, seconds)
        if len(signature) != _SIGNATURE:
            return False
        try:
            self._key.verify(signature, text)
        except InvalidSignature:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verifier) and other.vkey == self.vkey

    def __hash__(self) -> int:
        return hash(self.vkey)

    def __repr__(self) -> str:
        return f"Verifier({self.vkey!r})"


class Signer:
    """A private key by its name. Use `make` or `load`; `verifier` is its public half."""

    __slots__ = ("_key", "verifier")

    def __init__(self, name: str, key: Ed25519PrivateKey, use: Use = SIGNS):
        self._key = key
        self.verifier = Verifier(name, key.public_key().public_bytes_raw(), use)

    @classmethod
    def make(cls, name: str, use: Use = SIGNS) -> Self:
        """A new key. Raises `ConfigError` for a name that no key can have."""
        return cls(name, Ed25519PrivateKey.generate(), use)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a key file. Raises `ConfigError` when it is none, or others than its owner may read or write it.

        A file of root's that is lent to this user by its group or an access list is taken: so systemd hands out credentials.
        """
        where = str(path)
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise ConfigError("is no key file: it is no ordinary file", where=where)
                lent = 0o040 if status.st_uid == 0 != os.geteuid() else 0
                if status.st_mode & 0o077 & ~lent:
                    mode = stat.S_IMODE(status.st_mode)
                    raise ConfigError(f"holds a private key that others may use (mode {mode:04o}): chmod 600 it", where=where)
                text = file.read(_MAX_FILE).decode("ascii", "replace").strip()
        except OSError as error:
            raise ConfigError(f"the key cannot be read: {error.strerror}", where=where) from None
        none = "is no key file; make one with: tablectl audit key"
        if not text.startswith(_PRIVATE):
            raise ConfigError(none, where=where)
        try:
            name, use, seed = _parts(text.removeprefix(_PRIVATE), none)
            signer = cls(name, Ed25519PrivateKey.from_private_bytes(seed), use)
        except ConfigError:
            raise ConfigError(none, where=where) from None
        if signer._text() != text:
            raise ConfigError(none, where=where)
        return signer

    def save(self, path: Path) -> None:
        """Write the key to a file that must not exist yet; only its owner may read it.

        Raises `ConfigError` when the file exists or cannot be written.
        """
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            raise ConfigError("exists already; a key is never written over", where=str(path)) from None
        except OSError as error:
            raise ConfigError(f"the key cannot be written: {error.strerror}", where=str(path)) from None
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                os.fchmod(descriptor, 0o600)  # whatever the folder's defaults are
                file.write(self._text() + "\n")
                file.flush()
                os.fsync(descriptor)
            folder = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)  # else a power cut may take the new file's name, and with it what was signed
            finally:
                os.close(folder)
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise ConfigError(f"the key cannot be written: {error.strerror}", where=str(path)) from None

    def sign(self, note: Note) -> Note:
        """The note with this key's signature over its text. Raises `ConfigError` for a witness's key."""
        if self.verifier.use != SIGNS:
            raise ConfigError(f"{self.verifier.name} is a witness's key, which cosigns and signs no ledger")
        return self._signed(note, self._key.sign(note.text.encode()))

    def cosign(self, note: Note, seconds: int) -> Note:
        """The note with this witness's signature at that time, in whole seconds since 1970 UTC.

        Raises `ConfigError` for a key that is no witness's.
        """
        if self.verifier.use != COSIGNS:
            raise ConfigError(f"{self.verifier.name} signs ledgers, and is no witness's key")
        return self._signed(note, seconds.to_bytes(_TIME, "big") + self._key.sign(_cosigned(note.text.encode(), seconds)))

    def _signed(self, note: Note, signature: bytes) -> Note:
        return note.with_signature(Signature(self.verifier.name, self.verifier.id, signature))

    def _text(self) -> str:
        verifier = self.verifier
        seed = to_base64(bytes([verifier.use]) + self._key.private_bytes_raw())
        return f"{_PRIVATE}{verifier.name}+{verifier.id.hex()}+{seed}"

    def __repr__(self) -> str:
        return f"Signer({self.verifier.vkey!r})"

    def __reduce__(self) -> str:
        raise TypeError("a private key stays where it is")


def _parts(text: str, fault: str) -> tuple[str, Use, bytes]:
    """Name, use and key of one of the two forms. Raises `ConfigError` that does not repeat what it was given."""
    name, _, rest = text.partition("+")
    coded = rest.partition("+")[2]
    try:
        body = of_base64(coded)
    except ValueError:
        raise ConfigError(fault) from None
    if not named(name) or len(body) != 1 + _KEY or body[0] not in (SIGNS, COSIGNS):
        raise ConfigError(fault)
    return name, SIGNS if body[0] == SIGNS else COSIGNS, body[1:]


def _cosigned(text: bytes, seconds: int) -> bytes:
    return b"cosignature/v1\ntime %d\n%b" % (seconds, text)
