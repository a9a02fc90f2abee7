"""`tablectl broker`: the files of a Mosquitto for a table, a pit or the bridge between them, and a small authority for a site."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import click

from tablectl.cli.given import given
from tablectl.errors import ConfigError, UsageError
from tablectl.ledger.pin import TableName
from tablectl.mqtt.broker_config import (
    ACL,
    BRIDGES,
    BROKER,
    CA,
    CERTIFICATES,
    CONF,
    DISPLAY,
    VERSIONS,
    WITNESS,
    BridgePlan,
    BrokerPlan,
    Version,
    bridge_files,
    broker_files,
    person_identity,
    table_identity,
)
from tablectl.mqtt.certificates import AUTHORITY_DAYS, DAYS, Authority, Issued

__all__ = ["broker"]

AUTHORITY: Final = "ca"
KINDS: Final = (AUTHORITY, "broker", "table", "person", "display", "witness")


class File(NamedTuple):
    """What goes into a file; a private one is its owner's alone."""

    content: bytes
    private: bool


@click.group(epilog="\b\nExample:\n  tablectl broker config --for table --table t07 -o t07-broker")
def broker() -> None:
    """The MQTT broker's files, and certificates for a site that has no authority of its own."""


@broker.command(
    epilog="\b\nExamples:\n"
    "  tablectl broker config --for table --site hall --pit main --table t07 --person CHIEF7 -o t07\n"
    "  tablectl broker config --for bridge --site hall --pit main --table t07 --to pit.hall.example:8883 -o t07\n"
    "  tablectl broker config --for pit --site hall --pit main --table t07 --table t08 --person CHIEF7 -o pit"
)
@click.option("--for", "role", type=click.Choice(("table", "pit", "bridge")), required=True, help="Whose broker it is.")
@click.option("--mosquitto", "version", type=click.Choice(VERSIONS), default="2.0", show_default=True, help="2.1: and later.")
@click.option("--site", default="site", show_default=True, help="The site in the topics.")
@click.option("--pit", default="pit", show_default=True, help="The pit in the topics.")
@click.option("--table", "names", multiple=True, required=True, metavar="NAME", help="A table; for a pit once for each.")
@click.option("--person", "people", multiple=True, metavar="NAME", help="Who may send commands; without any, see below.")
@click.option("--to", metavar="HOST[:PORT]", help="The pit's broker, for a bridge.")
@click.option("--port", type=click.IntRange(1, 65535), default=8883, show_default=True, help="Where it listens.")
@click.option("--bind", metavar="ADDRESS", help="The address it listens on; else all.")
@click.option("--loopback", type=click.IntRange(1, 65535), metavar="PORT", help="A second listener, on 127.0.0.1.")
@click.option("--place", default="/etc/mosquitto", show_default=True, help="Where the files will stand.")
@click.option("--state", default="/var/lib/mosquitto", show_default=True, help="Where the broker keeps what it retains.")
@click.option("--user", default="mosquitto", show_default=True, help="Whom the broker runs as.")
@click.option("--plugins", default="/usr/lib/x86_64-linux-gnu", show_default=True, help="Where 2.1 has mosquitto_acl_file.so.")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="FOLDER", help="For the files."
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def config(
    role: str,
    version: Version,
    site: str,
    pit: str,
    names: tuple[str, ...],
    people: tuple[str, ...],
    to: str | None,
    port: int,
    bind: str | None,
    loopback: int | None,
    place: str,
    state: str,
    user: str,
    plugins: str,
    output: Path,
    force: bool,
) -> None:
    """Write Mosquitto's files, and say where they go.

    TLS 1.2 or newer with a certificate on both sides, no anonymous access, and an access list by the names in the certificates:
    a table writes below its own topics and hears its own commands, a person writes commands under his own name. Where no --person
    is named, whoever has a certificate may write commands under the name in it, and the table's list of people decides.
    """
    with given():
        tables = tuple(TableName(site, pit, name) for name in names)
    if role == "bridge":
        if to is None:
            raise UsageError("a bridge needs it: HOST[:PORT] of the pit's broker", field="--to")
        if len(tables) != 1:
            raise UsageError("a bridge is of one table", field="--table")
        host, there = _host_and_port(to)
        with given():
            bridge = BridgePlan(version=version, table=tables[0], host=host, port=there, place=place)
        files = {name: File(text.encode(), private=False) for name, text in bridge_files(bridge).items()}
        steps = _bridge_steps(bridge, output, user)
    else:
        if to is not None:
            raise UsageError("only a bridge has it", field="--to")
        with given():
            plan = BrokerPlan(
                role="table" if role == "table" else "pit",
                version=version,
                tables=tables,
                people=people,
                place=place,
                state=state,
                port=port,
                bind=bind,
                loopback=loopback,
                user=user,
                plugins=plugins,
            )
        files = {name: File(text.encode(), private=name == ACL) for name, text in broker_files(plan).items()}
        steps = _broker_steps(plan, output)
    _write(output, files, force=force)
    if role != "bridge":
        (output / BRIDGES).mkdir(exist_ok=True)  # the broker does not start where it is missing
    for line in [*(f"wrote {output / name}" for name in files), "", *steps]:
        click.echo(line)


