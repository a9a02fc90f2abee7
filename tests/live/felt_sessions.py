"""Whole rounds in which shoe and felt are one: what is dealt is rendered, seen, followed, fused with the shoe, and played.

    python -m tests.live.felt_sessions [--rounds 20] [--house fr] [--two] [--faults 2] [--covered 2] [--unplugged 2]

Hands bring and take the cards, hands and shadows pass, chips stand in the circles. Time goes on at 15 pictures a second; one
is rendered only where something has changed, and looked at until every place is read; then the last sighting stands. The noise
of the pictures is always the same, so what is read of a scene once would be read of it again: an index that is unread stays so
until the scene changes, which is harder for following than noise that is always new.
What is dealt, and the mischief, are those of `tests.felt.scripted` and `tests.test_fusion`, whose sightings need no picture.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from hashlib import blake2b
from typing import Any, Literal

import cv2
import msgspec
import numpy as np
from msgspec.structs import replace

from tablectl.felt.calibration import load
from tablectl.felt.layout import Place as FeltPlace
from tablectl.felt.looks import look_at
from tablectl.felt.networks import Eyes
from tablectl.felt.render import RenderedFelt, plain_deck
from tablectl.felt.seeing import Seeing
from tablectl.felt.sighting import Sighting
from tablectl.felt.staging import Arrangement, Reaching, Shadow, Stack
from tablectl.felt.staging import Lying as Seen
from tablectl.felt.staging import Scene as Shown
from tablectl.felt.track import Tracker
from tablectl.felt.view import Picture
from tablectl.game.view import view
from tablectl.houses import rules
from tablectl.instants import to_micros
from tablectl.observations import CardDrawn, Felt
from tablectl.places import BoxPlace, Place
from tests.felt.scripted import FRAME, SECOND, Lying, Scene, Session
from tests.test_fusion import FAULTS, Fault, ends

__all__ = ["MISCHIEF", "Figures", "Rendered", "covered", "faulty", "plain", "unplugged"]

BRINGS = 4
"""Pictures in which the hand is seen that brought a card."""
REMEMBERED = 400
"""Answers of a network that are kept: one of the finder has some hundred kilobytes."""
DARK = 8
"""Pictures without anything to be seen before the camera counts as lost: half a second."""
PASSES = 0.004
"""The chance in each picture that a hand begins to pass, and that a shadow does."""
TAKES = SECOND
"""Microseconds after the card that decided a hand before the dealer has taken its chips: it must lie there first."""
WITHIN = 1.5
"""Seconds after it came to rest within which a fault must be found."""


class Remembering(Eyes):
    """The networks, asked once about each picture: what they say of the same bytes is the same."""

    def __init__(self) -> None:
        super().__init__()
        self._heat: OrderedDict[bytes, Any] = OrderedDict()
        self._ranks: OrderedDict[bytes, Any] = OrderedDict()

    def heat(self, picture: Any) -> Any:
        return _remembered(self._heat, picture, super().heat)

    def ranks(self, patches: Any) -> Any:
        return _remembered(self._ranks, patches, super().ranks)


def _remembered(known: OrderedDict[bytes, Any], given: Any, ask: Callable[[Any], Any]) -> Any:
    key = blake2b(np.ascontiguousarray(given).data, digest_size=16).digest()
    if key not in known:
        known[key] = ask(given)
        if len(known) > REMEMBERED:
            known.popitem(last=False)
    known.move_to_end(key)
    return deepcopy(known[key])  # who asked may write into it


class Once(Seeing):
    """Reads a place once after it has changed: of pictures that are the same to the bit, a second reading says the same."""

    @property
    def is_done(self) -> bool:
        """Whether there is no more to be found in the pictures that were looked at last."""
        return all(spot.fresh for spot in self._spots)

    def look(self, pictures: Mapping[str, Picture], at: int) -> Sighting:
        found = super().look(pictures, at)
        for spot in self._spots:
            spot.readings = 0 if spot.fresh else spot.readings
        return found


class Cameras:
    """The cameras of a calibration over a rendered felt."""

    def __init__(self, name: str, deck: int = 0) -> None:
        self.calibration = load(name)
        layout = self.calibration.layout
        self.felts = {
            camera: RenderedFelt(layout, seen, plain_deck(deck), grains=1) for camera, seen in self.calibration.views.items()
        }
        self.eyes = Remembering()

    def pictures(self, shown: Shown) -> dict[str, Picture]:
        return {camera: felt.picture(shown) for camera, felt in self.felts.items()}


class RenderedScene(Scene):
    """A scene that is drawn and seen. `table` tells what is staked."""

    def __init__(self, rng: Any, cameras: Cameras, table: Callable[[], Sequence[Stack]]) -> None:
        super().__init__(rng)
        self.cameras = cameras
        self.seeing = Once(cameras.calibration, cameras.eyes)
        self.arrangement = Arrangement(cameras.calibration.layout, seed=rng.randrange(10**6))
        self.passing = True
        self.covered = False
        self.is_well = True
        self.rendered = self.frames = 0
        self._stacks = table
        self._lies: dict[int, tuple[Place, int, Seen]] = {}
        self._hands: dict[int, int] = {}
        self._brings: list[tuple[int, Seen]] = []
        self._shadow: tuple[int, Shadow] | None = None
        self._shown: Shown | None = None
        self._pictures: dict[str, Picture] = {}
        self._last = Sighting(0)

    def lay(self, card: Any, place: Place, *, across: bool = False) -> Lying:
        lying = super().lay(card, place, across=across)
        self._count()
        self._brings.append((BRINGS, self._laid(lying)))
        return lying

    def sighting(self, at: int) -> Sighting:
        self.frames += 1
        shown = replace(self._scene(at), covered=self.covered)
        if shown == self._shown and (self.seeing.is_done or not self.is_well):
            self._last = replace(self._last, at=at)
            return self._last
        if shown != self._shown:
            self._shown, self.rendered = shown, self.rendered + 1
            self._pictures = self.cameras.pictures(shown)
            self.is_well = all(look_at(picture).dark is None for picture in self._pictures.values())
        self._last = self.seeing.look(self._pictures, at) if self.is_well else Sighting(at, alive=False)
        return self._last

    def _scene(self, at: int) -> Shown:
        rng = self.rng
        self._count()
        if self.passing and rng.random() < PASSES:  # over a fault, none: it is not to be seen then
            self.arms[rng.randint(0, 7)] = at + rng.randint(3, 10) * FRAME
        if self._shadow is None and rng.random() < PASSES:
            x, y = self._middle(rng.randint(0, 7))
            self._shadow = (at + rng.randint(5, 15) * FRAME, Shadow(x, y, rng.uniform(80, 250), rng.uniform(0.15, 0.35)))
        if self._shadow is not None and self._shadow[0] <= at:
            self._shadow = None
        self.arms = {box: until for box, until in self.arms.items() if until > at}
        hands = [self._reach(*self._middle(box)) for box in self.arms]
        hands += [self._reach(seen.x, seen.y, (BRINGS - left) / BRINGS) for left, seen in self._brings]
        self._brings = [(left - 1, seen) for left, seen in self._brings if left > 1]
        return Shown(
            tuple(self._laid(lying) for lying in self.cards if lying.shown),
            tuple(self._stacks()),
            tuple(hands),
            (self._shadow[1],) if self._shadow is not None else (),
        )

    def _count(self) -> None:
        """How many hands each box has: one that was collected leaves its room, what is left of a split box stays where it is."""
        there: dict[int, int] = {}
        for place in (lying.place for lying in self.cards):
            hands = (place.hand or 0) + 1 if isinstance(place, BoxPlace) else 1
            there[_box(place)] = max(hands, there.get(_box(place), 1))
        self._hands = {box: max(hands, self._hands.get(box, 1)) if box else 1 for box, hands in there.items()}

    def _reach(self, x: float, y: float, away: float = 0.0) -> Reaching:
        return Reaching(x - 15, y - 30 - 420 * away, -90.0)

    def _middle(self, box: int) -> tuple[float, float]:
        x, y = self.arrangement.layout.areas[box or "dealer"].mean(axis=0)
        return float(x), float(y)

    def _laid(self, lying: Lying) -> Seen:
        """Where it really lies: as a dealer lays it, and where it was laid as long as its place is the same."""
        place = lying.place
        hands = self._hands[_box(place)]
        known = self._lies.get(id(lying))
        if known is None or known[:2] != (place, hands):
            hand = place.hand or 0 if isinstance(place, BoxPlace) else 0
            before = [other for other in self.cards if other.place == place]
            index = next((number for number, other in enumerate(before) if other is lying), len(before))
            spot: FeltPlace = place.box if isinstance(place, BoxPlace) else "dealer"
            seen = self.arrangement._laid(lying.card, spot, hand, hands, index, crosswise=lying.angle == 0.0)
            known = self._lies[id(lying)] = (place, hands, seen)
        return Seen(lying.card, known[2].x, known[2].y, known[2].angle)


def _box(place: Place) -> int:
    return place.box if isinstance(place, BoxPlace) else 0


class Rendered(Session):
    """A session on a rendered felt."""

    def __init__(self, house: str, cameras: Cameras, *, seed: int, rounds: int, boxes: tuple[int, int] = (2, 7)) -> None:
        super().__init__(rules.load(house).house, seed=seed, rounds=rounds, boxes=boxes)
        self.rendered = RenderedScene(self.rng, cameras, self._stacks)
        self.scene = self.rendered
        self.tracker = Tracker(cameras.calibration.layout.place_at)
        self.asked = rounds
        self._dark, self._lost = 0, False
        self._stood: dict[int, int] = {}
        self._taken: dict[int, tuple[int, int]] = {}
        self.places: list[Place] = []
        """Where each card was to go, burned ones too, in the order in which they left the shoe."""
        self.run(0.7)

    def run(self, seconds: float) -> None:
        """As ever, and what the cameras are worth is told, as who watches them does."""
        for _ in range(max(1, round(seconds * 15))):
            super().run(1 / 15)
            self._dark = 0 if self.rendered.is_well else self._dark + 1
            if self._dark == DARK or (self._dark == 0 and self._lost):
                self._lost = self._dark > 0
                self.link("camera", "down" if self._lost else "up", "it was covered")

    def link(self, device: str, state: Literal["up", "down"], why: str = "") -> None:
        super().link(device, state, why)
        self.scene.blind = False  # what is to be seen says so

    def _stacks(self) -> list[Stack]:
        stood = {box.box: box.staked + box.carried for box in view(self._play.table).boxes if box.staked + box.carried > 0}
        self._taken |= {box: (amount, self.now + TAKES) for box, amount in self._stood.items() if box not in stood}
        self._taken = {box: (amount, at) for box, (amount, at) in self._taken.items() if at > self.now and box not in stood}
        self._stood = stood
        make = self.rendered.arrangement._stack
        return [make(box, amount) for box, amount in (stood | {box: amount for box, (amount, _) in self._taken.items()}).items()]

    def _draw(self, drawn: CardDrawn, place: Place) -> None:
        self.places.append(place)
        super()._draw(drawn, place)

    def placements(self) -> Counter[str]:
        """How many cards the felt placed right, wrong, or never."""
        found: Counter[str] = Counter()
        told: dict[int, Place | None] = {}
        drawn = 0
        for one in self.seen:
            if isinstance(one, CardDrawn):
                drawn += 1
            elif isinstance(one, Felt) and one.kind == "placed" and one.ago is not None:
                told[drawn - 1 - one.ago] = one.to or told.get(drawn - 1 - one.ago)  # read later, it lies where it lay
        for number, place in enumerate(self.places):
            if place != "burn":
                found["unplaced" if number not in told else "right" if _same(told[number], place) else "wrong"] += 1
        return found


def _same(told: Place | None, true: Place) -> bool:
    """Of a split box the hand is the dealing order's to say; what the felt tells is the box."""
    return _box(told) == _box(true) and isinstance(told, BoxPlace) is isinstance(true, BoxPlace) if told is not None else False


