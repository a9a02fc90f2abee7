"""Time-stamps (RFC 3161) of a ledger's checkpoints: an authority's word that a head was there at a time, whoever holds our keys.

They stand beside the ledger, in `LEDGER.timestamps.jsonl`, one a line::

    {"asked": TIME, "url": ..., "size": entries, "note": the signed note, "response": the authority's whole answer, in base64}

What is stamped is the SHA-256 of the signed note's bytes. The answer holds the authority's certificate, where that can be had;
whether it is to be believed is decided by the certificates that are given to `Authority`, as of the time of the stamp.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import msgspec
from cryptography import x509

from tablectl.errors import ConfigError, InputError, LedgerError, TablectlError, UsageError
from tablectl.instants import from_micros, to_micros
from tablectl.ledger import schema
from tablectl.ledger.checkpoint import Checkpoint
from tablectl.ledger.signed_note import Note, of_base64, to_base64
from tablectl.settings import bytes_of

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse, Verifier

__all__ = ["Authority", "Stamp", "Stamped", "ask", "keep", "side_file", "stamps", "verify"]

LONGEST: Final = 1 << 20
"""A longer answer is no time-stamp, in bytes."""
_QUERY: Final = "application/timestamp-query"
_REPLY: Final = "application/timestamp-reply"
_NEEDED: Final = "time-stamps need the library rfc3161-client: pip install 'tablectl[timestamps]'"


class Stamp(msgspec.Struct, frozen=True):
    """A line of the side file."""

    asked: str
    url: str
    size: int
    note: str
    response: str


class Stamped(NamedTuple):
    """What a stamp was found to say: how many entries there were, when at the latest, and by whom."""

    size: int
    at: str
    by: str


def side_file(ledger: Path) -> Path:
    """Where a ledger's stamps are."""
    return ledger.with_name(f"{ledger.name}.timestamps.jsonl")


def ask(url: str, note: bytes, *, asked: str, seconds: float = 20.0) -> Stamp:
    """Have an authority stamp a signed note. Its answer is held against the question; its signature is for `Authority`.

    Raises `UsageError` for what is no address, `TablectlError` when no stamp is given within `seconds`.
    """
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise UsageError("is no address of a time-stamping authority: it begins with http:// or https://", where=url)
    size = Checkpoint.parse(Note.parse(note).text).size
    try:
        return Stamp(asked, url, size, note.decode(), _asked(url, note, seconds, certificates=True))
    except _Unreadable:
        # Many an authority adds its chain in another order than the encoding's rules have it; without one it can be read.
        return Stamp(asked, url, size, note.decode(), _asked(url, note, seconds, certificates=False))


class _Unreadable(TablectlError):
    """The answer is no RFC 3161, strictly read."""


def _asked(url: str, note: bytes, seconds: float, *, certificates: bool) -> str:
    library = _library()
    builder = library.TimestampRequestBuilder().data(note).hash_algorithm(library.HashAlgorithm.SHA256)
    query = builder.cert_request(cert_request=certificates).build()
    request = Request(url, query.as_bytes(), {"Content-Type": _QUERY, "Accept": _REPLY})  # noqa: S310 - looked at by `ask`
    try:
        with urlopen(request, timeout=seconds) as answer:  # noqa: S310
            body: bytes = answer.read(LONGEST + 1)
    except HTTPError as error:
        raise TablectlError(f"gives no time-stamp: {error.code} {error.reason}", where=url) from None
    except (URLError, HTTPException, OSError, ValueError) as error:
        why = error.reason if isinstance(error, URLError) else error
        raise TablectlError(f"cannot be reached: {getattr(why, 'strerror', None) or why}", where=url) from None
    if len(body) > LONGEST:
        raise TablectlError("gives no time-stamp: its answer is too long", where=url)
    try:
        response = _response(body)
    except ValueError:
        raise _Unreadable("gives no time-stamp: its answer cannot be read", where=url) from None
    except LedgerError as error:
        raise TablectlError(error.message, where=url) from None
    if response.tst_info.nonce != query.nonce or _imprint(response) != sha256(note).digest():
        raise TablectlError("gives the answer to another question", where=url)
    return to_base64(body)


def keep(ledger: Path, stamp: Stamp) -> None:
    """Add a stamp to the side file; it is on the disk when this returns. Raises `InputError`."""
    path = side_file(ledger)
    line = msgspec.json.encode(stamp) + b"\n"
    try:
        with path.open("ab+") as file:
            end = file.seek(0, os.SEEK_END)
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                line = b"\n" + line  # one that was cut off stays for what it is
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(path)) from None


