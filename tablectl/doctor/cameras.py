"""Cameras: are they there, may the table open them, and is what they send a picture of the size that was calibrated.

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
from tablectl.errors import DeviceError, TablectlError
from tablectl.felt.calibration import Calibration, load
from tablectl.felt.camera import Camera, Dark, Frame
from tablectl.felt.capture import shown
from tablectl.felt.virtual import scene_file

__all__ = ["cameras"]

_FAULT = DeviceError.exit_code
_PORTS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
_PATIENCE = 3.0


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
            yield _looked(camera, found.source_of(camera), calibration, seconds)


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
    """One picture of it, or why there is none."""
    check, view = f"picture {camera.name}", calibration.views[camera.name]
    why = f"no picture came within {seconds:g} s"
    until = time.monotonic() + seconds
    with suppress(TablectlError), Camera(camera.name, source, size=view.size) as opened:
        while time.monotonic() < until:
            event = opened.take(0.2)
            if isinstance(event, Frame):
                return passed(check, f"{view.size[0]}x{view.size[1]}, as it was calibrated")
            if event is not None:
                why = event.why if not isinstance(event, Dark) else f"its picture is dark: {event.why}"
    return failed(check, why, f"tablectl calibrate felt --help, and look at what {shown(source)} shows", _FAULT)
