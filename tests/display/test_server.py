"""The server as it runs, over a real Mosquitto: streams, catching up, what is grey, and what every answer carries."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from tablectl.display.guard import HEADERS
from tablectl.display.heard import Heard
from tablectl.display.view import picture
from tablectl.ledger.pin import TableName
from tests.broker import Broker
from tests.display.screens import Screens, Teller, eventually
from tests.display.test_view import DREW
from tests.display.told import SPLIT, Telling, Told, another, hears

NOWHERE = "hall/main/t%207"
SPLITS = ["8D", "TC"]
"""The second hand of box 3, when `SPLIT` is dealt."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("broker")) as made:
        yield made


@pytest.fixture(scope="module")
def screens(broker: Broker) -> Iterator[Screens]:
    with Screens(broker.url, "--aim", "60") as made:
        eventually(lambda: any("listening" in line for line in made.said))
        yield made


@pytest.fixture(scope="module")
def teller(broker: Broker) -> Iterator[Teller]:
    with Teller(broker) as made:
        yield made


@pytest.fixture
def table() -> Telling:
    """A table of its own for each test: what one heard is no other's."""
    return Telling(name=another())


def stream(table: Telling) -> str:
    return f"/events/table/{table.path}"


def cards(picture: Any) -> list[list[str]]:
    return [hand["cards"] for box in picture["boxes"] for hand in box["hands"]]


def test_a_page_follows_its_table(screens: Screens, teller: Teller, table: Telling) -> None:
    with screens.stream(stream(table)) as page:
        teller.tells(table.begin())
        page.wait("picture", lambda picture: picture["known"])
        teller.tells(told := list(table.feed(*SPLIT)))
        last = page.wait("picture", lambda picture: picture == after(table, told))
    assert last["lang"] == "fr"
    assert SPLITS in cards(last)
    assert last["told"]["now"] == "Case 3 (main 1), 18\N{NO-BREAK SPACE}: tirer, rester"
    assert last["told"]["next"] == "banque"


def after(table: Telling, told: list[Told]) -> Any:
    """The picture when all of this was heard; what comes between, such as a card whose prompt is still on its way, is another."""
    heard = Heard(table.name)
    hears(heard, [*table.begins, *told])
    return json.loads(msgspec.json.encode(picture(heard)))


def test_a_page_that_comes_late_sees_what_the_others_see(screens: Screens, teller: Teller, table: Telling) -> None:
    teller.tells(table.begin())
    teller.tells(told := list(table.feed(*SPLIT)))
    with screens.stream(stream(table)) as one:
        first = one.wait("picture", lambda picture: picture == after(table, told))
        for _ in range(20):
            with screens.stream(stream(table)) as another:
                assert another.wait("picture") == first


def test_last_event_id_brings_what_was_missed_and_nothing_else(screens: Screens, teller: Teller, table: Telling) -> None:
    teller.tells(table.begin())
    with screens.stream("/events/alerts") as page:
        page.wait("beat")
        teller.tells(table.feed(*DREW))
        page.wait("alert", lambda alert: (alert["table"], alert["code"]) == (table.path, "dealer.drew_on_17"))
        last = page.named("alert")[-1].id
    teller.tells(table.feed({"event": "ruling", "by": "CHIEF7", "do": "burn", "reason": ""}))
    for how in ({"last_event_id": last}, {}):
        path = "/events/alerts" if how else f"/events/alerts?last={last}"
        with screens.stream(path, **how) as again:
            ended = again.wait("alert")
            again.wait("beat")
            assert (ended["table"], ended["code"], ended["open"]) == (table.path, "dealer.drew_on_17", False)
            assert (ended["ended"], ended["ruled"]) == ("2026-11-30T06:00:17.000000Z", True)
            assert [event.name for event in again.events if event.name != "beat"] == ["alert"]


@pytest.mark.parametrize("last", ["deadbeef-7", "", "x", "-", "9" * 300, "ffffffff-99999999999999999999"])
def test_an_id_of_another_server_brings_all_anew(screens: Screens, teller: Teller, table: Telling, last: str) -> None:
    teller.tells(table.begin())
    with screens.stream(stream(table), last_event_id=last) as page:
        page.wait("picture", lambda picture: picture["known"])
        assert page.events[0].name == "reset"


def test_a_page_that_has_all_is_sent_nothing_but_the_time(screens: Screens, teller: Teller, table: Telling) -> None:
    teller.tells(table.begin())
    with screens.stream(stream(table)) as page:
        page.wait("picture", lambda picture: picture == after(table, []))
        last = page.named("picture")[-1].id
    with screens.stream(stream(table), last_event_id=last) as again:
        eventually(lambda: len(again.named("beat")) == 2)
        assert {event.name for event in again.events} == {"beat"}