class Figures(msgspec.Struct):
    """What came of one kind of session."""

    kind: str
    rounds: int = 0
    ended_right: int = 0
    cards: int = 0
    placed: Counter[str] = msgspec.field(default_factory=Counter)
    alerts: Counter[str] = msgspec.field(default_factory=Counter)
    found: Counter[str] = msgspec.field(default_factory=Counter)
    tried: Counter[str] = msgspec.field(default_factory=Counter)
    after: dict[str, list[float]] = {}
    frames: int = 0
    rendered: int = 0
    seconds: float = 0.0
    bad: list[str] = []

    def take(self, session: Rendered, name: str, *allowed: str) -> None:
        """Count a session."""
        self.rounds += session.asked
        alerts = [alert.code for alert in session.alerts if alert.code not in allowed]
        right = ends(session.outcomes()) == ends(session.true)
        self.ended_right += session.asked if right and not alerts else 0
        self.alerts.update(alerts)
        self.placed += session.placements()
        self.cards = self.placed.total()
        self.frames += session.rendered.frames
        self.rendered += session.rendered.rendered
        if alerts or not right:
            words = [f"{one.code} {one.operands}" for one in session.alerts if one.code not in allowed]
            self.bad.append(f"{name}: {'right' if right else 'not ended right'}, {'; '.join(words) or 'no alert'}")

    def _spread(self, code: str) -> str:
        after = sorted(self.after.get(code, ()))
        if not after:
            return "none"
        return f"after {after[0]:.2f} to {after[-1]:.2f} s, half of them by {after[(len(after) - 1) // 2]:.2f} s"

    def lines(self) -> Iterator[str]:
        """What there is to say."""
        if self.tried:
            for code, count in self.tried.items():
                yield f"{self.kind}: {code}: {self.found[code]} of {count} found within {WITHIN} s at rest, {self._spread(code)}"
            yield f"{self.kind}: {self.rendered} pictures rendered, {self.seconds:.0f} s"
        else:
            placed = ", ".join(f"{count} {what}" for what, count in sorted(self.placed.items()))
            yield f"{self.kind}: {self.ended_right} of {self.rounds} rounds ended right; {self.cards} cards placed: {placed}"
            yield (
                f"{self.kind}: {self.alerts.total()} alerts {dict(self.alerts) or ''}; {self.rendered} of {self.frames} "
                f"pictures rendered, {self.seconds:.0f} s"
            )
        for line in self.bad:
            yield f"{self.kind}:   {line}"


