"""The process that watches one table's felt: cameras in, what was tracked out. It is `python -m tablectl.felt.watcher`.

It is a process of its own so that no picture ever holds up a card of the shoe: the interpreter's lock is not shared, and a low
priority leaves the processor to the table. A driver that hangs can be got rid of only with its process, too; the watcher then
ends with `STUCK`, and who started it (`tablectl.felt.watching`) starts another.

| thread | job |
|---|---|
| main | takes the newest pictures, looks, tracks, says |
| `tablectl-CAMERA` | one a camera: see `tablectl.felt.camera` |
| `tablectl-evidence` | packs and writes evidence |
| `tablectl-asked` | reads what the table asks |
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from tablectl.cards import Card
from tablectl.errors import DeviceError, InputError, TablectlError
from tablectl.felt.calibration import load
from tablectl.felt.camera import Camera, Frame
from tablectl.felt.capture import Source
from tablectl.felt.drift import look
from tablectl.felt.evidence import Evidence, Keep, Kept, Outlined
from tablectl.felt.footage import Footage
from tablectl.felt.render import RenderedFelt
from tablectl.felt.reports import Alive, CameraSays, Happened, Report, Settings, SourceSettings, Stands, Stop, encode, read_asked
from tablectl.felt.seeing import Seeing
from tablectl.felt.sharpening import eyes_for
from tablectl.felt.sighting import Sighting
from tablectl.felt.track import Tracker
from tablectl.felt.virtual import VirtualCamera, scene_file

__all__ = ["NICE", "STUCK", "Watcher", "main"]

NICE: Final = 10
STUCK: Final = 75
"""The exit code of a watcher whose camera's driver hangs: another should be started (EX_TEMPFAIL)."""
FRESH: Final = 0.5
"""Seconds for which one camera's picture goes together with the others' newer ones."""
DRIFT_EVERY: Final = 2.0
"""Seconds between two looks at whether a camera was moved: some 20 ms of each. Cards that lie meanwhile go to wrong boxes."""
WIDE_EVERY: Final = 10.0
"""Seconds between two searches of a whole picture, 120 ms at 3840x2160, while the markers are not where they were."""
SURE_AFTER: Final = 0.3
"""Seconds after which a second look must say so too."""
BLIND_EVERY: Final = 0.25
"""Seconds between two sightings while no camera sees anything: following must know that it is blind."""