def stamps(ledger: Path) -> Iterator[tuple[int, Stamp]]:
    """The stamps of a ledger with the numbers of their lines, from 1; none where there is no side file.

    What was cut off is passed over. Raises `InputError` when the file cannot be read.
    """
    path = side_file(ledger)
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield number, msgspec.json.decode(line, type=Stamp)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    continue
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from None


class Authority:
    """Those who are believed about time: the certificates of a PEM file, of which one at least is a root.

    Raises `ConfigError` for a file that is none, or where the library is missing.
    """

    def __init__(self, certificates: Path) -> None:
        where = str(certificates)
        library = _library()
        try:
            found = x509.load_pem_x509_certificates(bytes_of(certificates))
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", where=where) from None
        except ValueError:
            raise ConfigError("holds no certificate in PEM", where=where) from None
        builder = library.VerifierBuilder()
        for certificate in found:
            own = certificate.issuer == certificate.subject
            builder = (builder.add_root_certificate if own else builder.add_intermediate_certificate)(certificate)
        if all(certificate.issuer != certificate.subject for certificate in found):
            raise ConfigError("holds no root: a certificate that is signed by itself", where=where)
        self._verifier = builder.build()
        self._given = found
        self._by_signer = {one.serial_number: builder.tsa_certificate(one).build() for one in found}
        self._fault: type[Exception] = library.VerificationError

    def check(self, stamp: Stamp) -> Stamped:
        """What a stamp proves. Raises `LedgerError` when it proves nothing."""
        try:
            response = _response(of_base64(stamp.response))
            size = Checkpoint.parse(Note.parse(stamp.note.encode("utf-8", "surrogatepass")).text).size
            if size != stamp.size:
                raise LedgerError(f"is of {size} entries, and says {stamp.size}")
            verifier, by = self._of(response)
            verifier.verify(response, hashed_message=sha256(stamp.note.encode()).digest())
        except (self._fault, ValueError) as error:
            raise LedgerError(f"is no time-stamp that can be believed: {error}") from None
        return Stamped(size, _at(response.tst_info.gen_time), by)

    def _of(self, response: TimeStampResponse) -> tuple[Verifier, str]:
        """What a stamp is verified with, and by whom it says it is. One without certificate needs its signer's among ours."""
        there = [x509.load_der_x509_certificate(raw) for raw in response.signed_data.certificates]
        numbers = {one.serial_number for one in response.signed_data.signer_infos}
        signers = [one for one in there or self._given if one.serial_number in numbers]
        if not signers:
            raise LedgerError("holds no certificate of who gave it, and neither do those that are given")
        return self._verifier if there else self._by_signer[signers[0].serial_number], signers[0].subject.rfc4514_string()


def verify(ledger: Path, authority: Authority) -> list[Stamped]:
    """Check all stamps of a ledger: each has to be right, and of a checkpoint that the ledger still has. In the order of sizes.

    Raises `LedgerError`, which names the line, for the first that is not.
    """
    found = []
    with schema.faults(ledger), closing(schema.connect(ledger, read_only=True)) as connection:
        schema.check(connection, ledger)
        notes = dict(connection.execute("SELECT size, body FROM checkpoints").fetchall())
    for number, stamp in stamps(ledger):
        try:
            stamped = authority.check(stamp)
            if notes.get(stamped.size) != stamp.note.encode():
                raise LedgerError(
                    f"was given at {stamped.at} for {stamped.size} entries whose checkpoint the ledger does not have"
                )
        except LedgerError as error:
            raise LedgerError(f"the time-stamp {error.message}", where=str(side_file(ledger)), line=number) from None
        found.append(stamped)
    return sorted(found)


def _library() -> ModuleType:
    """rfc3161-client, which is imported when it is needed: most tables do without."""
    try:
        import rfc3161_client
    except ImportError:
        raise ConfigError(_NEEDED) from None
    return rfc3161_client


def _response(body: bytes) -> TimeStampResponse:
    """An authority's answer that grants a stamp. Raises `LedgerError` for one that does not, `ValueError` for what is none."""
    library = _library()
    response: TimeStampResponse = library.decode_timestamp_response(body)
    status, said = response.status, response.status_string
    if status != library.PKIStatus.GRANTED:
        raise LedgerError(f"gives no time-stamp: {', '.join(said) or f'status {status}'}")
    return response


def _imprint(response: TimeStampResponse) -> bytes:
    return response.tst_info.message_imprint.message


def _at(moment: datetime) -> str:
    return from_micros(to_micros(moment.isoformat().replace("+00:00", "Z")))
