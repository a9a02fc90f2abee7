"""A table at work, its screens and real browsers: the daemon, an emulated shoe and pad, a Mosquitto, `tablectl display`.

What is dealt is the recorded French session, chunk by chunk, so that a test can look between two of them.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, Response, sync_playwright

from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import ask
from tablectl.mqtt.orders import RulingCommand
from tablectl.recording.importers import open_log
from tablectl.resources import data_folder
from tests.broker import Broker
from tests.display.screens import Screens, eventually
from tests.live.running import Stage, staged, until

__all__ = ["CHIEF", "DREW_AGAIN", "PIT", "TABLE", "Live", "Seen", "chromium", "chromium_path", "live"]

NAME: Final = TableName("site", "pit", "bj07")
TABLE: Final = f"/table/{NAME.site}/{NAME.pit}/{NAME.table}"
PIT: Final = f"/pit/{NAME.site}/{NAME.pit}"
CHIEF: Final = "chief-token-0123456789abcdef"
"""What the table chief signs in with."""
DREW_AGAIN: Final = b" [Game]<Card:2H> "
"""A card from the shoe after the dealer has finished."""
BURNED: Final = b" [Manual Burn Cards]<Card:2C> "
HAND_SECONDS: Final = 0.13
_OPEN: Final = """
[commands]
accept = ["open"]
"""
_TELLS: Final = (
    "addEventListener('securitypolicyviolation', e => console.error(`policy: ${e.effectiveDirective} ${e.blockedURI}`));"
)


def chromium_path() -> str:
    """Debian's Chromium."""
    found = shutil.which("chromium")
    assert found, "install chromium: apt-get install chromium"
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path())
        try:
            yield browser
        finally:
            browser.close()


class Seen:
    """A page that somebody looks at: `page`, all that its `console` said, its server's `answers`, and how often it was loaded."""

    def __init__(self, browser: Browser, url: str, *, size: tuple[int, int] = (1280, 800), light: bool = False, **context: Any):
        self._context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme="light" if light else "dark", **context
        )
        self._context.add_init_script(_TELLS)
        if light:
            self._context.add_init_script("try { localStorage.setItem('light', 'yes') } catch {}")
        self.page: Page = self._context.new_page()
        self.console: list[str] = []
        self.loads = 0
        self.page.on("console", lambda said: self._said(said.type, said.text))
        self.page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        self.page.on("load", lambda _: self._loaded())
        self.answers: list[Response] = []
        self.page.on("response", lambda answer: self.answers.append(answer))
        self.page.goto(url)

    def _said(self, kind: str, text: str) -> None:
        if kind != "verbose":  # a browser's advice to who writes pages
            self.console.append(f"{kind}: {text}")

    def _loaded(self) -> None:
        self.loads += 1

    def close(self) -> None:
        self._context.close()


class Live:
    """The table, its screens and how far the session is dealt."""

    def __init__(self, stage: Stage, screens: Screens) -> None:
        self.stage = stage
        self.screens = screens
        self.chunks = [chunk for chunk in open_log(data_folder("samples") / "fr.rec") if chunk.direction == "<"]
        self.dealt = 0
        self._others = False
        self._drawn = 0.0

    def url(self, path: str) -> str:
        """Where a page is."""
        return f"http://{self.screens.netloc}{path}"

    def next(self) -> None:
        """Let the next chunk of the session happen."""
        chunk = self.chunks[self.dealt]
        self.dealt += 1
        self._send(chunk.port, chunk.data)

    def anew(self, count: int = 0) -> None:
        """Begin the session again, with a new shoe, and deal so many chunks of it. What was begun before is finished."""
        if self.dealt:
            self.deal(len(self.chunks))
        self.dealt, self._others = 0, False
        self.deal(count)

    def whole(self) -> None:
        """The session is dealt to its end, and nothing happened since."""
        if self._others:
            self.anew()
        self.deal(len(self.chunks))

    def deal(self, count: int) -> None:
        """Deal on until so many chunks were sent; nothing where they were."""
        while self.dealt < count:
            self.next()

    def _send(self, port: str, data: bytes) -> None:
        """No hand is quicker: of cards that follow one another faster, a table complains."""
        if port == "shoe":
            time.sleep(max(0.0, self._drawn + HAND_SECONDS - time.monotonic()))
        device = self.stage.emulated.devices[port]
        device.send(data, 5.0)
        device.drained(5.0)
        if port == "shoe":
            self._drawn = time.monotonic()

    def card(self, frame: bytes) -> None:
        """Let the shoe say something that is not in the session."""
        self._others = True
        self._send("shoe", frame)

    def load_a_shoe_in_haste(self) -> None:
        """A new shoe, of which two cards are burned faster than a hand can."""
        self._others = True
        self._send("pad", b"L6C\n")
        self._send("shoe", BURNED)
        time.sleep(0.04)
        self.stage.emulated.devices["shoe"].send(BURNED, 5.0)

    def rule(self, do: str, reason: str) -> None:
        """What `tablectl rule` does."""
        expires = from_micros(time.time_ns() // 1000 + 20_000_000)
        order = RulingCommand(id=secrets.token_hex(16), expires=expires, do=do, by="CHIEF7", reason=reason)  # type: ignore[arg-type]
        ask(Address.parse(self.stage.broker.url), NAME, "ruling", order, seconds=10)


@contextmanager
def live(folder: Path, *options: str, broker: Broker | None = None) -> Iterator[Live]:
    """A French table that waits for its first shoe, and its screens; `options` are more of the display's."""
    with ExitStack() as stack:
        stage = stack.enter_context(staged(folder, broker=broker, name=NAME.table, house="fr", more=_OPEN))
        until(lambda: (folder / "store/ledger").is_dir())
        people = folder / "people.toml"
        people.touch(0o600)
        people.write_text(f'[[people]]\nname = "CHIEF7"\ntoken_sha256 = "{hashlib.sha256(CHIEF.encode()).hexdigest()}"\n')
        given = ("--lang", "fr", "--aim", "60", "--people", str(people), "--ledgers", str(folder / "store/ledger"), *options)
        screens = stack.enter_context(Screens(stage.broker.url, *given))
        eventually(lambda: screens.get(f"/table/{NAME.table}").code == 200)
        yield Live(stage, screens)
