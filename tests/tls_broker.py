"""A Mosquitto with the files that `tablectl broker config` writes: TLS, certificates, access list, on a free loopback port.

with TlsBroker(tmp_path, tables=[TableName("hall", "main", "t07")], people=["CHIEF7"]) as broker:
    broker.url                          # mqtts://127.0.0.1:PORT
    broker.ca                           # what a client trusts
    broker.table("t07")                 # certificate and key of that table: a `Pair` of paths
    broker.person("CHIEF7"), broker.display, broker.witness
    broker.stranger("CHIEF7")           # the same name, from another authority
"""

from __future__ import annotations

import os
import pwd
import shutil
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from tablectl.ledger.pin import TableName
from tablectl.mqtt.broker_config import (
    ACL,
    BRIDGES,
    BROKER,
    CA,
    CERTIFICATES,
    DISPLAY,
    WITNESS,
    BridgePlan,
    BrokerPlan,
    bridge_files,
    broker_files,
    table_identity,
)
from tablectl.mqtt.certificates import Authority, Issued
from tests.broker import Broker

__all__ = ["HOSTS", "Pair", "Site", "TlsBroker"]

HOSTS = ("localhost", "127.0.0.1", "::1")


class Pair(NamedTuple):
    """Where a certificate and its key are."""

    certificate: Path
    key: Path


class Site:
    """An authority and the certificates it gives, in a folder. Two brokers of one site share it."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = Authority.new("Test Hall", datetime.now(UTC))
        self._others = Authority.new("Test Hall", datetime.now(UTC))
        self.ca = folder / CA
        self.ca.write_bytes(self.authority.issued.certificate)

    def client(self, identity: str) -> Pair:
        """The certificate that says so; made when it is first asked for."""
        return self._kept(identity, "ours")

    def stranger(self, identity: str) -> Pair:
        """One that says so too, from an authority of the same name that nobody trusts."""
        return self._kept(identity, "others")

    def server(self) -> Pair:
        return self._pair("server", self.authority.server(HOSTS, datetime.now(UTC)))

    def context(self, pair: Pair | None) -> ssl.SSLContext:
        """What a client connects with; without `pair` it has no certificate to show."""
        context = ssl.create_default_context(cafile=str(self.ca))
        if pair is not None:
            context.load_cert_chain(pair.certificate, pair.key)
        return context

    def _kept(self, identity: str, whose: str) -> Pair:
        name = f"{whose}-{identity.replace('/', '-')}"
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        if pair.key.exists():
            return pair
        authority = self.authority if whose == "ours" else self._others
        return self._pair(name, authority.client(identity, datetime.now(UTC)))

    def _pair(self, name: str, issued: Issued) -> Pair:
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        pair.certificate.write_bytes(issued.certificate)
        pair.key.touch(0o600)
        pair.key.write_bytes(issued.key)
        return pair


class TlsBroker(Broker):
    """A `Broker` (stopped, killed, frozen and started at will) whose configuration is the written one.

    `to` is another one, at which a bridge of the only table ends. `people` as in `BrokerPlan`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tables: Sequence[TableName] = (TableName("site", "pit", "table"),),
        people: Sequence[str] = (),
        role: Literal["table", "pit"] | None = None,
        site: Site | None = None,
        to: TlsBroker | None = None,
    ):
        super().__init__(folder, persistent=True)
        self.tables = tuple(tables)
        self.people = tuple(people)
        self.site = site or Site(folder / "pki")
        self._role: Literal["table", "pit"] = role or ("table" if len(self.tables) == 1 else "pit")
        self._to = to

    @property
    def url(self) -> str:
        return f"mqtts://127.0.0.1:{self.port}"

    @property
    def ca(self) -> Path:
        return self.site.ca

    def table(self, name: str | None = None) -> Pair:
        """That table's certificate; the first one's without a name."""
        table = next(table for table in self.tables if name in (None, table.table))
        return self.site.client(table_identity(table))

    def person(self, name: str) -> Pair:
        return self.site.client(name)

    def stranger(self, identity: str) -> Pair:
        return self.site.stranger(identity)

    @property
    def display(self) -> Pair:
        return self.site.client(DISPLAY)

    @property
    def witness(self) -> Pair:
        return self.site.client(WITNESS)

    def _configure(self) -> Path:
        place = self.folder / "etc"
        state = self.folder / "state"
        for folder in (place / BRIDGES, place / CERTIFICATES, state):
            folder.mkdir(parents=True, exist_ok=True)
        plan = BrokerPlan(
            role=self._role,
            version="2.0",
            tables=self.tables,
            people=self.people,
            place=str(place),
            state=str(state),
            port=self.port,
            bind="127.0.0.1",
            user=pwd.getpwuid(os.getuid()).pw_name,
        )
        files = broker_files(plan)
        if self._to is not None:
            bridge = BridgePlan(version="2.0", table=self.tables[0], host="127.0.0.1", port=self._to.port, place=str(place))
            files |= bridge_files(bridge)
            self._copy(self.table(), place / CERTIFICATES / "table")
        for name, text in files.items():
            (place / name).write_text(text)
        (place / ACL).chmod(0o600)
        shutil.copy(self.ca, place / CERTIFICATES / CA)
        if not (place / CERTIFICATES / f"{BROKER}.key").exists():
            self._copy(self.site.server(), place / CERTIFICATES / BROKER)
        return place / "mosquitto.conf"

    @staticmethod
    def _copy(pair: Pair, to: Path) -> None:
        shutil.copy(pair.certificate, to.with_suffix(".crt"))
        shutil.copy(pair.key, to.with_suffix(".key"))
