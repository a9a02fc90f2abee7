"""What holds of every page in a real browser: it greys, catches up, keeps nothing stale, publishes nothing, shuts nobody out."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from starlette.routing import Mount, Route

from tablectl.display.access import Access
from tablectl.display.guard import Guard
from tablectl.display.hub import Clock, Hub
from tablectl.display.server import Display, application
from tests.display.browser.stage import DREW_AGAIN, HAND_SECONDS, PIT, TABLE, Live, Seen, live
from tests.display.screens import Screens, eventually
from tests.live.running import Subscriber

ROUND = TABLE.replace("/table/", "/surveillance/round/") + "/1"
PAGES = {
    "pit": PIT,
    "table": TABLE,
    "dealer": f"{TABLE}/dealer",
    "surveillance": "/surveillance",
    "round": ROUND,
    "sign in": "/sign-in",
    "no such page": f"/surveillance/find?table={PIT.removeprefix('/pit/')}/bj07&q=999999",
}
FILLED = ("pit", "table", "dealer", "surveillance")
"""The pages that a script fills, from a stream."""
SPLIT_EIGHTS = 22
"""Chunks of the session, after which box 3 has split its eights."""
RELOADS = 10
GREYS_SECONDS = 6.0
PASSWORD = "a-password-that-no-page-may-have"
ROUTES = {
    "/": "/",
    "/pit/{site}/{pit}": PIT,
    "/pit/{pit}": "/pit/pit",
    "/table/{site}/{pit}/{table}/dealer": f"{TABLE}/dealer",
    "/table/{table}/dealer": "/table/bj07/dealer",
    "/table/{site}/{pit}/{table}": TABLE,
    "/table/{table}": "/table/bj07",
    "/surveillance": "/surveillance",
    "/surveillance/find": "/surveillance/find?table=site/pit/bj07&q=1",
    "/surveillance/record": "/surveillance/record",
    "/surveillance/round/{site}/{pit}/{table}/{number:int}": ROUND,
    "/surveillance/proof/{site}/{pit}/{table}/{number:int}": ROUND.replace("/round/", "/proof/"),
    "/events/table/{site}/{pit}/{table}": "/events" + TABLE,
    "/events/pit/{site}/{pit}": "/events" + PIT,
    "/events/all": "/events/all",
    "/events/alerts": "/events/alerts",
    "/words/{language}": "/words/fr",
    "/sign-in": "/sign-in",
    "/sign-out": "/sign-out",
    "/ack": "/ack",
    "/healthz": "/healthz",
    "/static": "/static/base.css",
}
"""Every route of the server, and a path that takes it."""
TRIES = """async ({paths, broker, sockets}) => {
    const said = {};
    const settle = promise => Promise.race([promise, new Promise(done => setTimeout(() => done("nothing"), 1500))]);
    const body = '{"table":"site/pit/bj07","alert":1,"do":"void_round","by":"CHIEF7"}';
    const asked = {body, headers: {"content-type": "application/json", "x-tablectl": "page"}, redirect: "manual"};
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
        await Promise.all(paths.map(async path => said[`${method} ${path}`] = (await fetch(path, {method, ...asked})).status));
    for (const url of [sockets, `ws://${location.host}/`]) said[url] = await settle(new Promise(done => {
        const socket = new WebSocket(url, "mqtt");
        socket.onopen = () => done("open");
        socket.onerror = () => done("refused");
    }));
    said.fetch = await settle(fetch(broker, {method: "POST", body: "x", mode: "no-cors"}).then(() => "sent", () => "refused"));
    navigator.sendBeacon(broker, "x");
    const form = document.createElement("form");
    Object.assign(form, {method: "post", action: broker, target: "_blank"});
    document.body.append(form);
    form.submit();
    new Image().src = broker;
    await new Promise(done => setTimeout(done, 300));
    return said;
}"""
"""All ways in which a script on a page could speak to somebody."""


def descriptors(screens: Screens) -> int:
    """Files and connections that the server has open."""
    return len(os.listdir(f"/proc/{screens.pid}/fd"))


# Grey, and fresh again


def test_a_broker_that_is_killed_greys_every_page_and_each_catches_up_without_a_reload(at_table: Live, browser: Browser) -> None:
    at_table.anew(SPLIT_EIGHTS)
    pages = {name: Seen(browser, at_table.url(PAGES[name])) for name in FILLED}
    for seen in pages.values():
        expect(seen.page.locator("html:not([data-grey]) main")).to_be_visible()
    expect(pages["dealer"].page.locator("#now")).to_have_text("Case 3 (main 1), 18 : tirer, rester")

    at_table.stage.broker.kill()
    killed = time.monotonic()
    for seen in pages.values():
        left = killed + GREYS_SECONDS - time.monotonic()
        expect(seen.page.locator("html[data-grey=broker]")).to_have_count(1, timeout=max(1.0, 1000 * left))
        expect(seen.page.locator("#grey")).to_be_visible()
        expect(seen.page.locator("#grey")).to_have_text(re.compile(r"il\s+y\s+a\s+[5-9]\s+s"))
    at_table.next()  # the table is played on meanwhile
    at_table.next()
    at_table.stage.broker.start()
    for seen in pages.values():
        expect(seen.page.locator("html[data-grey]")).to_have_count(0, timeout=20_000)
        expect(seen.page.locator("#grey")).to_be_hidden()
    for name in ("dealer", "table"):
        expect(pages[name].page.locator("#now")).to_have_text("Carte à la case 5")
    for seen in pages.values():
        assert (seen.console, seen.loads) == ([], 1)
        seen.close()


def _reloaded(at_table: Live, browser: Browser, times: int, deal: Callable[[], object]) -> None:
    """Reload two pages so often while it is dealt on: each shows at once what a page that was never reloaded shows."""
    kept = {name: Seen(browser, at_table.url(PAGES[name])) for name in ("dealer", "table")}
    again = {name: Seen(browser, at_table.url(PAGES[name])) for name in kept}
    eventually(lambda: descriptors(at_table.screens) >= 4)
    before = descriptors(at_table.screens)
    for turn in range(times):
        deal()
        seen = again[("dealer", "table")[turn % 2]]
        seen.page.reload()
        for name in kept:
            _alike(again[name], kept[name])
    for name, seen in again.items():
        assert seen.loads == 1 + (times + (name == "dealer")) // 2
        assert seen.page.evaluate("Object.keys(localStorage).length + Object.keys(sessionStorage).length") == 0
        assert seen.page.evaluate("caches.keys().then(keys => keys.length)") == 0
        assert seen.page.evaluate("navigator.serviceWorker.getRegistrations().then(found => found.length)") == 0
        assert seen.console == []
    eventually(lambda: descriptors(at_table.screens) <= before + 2)  # no stream is left behind
    for seen in (*kept.values(), *again.values()):
        seen.close()


def _alike(one: Seen, other: Seen) -> None:
    eventually(lambda: _text(one) == _text(other) != "")


def _text(seen: Seen) -> str:
    return seen.page.locator("main").inner_text()


def test_reloads_leave_no_stale_state(at_table: Live, browser: Browser) -> None:
    if len(at_table.chunks) - at_table.dealt < RELOADS:
        at_table.anew(SPLIT_EIGHTS)
    _reloaded(at_table, browser, RELOADS, at_table.next)


@pytest.mark.slow
def test_two_hundred_reloads_leave_no_stale_state(tmp_path: Path, browser: Browser) -> None:
    with live(tmp_path) as made:
        made.stage.emulated.pause = HAND_SECONDS
        kilobytes = made.screens.kilobytes
        _reloaded(made, browser, 200, made.stage.emulated.step)
        assert made.screens.kilobytes < kilobytes + 20_000


# Reading only


def test_the_paths_that_are_tried_are_all_there_are() -> None:
    clock = Clock(lambda: 0, lambda: 0)
    guard = application(Display(Hub(clock), Access()))
    assert isinstance(guard, Guard)
    assert {route.path for route in guard.behind.routes if isinstance(route, Route | Mount)} == set(ROUTES)


def test_no_page_can_publish(at_table: Live, browser: Browser, sockets: int, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.touch(0o600)
    password.write_text(PASSWORD)
    broker = at_table.stage.broker
    account = ("--user", "display-user", "--password", str(password))
    with Screens(broker.url, *account) as screens, Subscriber(broker.port, "#", session="all") as heard:
        eventually(lambda: screens.get(TABLE).code == 200)
        seen = Seen(browser, f"http://{screens.netloc}{TABLE}")
        expect(seen.page.locator("html:not([data-grey]) main")).to_be_visible()
        clients = broker.log().count("New client")
        given: dict[str, Any] = {
            "paths": [*ROUTES.values(), f"{TABLE}/cmd/ruling", "/cmd/ack", "/mqtt"],
            "broker": f"http://127.0.0.1:{broker.port}/",
            "sockets": f"ws://127.0.0.1:{sockets}/",
        }
        said = seen.page.evaluate(TRIES, given)
        assert {said.pop(key) for key in list(said) if key.startswith(("ws:", "fetch"))} == {"refused"}
        assert said.pop("POST /sign-out") == 0  # leads to the first page, and publishes nothing
        assert set(said.values()) <= {401, 403, 404, 405}
        assert len(said) > 4 * len(ROUTES)
        assert broker.log().count("New client") == clients
        policy = " ".join(line for line in seen.console if "policy:" in line)
        for directive in ("connect-src", "form-action", "img-src"):
            assert directive in policy  # it is the browser that refuses
        bodies = [answer.text() for answer in seen.answers if answer.ok and answer.request.resource_type != "eventsource"]
        bodies += [
            str(seen.page.context.cookies()),
            seen.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])"),
        ]
        assert len(bodies) > 6
        for secret in (PASSWORD, "display-user", str(broker.port), "mqtt:"):
            assert not [body for body in bodies if secret in body]
        seen.close()
        assert not [
            one.topic for one in heard.messages if "/cmd/" in one.topic or not one.topic.startswith("tablectl/v1/site/pit/bj07")
        ]


# Nobody is shut out, and the policy is never broken


def test_axe_finds_no_fault_and_the_policy_no_violation(at_table: Live, browser: Browser) -> None:
    at_table.whole()
    at_table.card(DREW_AGAIN)
    seen = Seen(browser, at_table.url("/"))
    faults, console = {}, []
    for name, path in PAGES.items():
        seen.page.goto(at_table.url(path))
        if name in FILLED:
            expect(seen.page.locator("main")).to_contain_text("La banque a tiré 2H à 21")
        faults[name] = _faults(seen)
        if name in (*FILLED, "round"):
            seen.page.evaluate("document.documentElement.toggleAttribute('data-light', true)")
            faults[f"{name}, light"] = _faults(seen, "color-contrast")
        console += [line for line in seen.console if "404" not in line]
        seen.console.clear()
    assert {name: found for name, found in faults.items() if found} == {}
    assert console == []
    seen.page.evaluate("document.querySelector('h1').style.setProperty('color', '#777')")
    seen.page.evaluate("document.querySelector('h1').style.setProperty('background', '#888')")
    assert [fault.partition(":")[0] for fault in _faults(seen)] == ["color-contrast"]  # it would find one
    seen.close()
    at_table.rule("burn", "tirée après 21")


def _faults(seen: Seen, *rules: str) -> list[str]:
    """All that axe finds, the slightest too, each with the element that has it."""
    options = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    found = Axe().run(seen.page, options=options).response["violations"]
    return [f"{one['id']}: {node['html']}" for one in found for node in one["nodes"]]


FOCUSABLE = """() => [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")]
    .filter(node => node.checkVisibility({visibilityProperty: true}) && !node.disabled)
    .map((node, number) => { node.dataset.stop = number; return node.outerHTML; })"""
FOCUSED = """() => {
    const node = document.activeElement;
    const style = getComputedStyle(node);
    return [node.dataset.stop ?? "", style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
}"""


def test_the_keyboard_reaches_whatever_the_mouse_does_and_shows_where_it_is(at_table: Live, browser: Browser) -> None:
    at_table.deal(len(at_table.chunks))
    seen = Seen(browser, at_table.url("/"))
    for name, path in PAGES.items():
        with seen.page.expect_response("**/surveillance/record*") if name == "surveillance" else nullcontext():
            seen.page.goto(at_table.url(path))
        if name in FILLED:
            expect(seen.page.locator("html:not([data-grey]) main")).to_be_visible()
            seen.page.wait_for_timeout(200)  # what was just heard is drawn
        there = seen.page.evaluate(FOCUSABLE)
        reached = {}
        for _ in range(len(there) + 2):
            seen.page.keyboard.press("Tab")
            stop, is_seen = seen.page.evaluate(FOCUSED)
            reached[stop] = is_seen
        reached.pop("", None)  # the page itself, or the browser's own bar
        assert [there[number] for number in range(len(there)) if str(number) not in reached] == [], name
        assert all(reached.values()), name
    seen.close()


# Surveillance


def test_surveillance_finds_a_round_and_prints_all_of_it(at_table: Live, browser: Browser, tmp_path: Path) -> None:
    """A number typed, the keyboard alone; and then what a dispute needs stands on paper, in a PDF of the same page."""
    at_table.deal(len(at_table.chunks))
    seen = Seen(browser, at_table.url("/surveillance"))
    typed = seen.page.locator("input[name=q]")
    expect(seen.page.locator("select[name=table]")).to_have_value("site/pit/bj07")
    typed.focus()
    seen.page.keyboard.type("1")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_url("**/surveillance/round/site/pit/bj07/1*")
    deadline = time.monotonic() + 75
    while "sous la tête signée de" not in seen.page.inner_text("main"):  # a head is signed now and then
        assert time.monotonic() < deadline
        seen.page.wait_for_timeout(500)
        seen.page.reload()
    started = seen.page.locator("tr.event-decision time").first.get_attribute("datetime")
    assert started is not None
    text = _printed(seen, tmp_path / "round.pdf")
    for said in (
        "Coup 1, table bj07",
        "site / pit / bj07",
        started[:10],  # the day,
        started[11:],  # and the microsecond
        "8♥ 3♣ 10♥",  # a hand,
        "séparer",  # what was decided,
        "doubler",
        "les jetons",  # what was staked,
        "égalité, la mise reste",  # how it ended,
        "80,00",
        "Preuve",  # and what proves it
        "sous la tête signée de",
        "tablectl/v1/site/pit/bj07",
    ):
        assert said in text, (said, text)
    cards = ("A♠", "8♥", "10♦", "6♠", "K♦", "8♦", "6♠", "3♣", "10♥", "10♣", "9♥")
    events = text[text.index("Événement") :]
    places = [events.find(card) for card in cards[:4]]
    assert places == sorted(places)  # in the order in which they were dealt
    assert -1 not in places
    for screen in ("Se connecter", "Toutes les tables", "Imprimer", "JSON"):
        assert screen not in text  # what a paper cannot do
    seen.page.goto(at_table.url("/surveillance"))
    typed.fill(started.replace("T", " "))
    typed.press("Enter")
    seen.page.wait_for_url("**/surveillance/round/site/pit/bj07/1*")
    assert seen.console == []
    seen.close()


def _printed(seen: Seen, path: Path) -> str:
    """The text of the page as it is printed, on A4."""
    seen.page.pdf(path=path, format="A4")
    document = pypdfium2.PdfDocument(path)
    try:
        return re.sub(r"\s+", " ", " ".join(page.get_textpage().get_text_bounded() for page in document))
    finally:
        document.close()


def test_on_a_phone_what_happened_comes_first_and_filters_when_asked_for(at_table: Live, browser: Browser) -> None:
    at_table.deal(len(at_table.chunks))
    seen = Seen(browser, at_table.url("/surveillance"), size=(390, 844))
    row = seen.page.locator("tbody tr").first
    expect(row).to_be_in_viewport()
    assert seen.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    words = seen.page.locator("input[type=search]")
    expect(words).to_be_hidden()
    seen.page.get_by_text("Filtres").click()
    words.fill("no such thing")
    expect(seen.page.locator("tbody tr")).to_have_count(0)
    words.fill("")
    expect(row).to_be_visible()
    seen.page.get_by_label("À", exact=True).fill("2001")
    expect(seen.page.locator("tbody tr")).to_have_count(0)
    assert seen.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert seen.console == []
    seen.close()