def plain(house: str, cameras: Cameras, rounds: int, *, seed: int = 1, say: Callable[[str], object] = lambda _: None) -> Figures:
    """Rounds in which nobody does wrong, two a session, which ends at its first alert."""
    figures = Figures(f"{house} plain")
    began = time.monotonic()
    while figures.rounds < rounds:
        session = Rendered(house, cameras, seed=seed, rounds=min(2, rounds - figures.rounds))
        for _ in session.steps():
            if session.alerts:  # the game waits for a ruling: what follows is no more than that
                break
        session.run(2.0)
        figures.take(session, f"seed {seed}")
        say(f"{house} seed {seed}: {figures.rounds} rounds, alerts {dict(figures.alerts)}, {time.monotonic() - began:.0f} s")
        seed += 1
    figures.seconds = time.monotonic() - began
    return figures


def covered(house: str, cameras: Cameras, sessions: int) -> Figures:
    """The camera is covered in the middle of a round, and sees again before its end."""
    return _broken(house, cameras, sessions, "camera", "felt.camera_lost")


def unplugged(house: str, cameras: Cameras, sessions: int) -> Figures:
    """The shoe is unplugged in the middle of a round, and back before its end."""
    return _broken(house, cameras, sessions, "shoe", "link.lost")


def _broken(house: str, cameras: Cameras, sessions: int, device: str, allowed: str) -> Figures:
    figures = Figures(f"{house} {device} away")
    began = time.monotonic()
    for seed in range(1, sessions + 1):
        session = Rendered(house, cameras, seed=seed, rounds=1)
        for number, _ in enumerate(session.steps()):
            if number in (9 + seed % 6, 14 + 2 * (seed % 6)):
                down = number == 9 + seed % 6
                if device == "camera":
                    session.rendered.covered = down
                else:
                    session.run(1.0)
                    session.link(device, "down" if down else "up", "it was tried")
        session.run(3.0)
        figures.take(session, f"seed {seed}", allowed)
        if [alert.code for alert in session.alerts].count(allowed) != 1:
            figures.bad.append(f"seed {seed}: {allowed} was not told once")
    figures.seconds = time.monotonic() - began
    return figures


