"""`tablectl display`: the dealer's, the table's, the pit's and surveillance's pages, served to browsers and fed from MQTT."""

from __future__ import annotations

import gc
import socket
import time
from ipaddress import ip_address
from pathlib import Path

import click
import uvicorn

from tablectl.cli.asked import mqtt_option
from tablectl.cli.main import say
from tablectl.display import people
from tablectl.display.access import Access
from tablectl.display.acknowledge import Speaker
from tablectl.display.hub import Clock, Hub
from tablectl.display.ledgers import Ledgers
from tablectl.display.server import Display, application
from tablectl.display.subscription import Subscription
from tablectl.errors import TablectlError, UsageError
from tablectl.mqtt.address import Address
from tablectl.mqtt.credentials import Credentials
from tablectl.texts import languages

__all__ = ["display"]

FILE = click.Path(path_type=Path)
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@click.command(
    epilog="\b\nExamples:\n"
    "  tablectl display --mqtt mqtt://127.0.0.1:1883\n"
    "  tablectl display --mqtt mqtts://broker --ca ca.crt --cert display.crt --token token --people people.toml\n"
    "  tablectl display --mqtt mqtts://broker --ca ca.crt --cert display.crt --header X-Remote-User"
)
@mqtt_option
@click.option("--ca", type=FILE, metavar="FILE", help="Whom to believe about the broker, instead of the system's authorities.")
@click.option("--cert", type=FILE, metavar="FILE", help="Our certificate for the broker; needs mqtts://.")
@click.option("--key", type=FILE, metavar="FILE", help="Its private key, where it is not in the same file.")
@click.option("--user", metavar="NAME", help="Our user name for the broker.")
@click.option("--password", type=FILE, metavar="FILE", help="A file whose first line is the password.")
@click.option(
    "--listen", default="127.0.0.1:8080", show_default=True, metavar="HOST:PORT", help="Where browsers connect; port 0: any."
)
@click.option("--token", type=FILE, metavar="FILE", help="Who has the token in this file may look.")
@click.option("--header", metavar="NAME", help="A reverse proxy says in this header who it is.")
@click.option("--proxy", "proxies", multiple=True, metavar="ADDRESS", help="Whose header is believed.  [default: loopback]")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="A name by which browsers may call this server.")
@click.option("--people", "people_file", type=FILE, metavar="FILE", help="Who may acknowledge alerts, and their keys.")
@click.option("--site", "sites", multiple=True, metavar="NAME", help="Only this site's tables.  [default: all]")
@click.option("--aim", "aims", multiple=True, metavar="[HOUSE=]N", help="Rounds an hour that a house aims at.")
@click.option("--ledgers", type=FILE, metavar="FOLDER", help="The tables' ledgers, for rounds on record and their proofs.")
@click.option("--lang", type=click.Choice(languages()), help="The pages' language.  [default: what the browser asks for]")
def display(
    mqtt: str,
    ca: Path | None,
    cert: Path | None,
    key: Path | None,
    user: str | None,
    password: Path | None,
    listen: str,
    token: Path | None,
    header: str | None,
    proxies: tuple[str, ...],
    hosts: tuple[str, ...],
    people_file: Path | None,
    sites: tuple[str, ...],
    aims: tuple[str, ...],
    ledgers: Path | None,
    lang: str | None,
) -> int:
    """Serve the screens of tables and pits to browsers.

    \b
    /                             every table at a glance
    /pit/SITE/PIT                 a pit's tables, their pace and open alerts
    /table/SITE/PIT/TABLE         a table's felt
    /table/SITE/PIT/TABLE/dealer  what the dealer is to do now
    /surveillance                 alerts and rulings, and rounds on record

    It only listens to the broker. All that a page can ask for is that an alert be acknowledged, for somebody of --people who has
    signed in.

    Without --token or --header everybody who reaches it may look: that is refused on other addresses than loopback.
    """
    host, port = _address(listen)
    if token is not None and header is not None:
        raise UsageError("a reverse proxy that knows the people makes a token needless", field="--token")
    if not _is_loopback(host) and token is None and header is None:
        raise UsageError("others than this machine could look: --token or --header says who may", field="--listen")
    if proxies and header is None:
        raise UsageError("is whose header is believed, and no --header is", field="--proxy")
    if ledgers is not None and not ledgers.is_dir():
        raise UsageError("is no folder", field="--ledgers")
    if token is None and header is None:
        hosts = (*LOOPBACK, host, *hosts)
    access = Access(
        token=None if token is None else people.token_of(token),
        header=header,
        proxies=frozenset(proxies or ("127.0.0.1", "::1")),
        people=() if people_file is None else people.load(people_file),
        hosts=frozenset(name.lower() for name in hosts),
    )
    address = Address.parse(mqtt)
    credentials = Credentials(authorities=ca, certificate=cert, key=key, user=user, password=password)
    credentials.check(address)
    hub = Hub(Clock(lambda: time.monotonic_ns() // 1000, lambda: time.time_ns() // 1000), _aims(aims))
    shown = Display(
        hub,
        access,
        speaker=Speaker(address, credentials),
        ledgers=None if ledgers is None else Ledgers(ledgers),
        language=lang,
    )
    subscription = Subscription(hub, address, credentials, sites=sites, log=say)
    with _listening(host, port) as sock:
        where = sock.getsockname()
        say(f"listening on http://{f'[{host}]' if ':' in host else host}:{where[1]}")
        config = uvicorn.Config(
            application(shown, subscription),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=2,
            limit_concurrency=1000,
        )
        gc.freeze()  # what is there now stays: no need to look through it again and again
        try:
            uvicorn.Server(config).run(sockets=[sock])
        except KeyboardInterrupt:
            return 0  # it was asked to stop, and has
    return 0


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError("is HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080", field="--listen")
    return host, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, number, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind, number)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
    except OSError as error:
        raise TablectlError(f"cannot listen on {host}:{port}: {error.strerror}", field="--listen") from None
    return sock


def _aims(given: tuple[str, ...]) -> dict[str, int]:
    """`60` for every house, `fr=55` for one."""
    found = {}
    for text in given:
        house, _, number = text.rpartition("=")
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= 1000:
            raise UsageError("is a number of rounds an hour, such as 60, or fr=60", field="--aim")
        found[house] = int(number)
    return found
