"""The broker: is it the right one, are we who we should be, and does its access list let us do what we must and nothing else.

Nothing is said on a topic that anybody acts on: what is written goes to a response topic of the doctor's own, and what must be
refused to one of a table that does not exist.
"""

from __future__ import annotations

import ipaddress
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from tablectl.config import ConfigFile
from tablectl.doctor.configuration import broker_credentials
from tablectl.doctor.finding import Finding, failed, passed, warned
from tablectl.errors import BrokerError, ConfigError
from tablectl.mqtt.address import Address
from tablectl.mqtt.broker_config import table_identity
from tablectl.mqtt.client import Lost
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.judgement import Reply
from tablectl.mqtt.talk import Talk, open_talk
from tablectl.settings import bytes_of

__all__ = ["broker"]

_FAULT = BrokerError.exit_code
_SOON = 30
"""Days before the end of a certificate on which it is spoken of."""
_NOT_AUTHORISED = 0x87
_FILES = "tablectl broker config --help"


def broker(found: ConfigFile, seconds: float = 5.0) -> Iterator[Finding]:
    """What there is to say; `seconds` bounds each of the few connections."""
    configured = found.config.broker
    if configured is None:
        yield passed("broker", "none is configured: nothing leaves this table")
        return
    address, credentials = Address.parse(configured.url), broker_credentials(found)
    yield _tls(address)
    if configured.certificate is not None:
        yield from _certificate(found, found.beside(configured.certificate))
    if credentials is None:
        text = "its key or password is handed to the service alone; it can be tried as the service only"
        yield warned("broker", text, _as_service(found))
        return
    try:
        yield from _tried(found, address, credentials, seconds)
    except (Lost, ConfigError) as error:
        yield failed("broker", f"{address}: {error}", f"systemctl status mosquitto; {_FILES}", _FAULT)
        return  # whether others get in cannot be told from a broker that lets nobody in
    yield _anonymous(found, address, credentials, seconds)


def _as_service(found: ConfigFile) -> str:
    folder = found.path.with_suffix("")
    given = " ".join(f"-p LoadCredential={name}:{folder}/{name}" for name in ("signing.key", "tls.key", "mqtt.password"))
    return f"systemd-run --pty -p User=tablectl {given} tablectl doctor --config {found.path}"


def _tls(address: Address) -> Finding:
    if address.tls:
        return passed("broker", f"{address} is spoken to over TLS")
    if _is_loopback(address.host):
        return passed("broker", f"{address} is on this machine")
    return warned("broker", f"{address} is spoken to in the clear, for everyone on the network to read and to change", _FILES)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _certificate(found: ConfigFile, path: Path) -> Iterator[Finding]:
    """Whose it is, and for how long."""
    make = "tablectl broker certificate --help"
    try:
        certificate = x509.load_pem_x509_certificate(bytes_of(path))
    except (OSError, ValueError) as error:
        yield failed("broker", f"{path} cannot be read as a certificate: {error}", make, ConfigError.exit_code)
        return
    names = [str(name.value) for name in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    wanted = table_identity(found.name)
    days = (certificate.not_valid_after_utc - datetime.fromtimestamp(time.time(), UTC)).days
    if names != [wanted]:
        yield warned("broker", f"our certificate is for {', '.join(names) or 'nobody'}; access lists of ours know {wanted}", make)
    if days < 0:
        yield failed("broker", f"our certificate ended {-days} days ago", make, ConfigError.exit_code)
    elif days < _SOON:
        yield warned("broker", f"our certificate ends in {days} days", make)
    else:
        yield passed("broker", f"we are {', '.join(names)} for {days} days more")


def _tried(found: ConfigFile, address: Address, credentials: Credentials, seconds: float) -> Iterator[Finding]:
    """Write to ourselves, and hear it; then write where we must not."""
    mark = os.urandom(6).hex()
    ours = f"tablectl/v1/{found.name}/reply/doctor-{mark}"
    reader = open_talk(address, credentials, f"tablectl-doctor-{mark}-r", ours, seconds)
    try:
        writer = open_talk(address, credentials, f"tablectl-doctor-{mark}-w", f"{ours}-none", seconds)
        try:
            version = "MQTT 5" if writer.v5 else "MQTT 3.1.1"
            yield passed("broker", f"it lets us in, and speaks {version}")
            if _heard(reader, writer, ours, mark.encode(), seconds):
                yield passed("broker", "what we write on our own topics comes back to us")
            else:
                text = f"what we write on {ours} does not come back: the access list does not let us write, or not read"
                yield failed("broker", text, _FILES, _FAULT)
            table = found.name
            yield _refused(writer, f"tablectl/v1/{table.site}/{table.pit}/no-table-{mark}/reply/doctor", address, seconds)
        finally:
            writer.close()
    finally:
        reader.close()


def _heard(reader: Talk, writer: Talk, topic: str, payload: bytes, seconds: float) -> bool:
    writer.publish(Reply(topic, None), payload)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        writer.turn(0.01)
        reader.turn(0.05)
        if any(arrived.topic == topic and arrived.payload == payload for arrived in reader.arrived):
            return True
    return False


def _refused(writer: Talk, topic: str, address: Address, seconds: float) -> Finding:
    """A table that may write as another table could tell lies in its name."""
    if not writer.v5:
        return warned("broker", "whether its access list keeps us to our own topics is said in MQTT 5 only", _FILES)
    number = writer.publish(Reply(topic, None), b"")
    deadline = time.monotonic() + seconds
    while number not in writer.acknowledged and time.monotonic() < deadline:
        writer.turn(0.05)
    reason = writer.acknowledged.get(number) if number is not None else None
    if reason is None:
        return warned("broker", "it does not say whether we may write on another table's topics", _FILES)
    if reason.is_failure:
        return passed("broker", f"it does not let us write on another table's topics ({reason})")
    text = "it lets us write on another table's topics: its access list is open"
    return warned("broker", text, _FILES) if _is_loopback(address.host) else failed("broker", text, _FILES, _FAULT)


def _anonymous(found: ConfigFile, address: Address, credentials: Credentials, seconds: float) -> Finding:
    """Nobody without a name gets in."""
    nobody = Address(address.host, address.port, address.tls)
    if credentials == Credentials(authorities=credentials.authorities) and address.user is None:
        text = "we show it no identity, and it lets us in" if _is_loopback(address.host) else "we show it no identity"
        return warned("broker", text, _FILES)
    try:
        topic = f"tablectl/v1/{found.name}/reply/doctor-anonymous"
        open_talk(nobody, Credentials(credentials.authorities), f"tablectl-doctor-{os.urandom(6).hex()}", topic, seconds).close()
    except Lost as lost:
        return passed("broker", f"it does not let in who has no identity ({lost})")
    return failed("broker", "it lets in who has no identity", _FILES, _FAULT)