def test_the_pit_sees_every_table_of_it_and_no_other(screens: Screens, teller: Teller, table: Telling) -> None:
    pit = table.name.pit
    for number in range(1, 4):
        teller.tells(Telling(name=TableName("hall", pit, f"t{number}"), session=f"{number:016d}").begin())
    teller.tells(Telling(name=TableName("hall", "vip", "v1"), session="f" * 16).begin())
    path = quote(pit)
    with screens.stream(f"/events/pit/hall/{path}") as page, screens.stream("/events/all") as every:
        eventually(lambda: "hall/vip/v1" in {event.data["path"] for event in every.named("row")})
        eventually(lambda: len({event.data["path"] for event in page.named("row")}) == 3)
        assert page.last("row")["aim"] == 60
        assert set(eventually(lambda: page.last("beat"))["tables"]) == {f"hall/{path}/t{number}" for number in range(1, 4)}


def test_a_table_may_be_named_alone_while_no_other_has_its_name(screens: Screens, teller: Teller, table: Telling) -> None:
    alone, pit = quote(table.name.table), quote(table.name.pit)
    teller.tells(table.begin())
    eventually(lambda: screens.get(f"/table/{alone}").code == 200)
    assert screens.get(f"/table/{alone}/dealer").code == 200
    assert screens.get(f"/pit/{pit}").code == 200
    teller.tells(Telling(name=TableName("hall", "vip", table.name.table), session="f" * 16).begin())
    eventually(lambda: screens.get(f"/table/{alone}").code == 404)
    assert screens.get(f"/table/hall/vip/{alone}").code == 200


def test_the_dealers_page_is_in_the_tables_language(screens: Screens, teller: Teller) -> None:
    table = Telling("lt", name=another())
    teller.tells(table.begin())
    eventually(lambda: '<html lang="lt"' in screens.get(f"/table/{table.path}/dealer", accept_language="es").body)
    assert '<html lang="es"' in screens.get(f"/table/{table.path}", accept_language="es").body


def test_a_reader_chooses_a_language_once(screens: Screens) -> None:
    chosen = screens.get("/?lang=lt")
    assert '<html lang="lt"' in chosen.body
    cookie = chosen.cookies[0].partition(";")[0]
    assert '<html lang="lt"' in screens.get("/surveillance", cookie=cookie, accept_language="fr").body
    assert '<html lang="en"' in screens.get("/?lang=xx").body


# Grey


def test_a_broker_that_freezes_and_a_table_that_falls_silent_grow_old_within_seconds(
    screens: Screens, teller: Teller, table: Telling, tmp_path: Path
) -> None:
    path = table.path
    with (
        Broker(tmp_path / "broker") as frozen,
        Screens(frozen.url) as others,
        others.stream("/events/all") as cold,
        screens.stream(stream(table)) as page,
    ):
        cold.wait("beat", lambda beat: beat["broker"] is not None and beat["broker"] < 2000)
        frozen.freeze()
        began = time.monotonic()
        try:
            teller.tells(table.begin())
            page.wait("beat", lambda beat: path in beat["tables"] and not beat["tables"][path]["beats"])
            teller.tells([Told("status", table.presence("online"))])
            page.wait("beat", lambda beat: path in beat["tables"] and beat["tables"][path]["beats"])
            cold.wait("beat", lambda beat: beat["broker"] > 5000)
            assert time.monotonic() - began < 7.0
            old = page.wait("beat", lambda beat: path in beat["tables"] and beat["tables"][path]["age"] > 5000)
            assert old["broker"] < 3000  # that broker is there, and the table is not heard
        finally:
            frozen.thaw()
        teller.tells([Told("status", table.presence("online"))])
        seen = len(page.events)
        eventually(lambda: [one for one in page.events[seen:] if one.name == "beat" and one.data["tables"][path]["age"] < 3000])
        eventually(lambda: cold.last("beat")["broker"] < 2000, 15)


def test_a_table_that_went_offline_is_offline(screens: Screens, teller: Teller, table: Telling) -> None:
    with screens.stream(stream(table)) as page:
        teller.tells(table.begin())
        page.wait("picture", lambda picture: picture["known"] and picture["online"])
        teller.tells([Told("status", table.presence("offline"))])
        page.wait("picture", lambda picture: not picture["online"])
        page.wait("beat", lambda beat: table.path in beat["tables"] and not beat["tables"][table.path]["online"])


@pytest.mark.slow
def test_a_broker_that_was_killed_is_found_again_and_the_open_page_catches_up(table: Telling, tmp_path: Path) -> None:
    with (
        Broker(tmp_path / "broker", persistent=True) as broker,
        Screens(broker.url) as screens,
        screens.stream(stream(table)) as page,
        Teller(broker) as teller,
    ):
        teller.tells(table.begin())
        teller.tells(table.feed(*SPLIT[:6]))
        page.wait("picture", lambda picture: ["AS"] in cards(picture))
        broker.kill()
        page.wait("beat", lambda beat: beat["why"] and beat["broker"] > 5000, 10)
        told = list(table.feed(*SPLIT[6:]))  # what happens meanwhile
        broker.start()
        with Teller(broker) as again:
            again.tells(table.begin())
            again.tells(told)
            page.wait("picture", lambda picture: SPLITS in cards(picture), 15)
            eventually(lambda: page.last("beat")["broker"] < 2000)


