"""What holds of every page in a real browser: it greys, catches up, keeps nothing stale, publishes nothing, shuts nobody out."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.broker import Broker, free_port
from tests.display.browser.stage import DREW_AGAIN, HAND_SECONDS, PIT, TABLE, Live, Seen, chromium, live
from tests.display.screens import Screens, eventually
from tests.live.running import Subscriber

PAGES = {
    "pit": PIT,
    "table": TABLE,
    "dealer": f"{TABLE}/dealer",
    "surveillance": "/surveillance",
    "round": TABLE.replace("/table/", "/surveillance/round/") + "/1",
    "sign in": "/sign-in",
}
FILLED = ("pit", "table", "dealer", "surveillance")
"""The pages that a script fills, from a stream."""
SPLIT_EIGHTS = 22
"""Chunks of the session, after which box 3 has split its eights."""
GREYS_SECONDS = 6.0
PASSWORD = "a-password-that-no-page-may-have"
TRIES = """async ({paths, broker, sockets}) => {
    const said = {};
    const settle = promise => Promise.race([promise, new Promise(done => setTimeout(() => done("nothing"), 1500))]);
    const body = '{"table":"site/pit/bj07","alert":1,"do":"void_round","by":"CHIEF7"}';
    const headers = {"content-type": "application/json", "x-tablectl": "page"};
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
        for (const path of paths) said[`${method} ${path}`] = (await fetch(path, {method, body, headers})).status;
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def sockets() -> int:
    """Where the broker would speak to browsers."""
    return free_port()


@pytest.fixture(scope="module")
def at_table(tmp_path_factory: pytest.TempPathFactory, sockets: int) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("live")
    settings = f"listener {sockets} 127.0.0.1\nprotocol websockets"
    with Broker(folder / "broker", settings=settings) as broker, live(folder, broker=broker) as made:
        made.deal(SPLIT_EIGHTS)
        yield made


def descriptors(screens: Screens) -> int:
    """Files and connections that the server has open."""
    return len(os.listdir(f"/proc/{screens.pid}/fd"))


# Grey, and fresh again


def test_a_broker_that_is_killed_greys_every_page_and_each_catches_up_without_a_reload(at_table: Live, browser: Browser) -> None:
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
    times = (len(at_table.chunks) - at_table.dealt) // 2
    _reloaded(at_table, browser, times, lambda: at_table.deal(at_table.dealt + 2))


@pytest.mark.slow
def test_two_hundred_reloads_leave_no_stale_state(tmp_path: Path, browser: Browser) -> None:
    with live(tmp_path) as made:
        made.stage.emulated.pause = HAND_SECONDS
        kilobytes = made.screens.kilobytes
        _reloaded(made, browser, 200, made.stage.emulated.step)
        assert made.screens.kilobytes < kilobytes + 20_000


# Reading only


def test_no_page_can_publish(at_table: Live, browser: Browser, sockets: int, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.touch(0o600)
    password.write_text(PASSWORD)
    broker = at_table.stage.broker
    account = ("--user", "display-user", "--password", str(password))
    with Screens(broker.url, *account) as screens, Subscriber(broker.port, "#", session="all") as heard:
        eventually(lambda: screens.get(TABLE).code == 200)
        for name in ("table", "surveillance"):
            seen = Seen(browser, f"http://{screens.netloc}{PAGES[name]}")
            expect(seen.page.locator("html:not([data-grey]) main")).to_be_visible()
            clients = broker.log().count("New client")
            given: dict[str, Any] = {
                "paths": ["/", "/ack", f"{TABLE}/cmd/ruling", "/events/all"],
                "broker": f"http://127.0.0.1:{broker.port}/",
                "sockets": f"ws://127.0.0.1:{sockets}/",
            }
            said = seen.page.evaluate(TRIES, given)
            assert {said.pop(key) for key in list(said) if key.startswith(("ws:", "fetch"))} == {"refused"}
            assert set(said.values()) <= {401, 403, 404, 405}
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


@pytest.mark.parametrize("light", [False, True], ids=["dark", "light"])
def test_axe_finds_no_serious_fault_and_the_policy_no_violation(at_table: Live, browser: Browser, light: bool) -> None:
    at_table.deal(len(at_table.chunks))
    at_table.card(DREW_AGAIN)
    looked_at = [name for name in PAGES if not light or name in ("pit", "table", "surveillance")]
    seen = Seen(browser, at_table.url(PAGES["pit"]), light=light)
    faults = {}
    for name in looked_at:
        seen.page.goto(at_table.url(PAGES[name]))
        if name in FILLED:
            expect(seen.page.locator("main")).to_contain_text("La banque a tiré 2H à 21")
        assert seen.page.locator("html[data-light]").count() == light
        faults[name] = _grave(seen)
    assert faults == {name: [] for name in looked_at}
    assert seen.console == []
    seen.page.evaluate("document.querySelector('h1, h2, input').style.setProperty('color', '#777')")
    seen.page.evaluate("document.querySelector('h1, h2, input').style.setProperty('background', '#888')")
    assert [fault.partition(":")[0] for fault in _grave(seen)] == ["color-contrast"]  # it would find one
    seen.close()
    at_table.rule("burn", "tirée après 21")


def _grave(seen: Seen) -> list[str]:
    """The faults that axe calls serious or critical, each with the element that has it."""
    found = Axe().run(seen.page).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {node['html']}" for one in grave for node in one["nodes"]]
