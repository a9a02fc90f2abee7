"""Mosquitto's files for a table, a pit, and the bridge from the one to the other. Pure: values in, the files' texts out.

Who a client is stands in its certificate: the broker takes the common name as the user's name (`use_identity_as_username`), asks
everyone for a certificate, and has no other way in. The names, which also are what `tablectl broker certificate` makes:

====================================  =====================  ================================================================
common name                           who                    may
====================================  =====================  ================================================================
`table:{site}:{pit}:{table}`          a table, its bridge    write below its own topics, hear its own commands
the person's name                     a supervisor           write `cmd/{name}/{person}` of the tables, read their responses
`service:display`                     the pit's display      read everything but commands
`service:witness`                     who keeps checkpoints  read `audit/checkpoint`, ask for a proof, read responses
====================================  =====================  ================================================================

The names themselves have no `:`, so nobody is by chance what he is not, and no `/`, which a broker may refuse in a user's name.
Whatever is not granted is refused.

What is written for Mosquitto 2.0 is tried on 2.0.11, the oldest that is met (Debian 12), and goes round its faults:
`per_listener_settings` loses last wills there (mended in 2.0.13), 0 for `max_queued_messages` has meant "unlimited" and "none" in
turn (mended in 2.0.22), and `message_size_limit` is answered with a reason code that MQTT 5 does not have. For 2.1 a plugin reads
the access list, since `acl_file` and `per_listener_settings` are on their way out; that form follows its manual.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import unicodedata
from typing import Final, Literal

import msgspec

from tablectl.errors import ConfigError
from tablectl.ledger.pin import TableName
from tablectl.mqtt.messages import CHANNELS, PUBLISHED

__all__ = [
    "ACL",
    "BRIDGES",
    "BROKER",
    "CA",
    "CERTIFICATES",
    "CONF",
    "DISPLAY",
    "LONGEST",
    "MAX_IDENTITY",
    "MESSAGES",
    "VERSIONS",
    "WITNESS",
    "BridgePlan",
    "BrokerPlan",
    "Version",
    "bridge_files",
    "broker_files",
    "person_identity",
    "table_identity",
]

Version = Literal["2.0", "2.1"]
VERSIONS: Final[tuple[Version, ...]] = ("2.0", "2.1")
"""The forms of Mosquitto's configuration: 2.0, and 2.1 and later."""

DISPLAY: Final = "service:display"
WITNESS: Final = "service:witness"
MAX_IDENTITY: Final = 64
"""The longest common name that a certificate may have, in characters."""

CONF: Final = "mosquitto.conf"
ACL: Final = "tablectl.acl"
BRIDGES: Final = "tablectl.d"
"""The folder, beside `mosquitto.conf`, whose `*.conf` files are read too; only bridges belong there."""
CERTIFICATES: Final = "certs"
CA: Final = "ca.crt"
BROKER: Final = "broker"
"""The broker's own certificate and key are `broker.crt` and `broker.key`."""

MESSAGES: Final = 20_000
"""How many messages may wait for one reader, for each table: some hours of a busy one."""
MESSAGE_BYTES: Final = 1_000
"""What a waiting message takes, roughly: most are shorter, `state` is longer."""
LONGEST: Final = 1_000_000
"""The longest packet in bytes. A command is at most 64 KiB; the longest `state` is far below."""
UNDER_WAY: Final = 100
"""Unacknowledged messages to or from one client; the publisher has so many under way at most."""
_MIB: Final = 1 << 20

# What a table writes, from where the messages are made; the rest is of `orders` and of the ledger's checkpoints.
_WRITTEN: Final = (
    *sorted(channel for channel in {*CHANNELS.values(), *PUBLISHED.values()} if not channel.startswith("evt/")),
    "evt/#",
    "audit/#",
)


