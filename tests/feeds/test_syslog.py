"""Syslog over real sockets: every message arrives, also when the receiver was away."""

from __future__ import annotations

import re
import signal
import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tablectl.cli.audit_feed import feed
from tablectl.errors import UsageError
from tablectl.feeds import syslog
from tablectl.mqtt.certificates import Authority
from tests.cli.samples import run, start
from tests.feeds.receivers import Receiver, until
from tests.ledger.export.written import Written


def alerts(messages: list[bytes]) -> list[int]:
    """The numbers of the alerts that were told, in the order in which they came."""
    assert all(message.startswith(b"<130>1 2026-11-30T06:00:") for message in messages)
    return [int(found[1]) for message in messages if (found := re.search(rb' alert="(\d+)"', message))]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    (tmp_path / "ledger").mkdir()
    return Written(tmp_path / "ledger" / "2026-11-30.db")


@pytest.mark.parametrize("framing", syslog.FRAMINGS)
def test_messages_over_tcp_in_either_framing(framing: str, written: Written) -> None:
    for number in range(1, 30):
        written.alert(number, "ė\n<1>" * number, number=number)
    with Receiver() as receiver:
        words = ["--to", f"tcp://127.0.0.1:{receiver.port}", "--framing", framing, "--hostname", "pit-pc"]
        feed.main(["syslog", str(written.close()), *words, "--once"], standalone_mode=False)
        until(lambda: len(receiver.messages) == 29)
    assert alerts(receiver.messages) == list(range(1, 30))
    assert all(b"Z pit-pc tablectl - alert [tablectl@32473 " in message for message in receiver.messages)


def test_messages_over_udp_one_a_datagram(written: Written) -> None:
    written.alert(1, "one", number=1)
    written.alert(2, "two", number=2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        words = ["--to", f"udp://127.0.0.1:{receiver.getsockname()[1]}"]
        feed.main(["syslog", str(written.close()), *words, "--once"], standalone_mode=False)
        assert alerts([receiver.recv(4096), receiver.recv(4096)]) == [1, 2]


def test_tls_is_only_spoken_to_whom_the_authority_knows(written: Written, tmp_path: Path) -> None:
    authority = Authority.new("Hall", datetime.now(UTC))
    ours, other = tmp_path / "ca.crt", tmp_path / "other.crt"
    ours.write_bytes(authority.issued.certificate)
    other.write_bytes(Authority.new("Another", datetime.now(UTC)).issued.certificate)
    context = _serving(authority, tmp_path)
    written.alert(1, "one", number=1)
    path = str(written.close())
    with Receiver(context=context) as receiver:
        to = ["--to", f"tls://127.0.0.1:{receiver.port}", "--once"]
        refused = run("audit", "feed", "syslog", path, *to, "--ca", other)
        assert refused.returncode == 1
        assert b"its certificate is not trusted" in refused.stderr
        feed.main(["syslog", path, *to, "--ca", str(ours)], standalone_mode=False)
        until(lambda: receiver.messages)
    assert alerts(receiver.messages) == [1]


def _serving(authority: Authority, folder: Path) -> ssl.SSLContext:
    issued = authority.server(["127.0.0.1"], datetime.now(UTC))
    certificate, key = folder / "server.crt", folder / "server.key"
    certificate.write_bytes(issued.certificate)
    key.write_bytes(issued.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def test_nothing_is_lost_while_receiver_or_feed_are_away(written: Written, tmp_path: Path) -> None:
    place = tmp_path / "syslog.place"
    first = Receiver()
    folder, to = str(written.path.parent), f"tcp://127.0.0.1:{first.port}"
    words = ["audit", "feed", "syslog", folder, "--to", to, "--position", str(place)]
    heard: list[int] = []
    process = start(*words)
    assert process.stderr is not None
    assert b"followed" in process.stderr.readline()
    written.alert(1, "one", number=1)
    until(lambda: first.messages)
    first.close()
    heard += alerts(first.messages)
    written.alert(2, "while the receiver is away", number=2)
    assert b"nothing is told at the moment" in process.stderr.readline()
    with Receiver(port=first.port) as second:
        until(lambda: 2 in alerts(second.messages))
        heard += alerts(second.messages)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    process.stderr.close()
    assert process.stdout is not None
    process.stdout.close()
    written.alert(3, "while the feed is away", number=3)
    with Receiver(port=first.port) as third:
        told = run(*words, "--once")
        assert (told.returncode, told.stdout) == (0, b"")
        until(lambda: third.messages)
        assert alerts(third.messages) == [3]  # and nothing from before
    assert set(heard) == {1, 2}  # the first may have come again: its connection broke
    written.close()


@pytest.mark.parametrize("to", ["siem", "http://siem", "tcp://", "tls://siem:0", "udp://siem/path", "tcp://siem:port"])
def test_an_address_that_is_none_is_refused(to: str, written: Written) -> None:
    with pytest.raises(UsageError):
        feed.main(["syslog", str(written.close()), "--to", to], standalone_mode=False)
