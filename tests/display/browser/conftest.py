"""One browser, one table and its screens for all of these tests: starting them takes longer than most of what they show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.broker import Broker, free_port
from tests.display.browser.stage import Live, chromium, live


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="session")
def sockets() -> int:
    """Where the broker would speak to browsers."""
    return free_port()


@pytest.fixture(scope="session")
def at_table(tmp_path_factory: pytest.TempPathFactory, sockets: int) -> Iterator[Live]:
    """A table that waits for a shoe, or at which the tests before were dealt; `Live.anew` begins the session again."""
    folder = tmp_path_factory.mktemp("live")
    settings = f"listener {sockets} 127.0.0.1\nprotocol websockets"
    with Broker(folder / "broker", settings=settings) as broker, live(folder, broker=broker) as made:
        yield made
