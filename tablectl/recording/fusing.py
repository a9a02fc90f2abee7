"""Shoe and felt fused, on the way from what was decoded to the game: live, in a replay and in an audit alike.

What following saw of the felt comes as remarks of the kind `felt`, with the time of their chunk; what comes out are observations.
The ledger holds what came out, so it is folded again without this; a live table keeps what fusion knows beside its ledger, in
`latest` under `FUSED`, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from tablectl.felt import sighting
from tablectl.fusion import Fusion, State
from tablectl.game.table import Table
from tablectl.instants import to_micros
from tablectl.recording.sources import Remark, Seen

__all__ = ["FUSED", "decode_state", "encode_state", "fused", "state_of"]

FUSED: Final = "fusion"
"""Where in the ledger's `latest` stands what fusion knows: a `State` as JSON."""

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(State)

encode_state = _ENCODER.encode
decode_state = _DECODER.decode


def state_of(table: Table) -> State:
    """What fusion knows where a ledger begins: which devices are there; not what lies on the felt, for no round is on."""
    devices = {name: device.state == "up" for name, device in table.devices.items()}
    now = to_micros(table.at) if table.at is not None else 0
    camera = devices.get("camera", False)
    return State(camera=camera, shoe=devices.get("shoe", True), camera_since=now if camera else 0, now=now)


def fused(fusion: Fusion, found: Iterable[Seen | Remark]) -> Iterator[Seen | Remark]:
    """Fuse what was decoded. Each observation must be taken in by the table before the next is asked for."""
    for each in found:
        if isinstance(each, Seen):
            if fusion.passes(each.observation):
                yield each
                continue
            for observation in fusion.take(each.observation):
                yield Seen(each.where, observation)
        elif each.kind != "felt":
            yield each
        else:
            try:
                event = sighting.decode(each.body)
            except msgspec.MsgspecError:
                continue  # another version's: what it says is not known, and nothing follows from it
            for observation in fusion.take(event, to_micros(each.at) if each.at is not None else None):
                yield Seen(each.where, observation)