def lingering(session: Session, fault: Fault) -> None:
    """The first bust hand is not collected; what counts is when the next card lies elsewhere."""
    collect, left = session.collect, list[Place]()

    def collected(place: Place) -> None:
        if session.table.round_open and not left:
            left.append(place)
            session.run(0.3)
        else:
            collect(place)

    def rest(lying: Lying) -> None:
        if left and lying.place != left[0] and not fault.done:
            fault.done, fault.rested = True, session.now

    session.collect = collected  # type: ignore[method-assign]
    session.after_rest = rest


def _lingers(house: str, seed: int) -> bool:
    """Whether in a session of this seed a hand is bust before the last card: the deal is the same on every felt."""
    session = Session(rules.load(house).house, seed=seed, rounds=2, boxes=(2, 5), camera=False)
    fault = Fault(session, 1)
    lingering(session, fault)
    return any(fault.done for _ in session.steps())


MISCHIEF = {**FAULTS, "felt.not_collected": lingering}


def faulty(house: str, cameras: Cameras, each: int, codes: Sequence[str] = tuple(MISCHIEF)) -> Figures:
    """Each fault of the felt, so many times: is it what is told first, and how soon."""
    figures = Figures(f"{house} faults")
    began = time.monotonic()
    for code in codes:
        may = (seed for seed in itertools.count(1) if code != "felt.not_collected" or _lingers(house, seed))
        for seed in itertools.islice(may, each):
            session = Rendered(house, cameras, seed=seed, rounds=2, boxes=(2, 5))
            session.rendered.passing = False
            fault = Fault(session, 2 if code == "deal.box_without_stake" else 2 + seed % 4)
            MISCHIEF[code](session, fault)
            for _ in session.steps():
                if session.alerts:
                    break
            session.run(WITHIN)
            figures.tried[code] += 1
            figures.rendered += session.rendered.rendered
            first = session.alerts[0] if session.alerts else None
            after = (to_micros(first.at) - fault.rested) / SECOND if first is not None and first.at is not None else float("inf")
            if first is not None and first.code == code and after <= WITHIN:
                figures.found[code] += 1
                figures.after.setdefault(code, []).append(after)
            else:
                told = "nothing" if first is None else f"{first.code} after {after:.2f} s"
                figures.bad.append(f"{code}, seed {seed}: {told}")
    figures.seconds = time.monotonic() - began
    return figures