class Watcher:
    """Watches until told to stop. `say` gets each report, in any thread."""

    def __init__(self, settings: Settings, say: Callable[[Report], object]) -> None:
        self._settings = settings
        self._say = say
        self._calibration = load(settings.calibration)
        self._seeing = Seeing(self._calibration, eyes_for(settings.calibration)[0])
        self._tracker = Tracker(self._calibration.layout.place_at)
        self._cameras = [self._camera(camera) for camera in settings.cameras]
        self._frames: dict[str, Frame] = {}
        self._orders: deque[Keep] = deque()
        self._stopping = False
        self._count = 0
        self._slowest = 0.0
        self._due_alive = self._due_blind = 0.0
        self._due_drift = dict.fromkeys(self._calibration.views, 0.0)
        self._due_wide = dict.fromkeys(self._calibration.views, 0.0)
        self._stands: dict[str, str] = {}
        self._suspected: dict[str, str] = {}

    def stop(self) -> None:
        """Have `run` end."""
        self._stopping = True

    def keep(self, order: Keep) -> None:
        """Keep the evidence of an alert."""
        self._orders.append(order)

    def run(self) -> int:
        """Watch. Gives the exit code: 0 when told to stop, `STUCK` when only another process helps."""
        with ExitStack() as stack:
            evidence = stack.enter_context(self._evidence()) if self._settings.evidence is not None else None
            for camera in self._cameras:
                stack.enter_context(camera)
            while not self._stopping:
                self._turn(evidence)
                if any(camera.is_stuck for camera in self._cameras):
                    return STUCK
        return 0

    def _evidence(self) -> Evidence:
        settings = self._settings
        video = Footage(Path(settings.video), settings.video_keep_mb) if settings.video is not None else None
        return Evidence(
            Path(settings.evidence or ""),
            self._say,
            keep_days=settings.evidence_keep_days,
            keep_mb=settings.evidence_keep_mb,
            footage=video,
        )

    def _camera(self, camera: SourceSettings) -> Camera:
        view = self._calibration.views.get(camera.name)
        if view is None:
            raise DeviceError("the calibration knows no such camera", where=camera.name)
        scene = scene_file(camera.source)
        source: Callable[[], Source] | None = None
        if scene is not None:
            felt = RenderedFelt(self._calibration.layout, view)

            def source() -> Source:
                return VirtualCamera(scene, felt, fps=camera.fps)

        return Camera(camera.name, camera.source, fps=camera.fps, size=view.size, source=source)

    # One turn

    def _turn(self, evidence: Evidence | None) -> None:
        """Take what the cameras have, look at it, and say what follows."""
        fresh = [camera.name for camera in self._cameras if self._taken(camera)]
        now = time.monotonic()
        if fresh:
            newest = max(frame.at for frame in self._frames.values())
            seen = {name: frame for name, frame in self._frames.items() if newest - frame.at <= FRESH * 1e6}
            sighting = self._seeing.look({name: frame.picture for name, frame in seen.items()}, newest)
            self._count += 1
            self._slowest = max(self._slowest, time.monotonic() - now)
            self._follow(sighting)
            if evidence is not None:
                for name in fresh:
                    evidence.see(self._frames[name], self._outlines(name, sighting))
        elif not self._frames and now >= self._due_blind:
            self._due_blind = now + BLIND_EVERY
            self._follow(Sighting(time.time_ns() // 1000, alive=False))
        for name in fresh:
            self._look_for_drift(self._frames[name], now)
        while self._orders:
            order = self._orders.popleft()
            if evidence is not None:
                evidence.keep(order)
            else:
                self._say(Kept(order.alert, (), "no evidence is kept"))
        if now >= self._due_alive:
            self._due_alive = now + 1.0
            self._say(Alive(time.time_ns() // 1000, self._count, self._seeing.read, round(self._slowest * 1000, 1)))
            self._count, self._seeing.read, self._slowest = 0, 0, 0.0

    def _look_for_drift(self, frame: Frame, now: float) -> None:
        """Now and then, see whether a camera still stands where it was calibrated. Hands over markers say nothing.

        A camera that was knocked far has none of them near its place: then the whole picture is searched.
        """
        name, layout = frame.camera, self._calibration.layout
        if now < self._due_drift[name]:
            return
        self._due_drift[name] = now + DRIFT_EVERY
        known, view = self._stands.get(name), self._calibration.views[name]
        drift = look(frame.picture, view, layout)
        if drift.state == "unseen" and (now >= self._due_wide[name] or name in self._suspected):
            self._due_wide[name] = now + WIDE_EVERY
            drift = look(frame.picture, view, layout, wide=True)
        if drift.state != known and drift.state in ("moved", "other_table") and self._suspected.get(name) != drift.state:
            self._suspected[name] = drift.state
            self._due_drift[name] = now + SURE_AFTER
            return
        self._suspected.pop(name, None)
        if drift.state == known or (drift.state == "unseen" and known is not None):
            return
        self._stands[name] = drift.state
        self._say(Stands(frame.at, frame.camera, drift.state, drift.mm))

    def _taken(self, camera: Camera) -> bool:
        """Take what a camera has to say; whether it has a new picture."""
        until = time.monotonic() + (0.1 if camera.is_well or len(self._cameras) == 1 else 0.0)
        while (event := camera.take(max(0.0, until - time.monotonic()))) is not None:
            if isinstance(event, Frame):
                self._frames[camera.name] = event
                return True
            state = type(event).__name__.lower()
            if state != "back":
                self._frames.pop(camera.name, None)
            sees = any(other.is_well for other in self._cameras)
            self._say(CameraSays(event.at, camera.name, state, event.why, sees))
        return False

    def _follow(self, sighting: Sighting) -> None:
        events = self._tracker.feed(sighting)
        if events:
            self._say(Happened(sighting.at, events))

    def _outlines(self, camera: str, sighting: Sighting) -> list[Outlined]:
        """The cards of a sighting in a camera's pixels."""
        view, made = self._calibration.views[camera], []
        for card in sighting.cards:
            corners = view.to_px(np.array(card.polygon)) if card.polygon else np.zeros((0, 2))
            if len(corners) and np.isfinite(corners).all():
                polygon = [(float(x), float(y)) for x, y in corners]
                made.append(Outlined(polygon, card.card.value, sure=card.card is not Card.UNREAD))
        return made


def main() -> int:
    """The process: settings on the first line of stdin, reports on stdout, words for the journal on stderr."""
    with suppress(OSError):
        os.nice(NICE)
    cv2.setNumThreads(1)
    lock = threading.Lock()

    def say(report: Report) -> None:
        with lock:
            sys.stdout.buffer.write(encode(report))
            sys.stdout.buffer.flush()

    try:
        settings = read_asked(sys.stdin.buffer.readline())
        if not isinstance(settings, Settings):
            raise InputError("the first line must be the settings")
        watcher = Watcher(settings, say)
        threading.Thread(target=_listen, args=(watcher,), name="tablectl-asked", daemon=True).start()
        code = watcher.run()
    except TablectlError as error:
        sys.stderr.write(f"{error}\n")
        code = error.exit_code
    except (BrokenPipeError, KeyboardInterrupt):
        code = 0  # who listened is gone
    sys.stderr.flush()
    os._exit(code)  # threads that hang in a driver hold up nothing


def _listen(watcher: Watcher) -> None:
    """Take what the table asks, until it closes the pipe."""
    for line in sys.stdin.buffer:
        with suppress(InputError):
            asked = read_asked(line)
            if isinstance(asked, Keep):
                watcher.keep(asked)
            elif isinstance(asked, Stop):
                break
    watcher.stop()


if __name__ == "__main__":
    sys.exit(main())
