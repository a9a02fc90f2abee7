"""A felt without pictures: legal rounds as a shoe, a pad and a camera's sightings would report them, at 15 frames a second.

Cards fly, lie fanned, are parted, laid across and collected by hands that cover them. A frame misreads, misses and trembles as
its `Noise` says. What the table makes of it comes by the real way: following, the events as lines, fusion, the game.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from tablectl.cards import PACK, Card
from tablectl.emulator.dealer import LegalPlay
from tablectl.felt.sighting import Point, SeenCard, Sighting, Tracked, decode, encode
from tablectl.felt.track import Tracker
from tablectl.fusion import Fusion, State
from tablectl.game.table import Table
from tablectl.houses.rules import House
from tablectl.instants import from_micros, to_micros
from tablectl.notices import Alert, Dealt, Notice, Outcome
from tablectl.observations import CardDrawn, Decision, Link, Observation, Tick
from tablectl.places import BoxPlace, Place

__all__ = ["FRAME", "SECOND", "Lying", "Noise", "Scene", "Session", "place_at", "slot"]

BEGINS = to_micros("2026-11-30T20:00:00Z")
SECOND = 1_000_000
FRAME = SECOND // 15


def place_at(point: Point) -> int | Literal["dealer"] | None:
    """Seven boxes side by side, 400 mm wide, and the dealer's place above them."""
    x, y = point
    if 0 <= y <= 200 and 900 <= x <= 1900:
        return "dealer"
    return 7 - int(x // 400) if 300 <= y <= 700 and 0 <= x < 2800 else None


def slot(place: Place, index: int) -> Point:
    """Where a hand's card of this index lies: each covers all but the corner of the one before."""
    if isinstance(place, BoxPlace):
        return ((7 - place.box) * 400 + 370 - 78.0 * (place.hand or 0), 650 - 16.0 * index)
    return (1000 + 20.0 * index, 100.0)


@dataclass
class Lying:
    """A card that really lies on the felt."""

    card: Card
    place: Place
    centre: Point
    angle: float = 90.0
    shown: bool = True


@dataclass(frozen=True)
class Noise:
    """What a frame suffers: shares of its cards, and millimetres. `hands` is the chance that an arm begins to hide a box."""

    right: float = 0.98
    wrong: float = 1 / 5000
    missed: float = 0.005
    trembles: float = 1.2
    hands: float = 0.01
    flicker: float = 0.002


CALM = Noise(right=1.0, wrong=0.0, missed=0.0, trembles=0.0, hands=0.0, flicker=0.0)


@dataclass
class Scene:
    """What lies on the felt, and how a camera sees it."""

    rng: random.Random
    noise: Noise = CALM
    cards: list[Lying] = field(default_factory=list)
    blind: bool = False
    arms: dict[int, int] = field(default_factory=dict)  # boxes (0: the dealer's) that are hidden, until when

    def lay(self, card: Card, place: Place, *, across: bool = False) -> Lying:
        lying = Lying(card, place, slot(place, len(self.hand(place))), 0.0 if across else 90.0)
        self.cards.append(lying)
        return lying

    def hand(self, place: Place) -> list[Lying]:
        return [lying for lying in self.cards if lying.place == place]

    def sighting(self, at: int) -> Sighting:
        rng, noise = self.rng, self.noise
        if rng.random() < noise.hands:
            self.arms[rng.randint(0, 7)] = at + rng.randint(2, 12) * FRAME
        self.arms = {box: until for box, until in self.arms.items() if until > at}
        if self.blind or rng.random() < noise.flicker:
            return Sighting(at, alive=rng.random() < 0.5) if not self.blind else Sighting(at, alive=False)
        covered = tuple(_region(box) for box in self.arms)
        seen = [
            self._seen(lying)
            for lying in self.cards
            if lying.shown and _spot(lying.place) not in self.arms and rng.random() >= noise.missed
        ]
        return Sighting(at, tuple(seen), (), covered)

    def _seen(self, lying: Lying) -> SeenCard:
        rng, noise = self.rng, self.noise
        x, y = lying.centre
        centre = (x + rng.gauss(0, noise.trembles), y + rng.gauss(0, noise.trembles)) if noise.trembles else lying.centre
        chance = rng.random()
        if chance < noise.wrong:
            return SeenCard(rng.choice(PACK), 0.97, centre, lying.angle)
        if chance < 1 - noise.right:
            return SeenCard(Card.UNREAD, 0.4, centre, lying.angle)
        return SeenCard(lying.card, rng.uniform(0.95, 0.999), centre, lying.angle)


def _spot(place: Place) -> int:
    return place.box if isinstance(place, BoxPlace) else 0


def _region(box: int) -> tuple[Point, ...]:
    x, y, wide, high = ((7 - box) * 400, 300, 400, 400) if box else (900, 0, 1000, 200)
    return ((x, y), (x + wide, y), (x + wide, y + high), (x, y + high))


class Session:
    """A legal session, dealt onto a scene and taken in by a table.

    `pad` False: nobody presses a key; the cards tell who hit, stood, doubled and split. `before_draw`, `where` and `after_rest`
    are hooks for mischief: a card that never reaches the felt, another place, something done when it lies there.
    """

    def __init__(
        self,
        house: House,
        *,
        seed: int,
        rounds: int,
        noise: Noise = CALM,
        pad: bool = True,
        boxes: tuple[int, int] = (2, 7),
        camera: bool = True,
    ) -> None:
        self.rng = random.Random(f"{seed} scripted")
        self.scene = Scene(self.rng, noise)
        self.table = Table(house)
        self.tracker = Tracker(place_at)
        self.fusion = Fusion(self.table.due)
        self.seen: list[Observation] = []
        self.said: list[Notice] = []
        self.true: list[Outcome] = []
        self.now = BEGINS
        self.pad = pad
        self.shoe = True
        self.before_draw: Callable[[CardDrawn, Place], bool] = lambda drawn, place: False
        self.after_rest: Callable[[Lying], object] = lambda lying: None
        self.where: Callable[[Place], Place] = lambda place: place
        self.carry_state = False
        self._play = _Told(house, seed=seed, rounds=rounds, boxes=boxes, cut_card=False)
        if camera:
            self.link("camera", "up", "opened")

    # What the table takes in

    def take(self, item: Observation | Tracked) -> None:
        for observation in self.fusion.take(item, self.now):
            self.seen.append(observation)
            self.said += self.table.feed(observation)
        if self.carry_state:  # killed and started again between any two things
            import msgspec

            state = msgspec.json.decode(msgspec.json.encode(self.fusion.state), type=State)
            self.fusion = Fusion(self.table.due, state)

    def observe(self, observation: Observation) -> None:
        self.take(replace(observation, at=from_micros(self.now)))

    def link(self, device: str, state: Literal["up", "down"], why: str = "") -> None:
        if device == "shoe":
            self.shoe = state == "up"
        if device == "camera":
            self.scene.blind = state == "down"
        self.observe(Link(device=device, state=state, why=why))

    def run(self, seconds: float) -> None:
        """Let time pass, frame by frame."""
        for _ in range(max(1, round(seconds * 15))):
            self.now += FRAME
            if (wakes := self.fusion.wakes_at) is not None and wakes <= self.now:
                self.observe(Tick())
            for event in self.tracker.feed(self.scene.sighting(self.now)):
                self.take(decode(encode(event)))

    @property
    def alerts(self) -> list[Alert]:
        return [notice for notice in self.said if isinstance(notice, Alert) and notice.severity != "info"]

    def outcomes(self) -> list[Outcome]:
        """What was said last of each hand."""
        last = {(one.round, one.box, one.hand): one for one in self.said if isinstance(one, Outcome)}
        return sorted(last.values(), key=lambda one: (one.round, one.box, one.hand))

    # What really happens

    def steps(self) -> Iterator[Observation]:
        """Deal on: gives each observation when it has happened, and has been taken in."""
        for observation in self._play:
            self._happens(observation)
            yield observation

    def all(self) -> Session:
        for _ in self.steps():
            pass
        self.run(2.0)
        return self

    def _happens(self, observation: Observation) -> None:
        said = self._play.last
        if isinstance(observation, CardDrawn):
            dealt = next(notice for notice in said if isinstance(notice, Dealt))
            self._draw(observation, dealt.to)
        elif isinstance(observation, Decision) and not self.pad:
            pass
        else:
            self.observe(observation)
        if isinstance(observation, Decision):
            if observation.action == "split":
                self._part(observation.box)
            self.run(self.rng.uniform(0.2, 0.6))
        self.true += [notice for notice in said if isinstance(notice, Outcome)]
        for notice in said:
            if isinstance(notice, Outcome) and notice.result == "bust":
                self.run(0.6)  # it is counted and said before it is collected
                self.collect(BoxPlace(notice.box, notice.hand))
        if not self._play.table.round_open and self.scene.cards:
            self.run(self.rng.uniform(1.2, 2.0))
            for place in dict.fromkeys(lying.place for lying in self.scene.cards):
                self.collect(place)
            self.run(1.8)

    def _draw(self, drawn: CardDrawn, place: Place) -> None:
        if self.before_draw(drawn, place):
            return
        if self.shoe:
            self.observe(drawn)
        if place == "burn":
            self.run(0.5)
            return
        self.run(self.rng.uniform(0.25, 0.5))  # it flies
        doubled = isinstance(place, BoxPlace) and self._play.doubles
        lying = self.scene.lay(drawn.card, self.where(place), across=doubled)
        self.after_rest(lying)
        self.run(self.rng.uniform(0.35, 1.1))

    def _part(self, box: int) -> None:
        hands = [hand for hand in self._play.table.round.hands if hand.box == box]
        self.run(0.4)
        new = BoxPlace(box, hands[-1].number)
        pairs = (hand for hand in hands if self.scene.hand(BoxPlace(box, hand.number))[1:] and len(hand.cards) == 1)
        if (kept := next(pairs, None)) is None:
            return  # a fault took one of the two away: there is nothing to part
        moved = self.scene.hand(BoxPlace(box, kept.number))[1]
        self.scene.arms[box] = self.now + 5 * FRAME
        moved.place, moved.centre = new, slot(new, 0)
        self.run(1.0)

    def collect(self, place: Place) -> None:
        """A hand's cards are picked up, under a hand."""
        self.scene.arms[_spot(place)] = self.now + 6 * FRAME
        self.run(0.3)
        self.scene.cards = [lying for lying in self.scene.cards if lying.place != place]
        self.run(self.rng.uniform(0.3, 0.6))


class _Told(LegalPlay):
    """Legal play that keeps what was said of its newest observation."""

    last: tuple[Notice, ...] = ()
    doubles = False

    def _feed(self, observation: Observation) -> None:
        acting = self.table.round.acting
        self.doubles = acting is not None and acting.owed == "double"
        self.last = self.table.feed(observation)
