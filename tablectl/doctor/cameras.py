"""Cameras: are they there, may the table open them, and is what they send a picture of this table as it was calibrated.

And the deck: was one enrolled, which is how a deck is found that the reader misreads.

A camera that the running table has is left to it: many let in one reader only.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from tablectl.config import CameraConfig, ConfigFile
from tablectl.doctor.finding import Account, Finding, described, failed, passed, warned
from tablectl.doctor.record import Running
from tablectl.errors import ConfigError, DeviceError, TablectlError
from tablectl.felt.calibration import Calibration, find, load
from tablectl.felt.camera import Camera, Dark, Ended, Frame, Frozen, Lost
from tablectl.felt.capture import shown
from tablectl.felt.deck import load_deck
from tablectl.felt.drift import LIMIT_MM, look
from tablectl.felt.layout import Layout
from tablectl.felt.sharpening import MISREAD, eyes_for
from tablectl.felt.view import Picture, View
from tablectl.felt.virtual import scene_file

__all__ = ["cameras"]

_FAULT = DeviceError.exit_code
_PORTS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
_PATIENCE = 3.0
PART = 0.6
"""A picture is waited for this part of the time for which one listens on a port: a camera that is well sends at once."""
AGAIN = 2.0
"""Seconds for which a camera that has said what is wrong may still think better of it."""


def cameras(found: ConfigFile, account: Account, runs: Running, seconds: float) -> Iterator[Finding]:
    """What there is to say of each camera. `seconds` is how long one waits for a picture; while the table runs one does not."""
    if not found.config.cameras or found.calibration is None:
        yield passed("camera", "none is configured")
        return
    try:
        calibration = load(found.calibration)
    except TablectlError:
        return  # a fault of the configuration, and said there
    for warning in calibration.warnings:
        yield warned("calibration", warning, "tablectl calibrate --help")
    for camera in found.config.cameras:
        finding, is_there = _access(camera, found.source_of(camera), account)
        yield finding
        if is_there and runs.is_held:
            yield passed(f"camera {camera.name}", "is left to the table, which runs")
        elif is_there and seconds > 0 and scene_file(camera.source) is None and camera.name in calibration.views:
            yield _looked(camera, found.source_of(camera), calibration, seconds * PART)
    yield _deck(found.calibration)


def _access(camera: CameraConfig, source: str, account: Account) -> tuple[Finding, bool]:
    """What is to be said before it is opened, and whether it can be."""
    check, url = f"camera {camera.name}", urlsplit(source)
    scene = scene_file(source)
    if scene is not None:
        return passed(check, f"a rendered felt, by {scene}"), True
    if "://" in source:
        port = url.port or _PORTS.get(url.scheme, 554)
        try:
            socket.create_connection((url.hostname or "", port), _PATIENCE).close()
        except OSError as fault:
            mend = f"ping {url.hostname}, and see that it serves port {port}"
            return failed(check, f"{shown(source)} cannot be reached: {fault}", mend, _FAULT), False
        return passed(check, f"{shown(source)} answers"), True
    path = Path(f"/dev/video{source}" if source.isdigit() else source)
    if not path.exists():
        return failed(check, f"{path} is not there", "ls -l /dev/v4l/by-id", _FAULT), False
    if not account.may(Path(os.path.realpath(path)), 6 if path.is_char_device() else 4):
        mend = f"usermod -aG {described(path).rpartition(':')[2]} {account.name}"
        return failed(check, f"{path} ({described(path)}) may not be opened by {account.name}", mend, _FAULT), False
    return passed(check, f"{path} ({described(path)}) may be opened by {account.name}"), True


def _looked(camera: CameraConfig, source: str, calibration: Calibration, seconds: float) -> Finding:
    """One picture of it, and what that shows, or why there is none."""
    check, why = f"picture {camera.name}", f"no picture came within {seconds:g} s"
    until = time.monotonic() + seconds
    with suppress(TablectlError), Camera(camera.name, source) as opened:
        while time.monotonic() < until:
            event = opened.take(0.2)
            if isinstance(event, Frame):
                return _judged(check, event.picture, source, calibration.views[camera.name], calibration.layout)
            if isinstance(event, Lost | Dark | Frozen | Ended):
                why = event.why if not isinstance(event, Dark) else f"its picture is dark: {event.why}"
                until = min(until, time.monotonic() + AGAIN)
    return failed(check, why, f"tablectl calibrate felt --help, and look at what {shown(source)} shows", _FAULT)


def _judged(check: str, picture: Picture, source: str, view: View, layout: Layout) -> Finding:
    """Whether a picture is of this table, from where it was calibrated."""
    mend = f"look at what {shown(source)} shows; tablectl calibrate felt --help"
    size = (picture.shape[1], picture.shape[0])
    if size != view.size:
        text = f"its pictures are {size[0]}x{size[1]}, not {view.size[0]}x{view.size[1]} as it was calibrated"
        return failed(check, text, mend, _FAULT)
    drift, said = look(picture, view, layout, wide=True), f"{size[0]}x{size[1]}, as it was calibrated"
    if drift.state == "other_table":
        return failed(check, "it shows the markers of another table", mend, ConfigError.exit_code)
    if drift.state == "moved":
        text = f"it sees the felt {drift.mm:.1f} mm from where it was calibrated ({LIMIT_MM:g} is the most)"
        return failed(check, text, "tablectl calibrate felt --help", ConfigError.exit_code)
    if drift.state == "unseen":
        text = f"it sees {drift.found} of its {drift.of} markers: whether this is the table that was calibrated is not known"
        return warned(check, text, f"clear the felt; {mend}")
    if drift.state == "unwatched":
        return passed(check, f"{said}; it has no markers by which to know the table")
    if drift.peeled:
        return warned(check, f"marker {', '.join(map(str, drift.peeled))} lies elsewhere than calibrated", mend)
    return passed(check, f"{said}: {drift.found} of {drift.of} markers, {drift.mm:.1f} mm off")


def _deck(calibration: str) -> Finding:
    """Whether the deck was checked: one in colours that no house has is read wrongly, and only enrolling it shows that."""
    mend = "tablectl calibrate deck --help"
    try:
        outcome = eyes_for(calibration)[1] if load_deck(find(calibration)) is not None else None
    except TablectlError as error:
        return failed("deck", str(error), mend, error.exit_code)
    if outcome is None:
        return warned("deck", "none is enrolled: whether the reader can read this table's cards was not checked", mend)
    if not outcome.of:
        return warned("deck", f"whether the reader can read the enrolled deck is not known: it {outcome}", mend)
    if outcome.wrong > MISREAD * outcome.of:
        text = f"of the enrolled deck the reader reads {outcome.wrong} of {outcome.of} corners wrongly: deal another deck"
        return warned("deck", text, mend)
    return passed("deck", f"one is enrolled; it {outcome}")
