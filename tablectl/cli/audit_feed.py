"""`tablectl audit feed`: tell what a ledger says to syslog, to a video system's broker, or as bookmarks, as it is said."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import click

from tablectl.cli.audit_export import moment
from tablectl.cli.main import say
from tablectl.errors import ConfigError, UsageError
from tablectl.feeds.bookmarks import ADAPTERS, GRAVITY, Bookmarks
from tablectl.feeds.feeding import Feed, Teller
from tablectl.feeds.following import Follower, kept
from tablectl.feeds.marking import Access
from tablectl.feeds.onvif import OnvifEvents
from tablectl.feeds.syslog import FRAMINGS, Framing, Receiver, Syslog
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.speaking import TOLD, WHAT, What
from tablectl.mqtt.address import Address
from tablectl.mqtt.credentials import Credentials
from tablectl.notices import Severity
from tablectl.texts import languages

__all__ = ["feed"]

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_MARKED: Final[tuple[What, ...]] = ("alert", "ruling")


@click.group(epilog="\b\nExample:\n  tablectl audit feed syslog store/ledger --to tls://siem --position syslog.place")
def feed() -> None:
    """Follow a table's ledger and tell others what it says, as it is committed.

    The ledger is the queue: what the other side could not be told is told when it is back, and with --position also what came
    while the feed was not running.
    """


def _followed(default: Sequence[What]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The argument and options that all feeds have."""
    options = [
        click.argument("source", metavar="LEDGER|FOLDER", type=click.Path(path_type=Path, exists=True)),
        click.option("--position", type=_FILE, metavar="FILE", help="Keep in FILE how far it came, and go on from there."),
        click.option(
            "--from",
            "since",
            metavar="TIME",
            help="Where FILE keeps nothing: begin then (RFC 3339).  [default: now; with --once the first entry]",
        ),
        click.option(
            "--what",
            multiple=True,
            type=click.Choice(WHAT),
            help=f"Tell these alone; may be given again.  [default: {', '.join(default)}]",
        ),
        click.option("--language", type=click.Choice(languages()), help="Say it in this language.  [default: the table's]"),
        click.option("--once", is_flag=True, help="Tell what is there, and end."),
        click.option("--ca", type=_FILE, metavar="FILE", help="Whom to believe about the other side, instead of the system's."),
        click.option("--cert", type=_FILE, metavar="FILE", help="Our client certificate."),
        click.option("--cert-key", type=_FILE, metavar="FILE", help="Its private key, where it is not in the same file."),
    ]

    def wrap(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return wrap


@feed.command(
    "syslog",
    epilog="\b\nExamples:\n"
    "  tablectl audit feed syslog store/ledger --to udp://siem.example\n"
    "  tablectl audit feed syslog store/ledger --to tls://siem.example --ca ca.crt --position syslog.place",
)
@_followed([what for what in WHAT if what in TOLD])
@click.option("--to", required=True, metavar="URL", help="udp://HOST, tcp://HOST or tls://HOST, and :PORT.")
@click.option("--framing", type=click.Choice(FRAMINGS), default="octets", show_default=True, help="Of tcp (RFC 6587).")
@click.option("--facility", type=click.IntRange(0, 23), default=16, show_default=True, metavar="N", help="16 is local0.")
@click.option("--hostname", metavar="NAME", help="What machine it comes from.  [default: this one's name]")
@click.option(
    "--enterprise", type=click.IntRange(1), default=32473, show_default=True, metavar="N", help="In the name of structured data."
)
def syslog_command(to: str, framing: str, facility: int, hostname: str | None, enterprise: int, **followed: Any) -> None:
    """RFC 5424 messages over UDP, TCP or TLS.

    Ends when it is told to (SIGINT, SIGTERM).
    """
    receiver = Receiver.parse(to)
    credentials = _credentials(followed)
    tls = receiver.scheme == "tls"
    context = credentials.context(Address(receiver.host, receiver.port, tls=True)) if tls else None
    if not tls and (credentials.authorities or credentials.certificate):
        raise UsageError("certificates are for tls://", field="--to")
    options = Options(
        language=followed["language"], hostname=hostname or socket.gethostname(), facility=facility, enterprise=enterprise
    )
    _run(Syslog(receiver, options, framing=cast(Framing, framing), context=context), TOLD, followed)


@feed.command(
    "onvif",
    epilog="\b\nExample:\n  tablectl audit feed onvif store/ledger --to mqtts://vms.example --ca ca.crt --position onvif.place",
)
@_followed([what for what in WHAT if what in TOLD])
@click.option("--to", required=True, metavar="URL", help="The broker: mqtt://HOST or mqtts://HOST, and :PORT.")
@click.option("--user", metavar="NAME", help="Who we are to the broker.")
@click.option("--password-file", type=_FILE, metavar="FILE", help="Its first line is the password.")
@click.option("--prefix", metavar="TOPIC", help="How the topics begin.  [default: SITE/PIT/TABLE]")
def onvif_command(to: str, user: str | None, password_file: Path | None, prefix: str | None, **followed: Any) -> None:
    """Events in the form of ONVIF's JSON over MQTT, for a video system that listens to a broker.

    Ends when it is told to (SIGINT, SIGTERM).
    """
    if prefix is not None and (set(prefix) & set("+#\0") or not prefix.strip("/")):
        raise UsageError(f"{prefix!r} cannot begin a topic", field="--prefix")
    address = Address.parse(to)
    credentials = Credentials(followed["ca"], followed["cert"], followed["cert_key"], user, password_file)
    credentials.check(address)
    _run(OnvifEvents(address, credentials, Options(language=followed["language"], prefix=prefix)), TOLD, followed)


@feed.command(
    "bookmarks",
    epilog="\b\nExample:\n"
    "  tablectl audit feed bookmarks store/ledger --to https://vms.example --user tablectl --password-file vms.password "
    "--camera 497f6eca-6276-4993-bfeb-53cbbbba6f08 --position vms.place",
)
@_followed(_MARKED)
@click.option(
    "--system", type=click.Choice(list(ADAPTERS)), default="milestone", show_default=True, help="What video system it is."
)
@click.option("--to", required=True, metavar="URL", help="Where it is: https://HOST.")
@click.option("--user", required=True, metavar="NAME", help="Who we are to it.")
@click.option("--password-file", required=True, type=_FILE, metavar="FILE", help="Its first line is the password.")
@click.option(
    "--camera", "cameras", multiple=True, required=True, metavar="ID", help="A camera of the table; may be given again."
)
@click.option(
    "--before", type=click.FloatRange(0, 3600), default=10.0, show_default=True, metavar="SECONDS", help="It begins before."
)
@click.option(
    "--after", type=click.FloatRange(0, 3600), default=20.0, show_default=True, metavar="SECONDS", help="It ends after."
)
@click.option("--least", type=click.Choice(list(GRAVITY)), default="warning", show_default=True, help="No alerts below this.")
def bookmarks_command(
    system: str,
    to: str,
    user: str,
    password_file: Path,
    cameras: Sequence[str],
    before: float,
    after: float,
    least: str,
    **followed: Any,
) -> None:
    """Bookmarks in a video system, on the cameras that look at the table: alerts and rulings.

    Ends when it is told to (SIGINT, SIGTERM).
    """
    tls = _tls(to)
    credentials = _credentials(followed)
    context = credentials.context(Address("", 0, tls=True)) if tls else None
    access = Access(to, user, _password(password_file), context)
    where = urlsplit(to)._replace(query="", fragment="").geturl()
    teller = Bookmarks(ADAPTERS[system](access), where, cameras, before=before, after=after, least=cast(Severity, least))
    _run(teller, _MARKED, followed)


def _run(teller: Teller, default: Sequence[What] | frozenset[What], followed: dict[str, Any]) -> None:
    """Follow and tell, until told to stop."""
    place_file: Path | None = followed["position"]
    place = None if place_file is None else kept(place_file)
    follower = Follower(followed["source"], place, since=moment(followed["since"], "--from"), new=not followed["once"])
    if follower.missed:
        say(f"{place_file}: the ledger that it was at is gone; the feed begins with the oldest that there is")
    stopped: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: stopped.append(number)) for number in (signal.SIGINT, signal.SIGTERM)
    }
    work = Feed(
        follower,
        teller,
        followed["what"] or default,
        language=followed["language"],
        place=place_file,
        say=say,
        stopping=lambda: bool(stopped),
    )
    try:
        if followed["once"]:
            work.once()
            say(f"{teller.where}: {work.told} told")
        else:
            say(f"{followed['source']}: followed for {teller.where}")
            work.stay()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        follower.close()
        teller.close()


def _credentials(followed: dict[str, Any]) -> Credentials:
    return Credentials(followed["ca"], followed["cert"], followed["cert_key"])


def _tls(url: str) -> bool:
    """Whether a video system is spoken to over TLS; without it no password goes further than this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.username:
        raise UsageError("is no address of a video system: https://HOST", field="--to")
    if parts.scheme == "http" and not _here(host):
        raise UsageError("a password is not sent over http:// to another machine: https://HOST", field="--to")
    return parts.scheme == "https"


def _here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _password(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"the password cannot be read: {why}", where=str(path)) from None
