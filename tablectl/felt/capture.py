"""Where a live camera's pictures come from: a V4L2 device, an address on the network, a video, a folder of pictures, a pipe.

A source is asked by one thread alone, and may keep that thread for ever: a device that comes back while it is opened says that it
is open, and `read` never returns. Who asks needs a time-out of his own (see `tablectl.felt.camera`).
"""

from __future__ import annotations

import os
import re
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import cv2
import numpy as np

from tablectl.errors import DeviceError, InputError, TablectlError
from tablectl.felt.sources import folder_pictures, is_camera, read_picture
from tablectl.felt.view import Picture

__all__ = ["Source", "checked_source", "opened", "quiet", "shown"]

PACE = 15.0
"""Pictures a second of a folder, and of a video that does not say."""
NETWORK_MS = 5000
"""How long FFmpeg may wait for a host, where it keeps to that."""
RTSP_OPTIONS = "rtsp_transport;tcp"
"""Over UDP a lost packet is a smeared picture."""
PORTS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
KNOCK_S = 2.0
"""How long a host is knocked at that sent nothing, to be told apart from one that is not there."""


class Source(Protocol):
    """One opened camera. `grab` waits for the next picture, `retrieve` decodes the one that was grabbed."""

    live: bool
    """Whether it goes on for ever, and every two pictures of it differ by the sensor's noise."""

    def grab(self) -> bool:
        """Wait for the next picture; False: there is none. It may never return."""

    def retrieve(self) -> Picture | None:
        """The picture that was grabbed; None where it cannot be decoded."""

    def close(self) -> None:
        """Let go of it."""


def checked_source(address: str) -> str:
    """An address that can be one: `0`, `/dev/...`, `rtsp://...`, or a path. Raises `DeviceError` for another kind of address."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", address)
    if not address or "\0" in address:
        raise DeviceError("is no camera", where=address)
    if scheme and scheme[1].lower() not in ("rtsp", "rtsps", "http", "https"):
        raise DeviceError(
            "is no camera's address: rtsp:// rtsps:// http:// https://, a device, a file or a folder", where=shown(address)
        )
    return address


def shown(address: str) -> str:
    """An address as it may be told: without its password."""
    return re.sub(r"(://)[^/@]*@", r"\1", address)


def opened(address: str, size: tuple[int, int] | None = None) -> Source:
    """Open a camera; `size` is what a device is asked for, in pixels.

    Raises `DeviceError`, `InputError`: nothing is there, no camera, no picture in it. It may never return.
    """
    quiet()
    path = Path(address)
    if "://" in address:
        return _network(checked_source(address))
    if is_camera(address):
        return _device(address, size)
    if path.is_dir():
        return Folder(path)
    try:
        mode = path.stat().st_mode
    except OSError as fault:
        raise InputError(fault.strerror or str(fault), where=address) from None
    if stat.S_ISFIFO(mode):
        return _Capture(cv2.VideoCapture(address, cv2.CAP_FFMPEG), address, live=True)
    if not stat.S_ISREG(mode):
        raise InputError("is no video", where=address)
    return _Capture(cv2.VideoCapture(address, cv2.CAP_FFMPEG), address, live=False)


def quiet() -> None:
    """Have OpenCV and FFmpeg keep their words to themselves: what is wrong is told by us, and without addresses of memory."""
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")


def _device(address: str, size: tuple[int, int] | None) -> Source:
    path = f"/dev/video{int(address)}" if address.isdigit() else os.path.realpath(address)
    try:
        if not stat.S_ISCHR(os.stat(path).st_mode):
            raise DeviceError("is no camera", where=address)
    except OSError as fault:
        raise DeviceError(f"{path}: {fault.strerror}", where=address) from None
    if not os.access(path, os.R_OK | os.W_OK):
        raise DeviceError(f"no permission to open {path}: is the user in the group video?", where=address)
    camera = cv2.VideoCapture(path, cv2.CAP_V4L2)
    # MJPG, or a 4K camera sends two pictures a second over USB; few buffers, or what is read is old.
    wanted = {cv2.CAP_PROP_FOURCC: cv2.VideoWriter.fourcc(*"MJPG"), cv2.CAP_PROP_BUFFERSIZE: 2}
    if size is not None:
        wanted |= {cv2.CAP_PROP_FRAME_WIDTH: size[0], cv2.CAP_PROP_FRAME_HEIGHT: size[1]}
    for key, value in wanted.items():
        camera.set(key, value)
    return _Capture(camera, address, live=True)


def _network(address: str) -> Source:
    os.environ.setdefault("OPENCV_FFMPEG_CAPTURE_OPTIONS", RTSP_OPTIONS)
    waits = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, NETWORK_MS, cv2.CAP_PROP_READ_TIMEOUT_MSEC, NETWORK_MS]
    capture = cv2.VideoCapture(address, cv2.CAP_FFMPEG, waits)
    if not capture.isOpened():
        capture.release()
        raise DeviceError(_no_video(address), where=shown(address))
    return _Capture(capture, address, live=True)


def _no_video(address: str) -> str:
    """Why there is no video at an address, as far as a knock at its port tells."""
    try:
        url = urlsplit(address)
        host, port = url.hostname or "", url.port or PORTS[url.scheme.lower()]
    except ValueError as fault:
        return f"is no address: {fault}"
    try:
        socket.create_connection((host, port), timeout=KNOCK_S).close()
    except TimeoutError:
        return f"{host} does not answer"
    except OSError as fault:
        return f"cannot be reached: {fault.strerror or fault}"
    return "answers, but sends no video: are its path, user and password right?"


class _Capture:
    """OpenCV's capture. A video plays at its own pace."""

    def __init__(self, capture: cv2.VideoCapture, address: str, *, live: bool) -> None:
        self.live = live
        self._capture = capture
        if not capture.isOpened():
            capture.release()
            raise DeviceError("cannot be opened, or sends no video", where=shown(address))
        fps = 0.0 if live else capture.get(cv2.CAP_PROP_FPS)
        self._pace = Pace(None if live else fps if 0.1 < fps < 1000 else PACE)

    def grab(self) -> bool:
        self._pace.wait()
        return bool(self._capture.grab())

    def retrieve(self) -> Picture | None:
        done, picture = self._capture.retrieve()
        if not done or picture is None:
            return None
        return np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR) if picture.ndim == 2 else picture, np.uint8)

    def close(self) -> None:
        self._capture.release()


class Folder:
    """The pictures of a folder, by name, one after the other, `pace` a second. Raises `InputError` when there are none."""

    live = False

    def __init__(self, folder: Path, pace: float = PACE) -> None:
        self._files = iter(folder_pictures(folder))
        self._pace = Pace(pace)
        self._picture: Picture | None = None

    def grab(self) -> bool:
        self._pace.wait()
        for file in self._files:
            with suppress(TablectlError):  # one that is damaged is passed over
                self._picture = read_picture(file)
                return True
        return False

    def retrieve(self) -> Picture | None:
        return self._picture

    def close(self) -> None:
        self._picture = None


class Pace:
    """So many a second, and no catching up; None waits for nothing."""

    def __init__(self, per_second: float | None) -> None:
        self._gap = 1 / per_second if per_second else 0.0
        self._due = 0.0

    def wait(self) -> None:
        """Sleep until the next one is due."""
        now = time.monotonic()
        if now < self._due:
            time.sleep(self._due - now)
        self._due = max(now, self._due) + self._gap