def _host_and_port(to: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:\[(?P<six>[^\[\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>\d{1,5}))?", to)
    if match is None:
        raise UsageError(f"{to!r} is no HOST[:PORT]; an IPv6 address stands in brackets", field="--to")
    return match["six"] or match["host"], int(match["port"] or 8883)


def _broker_steps(plan: BrokerPlan, output: Path) -> list[str]:
    certificates = f"{plan.place}/{CERTIFICATES}"
    check = f"mosquitto --test-config -c {plan.place}/{CONF}"
    if plan.version == "2.0":
        check = "(Mosquitto 2.0 cannot check a configuration; what it dislikes is in: journalctl -u mosquitto)"
    return [
        "On the broker's computer, as root:",
        f"  install -d {plan.place}/{BRIDGES} {certificates}",
        f"  install -m 644 {output / CONF} {plan.place}/",
        f"  install -o {plan.user} -g {plan.user} -m 600 {output / ACL} {plan.place}/",
        f"  install -m 644 {CA} {BROKER}.crt {certificates}/",
        f"  install -o {plan.user} -g {plan.user} -m 600 {BROKER}.key {certificates}/",
        f"  {check}",
        "  systemctl restart mosquitto    # after a change of the access list: systemctl reload mosquitto",
        "Names of certificates:",
        *(f"  {table_identity(table)}" for table in plan.tables),
        *(f"  {name}" for name in plan.people),
        f"  {DISPLAY}, {WITNESS}",
        "From elsewhere this must print nothing and fail (a certificate is asked for):",
        f"  mosquitto_sub -h HOST -p {plan.port} --cafile {CA} -t '#' -W 5",
    ]


def _bridge_steps(plan: BridgePlan, output: Path, user: str) -> list[str]:
    certificates = f"{plan.place}/{CERTIFICATES}"
    name, stem = next(iter(bridge_files(plan))), _stem(table_identity(plan.table))
    return [
        "On the table's computer, as root, beside the files of its own broker:",
        f"  install -m 644 {output / name} {plan.place}/{BRIDGES}/",
        f"  install -m 644 {stem}.crt {certificates}/table.crt    # of {table_identity(plan.table)}",
        f"  install -o {user} -g {user} -m 600 {stem}.key {certificates}/table.key",
        "  systemctl restart mosquitto    # a bridge is not reloaded",
    ]


@broker.command(
    epilog="\b\nExamples:\n"
    '  tablectl broker certificate ca --name "Casino Test Hall" -o pki\n'
    "  tablectl broker certificate broker --host pit.hall.example --host 10.1.7.2 -o pki\n"
    "  tablectl broker certificate table --site hall --pit main --table t07 -o pki\n"
    "  tablectl broker certificate person --name CHIEF7 -o pki"
)
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.option("--name", metavar="NAME", help="Of the authority, or of the person.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="A name or address the broker is reached by; each once.")
@click.option("--site", default="site", show_default=True, help="The site in the topics.")
@click.option("--pit", default="pit", show_default=True, help="The pit in the topics.")
@click.option("--table", metavar="NAME", help="The table in the topics.")
@click.option("--days", type=click.IntRange(1, 7300), help=f"How long it is valid; else {DAYS}, an authority {AUTHORITY_DAYS}.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Of the authority, and for the files.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def certificate(
    kind: str,
    name: str | None,
    hosts: tuple[str, ...],
    site: str,
    pit: str,
    table: str | None,
    days: int | None,
    output: Path,
    force: bool,
) -> None:
    """Make a certificate and its key, for tests and for a site that has no authority of its own.

    \b
    KIND is one of
      ca        the authority itself (--name), once: ca.crt goes to everyone, ca.key to nobody
      broker    a broker (--host)
      table     a table and its bridge (--site, --pit, --table)
      person    a supervisor (--name)
      display   the pit's display
      witness   who keeps the checkpoints
    """
    now = datetime.now(UTC)
    if kind == AUTHORITY:
        with given("--name"):
            issued, stem = Authority.new("tablectl" if name is None else name, now, days or AUTHORITY_DAYS).issued, AUTHORITY
    else:
        issued, stem = _issued(kind, _authority(output), now, days or DAYS, name, hosts, (site, pit, table))
    files = {f"{stem}.crt": File(issued.certificate, private=False), f"{stem}.key": File(issued.key, private=True)}
    _write(output, files, force=force)
    for written in files:
        click.echo(f"wrote {output / written}")
    click.echo(f"valid until {issued.until:%Y-%m-%d}")


def _authority(folder: Path) -> Authority:
    try:
        return Authority.load((folder / f"{AUTHORITY}.crt").read_bytes(), (folder / f"{AUTHORITY}.key").read_bytes())
    except FileNotFoundError:
        raise UsageError("there is no authority; make one: tablectl broker certificate ca", where=str(folder)) from None
    except ConfigError as error:
        raise ConfigError(error.message, where=str(folder)) from None


def _issued(
    kind: str,
    authority: Authority,
    now: datetime,
    days: int,
    name: str | None,
    hosts: tuple[str, ...],
    of: tuple[str, str, str | None],
) -> tuple[Issued, str]:
    """The certificate of one kind, and how its files are called."""
    if kind == "broker":
        if not hosts:
            raise UsageError("a broker needs the names and addresses it is reached by", field="--host")
        with given("--host"):
            return authority.server(hosts, now, days), BROKER
    if kind == "table":
        site, pit, table = of
        if table is None:
            raise UsageError("which table it is for", field="--table")
        with given():
            identity = table_identity(TableName(site, pit, table))
    elif kind == "person":
        if name is None:
            raise UsageError("who it is for", field="--name")
        with given("--name"):
            identity = person_identity(name)
    else:
        identity = DISPLAY if kind == "display" else WITNESS
    return authority.client(identity, now, days), _stem(identity)


def _stem(identity: str) -> str:
    """How the files of a certificate are called, after the name in it."""
    return re.sub(r"[^\w.-]+", "-", identity)


def _write(folder: Path, files: Mapping[str, File], *, force: bool) -> None:
    """Write all of them, whole, or none. Raises `UsageError` where one is there and may not be written over."""
    there = [folder / name for name in files if os.path.lexists(folder / name)]
    if there and not force:
        raise UsageError("is there already; --force writes over it", where=str(there[0]))
    for name, file in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600 from its first byte on
        try:
            with os.fdopen(number, "wb") as output:
                output.write(file.content)
                os.fchmod(number, 0o600 if file.private else 0o644)
                output.flush()
                os.fsync(number)
            os.replace(temporary, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
