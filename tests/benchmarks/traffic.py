"""What devices would have sent for legal play: streams for the decoders, and whole recordings for the replay."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from tablectl.emulator.dealer import LegalPlay
from tablectl.houses.rules import load as load_house
from tablectl.instants import to_micros
from tablectl.observations import Bet, CardDrawn, Decision, Insurance, NoMoreBets, Observation, ShoeLoaded
from tablectl.recording.chunks import Chunk
from tablectl.recording.native import Writer
from tablectl.shoe.encoder import Encoder
from tablectl.shoe.profile import Profile
from tablectl.shoe.profile import load as load_profile

__all__ = ["Sent", "alike", "noise", "record", "sent"]

BEGINS = "2026-11-30T12:00:00Z"
SHOE = (CardDrawn,)
PAD = (Bet, Decision, Insurance, NoMoreBets, ShoeLoaded)
THRICE = "angel-eye-ii"


class Sent(NamedTuple):
    """One write of a device, and its time."""

    at: str
    data: bytes


def sent(profile: Profile, rounds: int, seed: int = 1) -> Iterator[Sent]:
    """What this device sends in legal play; an Angel Eye numbers its messages and sends each three times."""
    say = _remembering(Encoder(profile))
    kinds = PAD if profile.kind == "pad" else SHOE
    thrice = profile.name == THRICE
    numbers = count(1)
    for observation in LegalPlay(load_house("fr").house, seed=seed, rounds=rounds, begins=BEGINS):
        if isinstance(observation, kinds):
            assert observation.at is not None
            data = say(_untimed(observation), str(next(numbers) % 10) if thrice else "")
            yield Sent(observation.at, data * 3 if thrice else data)


def noise(length: int, seed: int = 1) -> bytes:
    """Random bytes."""
    return random.Random(seed).randbytes(length)


def alike(data: bytes, seed: int = 1) -> bytes:
    """The bytes of `data` in random order: full of what a frame begins with, ends with and is made of."""
    return bytes(random.Random(seed).sample(data, len(data)))


def record(path: Path, house: str, stops: Collection[int], seed: int = 1) -> dict[int, int]:
    """Write a native recording of as many rounds as the most of `stops`: a bee-tek shoe and a dealer's pad.

    Gives, for each number of rounds in `stops`, how many bytes of the file are the recording of those rounds alone.
    """
    shoe, pad = (_remembering(Encoder(load_profile(name).profile)) for name in ("bee-tek", "dealer-pad"))
    play = LegalPlay(load_house(house).house, seed=seed, rounds=max(stops), begins=BEGINS, cut_card=False)
    lengths: dict[int, int] = {}
    closed, was_open = 0, False
    with path.open("wb") as file:
        writer = Writer(file, {"house": house, "profile.shoe": "bee-tek", "profile.pad": "dealer-pad"})
        for observation in play:
            assert observation.at is not None
            port, say = ("shoe", shoe) if isinstance(observation, SHOE) else ("pad", pad)
            writer.write(Chunk(to_micros(observation.at), port, "<", say(_untimed(observation), "")))
            closed += was_open and not play.table.round_open
            was_open = play.table.round_open
            if closed in stops and closed not in lengths:
                lengths[closed] = file.tell()
    return lengths


def _untimed(observation: Observation) -> Observation:
    return msgspec.structs.replace(observation, at=None)


def _remembering(encoder: Encoder) -> Callable[[Observation, str], bytes]:
    """The encoder, but quick: what devices say is little, and said again and again. Asked with a message's number."""

    @cache
    def say(observation: Observation, number: str) -> bytes:
        return encoder.observation(observation, {"seq": number})

    return say
