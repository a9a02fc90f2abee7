"""Who we are to a broker, and whom we take it to be: certificates and a password, each from a file.

The files are read anew for every connection, so that a certificate that was renewed is used without a restart.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from tablectl.errors import ConfigError
from tablectl.mqtt.address import Address
from tablectl.settings import bytes_of

__all__ = ["NONE", "Credentials"]


@dataclass(frozen=True)
class Credentials:
    """What is shown to a broker, and what its own certificate is held against. All but `password` are PEM files.

    `authorities` are the certificates of those whom we believe about a broker, instead of the system's; `certificate` is our own
    (with those that lead up to its authority behind it), `key` its private key, where it does not stand in the same file.
    `user` and the first line of the file `password` go before what the address has.
    """

    authorities: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str | None = None
    password: Path | None = None

    def context(self, address: Address) -> ssl.SSLContext | None:
        """What TLS to this address is made with; None where the address asks for none.

        Raises `ConfigError`, naming the file, for one that is no certificate or key, is encrypted or does not belong to the
        other, and for certificates where the address asks for no TLS.
        """
        if self.key is not None and self.certificate is None:
            raise ConfigError("is a key without its certificate", where=str(self.key))
        if not address.tls:
            if self.authorities or self.certificate:
                raise ConfigError("a certificate is shown over TLS only: the broker's address begins with mqtts://")
            return None
        try:
            if self.authorities is not None:
                bytes_of(self.authorities)  # a pipe would have us wait
            context = ssl.create_default_context(cafile=self.authorities)
        except OSError as error:
            raise ConfigError(f"cannot be read as certificates: {_why(error)}", where=str(self.authorities)) from error
        if self.certificate is not None:
            self._show(context, self.certificate)
        return context

    def _show(self, context: ssl.SSLContext, certificate: Path) -> None:
        for path in filter(None, (certificate, self.key)):
            _readable(path)
        try:
            # OpenSSL would ask for the password of an encrypted key on the terminal, and wait.
            context.load_cert_chain(certificate, self.key, password="")
        except OSError as error:
            key = self.key or certificate
            if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
                raise ConfigError(f"is not the key of the certificate {certificate}", where=str(key)) from error
            if b"ENCRYPTED" in key.read_bytes():
                raise ConfigError("is encrypted: a table has nobody to ask for its password", where=str(key)) from error
            if not _is_certificate(certificate):
                raise ConfigError("cannot be read as a certificate", where=str(certificate)) from error
            raise ConfigError(f"cannot be read as a private key: {_why(error)}", where=str(key)) from error

    def login(self, address: Address) -> tuple[str, str | None] | None:
        """User and password; None for none. Raises `ConfigError`, naming the file, when the password cannot be read."""
        user = address.user if self.user is None else self.user
        password = address.password
        if self.password is not None:
            password = _readable(self.password).partition(b"\n")[0].rstrip(b"\r").decode("utf-8", "surrogateescape")
            if user is None:
                raise ConfigError("is a password without a user", where=str(self.password))
            if not password.isprintable():
                raise ConfigError("its first line is no password: it has characters that are no text", where=str(self.password))
        return None if user is None else (user, password)

    def check(self, address: Address) -> None:
        """Read everything once. Raises `ConfigError` as `context` and `login` do."""
        self.context(address)
        self.login(address)


NONE = Credentials()
"""Nothing is shown but what the address has, and the system's authorities are believed."""


def _readable(path: Path) -> bytes:
    try:
        return bytes_of(path)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from error


def _is_certificate(path: Path) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError:
        return False
    return True


def _why(error: OSError) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) else error.strerror) or "it is none"
