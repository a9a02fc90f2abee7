"""From observations to the bytes of a shoe and a pad of any make, each with its habits.

The bytes are the encoder's. The habits follow from what the profile says of repeats: where an equal frame is the same message
(`same_frame`), each is sent three times under one number, which comes round after ten; where a thing held before a scanner is
read again (`held`), each is read one to three times, and every copy of a face is another pack's. A shoe that sends records writes
them in two parts. A device says what it can: a shoe does not know to which box a card went, most have no word for a new shoe,
and then the pad says it, or nobody does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.observations import CardDrawn, Insurance, Link, Observation, Ruling
from tablectl.shoe.decoder import Decoder
from tablectl.shoe.encoder import Encoder
from tablectl.shoe.ended import Records
from tablectl.shoe.profile import Held, Profile, SameFrame

__all__ = ["RESTARTED", "Message", "Script", "Voice"]

COPIES = 3
NUMBERS = 10
FIRST_PACK, PACKS = 11, 6

RESTARTED = Link(device="shoe", state="up", why="restarted")
"""What a shoe says of itself when it has been switched on again."""


class Message(NamedTuple):
    """What a device says of an observation: `observation` as a host reads it, and the same frame as often as it is sent."""

    port: str
    observation: Observation
    copies: tuple[bytes, ...]


class Voice:
    """One device that speaks. `port` is the name that its observations give it."""

    def __init__(self, profile: Profile, port: str) -> None:
        self.profile = profile
        self.port = port
        self._encoder = Encoder(profile)
        self._known: dict[Observation, Observation | None] = {}
        self._number = 0
        self._faces: Counter[Card] = Counter()

    def form(self, observation: Observation) -> Observation | None:
        """The observation as far as this device can say it; None when it has no words for it."""
        plain = replace(observation, at=None)
        if plain not in self._known:
            if len(self._known) > 4096:
                self._known.clear()
            self._known[plain] = next(filter(self._can_say, _forms(plain, self.profile.kind, self.port)), None)
        return self._known[plain]

    def say(self, observation: Observation) -> Message | None:
        """The message; None when the device has no words for it. Saying it is what moves its number on."""
        said = self.form(observation)
        if said is None:
            return None
        if said == replace(RESTARTED, device=self.port):
            self._number = 0
        frame = self._frame(said)
        self._number += 1
        copies = 1
        rule = self.profile.repeats
        if isinstance(rule, SameFrame):
            copies = COPIES
        elif isinstance(rule, Held) and self._name(frame) in rule.messages:
            copies += self._number % COPIES
        return Message(self.port, said, (frame,) * copies)

    def parts(self, frame: bytes) -> Iterator[bytes]:
        """A frame as the device writes it."""
        if isinstance(self.profile.frames[0], Records):
            cut = 1 + (self._number * 7) % (len(frame) - 1)
            yield frame[:cut]
            frame = frame[cut:]
        yield frame

    def _frame(self, said: Observation) -> bytes:
        values = {"seq": str(self._number % NUMBERS)}
        if isinstance(said, CardDrawn):
            more = {"pack": str(FIRST_PACK + self._faces[said.card] % PACKS), "no_read": ("NR", "?")[self._number % 2]}
            self._faces[said.card] += 1
            try:
                return self._encoder.observation(said, values | more)
            except ValueError:
                pass  # a scanner that knows its own packs alone
        return self._encoder.observation(said, values)

    def _name(self, frame: bytes) -> str | None:
        """What the profile calls the message in a frame."""
        return next((piece.message for piece in Decoder(self.profile).feed(frame) if piece.message), None)

    def _can_say(self, observation: Observation) -> bool:
        try:
            self._encoder.observation(observation, {"seq": "0"})
        except ValueError:
            return False
        return True


class Script:
    """A shoe and a pad that speak for one table."""

    def __init__(self, shoe: Profile, pad: Profile) -> None:
        self.shoe = Voice(shoe, "shoe")
        self.pad = Voice(pad, "pad")
        self.voices = {voice.port: voice for voice in (self.shoe, self.pad)}

    def can_say(self, observation: Observation) -> bool:
        """Whether one of the two has words for it."""
        return self._speaker(observation) is not None

    def message(self, observation: Observation) -> Message | None:
        """What goes over which line; None when neither device can say it."""
        speaker = self._speaker(observation)
        return speaker.say(observation) if speaker else None

    def _speaker(self, observation: Observation) -> Voice | None:
        return next((voice for voice in self.voices.values() if voice.form(observation) is not None), None)


def _forms(observation: Observation, kind: str, port: str) -> Iterator[Observation]:
    """The ways to say an observation, the fullest first. What is left out is what such a device cannot know."""
    if isinstance(observation, Link):
        yield replace(observation, device=port)
        return
    yield observation
    match observation:
        case CardDrawn():
            seen = replace(observation, source=kind)
            yield replace(seen, to="burn" if seen.to == "burn" else None)
            yield replace(seen, to=None)
        case Insurance(even_money=True):
            yield replace(observation, even_money=False)
        case Ruling():
            yield replace(observation, reason="")
        case _:
            pass
