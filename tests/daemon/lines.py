"""Legal play as the chunks that its shoe and pad would send."""

from __future__ import annotations

from collections.abc import Iterator

from tablectl.emulator.dealer import LegalPlay
from tablectl.houses import rules
from tablectl.instants import to_micros
from tablectl.observations import CardDrawn, CutCard
from tablectl.recording.chunks import Chunk
from tablectl.shoe import profile as profiles
from tablectl.shoe.encoder import Encoder

__all__ = ["BEGINS", "chunks_of"]

BEGINS = to_micros("2026-11-30T12:00:00Z")
SECOND = 1_000_000


def chunks_of(house: str, *, seed: int, rounds: int, begins: int = BEGINS) -> Iterator[Chunk]:
    """Legal rounds as bytes: a message a chunk, half of the shoe's cut in two."""
    voices = {"shoe": Encoder(profiles.load("bee-tek").profile), "pad": Encoder(profiles.load("dealer-pad").profile)}
    at = begins
    for index, observation in enumerate(LegalPlay(rules.load(house).house, seed=seed, rounds=rounds, cut_card=False)):
        port = "shoe" if isinstance(observation, CardDrawn | CutCard) else "pad"
        data = voices[port].observation(observation)
        at += SECOND
        if port == "shoe" and index % 2:
            yield Chunk(at, port, "<", data[:7])
            data, at = data[7:], at + 20_000
        yield Chunk(at, port, "<", data)
