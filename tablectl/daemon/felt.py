"""The felt of a live table: what its watcher reports, taken in by the game's thread; and evidence, asked for and entered.

The watcher is a process of its own (`tablectl.felt.watching`). What was tracked waits in the table's inbox in its order, and
none of it is lost; that the watcher lives is looked at only when somebody asks. The table knows one device `camera`: it is up
while all its cameras see the felt from where they were calibrated.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self

import msgspec

from tablectl.errors import ConfigError
from tablectl.felt.calibration import load
from tablectl.felt.evidence import File, Keep, Kept
from tablectl.felt.reports import Alive, CameraSays, Happened, Settings, SourceSettings, Stands
from tablectl.felt.watching import WatcherDown, Watching, WatchingEvent, WatchingPatience
from tablectl.fusion import CAMERA
from tablectl.instants import from_micros, to_micros
from tablectl.notices import Alert, Notice
from tablectl.observations import Link

if TYPE_CHECKING:
    from tablectl.config import ConfigFile
    from tablectl.daemon.table import LiveTable

__all__ = ["EvidenceEntry", "FeltWatch", "settings_of"]

MOST: Final = 64
"""Alerts whose evidence is asked for or waited for at one time."""
TOO_MANY: Final = "too many alerts at once"
WAITS: Final = "it has not begun yet"
"""Why a camera is not there that was not heard of yet."""


class EvidenceEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the ledger says of an alert's evidence: files in STORAGE/evidence; `why` is what is missing, in words."""

    alert: int
    code: str
    at: str
    """When the alert was raised."""
    files: tuple[File, ...] = ()
    why: str = ""


def settings_of(file: ConfigFile, storage: Path) -> Settings:
    """What a watcher is told of this table. Raises `ConfigError` for a calibration or a camera that is none."""
    config = file.config
    felt, calibration = config.felt, file.calibration
    assert felt is not None
    assert calibration is not None
    try:
        views = load(calibration).views
    except ConfigError as error:
        raise file.fault("felt.calibration", str(error)) from None
    for index, camera in enumerate(config.cameras):
        if camera.name not in views:
            raise file.fault(f"cameras[{index}].name", f"the calibration has no such camera; it has {', '.join(views)}")
    return Settings(
        calibration,
        tuple(SourceSettings(camera.name, file.source_of(camera), camera.fps) for camera in config.cameras),
        evidence=str(storage / "evidence"),
        evidence_keep_days=felt.evidence_keep_days,
        evidence_keep_mb=felt.evidence_keep_mb,
        video=str(storage / "video") if felt.raw_video else None,
        video_keep_mb=felt.raw_video_keep_mb,
    )