def table_identity(table: TableName) -> str:
    """The common name of a table's certificate. Raises `ConfigError` for names that have a `:`, or are too long together."""
    names = {field: getattr(table, field) for field in table.__struct_fields__}
    for field, name in names.items():
        if ":" in name:
            raise ConfigError(f"{name!r} has a ':', which parts the names in a certificate", field=field)
    identity = ":".join(["table", *names.values()])
    if len(identity) > MAX_IDENTITY:
        raise ConfigError(f"{identity!r} is longer than the {MAX_IDENTITY} characters of a certificate's name", field="table")
    return identity


def person_identity(name: str) -> str:
    """The common name of a person's certificate, which is the name. Raises `ConfigError` for one that is no level of a topic."""
    try:
        TableName("site", "pit", name)
    except ConfigError as error:
        raise ConfigError(error.message, field="person") from None
    if ":" in name:
        raise ConfigError(f"{name!r} has a ':', which is for tables and services", field="person")
    return name


class BrokerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that is to be.

    `role` is `table` (one table's own broker) or `pit` (that of all tables of one pit). `people` are the supervisors by name;
    where none is named, whoever has a certificate may write commands under the name that it says, and the table's own list of
    people decides. `place` and `state` are absolute folders on the broker's computer: of these files, and of what it keeps.
    `bind` is the address to listen on (None: all); `loopback` a second port for programs on the same computer, which asks for
    certificates too. `plugins` is where 2.1 has `mosquitto_acl_file.so`.

    Raises `ConfigError`, naming the field, for what makes no sense or cannot stand in a line of the file.
    """

    role: Literal["table", "pit"]
    version: Version
    tables: tuple[TableName, ...]
    people: tuple[str, ...] = ()
    place: str = "/etc/mosquitto"
    state: str = "/var/lib/mosquitto"
    port: int = 8883
    bind: str | None = None
    loopback: int | None = None
    user: str = "mosquitto"
    plugins: str = "/usr/lib/x86_64-linux-gnu"

    def __post_init__(self) -> None:
        if not self.tables:
            raise ConfigError("no table is named", field="table")
        if self.role == "table" and len(self.tables) > 1:
            raise ConfigError("a table's own broker has one table; a pit's has many", field="table")
        if len({(table.site, table.pit) for table in self.tables}) > 1:
            raise ConfigError("the tables of one broker are of one pit of one site", field="table")
        _once("table", [table_identity(table) for table in self.tables])
        _once("person", [person_identity(name) for name in self.people])
        for field in ("place", "state", "plugins"):
            _folder(field, getattr(self, field))
        for field in ("port", "loopback"):
            number = getattr(self, field)
            if number is not None and not 1 <= number <= 65535:
                raise ConfigError(f"{number} is no port: 1 to 65535", field=field)
        if self.loopback is not None and self.loopback == self.port:
            raise ConfigError(f"{self.port} is the port of the other listener", field="loopback")
        if self.bind is not None:
            try:
                ipaddress.ip_address(self.bind)
            except ValueError:
                raise ConfigError(f"{self.bind!r} is no address of this computer", field="bind") from None
        if not _USER.fullmatch(self.user):
            raise ConfigError(f"{self.user!r} is no user of the system", field="user")


class BridgePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The bridge from a table's own broker to its pit's, which is a file for the table's broker.

    `host` and `port` are the pit's broker, as its certificate names it. The table's certificate is its identity there. `place` as
    in `BrokerPlan`. Raises `ConfigError`, naming the field; also for a name with a space, which a bridge's topics cannot carry.
    """

    version: Version
    table: TableName
    host: str
    port: int = 8883
    place: str = "/etc/mosquitto"

    def __post_init__(self) -> None:
        table_identity(self.table)
        for field in self.table.__struct_fields__:
            if any(letter.isspace() for letter in getattr(self.table, field)):
                raise ConfigError(f"{getattr(self.table, field)!r} has a space, which a bridge cannot carry", field=field)
        _folder("place", self.place)
        if not _HOST.fullmatch(self.host):
            raise ConfigError(f"{self.host!r} is no host", field="to")
        if not 1 <= self.port <= 65535:
            raise ConfigError(f"{self.port} is no port: 1 to 65535", field="to")


_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]+")


