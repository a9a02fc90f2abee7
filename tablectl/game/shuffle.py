"""Whether the cards come as from a shuffled shoe: a test that may look as often as it likes, with a proved false-alarm rate.

It tests by betting. A gambler who starts with 1 bets on each card before it comes, at the fair odds of a shuffled shoe: a face of
which `left` copies are among the `total` cards not yet read comes with chance left/total. However he bets, his capital is then a
martingale as long as the shoe is shuffled, so the chance that it ever reaches `LIMIT` is at most 1/LIMIT (Ville's inequality:
J. Ville, Étude critique de la notion de collectif, 1939; G. Shafer and V. Vovk, Game-Theoretic Foundations for Probability and
Finance, 2019). This one bound covers all looks at a shoe, and all ways of betting among which the first capital was divided.

The gamblers bet on what bad shuffles leave: cards in a new pack's order, the chains of it that a few riffles interleave, cards in
order of rank, packs stacked one on the other, copies of a face that keep apart. docs/shuffle-test.md has the measured power, and
what none of them sees.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from tablectl.cards import PACK

__all__ = ["LIMIT", "MOST", "Finding", "Judge", "capital", "due", "judge"]

LIMIT: Final = 100_000
"""The capital at which a shoe is called unshuffled. At most one shuffled shoe in so many ever reaches it."""

MOST: Final = 1_000_000_000
"""Where the betting ends, and the value of a finding: what comes after it cannot make the finding doubtful."""

FIRST_LOOK: Final = 26
MOST_DECKS: Final = 12
_FACES: Final = len(PACK)
_RANKS: Final = 13

_FEW_UNREAD: Final = 12
_ONE_UNREAD_IN: Final = 6
"""More unread cards than these few, and than one in so many, end the betting: where a suit is never read, others come more."""

# None of what follows can change the false-alarm rate, only the power.
_IDLE: Final = 0.5
"""The part of the capital for order that is kept back at first, for order that begins late in the shoe."""
_MOVED: Final = 0.01
"""The part of that capital that is divided anew on each card, so that a stretch of order is caught wherever it lies."""
_DOUBT: Final = 0.05
"""The part of a stake on order that is held back: a card out of order costs a factor of 20, not all."""
_STRAY: Final = 0.02
"""The same for stacked packs: what is left when a pack shows a face twice."""
_RUINED: Final = 1e-9
"""The capital below which a gambler on packs gives up."""
_APART: Final = 78
"""Copies of a face are held to keep apart within so many cards: half as far again as a pack, for stacked packs riffled once."""
_SHY: Final = 0.6
"""How much less likely a face is held to be for each copy of it among those."""

_BY_FACE, _BY_RANK = 0, 1

_CHAINS: Final = (
    ("new_pack", _BY_FACE, 1, 0.35),
    ("runs", _BY_FACE, 1, 0.75),
    ("runs", _BY_FACE, 1, 0.93),
    ("ranks", _BY_RANK, 0, 0.60),
    ("ranks", _BY_RANK, 1, 0.60),
)
"""Test, what is looked at, step in ranks, and what is left of a waiting card's weight with each card that comes after it."""


class Finding(NamedTuple):
    """What is wrong with the order of the cards.

    `test` says how it shows: `new_pack` (the next card of the suit follows at once), `runs` (it follows a few cards later, as
    riffles leave it), `ranks` (the same or the next rank of any suit follows), `stacked` (every 52 cards are a pack), `spread`
    (copies of a face keep apart). A shuffled shoe reaches `value`, a whole number from `limit` to `MOST`, at most once in so many
    shoes. `drawn` counts the cards, with those unread, at which `limit` was first reached.
    """

    test: str
    value: int
    limit: int
    drawn: int


def due(drawn: int) -> bool:
    """Whether to look after so many cards. How often one looks does not change the false-alarm rate, only how soon one knows."""
    return drawn == FIRST_LOOK or (drawn > 0 and drawn % _FACES == 0)


def judge(order: bytes, decks: int) -> Finding | None:
    """Judge the cards drawn since a shoe of 1 to 12 packs was loaded, in the order they came; of other shoes nothing is said.

    Cards are indices into `cards.PACK`; any byte from 52 up, 255 as a rule, is a card that passed unread. Nobody bets on it, nor
    on a copy more than the packs hold. A finding stands when more cards are drawn: then it is the same, or of a greater `value`.
    """
    return Judge().judge(order, decks)