def test_a_server_without_a_broker_serves_and_says_so(tmp_path: Path) -> None:
    with Screens("mqtt://127.0.0.1:1") as screens, screens.stream("/events/all") as page:
        assert screens.get("/").code == 200
        beat = page.wait("beat", lambda beat: beat["why"])
        assert beat["broker"] is None
        assert screens.stop() == 0


# Every answer


PAGES = [
    "/",
    "/surveillance",
    f"/table/{NOWHERE}",
    f"/table/{NOWHERE}/dealer",
    "/pit/hall/main",
    "/static/base.css",
    "/words/fr",
    "/healthz",
]


@pytest.mark.parametrize(
    "path", [*PAGES, "/nothing", "/static/../server.py", "/static/nothing.js", "/words/xx", "/table/x", "/sign-in"]
)
def test_every_answer_has_the_headers(screens: Screens, path: str) -> None:
    answer = screens.get(path)
    assert answer.code in (200, 404)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] in ("no-store", "no-cache")
    assert "server" not in answer.headers


def test_the_policy_lets_in_nothing_from_elsewhere_and_nothing_inline(screens: Screens) -> None:
    policy = dict(part.split(" ", 1) for part in HEADERS["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert set(policy.values()) <= {"'none'", "'self'", "'script'"}
    for path in PAGES[:5]:
        body = screens.get(path).body
        assert "style=" not in body
        assert "<style" not in body
        assert "://" not in body
        assert body.count("<script") == body.count('<script type="module" src="/static/')
        assert not [name for name in ("onclick", "onload", "javascript:") if name in body]


def test_a_stream_has_the_headers_too(screens: Screens) -> None:
    with screens.stream("/events/all") as page:
        assert page.answer.headers["content-type"].startswith("text/event-stream")
        assert {name: page.answer.headers.get(name) for name in HEADERS} == HEADERS
        assert page.answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", f"/table/{NOWHERE}", "/events/all", "/surveillance"])
def test_there_is_nothing_to_write_to(screens: Screens, method: str, path: str) -> None:
    assert screens.ask(method, path, b"{}").code == 405


def test_another_sites_page_whose_name_points_here_is_told_nothing(screens: Screens) -> None:
    assert screens.get("/", host="evil.example").code == 421
    assert screens.get("/events/all", host="evil.example:8080").code == 421
    assert screens.get("/", host="localhost:1234").code == 200


def test_what_a_table_says_cannot_become_markup(screens: Screens, teller: Teller, table: Telling) -> None:
    name = TableName("<b>hall", "main", "<script>alert(1)</script>".replace("/", "|"))
    teller.tells(Telling(name=name).begin())
    with screens.stream("/events/all") as page:
        path = page.wait("row")["path"]
    for more in ("", "/dealer"):
        body = screens.get(f"/table/{path}{more}").body
        assert "<script>" not in body
        assert "<b>" not in body


def test_it_goes_when_it_is_told_to_although_pages_are_open(broker: Broker) -> None:
    with Screens(broker.url) as screens, screens.stream("/events/all") as page:
        page.wait("beat")
        began = time.monotonic()
        assert screens.stop() == 0
        assert time.monotonic() - began < 6


# Rounds, as heard


def test_a_round_is_shown_as_it_was_heard_and_one_that_was_not_is_not(screens: Screens, teller: Teller, table: Telling) -> None:
    teller.tells(table.begin())
    teller.tells(table.feed(*DREW))
    page = eventually(lambda: (found := screens.get(f"/surveillance/round/{table.path}/1")).body.count("4♥") == 2 and found)
    for said in ("06:00:16.000000Z", "La banque a tiré 4H à 18", "10♥"):
        assert said in page.body
    assert screens.get(f"/surveillance/round/{table.path}/2").code == 404
    assert screens.get(f"/surveillance/proof/{table.path}/1").code == 404


@pytest.mark.parametrize("typed", ["1", "2026-11-30%2006:00:10", "2026-11-30T06:00:10Z", "2026-11-30T07:00:10%2B01:00"])
def test_a_round_is_found_by_what_is_typed(screens: Screens, teller: Teller, table: Telling, typed: str) -> None:
    teller.tells(table.begin())
    teller.tells(table.feed(*DREW))
    found = eventually(lambda: (said := screens.get(f"/surveillance/find?table={table.path}&q={typed}")).code == 303 and said)
    assert (found.code, found.headers["location"]) == (303, f"/surveillance/round/{table.path}/1")


@pytest.mark.parametrize("typed", ["", "x", "2026-13-40", "-1", "9" * 50, "%00"])
def test_what_is_no_round_is_not_found(screens: Screens, typed: str) -> None:
    assert screens.get(f"/surveillance/find?table={NOWHERE}&q={typed}").code == 404
