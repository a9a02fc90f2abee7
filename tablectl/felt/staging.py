"""What lies on a rendered felt: cards, chips, hands over it, its light; and where a dealer lays the cards of a round.

A `Scene` is all that a camera is to see at one moment. An `Arrangement` follows a table (`TableView`): what has been laid stays
where it lies until the round is swept, and may be tampered with. `film` is what happens between two scenes: hands bring cards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tablectl.cards import Card
from tablectl.felt.layout import Layout, Place
from tablectl.game.view import TableView

__all__ = ["Arrangement", "Key", "Lying", "Reaching", "Scene", "Shadow", "Stack", "film"]


class Lying(msgspec.Struct, frozen=True, gc=False):
    """A card: its middle in millimetres of the felt, its angle in degrees; at 0 it is upright for who looks along -y."""

    card: Card
    x: float
    y: float
    angle: float


class Stack(msgspec.Struct, frozen=True, gc=False):
    """Chips, so many on one another, about a place in millimetres; `look` says which."""

    x: float
    y: float
    chips: int
    look: int = 0


class Reaching(msgspec.Struct, frozen=True, gc=False):
    """A hand whose fingers are at a place in millimetres; it comes from `towards` (degrees clockwise, 0 along x)."""

    x: float
    y: float
    towards: float


class Shadow(msgspec.Struct, frozen=True, gc=False):
    """A soft shadow about a place: radius in millimetres, and what part of the light it takes, 0 to 1."""

    x: float
    y: float
    radius: float
    depth: float = 0.35


class Scene(msgspec.Struct, frozen=True, gc=False):
    """A felt at one moment. Later cards lie over earlier ones. `light` is 1 as usual, 0 when the lights are out."""

    cards: tuple[Lying, ...] = ()
    stacks: tuple[Stack, ...] = ()
    hands: tuple[Reaching, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    light: float = 1.0
    covered: bool = False


Key = tuple[Place, int, int]
"""A card of the round: its box or `dealer`, its hand, its place in the hand from 0."""

# Millimetres, in a card's own directions: where the next card of a hand lies, to the right and towards the player.
FAN = (15.0, 16.0)
SPLIT_FAN = (4.0, 19.0)
DEALER_STEP = 33.0
EDGE = 3.0
"""A card keeps so far from its area's border."""