def main() -> int:
    """Run them, print the figures; the exit code says whether all was as it must be."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.felt_sessions")
    parser.add_argument("--rounds", type=int, default=20, help="plain rounds a house")
    parser.add_argument("--house", action="append", choices=rules.names(), help="only this house; may be given again")
    parser.add_argument("--two", action="store_true", help="two cameras of 1920x1080 in place of one of 3840x2160")
    parser.add_argument("--faults", type=int, default=0, help="sessions of each fault, a house")
    parser.add_argument("--covered", type=int, default=0, help="sessions in which the camera is covered, a house")
    parser.add_argument("--unplugged", type=int, default=0, help="sessions in which the shoe is unplugged, a house")
    parser.add_argument("--seed", type=int, default=1, help="the first plain session's")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    np.seterr(all="raise", under="ignore")
    bad = 0
    for house in arguments.house or rules.names():
        cameras = Cameras(f"{house}-two" if arguments.two else house)
        found: list[Figures] = []
        if arguments.rounds:
            found.append(plain(house, cameras, arguments.rounds, seed=arguments.seed, say=_told))
        if arguments.faults:
            found.append(faulty(house, cameras, arguments.faults))
        if arguments.covered:
            found.append(covered(house, cameras, arguments.covered))
        if arguments.unplugged:
            found.append(unplugged(house, cameras, arguments.unplugged))
        for figures in found:
            bad += len(figures.bad)
            print("\n".join(figures.lines()), flush=True)
    return 1 if bad else 0


def _told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
