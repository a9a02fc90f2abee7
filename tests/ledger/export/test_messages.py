"""Syslog and ONVIF events: held against the grammar of RFC 5424 and the rules for MQTT topics, and what they never say."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from tablectl.ledger.export import FORMATS
from tablectl.ledger.export.formats import Options
from tablectl.ledger.export.onvif import TOPICS
from tablectl.ledger.export.selecting import select
from tablectl.ledger.export.speaking import WHAT
from tablectl.ledger.export.syslog import LONGEST
from tests.ledger.export.written import Written

HEAD = re.compile(
    rb"<(?P<pri>[1-9]\d{0,2})>1 (?P<at>-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) (?P<host>[!-~]{1,255}) (?P<app>[!-~]{1,48}) "
    rb"(?P<process>[!-~]{1,128}) (?P<id>[!-~]{1,32}) (?P<data>(?:\[[!-~]+?(?: [!-~]{1,32}?=\"(?:[^\"\\\]]|\\[\"\\\]])*\")*\])+) "
    rb"\xef\xbb\xbf(?P<text>.*)",
    re.DOTALL,
)
PARAMETER = re.compile(rb" ([a-zA-Z_]+)=\"((?:[^\"\\\]]|\\.)*)\"")


def syslog(path: Path, **options: object) -> list[dict[str, str]]:
    file = io.BytesIO()
    FORMATS["syslog"].write(select([path]), file, Options(**options))  # type: ignore[arg-type]
    found = []
    for line in file.getvalue().splitlines():
        match = HEAD.fullmatch(line)
        assert match, line
        assert len(line) <= LONGEST
        parameters = {name.decode(): re.sub(r"\\(.)", r"\1", value.decode()) for name, value in PARAMETER.findall(match["data"])}
        found.append({**{name: value.decode() for name, value in match.groupdict().items()}, **parameters})
    return found


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "day.db")


def test_an_alert_is_a_message_with_its_severity_time_and_facts(written: Written) -> None:
    written.alert(1.5, "drawn back", "critical", "shoe.pulled_back", number=7)
    written.alert(2, "well", "warning")
    written.alert(3, "so", "info")
    first, *rest = syslog(written.close(), hostname="pit pc\n1")
    assert (first["pri"], first["at"], first["host"], first["app"], first["id"], first["text"]) == (
        str(16 * 8 + 2),
        "2026-11-30T06:00:00.001500Z",
        "pit-pc-1",
        "tablectl",
        "alert",
        "drawn back",
    )
    assert (first["site"], first["pit"], first["table"], first["box"], first["alert"], first["code"], first["sequenceId"]) == (
        *("hall", "main", "t07"),
        *("3", "7", "shoe.pulled_back", "3"),
    )
    assert [one["pri"] for one in rest] == [str(16 * 8 + 4), str(16 * 8 + 6)]


def test_whatever_the_words_are_a_message_is_one_line_of_at_most_2048_bytes(written: Written) -> None:
    for number, text in enumerate(['"]\\ <1>', "\x00\r\n1 2 3\x85\u2028", "ė" * 5000, "]" * 3000]):
        written.alert(number, text, number=number)
    messages = syslog(written.close())
    assert len(messages) == 4
    assert messages[0]["text"] == '"]\\ <1>'
    assert messages[1]["text"] == " 1 2 3 "
    assert set(messages[2]["text"]) == {"ė"}  # cut between two letters


def test_an_event_has_onvifs_form_and_a_topic_that_can_be_published(written: Written) -> None:
    written.alert(1.5, "drawn back", number=7)
    file = io.BytesIO()
    assert FORMATS["onvif"].write(select([written.close()]), file, Options(prefix="vms/")) == 1
    line = json.loads(file.getvalue())
    assert line["topic"] == "vms/onvif-ej/tns:tablectl/Table/Alert/&t07"
    payload = line["payload"]
    assert list(payload) == ["UtcTime", "Source", "Data"]
    assert (payload["UtcTime"], payload["Source"]) == ("2026-11-30T06:00:00.001500Z", {"Table": "hall/main/t07"})
    assert payload["Data"]["Id"].endswith("-3")
    assert (payload["Data"]["Text"], payload["Data"]["Alert"], payload["Data"]["AckRequired"]) == ("drawn back", "7", "true")
    assert all(isinstance(value, str) for value in payload["Data"].values())


def test_everything_that_is_told_has_a_topic() -> None:
    assert set(TOPICS) == set(WHAT)
    assert not any(set(topic) & set("#+") for topic in TOPICS.values())


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"jsonl", "csv", "parquet"}))
def test_no_feed_says_what_is_left_in_the_shoe(name: str, tmp_path: Path) -> None:
    written = Written(tmp_path / "day.db", carried='{"books":{"order":"Xc9Q"}}')
    for number in range(20):
        written.dealt(number * 1000, number)
        written.alert(number * 1000 + 500, "so", number=number)
    file = io.BytesIO()
    assert FORMATS[name].write(select([written.close()]), file, Options()) >= 20
    said = file.getvalue().decode().lower()
    assert not re.search(r"remaining|drawn|books|order|300", said)
