"""Certificates: shown to a broker that lets nobody else in, and files that are none."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tablectl.errors import BrokerError, ConfigError
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import Commands, ask
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.identity import Person, Trust
from tablectl.mqtt.judgement import Order
from tablectl.mqtt.listener import Listener
from tablectl.mqtt.orders import AckCommand
from tablectl.mqtt.publisher import Patience, Publisher
from tests.broker import Broker
from tests.mqtt.tables import fill, many, new_ledger
from tests.mqtt.test_commands import fresh, next_order
from tests.tls_broker import Pair, Site, TlsBroker

TABLE = TableName("Vilnius", "pit 2", "BJ-7")
BASE = f"tablectl/v1/{TABLE}"
CHIEF = Trust({"CHIEF7": Person("CHIEF7", frozenset({"ack"}))}, vouched=True)
HURRIED = Patience(connect=1.0, acknowledge=1.0, goodbye=1.0, first_retry=0.05, last_retry=0.4)

# paho leaves the socket of a handshake that failed open
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def pit(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    folder = tmp_path_factory.mktemp("pit")
    with TlsBroker(folder, tables=[TABLE], people=["CHIEF7", "BOB"], role="pit", site=site) as broker:
        yield broker


def shown(broker: TlsBroker, pair: Pair | None) -> Credentials:
    return Credentials(broker.ca, *pair) if pair else Credentials(broker.ca)


def ack(**changes: Any) -> AckCommand:
    fields = msgspec.json.decode(fresh("1", alert=3))
    del fields["do"]
    return msgspec.convert(fields | changes, AckCommand)


def test_a_table_tells_and_listens_and_a_person_commands_each_by_their_own_certificate(pit: TlsBroker, tmp_path: Path) -> None:
    address, own = Address.parse(pit.url), shown(pit, pit.table())
    answered: list[bytes] = []
    with (
        new_ledger(tmp_path) as ledger,
        Listener(address, f"{BASE}/#", credentials=shown(pit, pit.display)) as listener,
        Publisher(ledger.path, address, credentials=own, patience=HURRIED) as publisher,
        Commands(address, TABLE, trust=CHIEF, log=lambda _: None, credentials=own) as commands,
    ):
        fill(ledger, many(10))
        assert publisher.drain(10)
        commands.wait_online(10)
        heard: set[str] = set()
        while f"{BASE}/evt/dealt" not in heard:
            came = listener.turn(5)
            assert came, heard
            heard |= {message.topic for message in came}

        def person() -> None:
            credentials = shown(pit, pit.person("CHIEF7"))
            answered.append(ask(address, TABLE, "ack", ack(), seconds=10, credentials=credentials, vouched=True))

        asking = threading.Thread(target=person)
        asking.start()
        order = next_order(commands, 10)
        assert order is not None
        assert (order.command.by, order.vouched) == ("CHIEF7", "certificate")
        commands.answer(order, b'{"id":"1","done":true}')
        asking.join(10)
        assert answered == [b'{"id":"1","done":true}']


def test_another_name_or_another_way_does_not_get_through(pit: TlsBroker) -> None:
    address = Address.parse(pit.url)
    bob = shown(pit, pit.person("BOB"))
    with Commands(address, TABLE, trust=CHIEF, log=lambda _: None, credentials=shown(pit, pit.table())) as commands:
        commands.wait_online(10)
        for vouched in (True, False):
            with pytest.raises(BrokerError, match="refuses a command for Vilnius/pit 2/BJ-7: Not authorized"):
                ask(address, TABLE, "ack", ack(), seconds=5, credentials=bob, vouched=vouched)
        response = msgspec.json.decode(ask(address, TABLE, "ack", ack(by="BOB"), seconds=5, credentials=bob, vouched=True))
        assert (response["done"], response["reason"]) == (False, "unknown_person")
        commands.believe(Trust({"BOB": Person("BOB", frozenset())}, vouched=True))
        response = msgspec.json.decode(ask(address, TABLE, "ack", ack(by="BOB"), seconds=5, credentials=bob, vouched=True))
        assert response["reason"] == "not_allowed"
        while (taken := commands.take(0.2)) is not None:
            assert not isinstance(taken, Order)


REFUSALS = [
    ("none", "it wants a client certificate and was shown none"),
    ("a stranger's", "it does not know who signed our certificate"),
    ("a server's", "it does not accept our certificate|our certificate is not for clients"),
]


@pytest.mark.parametrize(("whose", "told"), REFUSALS, ids=[whose for whose, _ in REFUSALS])
def test_a_certificate_that_a_broker_refuses_is_told_by_everything_that_shows_one(
    whose: str, told: str, pit: TlsBroker, tmp_path: Path
) -> None:
    pair = {"none": None, "a stranger's": pit.stranger("CHIEF7"), "a server's": pit.site.server()}[whose]
    address, credentials = Address.parse(pit.url), shown(pit, pair)
    why = f"^{pit.url}: .*cannot be .*: ({told})$"
    _is_told(why, lambda: ask(address, TABLE, "ack", ack(), seconds=5, credentials=credentials, vouched=True))
    _is_told(why, lambda: Listener(address, "#", credentials=credentials))
    with new_ledger(tmp_path) as ledger:
        publisher = Publisher(ledger.path, address, credentials=credentials, patience=HURRIED)
        with publisher:
            _is_told(why, lambda: publisher.wait_online(20))
    commands = Commands(address, TABLE, trust=CHIEF, log=lambda _: None, credentials=credentials)
    with commands:
        _is_told(why, lambda: commands.wait_online(2))


def _is_told(why: str, connect: Callable[[], object]) -> None:
    """That connecting says why it is refused. A broker that hangs up at once may take its reason along: then at the next try."""
    for _ in range(5):
        with pytest.raises(BrokerError) as refused:
            connect()
        if not str(refused.value).endswith("the connection broke"):
            break
    refused.match(why)


def test_a_certificate_that_was_renewed_is_shown_at_the_next_connection(site: Site, tmp_path: Path) -> None:
    own = Pair(tmp_path / "own.crt", tmp_path / "own.key")
    with TlsBroker(tmp_path / "broker", tables=[TABLE], site=site) as broker, new_ledger(tmp_path) as ledger:
        for path, old in zip(own, broker.stranger("renewed"), strict=True):
            path.write_bytes(old.read_bytes())
        address = Address.parse(broker.url)
        with Publisher(ledger.path, address, credentials=shown(broker, own), patience=HURRIED) as publisher:
            with pytest.raises(BrokerError, match="who signed"):
                publisher.wait_online(20)
            for path, new in zip(own, broker.table(), strict=True):
                path.write_bytes(new.read_bytes())
            assert publisher.drain(10)


def test_a_password_comes_from_a_file(tmp_path: Path) -> None:
    users = tmp_path / "users"
    subprocess.run(["mosquitto_passwd", "-c", "-b", users, "t07", "hunter 2"], check=True, capture_output=True)
    with Broker(tmp_path / "broker", settings=f"allow_anonymous false\npassword_file {users}") as broker:
        address, secret = Address.parse(broker.url), tmp_path / "secret"
        secret.write_bytes(b"hunter 2\r\nmore\n")
        Listener(address, "#", credentials=Credentials(user="t07", password=secret)).close()
        wrong = Address(address.host, address.port, user="bob", password="hunter2")
        Listener(wrong, "#", credentials=Credentials(user="t07", password=secret)).close()
        secret.write_bytes(b"hunter 3")
        with pytest.raises(BrokerError, match="refuses") as caught:
            Listener(address, "#", credentials=Credentials(user="t07", password=secret))
        assert "hunter" not in str(caught.value)


def test_a_file_that_is_none_is_named(site: Site, tmp_path: Path) -> None:
    good, other = site.client("CHIEF7"), site.client("BOB")
    missing, words = tmp_path / "missing.pem", tmp_path / "words.pem"
    words.write_text("words")
    locked = tmp_path / "locked.key"
    subprocess.run(["openssl", "pkey", "-in", good.key, "-aes256", "-passout", "pass:x", "-out", locked], check=True)
    cases = [
        (Credentials(authorities=missing), missing, "No such file"),
        (Credentials(authorities=words), words, "as certificates"),
        (Credentials(certificate=missing), missing, "No such file"),
        (Credentials(certificate=words, key=good.key), words, "as a certificate"),
        (Credentials(certificate=good.certificate, key=missing), missing, "No such file"),
        (Credentials(certificate=good.certificate, key=words), words, "as a private key"),
        (Credentials(certificate=good.certificate), good.certificate, "as a private key"),
        (Credentials(certificate=good.certificate, key=other.key), other.key, "not the key of the certificate"),
        (Credentials(certificate=good.certificate, key=locked), locked, "is encrypted"),
        (Credentials(key=good.key), good.key, "without its certificate"),
        (Credentials(user="x", password=missing), missing, "No such file"),
        (Credentials(password=words), words, "without a user"),
        (Credentials(user="x", password=good.certificate.parent), good.certificate.parent, "Is a directory"),
    ]
    with new_ledger(tmp_path) as ledger:
        for credentials, path, told in cases:
            with pytest.raises(ConfigError, match=told) as caught:
                Publisher(ledger.path, Address("127.0.0.1", 1, tls=True), credentials=credentials)
            assert caught.value.where == str(path)
            assert caught.value.exit_code == 4
    with pytest.raises(ConfigError, match="mqtts"):
        Listener(Address("127.0.0.1", 1), "#", credentials=Credentials(*good))