class Judge:
    """Judges a table's shoes look after look, and goes on where its last look ended.

    What it says is what `judge` says of the same cards: when it looked before changes nothing but the time taken.
    """

    def __init__(self) -> None:
        self._begin(1)

    def _begin(self, decks: int) -> None:
        self._decks = decks
        self._seen = b""
        self._gamblers = _Gamblers(decks)
        self._first: tuple[str, int] | None = None
        self._best = 0.0

    def judge(self, order: bytes, decks: int) -> Finding | None:
        """See `judge`."""
        if not 1 <= decks <= MOST_DECKS:
            return None
        if decks != self._decks or not order.startswith(self._seen):
            self._begin(decks)
        for position in range(len(self._seen), len(order)):
            if self._best >= MOST:
                break
            held = self._gamblers.see(position, order[position])
            if held > self._best:
                self._best = held
                if self._first is None and held >= LIMIT:
                    self._first = self._gamblers.leader(), position + 1
        self._seen = order
        return Finding(self._first[0], int(min(self._best, MOST)), LIMIT, self._first[1]) if self._first else None


def capital(order: bytes, decks: int) -> float:
    """What the gamblers hold together after these cards of a shoe of 1 to 12 packs: 1.0 at first, and unchanged from `MOST` on.

    Over the cards that can come next in a shuffled shoe, each with its chance, the mean of this is never greater than it is now.
    """
    gamblers = _Gamblers(decks)
    for position, face in enumerate(order):
        if gamblers.see(position, face) >= MOST:
            break
    return gamblers.capital


class _Gamblers:
    """All of them, and the odds at which they bet."""

    __slots__ = ("capital", "chains", "left", "over", "packs", "ranks_left", "spread", "total", "unread")

    def __init__(self, decks: int) -> None:
        self.left = [decks] * _FACES
        self.ranks_left = [4 * decks] * _RANKS
        self.total = decks * _FACES
        self.chains, self.packs, self.spread = _Chains(), _Packs(decks), _Spread(decks)
        self.capital = 1.0
        self.unread = 0
        self.over = False  # for too many cards passed unread

    def see(self, position: int, face: int) -> float:
        """Pay out the bets on a card at this position, counting from 0. Gives the capital after it."""
        if face >= _FACES:
            self.unread += 1
            self.over = self.over or (self.unread > _FEW_UNREAD and self.unread * _ONE_UNREAD_IN > position)
            return self.capital
        if self.over or not self.left[face]:
            return self.capital
        rank = face % _RANKS
        chance = self.left[face] / self.total
        chains = self.chains.see((face, rank), (chance, self.ranks_left[rank] / self.total))
        packs = self.packs.see(position, face, chance)
        self.capital = 0.25 * chains + 0.5 * packs + 0.25 * self.spread.see(face, self.left, self.total)
        self.left[face] -= 1
        self.ranks_left[rank] -= 1
        self.total -= 1
        return self.capital

    def leader(self) -> str:
        """Whose bets won most."""
        chains, packs, spread = self.chains.capital, 2.0 * self.packs.capital, self.spread.capital
        if chains >= max(packs, spread):
            return self.chains.leader()
        return "stacked" if packs >= spread else "spread"


