"""The written files on the real Mosquitto: who gets in, who may what, what survives, what crosses the bridge.

That an access list refused something is seen by what a reader receives, or by MQTT 5's reason code: clients do not fail by it.
"""

from __future__ import annotations

import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tablectl.errors import ConfigError
from tablectl.ledger.pin import TableName
from tablectl.mqtt.broker_config import (
    LONGEST,
    MESSAGES,
    BridgePlan,
    BrokerPlan,
    bridge_files,
    broker_files,
    person_identity,
    table_identity,
)
from tests.guest import NOBODY, REFUSED, SUCCESS, Guest
from tests.tls_broker import Site, TlsBroker

T07 = TableName("hall", "main", "t07")
T08 = TableName("hall", "main", "tâble 8")
BASE = f"tablectl/v1/{T07}"
OTHER = f"tablectl/v1/{T08}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def pit(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    """A pit of two tables whose supervisors are named."""
    with TlsBroker(tmp_path_factory.mktemp("pit"), tables=[T07, T08], people=["CHIEF7", "Mme Noël"], site=site) as broker:
        yield broker


def closed(broker: TlsBroker, context: ssl.SSLContext) -> bool:
    """Whether the broker ends the connection before it has heard a word of MQTT."""
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5, reconnect_on_failure=False)
    client.tls_set_context(context)
    client.tls_insecure_set(not context.check_hostname)
    connected: list[bool] = []
    client.on_connect = lambda *rest: connected.append(True)
    try:
        client.connect("127.0.0.1", broker.port)
        deadline = time.monotonic() + 10
        while client.loop(0.1) == 0 and not connected:
            assert time.monotonic() < deadline, "neither in nor out"
    except OSError:
        return True
    finally:
        sock = client.socket()
        if sock is not None:
            sock.close()
    return not connected


def test_a_certificate_of_ours_gets_in(pit: TlsBroker) -> None:
    assert not closed(pit, pit.site.context(pit.table("t07")))


def test_nobody_gets_in_without_a_certificate(pit: TlsBroker) -> None:
    assert closed(pit, pit.site.context(None))


def test_nobody_gets_in_with_the_right_name_from_another_authority(pit: TlsBroker) -> None:
    assert closed(pit, pit.site.context(pit.stranger(table_identity(T07))))


def test_a_brokers_certificate_is_no_clients(pit: TlsBroker) -> None:
    assert closed(pit, pit.site.context(pit.site.server()))


def test_nobody_is_spoken_to_in_the_clear(pit: TlsBroker) -> None:
    client = Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", pit.port)
    deadline = time.monotonic() + 10
    while client.loop(0.1) == 0:
        assert not client.is_connected()
        assert time.monotonic() < deadline


def test_tls_older_than_1_2_is_not_spoken(pit: TlsBroker) -> None:
    client = ["openssl", "s_client", "-connect", f"127.0.0.1:{pit.port}", "-cipher", "ALL:@SECLEVEL=0"]
    old, new = (subprocess.run([*client, version], input=b"", capture_output=True) for version in ("-tls1_1", "-tls1_2"))
    assert (old.returncode, b"alert protocol version" in old.stderr) == (1, True)
    assert b"Protocol  : TLSv1.2" in new.stdout


def test_a_table_writes_its_own_topics_and_the_display_reads_them(pit: TlsBroker) -> None:
    own = ["status", "info", "state", "prompt", "evt/dealt", "audit/checkpoint", "reply/rule-1"]
    with Guest(pit, pit.display, f"{BASE}/#") as display, Guest(pit, pit.table("t07")) as table:
        assert [table.publish(f"{BASE}/{topic}") for topic in own] == [SUCCESS] * len(own)
        assert [topic for topic, _ in display.heard(len(own))] == [f"{BASE}/{topic}" for topic in own]


def test_names_may_have_spaces_and_letters_of_their_own(pit: TlsBroker) -> None:
    with Guest(pit, pit.table(T08.table), f"{OTHER}/cmd/#") as table, Guest(pit, pit.person("Mme Noël")) as chief:
        assert chief.publish(f"{OTHER}/cmd/ruling/Mme Noël") == SUCCESS
        assert table.heard(1) == [(f"{OTHER}/cmd/ruling/Mme Noël", b"x")]


@pytest.mark.parametrize(
    "topic",
    [f"{OTHER}/status", f"{OTHER}/evt/dealt", f"{OTHER}/reply/me", f"{BASE}/cmd/ruling", f"{BASE}/cmd/ruling/CHIEF7", "other"],
)
def test_a_table_writes_nowhere_else(pit: TlsBroker, topic: str) -> None:
    with Guest(pit, pit.table("t07")) as table:
        assert table.publish(topic) == REFUSED


def test_a_table_hears_its_own_commands_alone(pit: TlsBroker) -> None:
    with Guest(pit, pit.table("t07"), "#", f"{OTHER}/cmd/#", f"{OTHER}/#") as table, Guest(pit, pit.person("CHIEF7")) as chief:
        for base in (OTHER, BASE, OTHER, BASE):
            assert chief.publish(f"{base}/cmd/ack/CHIEF7") in (SUCCESS, NOBODY)
        assert {topic for topic, _ in table.heard(2)} == {f"{BASE}/cmd/ack/CHIEF7"}


@pytest.mark.parametrize(
    "topic",
    [
        f"{BASE}/cmd/ruling/Mme Noël",
        f"{BASE}/cmd/ruling",
        f"{BASE}/cmd/CHIEF7",
        f"{BASE}/cmd/ruling/CHIEF7/x",
        f"{BASE}/reply/me",
        f"{BASE}/status",
        f"{BASE}/evt/dealt",
        "tablectl/v1/hall/other/t07/cmd/ruling/CHIEF7",
    ],
)
def test_a_supervisor_writes_under_his_own_name_only(pit: TlsBroker, topic: str) -> None:
    with Guest(pit, pit.person("CHIEF7")) as chief:
        assert chief.publish(topic) == REFUSED


def test_a_supervisor_hears_the_tables_responses_alone(pit: TlsBroker) -> None:
    with Guest(pit, pit.person("CHIEF7"), "#") as chief, Guest(pit, pit.table("t07")) as table:
        for topic in ("status", "evt/dealt", "audit/checkpoint", "reply/rule-1"):
            table.publish(f"{BASE}/{topic}")
        assert chief.heard(1) == [(f"{BASE}/reply/rule-1", b"x")]


def test_a_name_that_is_on_no_list_may_nothing(pit: TlsBroker) -> None:
    with Guest(pit, pit.person("NOBODY"), "#") as nobody, Guest(pit, pit.table("t07")) as table:
        assert nobody.publish(f"{BASE}/cmd/ruling/NOBODY") == REFUSED
        table.publish(f"{BASE}/reply/rule-1")
        assert table.publish(f"{BASE}/status") in (SUCCESS, NOBODY)
        assert nobody.publish("x") == REFUSED  # a way there and back: what was to come would have come
        assert nobody.received == []


def test_the_display_and_the_witness_read(pit: TlsBroker) -> None:
    with (
        Guest(pit, pit.display, "#") as display,
        Guest(pit, pit.witness, "#") as witness,
        Guest(pit, pit.table("t07")) as table,
        Guest(pit, pit.person("CHIEF7")) as chief,
    ):
        assert chief.publish(f"{BASE}/cmd/ack/CHIEF7") in (SUCCESS, NOBODY)
        table.publish(f"{BASE}/evt/dealt")
        table.publish(f"{BASE}/audit/checkpoint")
        assert [topic for topic, _ in display.heard(2)] == [f"{BASE}/evt/dealt", f"{BASE}/audit/checkpoint"]
        assert [topic for topic, _ in witness.heard(1)] == [f"{BASE}/audit/checkpoint"]
        for reader in (display, witness):
            assert [reader.publish(f"{BASE}/{topic}") for topic in ("status", "cmd/ack", "audit/checkpoint")] == [REFUSED] * 3


def test_who_sends_too_much_at_once_is_put_out(pit: TlsBroker) -> None:
    with Guest(pit, pit.display, f"{BASE}/#") as display, Guest(pit, pit.table("t07")) as table:
        assert table.publish(f"{BASE}/state", bytes(LONGEST - 1000)) == SUCCESS
        table.send(f"{BASE}/state", bytes(LONGEST))
        table.wait_until_out()
        assert [len(payload) for _, payload in display.heard(1)] == [LONGEST - 1000]


def test_many_who_come_and_go_or_fail_use_up_no_places(pit: TlsBroker) -> None:
    inside, outside = pit.site.context(pit.table("t07")), pit.site.context(None)
    assert all(closed(pit, outside) for _ in range(90))
    assert not any(closed(pit, inside) for _ in range(90))


def test_the_last_will_of_a_table_is_told(pit: TlsBroker) -> None:
    """As Mosquitto 2.0.11 does not where `per_listener_settings` is on."""
    with Guest(pit, pit.display, f"{BASE}/status") as display:
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5, reconnect_on_failure=False)
        client.tls_set_context(pit.site.context(pit.table("t07")))
        client.will_set(f"{BASE}/status", b"offline", 1)
        client.connect("127.0.0.1", pit.port)
        while not client.is_connected():
            assert client.loop(1) == 0
        sock = client.socket()
        assert sock is not None
        sock.close()
        assert display.heard(1) == [(f"{BASE}/status", b"offline")]


def test_where_nobody_is_named_the_certificates_name_is_the_topics(tmp_path: Path, site: Site) -> None:
    with (
        TlsBroker(tmp_path, tables=[T07], site=site) as broker,
        Guest(broker, broker.table(), f"{BASE}/cmd/#") as table,
        Guest(broker, broker.person("NEW"), f"{BASE}/reply/NEW") as new,
    ):
        assert new.publish(f"{BASE}/cmd/ack/CHIEF7") == REFUSED
        assert new.publish(f"{BASE}/cmd/ack/NEW") == SUCCESS
        assert table.heard(1) == [(f"{BASE}/cmd/ack/NEW", b"x")]
        assert table.publish(f"{BASE}/reply/NEW") == SUCCESS
        assert new.heard(1) == [(f"{BASE}/reply/NEW", b"x")]


def test_what_is_retained_and_what_waits_survives_a_restart(tmp_path: Path, site: Site) -> None:
    with TlsBroker(tmp_path, tables=[T07], people=["CHIEF7"], site=site) as broker:
        with Guest(broker, broker.display, f"{BASE}/evt/#", session="wall"):
            pass
        with Guest(broker, broker.table()) as table:
            assert table.publish(f"{BASE}/state", b"kept", retain=True) in (SUCCESS, NOBODY)
            assert table.publish(f"{BASE}/evt/dealt", b"waits") == SUCCESS
        broker.stop()
        broker.start()
        with Guest(broker, broker.display, f"{BASE}/state") as late, Guest(broker, broker.display, session="wall") as wall:
            assert late.heard(1) == [(f"{BASE}/state", b"kept")]
            assert wall.heard(1) == [(f"{BASE}/evt/dealt", b"waits")]


def test_5000_messages_wait_for_a_reader_who_is_away(tmp_path: Path, site: Site) -> None:
    with TlsBroker(tmp_path, tables=[T07], people=["CHIEF7"], site=site) as broker:
        with Guest(broker, broker.display, f"{BASE}/evt/#", session="wall"):
            pass
        with Guest(broker, broker.table()) as table:
            for number in range(5000):
                table.send(f"{BASE}/evt/dealt", b"%d" % number)
            table.wait(lambda: table.acknowledged(5000), 20)
        with Guest(broker, broker.display, session="wall") as wall:
            assert [int(payload) for _, payload in wall.heard(5000, 20)] == list(range(5000))


def test_the_bridge_carries_what_a_table_says_and_is_told(tmp_path: Path, site: Site, pit: TlsBroker) -> None:
    """Over TLS and both access lists, with MQTT 5's properties, and with the order kept over an outage of the pit."""
    asked = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    asked.ResponseTopic = f"{BASE}/reply/rule-1"
    asked.CorrelationData = b"c1"
    expiring = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    expiring.MessageExpiryInterval = 600
    with (
        TlsBroker(tmp_path / "pit", tables=[T07, T08], people=["CHIEF7"], site=site) as there,
        TlsBroker(tmp_path / "table", tables=[T07], people=["CHIEF7"], site=site, to=there) as own,
        Guest(own, own.table(), f"{BASE}/cmd/#") as table,
    ):
        with (
            Guest(there, there.display, "tablectl/#", "$SYS/broker/connection/+/state") as display,
            Guest(there, there.person("CHIEF7"), f"{BASE}/reply/rule-1") as chief,
        ):
            display.wait(lambda: any(message.payload == b"1" for message in display.received))
            display.received.clear()
            table.publish(f"{BASE}/evt/dealt", b"card")
            table.publish(f"{BASE}/prompt", b"deal", retain=True, properties=expiring)
            assert display.heard(2) == [(f"{BASE}/evt/dealt", b"card"), (f"{BASE}/prompt", b"deal")]
            chief.publish(f"{BASE}/cmd/ruling/CHIEF7", b"burn", properties=asked)
            assert table.heard(1) == [(f"{BASE}/cmd/ruling/CHIEF7", b"burn")]
            properties: Any = table.received[0].properties
            assert (properties.ResponseTopic, properties.CorrelationData) == (f"{BASE}/reply/rule-1", b"c1")
            table.publish(f"{BASE}/reply/rule-1", b"done")
            assert chief.heard(1) == [(f"{BASE}/reply/rule-1", b"done")]
        with Guest(there, there.display, f"{BASE}/#") as late:
            assert late.heard(1) == [(f"{BASE}/prompt", b"deal")]
            properties = late.received[0].properties
            assert 0 < properties.MessageExpiryInterval <= 600
        with Guest(there, there.display, f"{BASE}/evt/#", session="wall"):
            pass
        there.stop()
        for number in range(50):
            assert table.publish(f"{BASE}/evt/dealt", b"%d" % number) in (SUCCESS, NOBODY)
        there.start()
        with Guest(there, there.display, session="wall") as wall:
            wall.wait(lambda: len({message.payload for message in wall.received}) >= 50, 15)
            assert list(dict.fromkeys(int(payload) for _, payload in wall.heard(50))) == list(range(50))