class FeltWatch:
    """A table's felt, watched while this is entered. `put` gets what the watcher reports, in another thread, and may wait.

    All else belongs to the game's thread: `hear` each notice, `take` what was put, `ask` after a commit, `close` at the end.
    """

    def __init__(
        self,
        settings: Settings,
        put: Callable[[WatchingEvent], object],
        *,
        log: Callable[[str], object],
        clock: Callable[[], int],
        patience: WatchingPatience = WatchingPatience(),  # noqa: B008 (a NamedTuple cannot be changed)
    ) -> None:
        self.alive: Alive | None = None
        """How the watcher did, the last time it said so."""
        self._put = put
        self._log = log
        self._cameras = [camera.name for camera in settings.cameras]
        self._away = dict.fromkeys(self._cameras, WAITS)
        self._moved: dict[str, str] = {}
        self._began_anew = True  # a watcher has read the calibration, and it has not been looked which that is
        self._link: tuple[Literal["up", "down"], bool] | None = None  # its state, and whether it was moved
        self._due: list[Keep] = []
        self._asked: dict[int, Keep] = {}
        self._watching = Watching(settings, self._deliver, clock=clock, patience=patience)

    def __enter__(self) -> Self:
        self._watching.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the watcher finish its evidence, and end it: what it then reports was put before this returns."""
        self._watching.close()

    def _deliver(self, event: WatchingEvent) -> None:
        if isinstance(event, Alive):
            self.alive = event
        else:
            self._put(event)

    # What is reported

    def take(self, table: LiveTable, event: WatchingEvent) -> None:
        """Have the table take in what the watcher reported."""
        if isinstance(event, Happened):
            for tracked in event.events:
                table.see(tracked)
        elif isinstance(event, Kept):
            self._enter(table, event)
        elif isinstance(event, WatcherDown):
            self._log(f"the watcher of the felt has ended: {event.why}")
            self._away = dict.fromkeys(self._cameras, f"the watcher ended: {event.why}")
            self._began_anew = True
            self._moved.clear()
            self._link_to(table)
            for alert in list(self._asked):
                self._enter(table, Kept(alert, (), f"the watcher ended: {event.why}"))
        elif isinstance(event, CameraSays):
            self._look_again(table)
            if event.state == "back":
                self._away.pop(event.camera, None)
            else:
                self._away[event.camera] = f"{event.state}: {event.why}"
            self._link_to(table, event.why)
        elif isinstance(event, Stands):
            self._stands(event)
            self._link_to(table, "it stands where it was calibrated")

    def _look_again(self, table: LiveTable) -> None:
        """Have the calibration pinned that a watcher has read which began anew."""
        if not self._began_anew:
            return
        self._began_anew = False
        try:
            table.look_again()
        except ConfigError as error:
            self._log(f"what the cameras measure by is no longer known: {error}")

    def _stands(self, event: Stands) -> None:
        if event.state == "moved":
            self._moved[event.camera] = "its markers are not where they were" if event.mm is None else f"by {event.mm:.1f} mm"
        elif event.state == "other_table":
            self._moved[event.camera] = "it shows another table's markers"
        elif event.state == "still":
            self._moved.pop(event.camera, None)

    def _link_to(self, table: LiveTable, why: str = "") -> None:
        """Tell the table of its camera when that has changed: one that is gone comes before one that was moved."""
        gone = next(((name, what) for name, what in self._away.items() if what != WAITS), None)
        moved = next(iter(self._moved.items()), None)
        link: tuple[Literal["up", "down"], bool] = ("up", False)
        if gone is not None:
            link, why = ("down", False), f"{gone[0]}: {gone[1]}"
        elif moved is not None:
            link, why = ("down", True), f"moved: {moved[0]}: {moved[1]}"
        elif self._away:
            return  # some have not begun yet
        if link != self._link:
            self._link = link
            table.observe(Link(device=CAMERA, state=link[0], why=why[:500]))

    # Evidence

    def hear(self, notices: tuple[Notice, ...]) -> None:
        """Hear what was said: an alert of warning or above is to have its evidence, once it is committed."""
        for notice in notices:
            if isinstance(notice, Alert) and notice.severity != "info" and notice.at is not None:
                self._due.append(Keep(notice.id, notice.code, to_micros(notice.at)))

    def ask(self, table: LiveTable) -> None:
        """Ask for the evidence of what was committed."""
        due, self._due = self._due, []
        for order in due:
            full = len(self._asked) >= MOST
            self._asked[order.alert] = order
            if full or not self._watching.keep(order):
                self._enter(table, Kept(order.alert, (), TOO_MANY if full else "nobody watches the felt"))

    def settle(self, table: LiveTable) -> None:
        """At the end, enter that what was asked for did not come."""
        for alert in list(self._asked):
            self._enter(table, Kept(alert, (), "the table was stopped first"))

    def _enter(self, table: LiveTable, kept: Kept) -> None:
        order = self._asked.pop(kept.alert, None)
        if order is not None:
            entry = EvidenceEntry(order.alert, order.code, from_micros(order.at), kept.files, kept.why[:500])
            table.enter_evidence(msgspec.json.encode(entry))