class _Chain:
    """A bet that the next card carries on from one of the last, a step up or down.

    Each card waits for the next one of its chain, the newest card with the greatest weight, and waits no longer once that came.
    A chain that has gone up is held to go on upwards: there are packs in which some suits lie ace to king, some king to ace.
    """

    __slots__ = ("capital", "down", "falling", "growth", "key", "rising", "share", "test", "up", "weight", "weights")

    def __init__(self, test: str, key: int, step: int, keep: float, share: float) -> None:
        self.test, self.key = test, key
        keys = range(_FACES if key == _BY_FACE else _RANKS)
        self.up = [each // _RANKS * _RANKS + (each + step) % _RANKS for each in keys]  # a king is below an ace
        self.down = [self.up.index(each) for each in keys]
        # The weights that wait for each face or rank. Those of older cards shrink in that newer ones are given more.
        self.rising, self.falling = [0.0 for _ in keys], [0.0 for _ in keys]
        self.weight, self.weights, self.growth = 1.0, 0.0, 1.0 / keep
        self.share = self.capital = share


class _Chains:
    """Those who bet on chains. On each card a part of their capital is divided anew (M. Herbster and M. Warmuth, 1998)."""

    __slots__ = ("capital", "chains", "idle")

    def __init__(self) -> None:
        share = (1.0 - _IDLE) / len(_CHAINS)
        self.chains = [_Chain(*chain, share) for chain in _CHAINS]
        self.idle = _IDLE
        self.capital = 1.0

    def see(self, keys: tuple[int, int], chances: tuple[float, float]) -> float:
        """Pay out on a card: its face and its rank, and the chance that each had. Gives the capital after it."""
        moved = _MOVED * self.capital
        self.idle = capital = (1.0 - _MOVED) * self.idle + _IDLE * moved
        for chain in self.chains:
            key, rising, falling, weights = keys[chain.key], chain.rising, chain.falling, chain.weights
            won = rising[key] + falling[key]
            odds = _DOUBT if weights else 1.0  # on the first card nobody bets
            rise = 0.5
            if won:
                fair = weights * chances[chain.key]
                odds += (1.0 - _DOUBT) * won / fair
                rise = (rising[key] + 0.5 * _DOUBT * fair) / (won + _DOUBT * fair)  # how likely the chain goes up
                rising[key] = falling[key] = 0.0
                weights -= won
            chain.weight = weight = chain.weight * chain.growth
            rising[chain.up[key]] += rise * weight
            falling[chain.down[key]] += (1.0 - rise) * weight
            chain.weights = weights + weight
            chain.capital = held = odds * ((1.0 - _MOVED) * chain.capital + moved * chain.share)
            capital += held
        self.capital = capital
        return capital

    def leader(self) -> str:
        """Whose bets won most."""
        return max(self.chains, key=lambda chain: chain.capital).test


class _Pack:
    """The bet that a pack begins with the card at position `begins` and then every 52 cards; the shoe may begin within one."""

    __slots__ = ("begins", "capital", "faces")

    def __init__(self, begins: int) -> None:
        self.begins = begins
        self.faces = 0  # that the pack has shown
        self.capital = 1.0 / _FACES


class _Packs:
    """Those who bet that the packs lie one on the other, each with every face once; the cut hides where one ends."""

    __slots__ = ("came", "capital", "packs")

    def __init__(self, decks: int) -> None:
        # A single pack has every face once in whatever order: there is nothing to bet on.
        self.packs = [_Pack(-into) for into in range(_FACES)] if decks > 1 else []
        self.came = [-_FACES] * _FACES
        self.capital = 1.0

    def see(self, position: int, face: int, chance: float) -> float:
        """Pay out on a card at this position. Gives the capital after it."""
        if not self.packs:
            return self.capital
        came, self.came[face] = self.came[face], position
        capital, ruined = 0.0, False
        for pack in self.packs:
            while pack.begins + _FACES <= position:
                pack.begins, pack.faces = pack.begins + _FACES, 0
            if came >= pack.begins:
                pack.capital *= _STRAY
                ruined = ruined or pack.capital < _RUINED
            else:
                pack.capital *= _STRAY + (1.0 - _STRAY) / ((_FACES - pack.faces) * chance)
                pack.faces += 1
            capital += pack.capital
        if ruined:
            self.packs = [pack for pack in self.packs if pack.capital >= _RUINED]
        self.capital = capital
        return capital


def _likelihoods() -> list[float]:
    """By number of copies. Multiplied, since that gives the same on every machine, which a library's power need not."""
    likely = [1.0]
    for _ in range(MOST_DECKS):
        likely.append(likely[-1] * _SHY)
    return likely


_LIKELY: Final = _likelihoods()


class _Spread:
    """Those who bet that copies of a face keep apart: each one among the last cards makes the face less likely."""

    __slots__ = ("capital", "copies", "last", "likely")

    def __init__(self, decks: int) -> None:
        self.last: deque[int] = deque()
        self.copies = [0] * _FACES  # among the last cards
        self.likely = float(decks * _FACES)  # over all faces, copies left by their likelihood
        self.capital = 1.0

    def see(self, face: int, left: list[int], total: int) -> float:
        """Pay out on a card, of which so many copies were left among so many cards. Gives the capital after it."""
        copies = self.copies
        before = _LIKELY[copies[face]]
        self.capital *= before * total / self.likely
        copies[face] += 1
        self.likely += (left[face] - 1) * _LIKELY[copies[face]] - left[face] * before
        self.last.append(face)
        if len(self.last) > _APART:
            gone = self.last.popleft()
            still = left[gone] - (gone == face)
            self.likely += still * (_LIKELY[copies[gone] - 1] - _LIKELY[copies[gone]])
            copies[gone] -= 1
        return self.capital
