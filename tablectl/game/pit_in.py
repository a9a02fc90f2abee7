"""What comes from the devices and the supervisor: links, acknowledgements, the passing of time."""

from __future__ import annotations

from tablectl.game.state import State
from tablectl.instants import to_micros
from tablectl.notices import DeviceState, Status
from tablectl.observations import Ack, Link, Tick

__all__ = ["ack", "clock_set_back", "link", "tick"]


CAMERA = "camera"
"""The device that sees the felt. Without it the shoe alone counts, and the status says so."""
MOVED = "moved"
"""The word with which a camera's `why` begins when its markers are off their places."""

CLOCK_TOLERANCE_S = 2
"""Two ports stamped by one clock are never this far out of order, in seconds."""


def link(state: State, seen: Link) -> None:
    """A device came or went, or sent what cannot be read."""
    before = state.devices.get(seen.device)
    now = DeviceState(seen.state, seen.why)
    if seen.state == "down" and (before is None or before.state == "up"):
        code = "link.lost"
        if seen.device == CAMERA:
            code = "felt.camera_moved" if seen.why.startswith(MOVED) else "felt.camera_lost"
        state.alert(code, device=seen.device, why=seen.why or "no_reason")
    elif seen.why.startswith("corrupt"):
        state.alert("link.corrupt", device=seen.device, why=seen.why)
    if now != before:
        state.devices = {**state.devices, seen.device: now}
        state.say(Status, dict(sorted(state.devices.items())))


def clock_set_back(state: State, at: str) -> None:
    """A time earlier than the last: ports differ by a little, a clock that was set differs by more."""
    try:
        seconds = (to_micros(state.at or at) - to_micros(at)) // 1_000_000
    except ValueError:
        return
    if seconds >= CLOCK_TOLERANCE_S:
        state.alert("link.clock", seconds=seconds)


def ack(state: State, seen: Ack) -> None:
    """A supervisor has seen an alert: it is no longer open. What the game waits for still needs a ruling."""
    if state.supervisors is not None and seen.by not in state.supervisors:
        state.alert("action.not_authorised", action="ack", by=seen.by, refused="not_a_supervisor")
        return
    state.open_alerts = tuple(alert for alert in state.open_alerts if alert.id != seen.alert or alert in state.blockers)


def tick(state: State, _: Tick) -> None:
    """Time passed."""
