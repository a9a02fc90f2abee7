"""ONVIF-style events over a real Mosquitto: all arrive, also when the broker was away; and whether the feed is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tablectl.cli.audit_feed import feed
from tablectl.errors import TablectlError, UsageError
from tablectl.mqtt.address import Address
from tablectl.mqtt.listener import Heard, Listener
from tests.broker import Broker, free_port
from tests.cli.samples import start
from tests.feeds.receivers import until
from tests.ledger.export.written import Written

HERE = "hall/main/t07/onvif-ej/tns:tablectl/Feed/Connection/&t07"
ALERTS = "hall/main/t07/onvif-ej/tns:tablectl/Table/Alert/&t07"


@pytest.fixture
def written(tmp_path: Path) -> Written:
    (tmp_path / "ledger").mkdir()
    return Written(tmp_path / "ledger" / "2026-11-30.db")


def hear(listener: Listener, heard: list[Heard]) -> list[Heard]:
    heard += listener.turn(0.1)
    return heard


def test_events_arrive_in_order_and_the_feed_says_that_it_is_there(written: Written, tmp_path: Path) -> None:
    for number in range(1, 6):
        written.alert(number, "ė", number=number)
    with Broker(tmp_path / "broker") as broker:
        listener = Listener(Address.parse(broker.url), "#")
        feed.main(["onvif", str(written.close()), "--to", broker.url, "--once"], standalone_mode=False)
        heard: list[Heard] = []
        until(lambda: len(hear(listener, heard)) == 7)
        listener.close()
    events = [(one.topic, json.loads(one.payload)) for one in heard]
    assert [topic for topic, _ in events] == [HERE, *[ALERTS] * 5, HERE]
    assert [event["Data"]["Alert"] for topic, event in events if topic == ALERTS] == ["1", "2", "3", "4", "5"]
    assert [event["Data"] for topic, event in events if topic == HERE] == [{"State": "up"}, {"State": "down"}]


def test_nothing_is_lost_while_the_broker_is_away(written: Written, tmp_path: Path) -> None:
    with Broker(tmp_path / "broker", persistent=True) as broker:
        words = ["--to", broker.url, "--position", str(tmp_path / "onvif.place")]
        process = start("audit", "feed", "onvif", written.path.parent, *words)
        try:
            assert process.stderr is not None
            assert b"followed" in process.stderr.readline()
            listener = Listener(Address.parse(broker.url), ALERTS)
            written.alert(1, "one", number=1)
            heard: list[Heard] = []
            until(lambda: hear(listener, heard))
            listener.close()
            broker.kill()
            written.alert(2, "while the broker is away", number=2)
            assert b"nothing is told at the moment" in process.stderr.readline()
            broker.start()
            listener = Listener(Address.parse(broker.url), "hall/#")
            heard.clear()
            until(lambda: any(one.topic == ALERTS for one in hear(listener, heard)))
            assert [json.loads(one.payload)["Data"]["Alert"] for one in heard if one.topic == ALERTS] == ["2"]
            process.kill()  # no goodbye: the broker says it
            heard.clear()
            until(lambda: hear(listener, heard))
            assert (heard[0].topic, json.loads(heard[0].payload)["Data"]) == (HERE, {"State": "down"})
            listener.close()
        finally:
            process.kill()
            process.wait(10)
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                stream.close()
    written.close()


def test_a_broker_that_is_not_there_is_named(written: Written) -> None:
    written.alert(1, "one")
    url = f"mqtt://127.0.0.1:{free_port()}"
    with pytest.raises(TablectlError, match=f"{url}: cannot be told"):
        feed.main(["onvif", str(written.close()), "--to", url, "--once"], standalone_mode=False)


@pytest.mark.parametrize("prefix", ["a/#", "+/a", "/"])
def test_a_prefix_that_is_no_topic_is_refused(prefix: str, written: Written) -> None:
    with pytest.raises(UsageError):
        feed.main(["onvif", str(written.close()), "--to", "mqtt://127.0.0.1", "--prefix", prefix], standalone_mode=False)