def _once(field: str, names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{twice!r} is named twice", field=field)


def _folder(field: str, path: str) -> None:
    if not path.startswith("/") or path != path.strip() or any(unicodedata.category(letter)[0] == "C" for letter in path):
        raise ConfigError(f"{path!r} is no absolute folder", field=field)


def broker_files(plan: BrokerPlan) -> dict[str, str]:
    """`mosquitto.conf`, complete, and `tablectl.acl`, which is private: from 2.0.16 on a broker wants it for itself."""
    return {CONF: "\n".join(_broker(plan)) + "\n", ACL: "\n".join(_access(plan)) + "\n"}


def bridge_files(plan: BridgePlan) -> dict[str, str]:
    """`tablectl.d/bridge-PIT.conf`."""
    return {f"{BRIDGES}/bridge-{_slug(plan.table.pit)}.conf": "\n".join(_bridge(plan)) + "\n"}


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)


def _broker(plan: BrokerPlan) -> list[str]:
    first = plan.tables[0]
    later = "" if plan.version == "2.0" else " and later"
    what = f"table {first}" if plan.role == "table" else f"pit {first.site}/{first.pit}, {len(plan.tables)} tables"
    queued = MESSAGES * len(plan.tables)
    kept = MESSAGES * MESSAGE_BYTES * len(plan.tables)
    place = plan.place.rstrip("/")
    lines = [
        f"# The broker of {what}; written by tablectl for Mosquitto {plan.version}{later}.",
        "# It is the whole configuration: nothing else is to be read beside it but the bridges at the end.",
        f"user {plan.user}",
        "",
        "# Nobody without a certificate; what each may do stands in the access list.",
        "allow_anonymous false",
    ]
    if plan.version == "2.0":
        lines += [f"acl_file {place}/{ACL}"]
    else:  # of the whole broker: one that is a listener's is not asked about a reader who is away and has none
        lines += [
            f"global_plugin {plan.plugins.rstrip('/')}/mosquitto_acl_file.so",
            f"plugin_opt_acl_file {place}/{ACL}",
        ]
    lines += [
        "",
        "# What is retained, and what waits for a reader who is away, survives a restart; a power cut costs a minute of it.",
        "persistence true",
        f"persistence_location {plan.state.rstrip('/')}/",
        "autosave_interval 60",
        "persistent_client_expiration 14d",
        "",
        "# The default drops silently after 1000 messages; 0 has meant both none and unlimited.",
        f"max_queued_messages {queued}",
        f"max_queued_bytes {kept}",
        f"max_inflight_messages {UNDER_WAY}",
        "",
        "# A flood ends at its sender.",
        f"max_packet_size {LONGEST}",
        f"memory_limit {4 * kept + 64 * _MIB}",
    ]
    if plan.version == "2.1":
        lines += [f"global_max_connections {2 * _connections(plan)}"]
    lines += ["", "set_tcp_nodelay true", "sys_interval 60"]
    lines += _listener(plan, place, plan.port, plan.bind)
    if plan.loopback is not None:
        lines += ["", "# For programs on this computer.", *_listener(plan, place, plan.loopback, "127.0.0.1")[1:]]
    return [*lines, "", "# Bridges, and nothing else.", f"include_dir {place}/{BRIDGES}"]


def _connections(plan: BrokerPlan) -> int:
    """A table has two, and may come anew before the broker has seen the old one go; and there are readers and supervisors."""
    return 64 + 8 * len(plan.tables)


def _listener(plan: BrokerPlan, place: str, port: int, address: str | None) -> list[str]:
    certificates = f"{place}/{CERTIFICATES}"
    lines = ["", f"listener {port}{f' {address}' if address else ''}"]
    if plan.version == "2.1":
        lines += ["listener_allow_anonymous false"]
    return [
        *lines,
        f"max_connections {_connections(plan)}",
        f"cafile {certificates}/{CA}",
        f"certfile {certificates}/{BROKER}.crt",
        f"keyfile {certificates}/{BROKER}.key",
        "tls_version tlsv1.2",  # the oldest that is spoken
        "require_certificate true",
        "use_identity_as_username true",
    ]


