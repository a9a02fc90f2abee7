"""Take the display's pages into docs/img: `python -m scripts.screenshots`, which `make screenshots` calls.

What is seen is a real table at which the recorded French session is dealt, in a pit of others that play by themselves.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, expect

from tablectl.ledger.pin import TableName
from tests.display.browser.stage import DREW_AGAIN, PIT, TABLE, Live, Seen, chromium, live
from tests.display.crowd import Player
from tests.display.screens import Teller
from tests.display.told import Told

INTO: Final = Path(__file__).resolve().parent.parent / "docs/img"
SIZES: Final = {"1920": (1920, 1080), "1280": (1280, 800), "phone": (390, 844)}
NEIGHBOURS: Final = 23
SINCE: Final = 25 * 60 * 1_000_000
"""Microseconds for which the other tables have played."""
STOPPED: Final = {4: "drew_on_17", 15: "illegal_action"}
ERRING: Final = {2: "late_bet", 9: "below_the_minimum"}
SPLIT: Final = 22
"""Chunks of the session after which box 3 has split."""
MOST_BYTES: Final = 3_000_000


@contextmanager
def _pit(at_table: Live) -> Iterator[None]:
    """Other tables, as they stand now."""
    now = time.time_ns() // 1000
    with Teller(at_table.stage.broker) as teller:
        for number in range(1, NEIGHBOURS + 2):
            name = TableName("site", "pit", f"bj{number:02}")
            if f"/table/{name}" == TABLE:
                continue
            teller.tells(_played(number, name, now))
        yield


def _played(number: int, name: TableName, now: int) -> Iterator[Told]:
    mistakes = [kinds[number] for kinds in (STOPPED, ERRING) if number in kinds]
    supervisor = None if number in STOPPED else "CHIEF7"
    table = Player(name, ("fr", "es", "lt")[number % 3], number, mistakes=mistakes, every=18, supervisor=supervisor)
    yield from table.begin()
    at, step = now - SINCE, 1_600_000 + 90_000 * (number % 11)
    last: dict[str, Told] = {}
    while at < now and (told := table.next(at)):
        for one in told:
            if one.channel in ("state", "prompt"):
                last[one.channel] = one
            elif one.channel in ("evt/round", "evt/alert"):
                yield one
        at += step
    yield from last.values()


def main() -> int:
    """Take them all. Gives 1 when they are larger than anybody wants to clone."""
    INTO.mkdir(parents=True, exist_ok=True)
    for old in INTO.glob("*.png"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder, live(Path(folder)) as at_table, _pit(at_table), chromium() as browser:
        at_table.deal(SPLIT)
        _take(at_table, browser, "dealer", f"{TABLE}/dealer")
        _take(at_table, browser, "table", TABLE)
        at_table.deal(len(at_table.chunks))
        at_table.card(DREW_AGAIN)
        _take(at_table, browser, "error", f"{TABLE}/dealer")
        _take(at_table, browser, "pit", PIT)
        at_table.rule("burn", "drawn by mistake")
        _take(at_table, browser, "surveillance", "/surveillance")
        _take(at_table, browser, "round", TABLE.replace("/table/", "/surveillance/round/") + "/1")
    taken = sum(path.stat().st_size for path in INTO.glob("*.png"))
    sys.stderr.write(f"{len(list(INTO.glob('*.png')))} pictures, {taken / 1e6:.1f} MB\n")
    return int(taken > MOST_BYTES)


def _take(at_table: Live, browser: Browser, name: str, path: str) -> None:
    for theme in ("dark", "light"):
        for label, size in SIZES.items():
            seen = Seen(browser, at_table.url(path), size=size, light=theme == "light")
            expect(seen.page.locator("html:not([data-grey]) main")).to_be_visible()
            seen.page.wait_for_timeout(700)
            picture = Image.open(io.BytesIO(seen.page.screenshot())).convert("RGB")
            few = picture.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
            few.save(INTO / f"{name}-{theme}-{label}.png", optimize=True)
            seen.close()


if __name__ == "__main__":
    sys.exit(main())
