"""The server as it runs, over a real Mosquitto: streams, catching up, what is grey, and what every answer carries."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablectl.display.guard import HEADERS
from tablectl.ledger.pin import TableName
from tests.broker import Broker
from tests.display.screens import PATH, Screens, Teller, eventually
from tests.display.test_view import DREW
from tests.display.told import SPLIT, Telling, Told

TABLE = f"/events/table/{PATH}"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker", persistent=True) as made:
        yield made


@pytest.fixture
def screens(broker: Broker) -> Iterator[Screens]:
    with Screens(broker.url, "--aim", "60") as made:
        eventually(lambda: any("listening" in line for line in made.said))
        yield made


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    """A server whose tables have nothing to say, for many tests."""
    with Broker(tmp_path_factory.mktemp("broker")) as broker, Screens(broker.url) as made, Teller(broker) as teller:
        teller.tells(Telling().begin())
        eventually(lambda: made.get("/pit/main").code == 200)
        yield made


@pytest.fixture
def teller(broker: Broker) -> Iterator[Teller]:
    with Teller(broker) as made:
        yield made


def cards(picture: Any) -> list[list[str]]:
    return [hand["cards"] for box in picture["boxes"] for hand in box["hands"]]


def test_a_page_follows_its_table(screens: Screens, teller: Teller) -> None:
    table = Telling()
    with screens.stream(TABLE) as page:
        teller.tells(table.begin())
        page.wait("picture", lambda picture: picture["known"])
        teller.tells(table.feed(*SPLIT))
        last = page.wait("picture", lambda picture: ["8D", "TC"] in cards(picture) and picture["boxes"][1]["hands"][1]["acting"])
    assert last["lang"] == "fr"
    assert last["told"]["now"] == "Case 3 (main 1), 18\N{NO-BREAK SPACE}: tirer, rester"
    assert last["told"]["next"] == "banque"


def test_a_page_that_comes_late_sees_what_the_others_see(screens: Screens, teller: Teller) -> None:
    table = Telling()
    teller.tells(table.begin())
    teller.tells(table.feed(*SPLIT))
    with screens.stream(TABLE) as one:
        first = one.wait("picture", lambda picture: ["8D", "TC"] in cards(picture))
        for _ in range(20):
            with screens.stream(TABLE) as another:
                assert another.wait("picture") == first


def test_last_event_id_brings_what_was_missed_and_nothing_else(screens: Screens, teller: Teller) -> None:
    table = Telling()
    teller.tells(table.begin())
    with screens.stream("/events/alerts") as page:
        page.wait("beat")
        teller.tells(table.feed(*DREW))
        page.wait("alert", lambda alert: alert["code"] == "dealer.drew_on_17")
        last = page.named("alert")[-1].id
    teller.tells(table.feed({"event": "ruling", "by": "CHIEF7", "do": "burn", "reason": ""}))
    for how in ({"last_event_id": last}, {}):
        path = "/events/alerts" if how else f"/events/alerts?last={last}"
        with screens.stream(path, **how) as again:
            ended = again.wait("alert")
            again.wait("beat")
            assert (ended["code"], ended["open"]) == ("dealer.drew_on_17", False)
            assert ended["ended"] == "2026-11-30T06:00:17.000000Z"
            assert [event.name for event in again.events if event.name not in ("beat",)] == ["alert"]


@pytest.mark.parametrize("last", ["deadbeef-7", "", "x", "-", "9" * 300, "ffffffff-99999999999999999999"])
def test_an_id_of_another_server_brings_all_anew(screens: Screens, teller: Teller, last: str) -> None:
    table = Telling()
    teller.tells(table.begin())
    with screens.stream(TABLE, last_event_id=last) as page:
        page.wait("picture", lambda picture: picture["known"])
        assert page.events[0].name == "reset"


def test_a_page_that_has_all_is_sent_nothing_but_the_time(screens: Screens, teller: Teller) -> None:
    table = Telling()
    teller.tells(table.begin())
    with screens.stream(TABLE) as page:
        page.wait("picture", lambda picture: picture["known"])
        time.sleep(0.3)
        last = page.named("picture")[-1].id
    with screens.stream(TABLE, last_event_id=last) as again:
        eventually(lambda: len(again.named("beat")) == 2)
        assert {event.name for event in again.events} == {"beat"}


def test_the_pit_sees_every_table_of_it_and_no_other(screens: Screens, teller: Teller) -> None:
    for number in range(1, 4):
        teller.tells(Telling(name=TableName("hall", "main", f"t{number}"), session=f"{number:016d}").begin())
    teller.tells(Telling(name=TableName("hall", "vip", "v1"), session="f" * 16).begin())
    with screens.stream("/events/pit/hall/main") as pit, screens.stream("/events/all") as every:
        eventually(lambda: len({event.data["path"] for event in every.named("row")}) == 4)
        eventually(lambda: len({event.data["path"] for event in pit.named("row")}) == 3)
        assert pit.last("row")["aim"] == 60
        assert set(eventually(lambda: pit.last("beat"))["tables"]) == {f"hall/main/t{number}" for number in range(1, 4)}


def test_a_table_may_be_named_alone_while_no_other_has_its_name(screens: Screens, teller: Teller) -> None:
    teller.tells(Telling(name=TableName("hall", "main", "t1")).begin())
    eventually(lambda: screens.get("/table/t1").code == 200)
    assert screens.get("/table/t1/dealer").code == 200
    assert screens.get("/pit/main").code == 200
    teller.tells(Telling(name=TableName("hall", "vip", "t1"), session="f" * 16).begin())
    eventually(lambda: screens.get("/table/t1").code == 404)
    assert screens.get("/table/hall/vip/t1").code == 200


def test_the_dealers_page_is_in_the_tables_language(screens: Screens, teller: Teller) -> None:
    teller.tells(Telling("lt").begin())
    eventually(lambda: '<html lang="lt"' in screens.get(f"/table/{PATH}/dealer", accept_language="es").body)
    assert '<html lang="es"' in screens.get(f"/table/{PATH}", accept_language="es").body


def test_a_reader_chooses_a_language_once(idle: Screens) -> None:
    chosen = idle.get("/?lang=lt")
    assert '<html lang="lt"' in chosen.body
    cookie = chosen.cookies[0].partition(";")[0]
    assert '<html lang="lt"' in idle.get("/surveillance", cookie=cookie, accept_language="fr").body
    assert '<html lang="en"' in idle.get("/?lang=xx").body


# Grey


def age(page: Any) -> Any:
    return page.last("beat")["tables"].get(PATH)


def test_a_table_that_beats_and_falls_silent_grows_old(screens: Screens, teller: Teller) -> None:
    table = Telling()
    with screens.stream(TABLE) as page:
        teller.tells(table.begin())
        page.wait("beat", lambda beat: PATH in beat["tables"] and not beat["tables"][PATH]["beats"])
        teller.tells([Told("status", table.presence("online"))])
        page.wait("beat", lambda beat: PATH in beat["tables"] and beat["tables"][PATH]["beats"])
        old = page.wait("beat", lambda beat: PATH in beat["tables"] and beat["tables"][PATH]["age"] > 5000, 12)
        assert old["broker"] < 3000  # the broker is there, and the table is not heard
        teller.tells([Told("status", table.presence("online"))])
        time.sleep(1.2)
        assert age(page)["age"] < 3000


def test_a_table_that_went_offline_is_offline(screens: Screens, teller: Teller) -> None:
    table = Telling()
    with screens.stream(TABLE) as page:
        teller.tells(table.begin())
        page.wait("picture", lambda picture: picture["known"] and picture["online"])
        teller.tells([Told("status", table.presence("offline"))])
        page.wait("picture", lambda picture: not picture["online"], 2)
        page.wait("beat", lambda beat: PATH in beat["tables"] and not beat["tables"][PATH]["online"], 3)


def test_a_broker_that_is_frozen_grows_old_within_seconds(broker: Broker, screens: Screens) -> None:
    with screens.stream("/events/all") as page:
        page.wait("beat", lambda beat: beat["broker"] is not None and beat["broker"] < 2000)
        broker.freeze()
        frozen = time.monotonic()
        try:
            page.wait("beat", lambda beat: beat["broker"] > 5000, 10)
            assert time.monotonic() - frozen < 7.0
        finally:
            broker.thaw()
        page.wait("beat")
        eventually(lambda: page.last("beat")["broker"] < 2000, 15)


def test_a_broker_that_was_killed_is_found_again_and_the_open_page_catches_up(
    broker: Broker, screens: Screens, teller: Teller
) -> None:
    table = Telling()
    with screens.stream(TABLE) as page:
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
            page.wait("picture", lambda picture: ["8D", "TC"] in cards(picture), 15)
            eventually(lambda: page.last("beat")["broker"] < 2000)
    assert [line for line in screens.said if "listening" in line]


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
    f"/table/{PATH}",
    f"/table/{PATH}/dealer",
    "/pit/hall/main",
    "/static/base.css",
    "/words/fr",
    "/healthz",
]


@pytest.mark.parametrize(
    "path", [*PAGES, "/nothing", "/static/../server.py", "/static/nothing.js", "/words/xx", "/table/x", "/sign-in"]
)
def test_every_answer_has_the_headers(idle: Screens, path: str) -> None:
    answer = idle.get(path)
    assert answer.code in (200, 404)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] in ("no-store", "no-cache")
    assert "server" not in answer.headers


def test_the_policy_lets_in_nothing_from_elsewhere_and_nothing_inline(idle: Screens) -> None:
    policy = dict(part.split(" ", 1) for part in HEADERS["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert set(policy.values()) <= {"'none'", "'self'", "'script'"}
    for path in PAGES[:5]:
        body = idle.get(path).body
        assert "style=" not in body
        assert "<style" not in body
        assert "://" not in body
        assert body.count("<script") == body.count('<script type="module" src="/static/')
        assert not [name for name in ("onclick", "onload", "javascript:") if name in body]


def test_a_stream_has_the_headers_too(idle: Screens) -> None:
    with idle.stream("/events/all") as page:
        assert page.answer.headers["content-type"].startswith("text/event-stream")
        assert {name: page.answer.headers.get(name) for name in HEADERS} == HEADERS
        assert page.answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", f"/table/{PATH}", "/events/all", "/surveillance"])
def test_there_is_nothing_to_write_to(idle: Screens, method: str, path: str) -> None:
    assert idle.ask(method, path, b"{}").code == 405


def test_another_sites_page_whose_name_points_here_is_told_nothing(idle: Screens) -> None:
    assert idle.get("/", host="evil.example").code == 421
    assert idle.get("/events/all", host="evil.example:8080").code == 421
    assert idle.get("/", host="localhost:1234").code == 200


def test_what_a_table_says_cannot_become_markup(screens: Screens, teller: Teller) -> None:
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


def test_a_round_is_shown_as_it_was_heard_and_one_that_was_not_is_not(screens: Screens, teller: Teller) -> None:
    table = Telling()
    teller.tells(table.begin())
    teller.tells(table.feed(*DREW))
    page = eventually(lambda: (found := screens.get(f"/surveillance/round/{PATH}/1")).body.count("4♥") == 2 and found)
    for said in ("06:00:16.000000Z", "La banque a tiré 4H à 18", "10♥"):
        assert said in page.body
    assert screens.get(f"/surveillance/round/{PATH}/2").code == 404
    assert screens.get(f"/surveillance/proof/{PATH}/1").code == 404


@pytest.mark.parametrize("typed", ["1", "2026-11-30%2006:00:10", "2026-11-30T06:00:10Z", "2026-11-30T07:00:10%2B01:00"])
def test_a_round_is_found_by_what_is_typed(screens: Screens, teller: Teller, typed: str) -> None:
    table = Telling()
    teller.tells(table.begin())
    teller.tells(table.feed(*DREW))
    found = eventually(lambda: (said := screens.get(f"/surveillance/find?table={PATH}&q={typed}")).code == 303 and said)
    assert (found.code, found.headers["location"]) == (303, f"/surveillance/round/{PATH}/1")


@pytest.mark.parametrize("typed", ["", "x", "2026-13-40", "-1", "9" * 50, "%00"])
def test_what_is_no_round_is_not_found(idle: Screens, typed: str) -> None:
    assert idle.get(f"/surveillance/find?table={PATH}&q={typed}").code == 404