def _access(plan: BrokerPlan) -> list[str]:
    """The access list. Topics that a role shares have a `+` for the table, so that a new table needs its own lines only."""
    first = plan.tables[0]
    shared = f"tablectl/v1/{first}" if plan.role == "table" else f"tablectl/v1/{first.site}/{first.pit}/+"
    lines = ["# Who may write and read what; written by tablectl. The names are the common names of certificates."]
    for table in plan.tables:
        base = f"tablectl/v1/{table}"
        lines += [
            "",
            f"user {table_identity(table)}",
            *(f"topic write {base}/{channel}" for channel in _WRITTEN),
            f"topic readwrite {base}/reply/#",  # so that a table can hear that it is heard
            f"topic read {base}/cmd/#",
            f"topic write $SYS/broker/connection/{_bridge_name(table)}/state",
        ]
    if plan.people:
        for name in plan.people:
            lines += ["", f"user {name}", f"topic write {shared}/cmd/+/{name}", f"topic read {shared}/reply/#"]
    readable = [*_WRITTEN, "reply/#"]
    lines += ["", f"user {DISPLAY}", *(f"topic read {shared}/{channel}" for channel in readable)]
    lines += ["topic read $SYS/broker/connection/+/state"]
    lines += ["", f"user {WITNESS}", f"topic read {shared}/audit/checkpoint"]
    lines += [f"topic write {shared}/cmd/proof/{WITNESS}", f"topic read {shared}/reply/#"]  # for what it missed
    if not plan.people:
        lines += [
            "",
            "# Nobody is named: a command goes under the name of its sender's certificate, and the table knows who may what.",
            f"pattern write {shared}/cmd/+/%u",
            f"pattern read {shared}/reply/#",
        ]
    return lines


def _bridge_name(table: TableName) -> str:
    """A name that no other table's bridge has, of letters that a topic and a line of the file can carry."""
    return f"tablectl-bridge-{_slug(table.table)}-{hashlib.sha256(str(table).encode()).hexdigest()[:8]}"


def _bridge(plan: BridgePlan) -> list[str]:
    base, place = f"tablectl/v1/{plan.table}", plan.place.rstrip("/")
    name = _bridge_name(plan.table)
    return [
        f"# From the broker of table {plan.table} to its pit's; written by tablectl for Mosquitto {plan.version}.",
        f"connection {name}",
        f"address {plan.host}:{plan.port}",  # an IPv6 address without brackets: all before the last colon is the address
        f"remote_clientid {name}",
        f"local_clientid local-{name}",
        "",
        "# The table's own certificate: at the pit the bridge may what the table may.",
        f"bridge_cafile {place}/{CERTIFICATES}/{CA}",
        f"bridge_certfile {place}/{CERTIFICATES}/table.crt",
        f"bridge_keyfile {place}/{CERTIFICATES}/table.key",
        "bridge_tls_version tlsv1.2",
        "bridge_insecure false",
        "",
        "# MQTT 5, which carries expiry and response topic across, and whose sessions at the pit end with the connection: what",
        "# the table said waits on this side, and a command that was given meanwhile is never done late.",
        "bridge_protocol_version mqttv50",
        "cleansession false",
        "try_private true",
        "bridge_attempt_unsubscribe false",
        f"bridge_max_packet_size {LONGEST}",
        "start_type automatic",
        "keepalive_interval 15",
        "restart_timeout 1 30",
        "",
        f"# Retained at the pit as $SYS/broker/connection/{name}/state: 1 there, 0 lost.",
        "notifications true",
        "",
        *(f"topic {base}/{channel} out 1" for channel in (*_WRITTEN, "reply/#")),
        f"topic {base}/cmd/# in 1",
    ]
