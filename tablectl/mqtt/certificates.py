"""A small certificate authority for a site that has none: for tests, and for casinos without a PKI of their own.

The keys are elliptic (P-256), a certificate says what it is for (server or client), and there is no revocation: who is no longer
to be let in is taken out of the broker's access list and out of the table's list of people. Nothing here writes a file or reads a
clock: PEM comes out, and `now` goes in.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tablectl.errors import ConfigError
from tablectl.mqtt.broker_config import MAX_IDENTITY

__all__ = ["AUTHORITY_DAYS", "DAYS", "Authority", "Issued"]

AUTHORITY_DAYS: Final = 3650
DAYS: Final = 730
_BEFORE: Final = timedelta(hours=1)
"""How long before `now` a certificate begins: the clocks of a site differ."""


@dataclass(frozen=True)
class Issued:
    """A certificate and its key, as PEM. The key is printed nowhere."""

    certificate: bytes
    key: bytes
    until: datetime

    def __repr__(self) -> str:
        return f"Issued(until={self.until:%Y-%m-%d})"


class Authority:
    """Signs certificates. Made new, or read from its two PEM texts."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey):
        self._certificate = certificate
        self._key = key

    @classmethod
    def new(cls, name: str, now: datetime, days: int = AUTHORITY_DAYS) -> Self:
        """An authority with a fresh key. Raises `ConfigError` for a name that a certificate cannot have."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(name)
        usage = _usage(key_cert_sign=True, crl_sign=True)
        builder = (
            _builder(subject, subject, key.public_key(), now, days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, certificate: bytes, key: bytes) -> Self:
        """Read one back. Raises `ConfigError` for what is no certificate, no key, or not of each other."""
        try:
            read = x509.load_pem_x509_certificate(certificate)
            private = serialization.load_pem_private_key(key, None)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"no authority of ours: {error}") from None
        if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != read.public_key():
            raise ConfigError("certificate and key of the authority do not belong together")
        return cls(read, private)

    @property
    def issued(self) -> Issued:
        """Its own certificate and key."""
        return Issued(_pem(self._certificate), _key_pem(self._key), self._certificate.not_valid_after_utc)

    def client(self, name: str, now: datetime, days: int = DAYS) -> Issued:
        """The certificate of a table, a person or a service. Raises `ConfigError` for a name that a certificate cannot have."""
        return self._issue(name, [], ExtendedKeyUsageOID.CLIENT_AUTH, now, days)

    def server(self, hosts: Sequence[str], now: datetime, days: int = DAYS) -> Issued:
        """The certificate of a broker that is reached as `hosts`, names or addresses, of which there is at least one."""
        return self._issue(hosts[0][:MAX_IDENTITY], hosts, ExtendedKeyUsageOID.SERVER_AUTH, now, days)

    def _issue(self, name: str, hosts: Sequence[str], purpose: x509.ObjectIdentifier, now: datetime, days: int) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(_named(name), self._certificate.subject, key.public_key(), now, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Issued(_pem(certificate), _key_pem(key), certificate.not_valid_after_utc)


def _named(name: str) -> x509.Name:
    if not 1 <= len(name) <= MAX_IDENTITY or not name.isprintable():
        raise ConfigError(f"{name!r} is no name of a certificate: 1 to {MAX_IDENTITY} characters that can be printed")
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError:
        raise ConfigError(f"{host!r} is no host: write an international name as its xn-- form") from None


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