def plan(**changed: Any) -> BrokerPlan:
    return BrokerPlan(**({"role": "pit", "version": "2.0", "tables": (T07, T08)} | changed))


def options(text: str) -> list[tuple[str, str]]:
    return [(line.split(" ", 1)[0], line.partition(" ")[2]) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_form_for_2_1_has_nothing_that_is_on_its_way_out() -> None:
    """As its manual says: the access list is a plugin's, for the whole broker, and anonymity is the listener's too."""
    files = broker_files(plan(version="2.1", loopback=1884, plugins="/usr/lib"))
    said = options(files["mosquitto.conf"])
    names = [name for name, _ in said]
    assert not {"acl_file", "per_listener_settings", "plugin", "auth_plugin", "password_file"} & set(names)
    assert ("global_plugin", "/usr/lib/mosquitto_acl_file.so") in said
    assert names[names.index("global_plugin") + 1] == "plugin_opt_acl_file"  # an option is of the plugin before it
    assert [said[at + 1] for at, name in enumerate(names) if name == "listener"] == [("listener_allow_anonymous", "false")] * 2
    assert names.count("listener") == names.count("require_certificate") == 2
    assert files["tablectl.acl"] == broker_files(plan())["tablectl.acl"]


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_nothing_lets_anybody_in_unasked(version: str) -> None:
    said = options(broker_files(plan(version=version, loopback=1884))["mosquitto.conf"])
    assert {value for name, value in said if "anonymous" in name} == {"false"}
    assert [value for name, value in said if name == "listener"] == ["8883", "1884 127.0.0.1"]
    assert [value for name, value in said if name in ("require_certificate", "use_identity_as_username")] == ["true"] * 4


def test_queues_grow_with_the_pit() -> None:
    tables = tuple(TableName("hall", "main", f"t{number:02}") for number in range(20))
    said = dict(options(broker_files(plan(tables=tables))["mosquitto.conf"]))
    assert int(said["max_queued_messages"]) == 20 * MESSAGES
    assert int(said["memory_limit"]) > 2 * int(said["max_queued_bytes"])
    assert int(said["max_connections"]) >= 64 + 2 * 20


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"tables": ()}, "table"),
        ({"tables": (T07, T07)}, "table"),
        ({"role": "table"}, "table"),
        ({"tables": (T07, TableName("hall", "other", "t08"))}, "table"),
        ({"tables": (TableName("hall", "main", "t" * 60),)}, "table"),
        ({"tables": (TableName("hall", "ma:in", "t07"),)}, "pit"),
        ({"people": ("a/b",)}, "person"),
        ({"people": ("+",)}, "person"),
        ({"people": ("service:display",)}, "person"),
        ({"people": ("A\nuser service:display",)}, "person"),
        ({"people": ("A", "A")}, "person"),
        ({"place": "etc"}, "place"),
        ({"place": "/etc\nallow_anonymous true"}, "place"),
        ({"state": "/var/lib/x "}, "state"),
        ({"port": 0}, "port"),
        ({"loopback": 8883}, "loopback"),
        ({"bind": "pit.example"}, "bind"),
        ({"user": "root\nx"}, "user"),
        ({"plugins": "."}, "plugins"),
    ],
)
def test_nonsense_is_refused(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        plan(**changed)
    assert refused.value.field == field


def bridge(**changed: Any) -> BridgePlan:
    usual: dict[str, Any] = {"version": "2.0", "table": T07, "host": "pit.example"}
    return BridgePlan(**(usual | changed))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"table": T08}, "table"),
        ({"table": TableName("my hall", "main", "t07")}, "site"),
        ({"host": "pit example"}, "to"),
        ({"host": "-x"}, "to"),
        ({"port": 65536}, "to"),
        ({"place": "x"}, "place"),
    ],
)
def test_a_bridge_that_cannot_be_is_refused(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bridge(**changed)
    assert refused.value.field == field


def test_a_bridge_to_an_ipv6_address_names_it_without_brackets() -> None:
    """As Mosquitto reads it: all before the last colon is the address."""
    (text,) = bridge_files(bridge(host="2001:db8::7", port=8884)).values()
    assert ("address", "2001:db8::7:8884") in options(text)


def test_a_bridge_carries_one_table_and_takes_commands_only() -> None:
    (text,) = bridge_files(bridge()).values()
    topics = [value.split() for name, value in options(text) if name == "topic"]
    assert {topic for topic, direction, _ in topics if direction != "out"} == {f"{BASE}/cmd/#"}
    assert all(topic.startswith(f"{BASE}/") and qos == "1" for topic, _, qos in topics)


def test_no_persons_name_is_a_tables() -> None:
    assert person_identity("CHIEF 7") == "CHIEF 7"
    with pytest.raises(ConfigError):
        person_identity(table_identity(T07))