class Arrangement:
    """The cards and chips of one table, as a dealer lays them who is a little careless: `loose` 1 is usual, 0 is exact."""

    def __init__(self, layout: Layout, *, seed: int = 1, loose: float = 1.0) -> None:
        self.layout = layout
        self.placed: dict[Key, Lying] = {}
        """What lies there of the round, in the order in which it was laid."""
        self.extra: list[Lying] = []
        self._chance = np.random.default_rng(seed)
        self._loose = loose
        self._round: int | None = None
        self._swept: int | None = None
        self._faces: dict[Key, Card] = {}
        self._away: set[Key] = set()
        self._hands: dict[int, int] = {}

    def show(self, view: TableView) -> Scene:
        """The felt as that table has it. A round stays until `sweep`, or until cards of another are dealt."""
        if view.round != self._round and view.round_open:
            self._clear()
            self._round, self._swept = view.round, None
        if self._swept != view.round:
            self._lay(view)
        stacks = [self._stack(box.box, box.staked + box.carried) for box in view.boxes if box.staked + box.carried > 0]
        return self.scene(stacks)

    def scene(self, stacks: Sequence[Stack] = ()) -> Scene:
        """What lies there now."""
        cards = [lying for key, lying in self.placed.items() if key not in self._away]
        return Scene(cards=(*cards, *self.extra), stacks=tuple(stacks))

    def sweep(self) -> None:
        """The dealer picks up all cards."""
        self._clear()
        self._swept = self._round

    # Tampering

    def move(self, key: Key, across: float, down: float, turned: float = 0.0) -> None:
        """Push a card by so many millimetres, and turn it by degrees."""
        lying = self.placed[key]
        self.placed[key] = Lying(lying.card, lying.x + across, lying.y + down, lying.angle + turned)

    def swap(self, key: Key, card: Card) -> None:
        """Put another card in its place."""
        lying = self.placed[key]
        self._faces[key] = card
        self.placed[key] = Lying(card, lying.x, lying.y, lying.angle)

    def remove(self, key: Key) -> None:
        """Take a card away."""
        self._away.add(key)

    def add(self, card: Card, place: Place) -> None:
        """Lay a card that nobody dealt at a box or before the dealer."""
        hand = max((key[1] for key in self.placed if key[0] == place), default=0)
        index = sum(key[0] == place and key[1] == hand for key in self.placed) + len(self.extra)
        self.extra.append(self._laid(card, place, hand, hand + 1, index, crosswise=False))

    # Laying

    def _clear(self) -> None:
        self.placed.clear()
        self.extra.clear()
        self._faces.clear()
        self._away.clear()
        self._hands.clear()

    def _lay(self, view: TableView) -> None:
        wanted: dict[Key, tuple[Card, int, bool]] = {}
        for box in view.boxes:
            for hand in box.hands:
                doubled = hand.stake > box.staked + box.carried > 0
                for index, card in enumerate(hand.cards):
                    wanted[box.box, hand.hand, index] = (card, len(box.hands), doubled and index == 2)
        for index, card in enumerate(view.dealer.cards):
            wanted["dealer", 0, index] = (card, 1, False)
        split = {box.box for box in view.boxes if len(box.hands) > self._hands.get(box.box, 1)}
        self._hands = {box.box: len(box.hands) for box in view.boxes}
        for key in [key for key in self.placed if key not in wanted or key[0] in split]:
            del self.placed[key]  # taken back; or moved apart, and laid anew
        for key, (card, hands, crosswise) in wanted.items():
            face = self._faces.get(key, card)
            known = self.placed.get(key)
            if known is None:
                self.placed[key] = self._laid(face, *key[:2], hands, key[2], crosswise=crosswise)
            elif known.card != face:  # a ruling corrected it
                self.placed[key] = Lying(face, known.x, known.y, known.angle)

    def _laid(self, card: Card, place: Place, hand: int, hands: int, index: int, *, crosswise: bool) -> Lying:
        wide, high = self.layout.card
        x_off, y_off = self._chance.normal(0, 1.2, 2) * self._loose
        turned = float(self._chance.normal(0, 1.5)) * self._loose
        if place == "dealer":
            area = self.layout.areas["dealer"]
            (left, top), (right, bottom) = area.min(axis=0), area.max(axis=0)
            x = left + EDGE + wide / 2 + min(index * DEALER_STEP, right - left - 2 * EDGE - wide)
            return Lying(card, float(x + x_off), float((top + bottom) / 2 + y_off), turned)
        low, out, middle, inner_half = self._box(place)
        across, down = self._in_box(hand, hands, index, inner_half, out)
        if crosswise:
            turned, down = turned - 90.0, down + (high - wide) / 2
        angle = math.radians(low)
        right_way, down_way = np.array([math.cos(angle), math.sin(angle)]), np.array([-math.sin(angle), math.cos(angle)])
        at = np.array(middle) + right_way * (across + x_off) + down_way * (down + y_off)
        return Lying(card, float(at[0]), float(at[1]), low + turned)

    def _in_box(self, hand: int, hands: int, index: int, inner_half: float, depth: float) -> tuple[float, float]:
        """A card's middle in its box: from the box's axis to the right, from its inner edge towards the player."""
        wide, high = self.layout.card
        fan = FAN if hands == 1 else SPLIT_FAN
        down = EDGE + high / 2 + min(index * fan[1], depth - 2 * EDGE - high)
        # The box is wider at the player's side: so much does a fan lean to the left at the start.
        left = -inner_half + EDGE + wide / 2
        if hands == 1:
            return left + 4 + index * fan[0], down
        step = (2 * inner_half - 2 * EDGE - wide - 8) / max(1, hands - 1)
        return left + 2 + hand * step + index * fan[1] * 0.1, down

    def _box(self, box: int) -> tuple[float, float, tuple[float, float], float]:
        """How a box lies: degrees it is turned by, its depth, the middle of its inner edge, half that edge's length."""
        area = self.layout.areas[box]
        dealer = self.layout.areas["dealer"].mean(axis=0)
        stake = np.array(self.layout.stakes[box - 1].centre)
        middle = area.mean(axis=0)
        out = stake - middle if np.linalg.norm(stake - middle) > 1 else middle - dealer
        out = out / np.linalg.norm(out)
        across = np.array([out[1], -out[0]])  # to the right for the player, who looks inwards
        along = (area - middle) @ out
        side = (area - middle) @ across
        near = side[along < along.min() + 0.35 * float(np.ptp(along))]
        half = float(min(near.max(), -near.min()))
        edge = float(np.median(np.sort(along)[: max(2, len(along) // 2)]))  # the inner edge, which may be an arc
        inner = middle + out * edge
        return (
            math.degrees(math.atan2(out[1], out[0])) - 90.0,
            float(along.max()) - edge,
            (float(inner[0]), float(inner[1])),
            half,
        )

    def _stack(self, box: int, amount: int) -> Stack:
        circle = self.layout.stakes[box - 1]
        return Stack(circle.centre[0], circle.centre[1], 1 + amount // 700 % 5, look=box * 1000 + amount % 997)


def film(before: Scene, after: Scene, *, steps: int = 5) -> Iterator[Scene]:
    """What is seen between two scenes: for each card that is new or gone a hand comes and goes, in `steps`; then `after`."""
    old, new = set(before.cards), set(after.cards)
    now = list(before.cards)
    for lying in [card for card in before.cards if card not in new] + [card for card in after.cards if card not in old]:
        coming = lying not in old
        for step in (*range(steps), *reversed(range(steps))):
            if step == steps - 1:
                now = [card for card in after.cards if card in now or card == lying] if coming else [c for c in now if c != lying]
            away = (steps - 1 - step) / max(1, steps - 1)
            hand = Reaching(lying.x - 15, lying.y - 30 - 420 * away, towards=-90.0)
            yield msgspec.structs.replace(after, cards=tuple(now), hands=(*after.hands, hand))
    yield after
