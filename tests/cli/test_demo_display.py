"""The display of `tablectl demo`: its pages while the cards fall, what becomes of it afterwards, and when it does not start."""

from __future__ import annotations

import http.client
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tablectl.cli import demo_display, main
from tests.cli.demos import NOTHING, STAYS, Demo, left, page_of
from tests.display.browser.stage import Seen, chromium
from tests.processes import named
from tests.terminal import Terminal


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Where the demo may leave nothing."""
    place = tmp_path / "temporary"
    place.mkdir()
    return place


def fetched(netloc: str, path: str, form: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(netloc, timeout=15)
    try:
        if form is None:
            connection.request("GET", path)
        else:
            connection.request("POST", path, form, {"content-type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def cards(picture: Any, box: int) -> list[list[str]]:
    return [hand["cards"] for one in picture["boxes"] if one["box"] == box for hand in one["hands"]]


def test_its_pages_are_there_while_the_cards_fall(temporary: Path) -> None:
    with Demo("--house", "fr", "--no-felt", temporary=temporary) as demo:
        netloc = demo.netloc
        demo.until("AS  to box 1.0")
        for path in (
            "/",
            "/table/demo/demo/fr",
            "/table/demo/demo/fr/dealer",
            "/pit/demo/demo",
            "/surveillance",
            "/static/table.js",
        ):
            assert fetched(netloc, path)[0] == 200
        with page_of(netloc, "fr") as page:
            page.wait("picture", lambda picture: cards(picture, 1) == [["AS", "KD"]])
            page.wait("picture", lambda picture: cards(picture, 3) == [["8H", "3C", "TH"], ["8D", "TC"]])
        assert demo.end() == 0
        with pytest.raises(ConnectionRefusedError):
            fetched(netloc, "/healthz")
    assert "  round 2: staked 35.00, returned 15.00, carried 0.00" in demo.lines
    assert left(temporary) == NOTHING


def test_on_a_terminal_it_stays_and_tells_when_it_dies(temporary: Path) -> None:
    """That Ctrl-C ends it well is seen where the picture is."""
    with Terminal("demo", "--house", "es", "--no-felt", "--speed", "2", rows=60, env={"TMPDIR": str(temporary)}) as terminal:
        terminal.until(STAYS, 60)
        address = next(found[1] for line in terminal.screen.shown if (found := re.search(r"stays at http://(\S+)", line)))
        code, page = fetched(address, "/table/demo/demo/es")
        assert (code, "<script" in page) == (200, True)
        with page_of(address, "es") as stream:
            assert cards(stream.wait("picture"), 2) == [["9S", "8D"]], "the table lives on: its last round lies there"
        token = next(found[1] for line in terminal.screen.lines if (found := re.search(r"sign in with ([0-9a-f]{16})$", line)))
        assert [fetched(address, "/sign-in", f"token={one}")[0] for one in (token, "0" * 16)] == [303, 403]
        (display,) = {*named(temporary)} & {*named("people.toml")} - {*named("setpriv")}
        os.kill(display, signal.SIGKILL)
        assert terminal.end() == 1
        assert any(line.startswith("tablectl: the display ended with exit code -9") for line in terminal.screen.lines)
    assert left(temporary) == NOTHING


def test_a_display_that_does_not_start_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_display, "HOST", "192.0.2.1")  # nobody's: RFC 5737
    assert main.run(["demo", "--house", "fr", "--no-felt"]) == 1
    said = capsys.readouterr().err
    assert re.fullmatch(r"tablectl: the display ended with exit code 2: .*--listen.*\n", said), said


@pytest.mark.slow
def test_shoe_felt_and_display_together(temporary: Path) -> None:
    """A card goes from the shoe over the felt to a browser's picture of the table; on a busy machine, past the felt."""
    with chromium() as browser, Demo("--house", "fr", temporary=temporary) as demo:
        seen = Seen(browser, f"http://{demo.netloc}/table/demo/demo/fr")
        demo.until("to box 3.0 = 8")
        expect(seen.page.locator("[data-box='3']")).to_have_attribute("aria-label", re.compile("8H"), timeout=20_000)
        expect(seen.page.locator("[data-box='1']")).to_have_attribute("aria-label", re.compile("AS KD"), timeout=20_000)
        assert demo.end() == 0
        assert not [line for line in seen.console if "policy" in line]
        seen.close()
    assert left(temporary) == NOTHING
    assert "  round 1: staked 80.00, returned 105.00, carried 20.00" in demo.lines
    assert "  round 2: staked 35.00, returned 15.00, carried 0.00" in demo.lines
    told = "\n".join(demo.lines)
    assert "19 of 19 cards at rest" in told or "they were unplugged" in told or "not ready in time" in told
