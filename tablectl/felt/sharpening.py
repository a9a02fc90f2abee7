"""A reader sharpened for the deck of one table: what it says of a corner is weighed as the enrolled deck teaches.

The reader gives a figure for each rank (and "no index") and for each suit. `Sharpening` adds to them a mixture of themselves:
where this deck's spades look half like clubs to the reader, they look so on every card, and that half is taken for what it is.
The mixture is found from many pictures of the enrolled corners (`tablectl.felt.showings`) and kept small.

A wrong card is a hundred times worse than an unread one. So each card is read by a mixture that was found without it: only where
the cards left out are read better, and none wrongly, is the deck taken; else the reader stays as it was, and `Outcome` says why.
Cards that were enrolled under another's name show by that, too. Pure: the same deck and networks give the same sharpening.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tablectl import __version__
from tablectl.errors import InputError
from tablectl.felt.calibration import find
from tablectl.felt.deck import EnrolledDeck, load_deck
from tablectl.felt.networks import Eyes, eyes
from tablectl.felt.patches import Misfit
from tablectl.felt.read import NOTHING, RANKS, SUITS
from tablectl.felt.showings import ROUNDS, Shown, index_place, shown
from tablectl.felt.sources import put
from tablectl.settings import digest

__all__ = ["MISREAD", "Outcome", "SharpEyes", "Sharpening", "eyes_for", "key_of", "report", "sharpen"]

Values = NDArray[np.float64]
EACH = 2
"""So many cards of each rank and of each suit must be enrolled: from fewer nothing can be learnt of those left out."""
STRENGTHS = (0.3, 1.0, 3.0, 10.0)
"""How strongly the mixture is kept small; tried in turn until the cards left out are read better."""
SPREAD = 4.0
"""The reader's figures go from about -10 to 10; the mixture is of figures of about one."""
FOLDS = 4
STEPS = 12
ENOUGH = 1e-5  # the part by which a step must better the fit for another to be made
WARMEST = 3.0  # the most that the figures are divided by so that they are no surer than the cards left out bear
GAIN = 0.05
"""The part of the corners that must be read for certain beyond those that are anyway: less did not show in hands."""
MISREAD = 0.02
"""The part of the corners that, read wrongly by the reader as it is, is told: such a deck is not to be dealt before a camera."""
MISNAMED = 0.5
"""A card that its pictures, for more than this part of them, certainly are not, is enrolled under a wrong name."""
DENIED = 0.9
"""The chance that a picture's rank or suit is another than the name says, from which it speaks against the name."""


class Sharpening(NamedTuple):
    """What is added to the reader's figures: of ranks (15, 14) and suits (5, 4), the last row whatever the figures are."""

    ranks: Values
    suits: Values


class Outcome(NamedTuple):
    """What an enrolled deck did for the reader. Of the cards left out, `before` and `after` of `of` were read right, surely."""

    sharpening: Sharpening | None
    of: int
    before: int
    after: int
    why: str = ""
    """Why the reader was left as it was."""
    wrong: int = 0
    """So many finds in its pictures are read wrongly by the reader as it is."""

    def __str__(self) -> str:
        if self.sharpening is None:
            bad = self.wrong > MISREAD * self.of
            return f"does not sharpen the reader: {self.why}" + (
                f"; it reads {self.wrong} of {self.of} corners wrongly" if bad else ""
            )
        return f"sharpens the reader: corners read for certain {self.before} of {self.of} before, {self.after} after"


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`deck.sharpened.json`: an outcome, and the digest of what it was found from."""

    found_from: str
    of: int
    before: int
    after: int
    why: str
    wrong: int
    ranks: list[list[float]]
    suits: list[list[float]]


class SharpEyes(Eyes):
    """The networks, sharpened for one deck."""

    def __init__(self, plain: Eyes, sharpening: Sharpening) -> None:
        self._finder, self._reader, self.tuning, self.digest = plain._finder, plain._reader, plain.tuning, plain.digest
        self._sharpening = sharpening

    def ranks(self, patches: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32], list[Misfit]]:
        """As `Eyes.ranks`, sharpened."""
        ranks, suits, fits = super().ranks(patches)
        ranks = _mixed(ranks, self._sharpening.ranks).astype(np.float32)
        suits = _mixed(suits, self._sharpening.suits).astype(np.float32)
        return ranks, suits, fits


def eyes_for(calibration: str | Path, *, keep: bool = False) -> tuple[Eyes, Outcome | None]:
    """The networks as sharp as a calibration's deck makes them; the outcome is None where no deck was enrolled.

    What was found before with the same networks and deck is taken from the folder; with `keep`, what is found is written there.
    Raises `ConfigError` for a deck that cannot be read.
    """
    folder = find(str(calibration))
    network, deck = eyes(), load_deck(folder)
    if deck is None:
        return network, None
    path, key = folder / "deck.sharpened.json", key_of(deck, network)
    outcome = _kept(path, key)
    if outcome is None:
        outcome = sharpen(deck, network)
        if keep:
            ranks, suits = ([], []) if outcome.sharpening is None else (part.tolist() for part in outcome.sharpening)
            kept = Kept(key, outcome.of, outcome.before, outcome.after, outcome.why, outcome.wrong, ranks, suits)
            with suppress(InputError):  # then it is found anew each time
                put(path, msgspec.json.encode(kept) + b"\n")
    return (network if outcome.sharpening is None else SharpEyes(network, outcome.sharpening)), outcome


def report(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON has it."""
    return {
        "sharpened": outcome.sharpening is not None,
        "of": outcome.of,
        "before": outcome.before,
        "after": outcome.after,
        "why": outcome.why,
        "wrong": outcome.wrong,
    }


def key_of(deck: EnrolledDeck, network: Eyes) -> str:
    """The digest of all that an outcome follows from."""
    parts = [__version__.encode(), network.digest.encode(), msgspec.json.encode(deck.file)]
    parts += [str(card).encode() + patch.tobytes() for card, both in deck.patches.items() for patch in both]
    return digest(b"".join(parts))


def _kept(path: Path, key: str) -> Outcome | None:
    """The outcome that was kept; None when there is none of this deck and these networks."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Kept)
    except (OSError, msgspec.MsgspecError):
        return None
    if kept.found_from != key:
        return None
    sharpening = Sharpening(np.array(kept.ranks), np.array(kept.suits)) if kept.ranks else None
    return Outcome(sharpening, kept.of, kept.before, kept.after, kept.why, kept.wrong)


def sharpen(deck: EnrolledDeck, network: Eyes, rounds: int = ROUNDS) -> Outcome:
    """What a deck does for the reader: some seconds of one core."""
    few = _too_few(deck)
    if few:
        return Outcome(None, 0, 0, 0, few)
    index = index_place(deck, network)
    if index is None:
        return Outcome(None, 0, 0, 0, "no index was found in most of the corners that were kept")
    seen = shown(deck, network, index, rounds)
    real = seen.rank != NOTHING
    faces = np.array([(RANKS.index(card.rank), SUITS.index(card.suit)) for card in deck.patches])[seen.card]
    before, wrong_before = _told(seen, faces, network, seen.ranks, seen.suits)
    plain = Outcome(None, seen.due, before, before, wrong=wrong_before)
    start: Sharpening | None = None
    for strength in STRENGTHS:
        whole = _learnt(seen, network, strength, start)
        ranks, suits = _left_out(seen, deck, network, strength, whole)
        misnamed = _misnamed(seen, deck, network, ranks, suits)
        if misnamed:
            return plain._replace(why=f"{' '.join(misnamed)} look like other cards: enrolled under a wrong name?")
        cool_rank = _warmth(ranks[seen.clear] / network.tuning.temperature_rank, seen.rank[seen.clear])
        cool_suit = _warmth(suits[real] / network.tuning.temperature_suit, seen.suit[real])
        after, wrong = _told(seen, faces, network, ranks / cool_rank, suits / cool_suit)
        if wrong <= wrong_before and after >= before + GAIN * seen.due:
            sharpening = Sharpening(_cooled(whole.ranks, cool_rank), _cooled(whole.suits, cool_suit))
            return Outcome(sharpening, seen.due, before, after, wrong=wrong_before)
        more = "more of the corners left out would be read wrongly"
        plain, start = plain._replace(why=more if wrong > wrong_before else "the cards left out are hardly read better"), whole
    return plain


def _told(
    seen: Shown,
    faces: NDArray[np.int64],
    network: Eyes,
    ranks: NDArray[np.floating],
    suits: NDArray[np.floating],
) -> tuple[int, int]:
    """How many indices are read for certain as what they are; how many finds, of whatever kind, as another card."""
    rank = np.exp(_log_chances(np.asarray(ranks, np.float64) / network.tuning.temperature_rank))[:, :NOTHING]
    suit = np.exp(_log_chances(np.asarray(suits, np.float64) / network.tuning.temperature_suit))
    told = rank.max(1) * suit.max(1) >= network.tuning.certain
    own = (rank.argmax(1) == faces[:, 0]) & (suit.argmax(1) == faces[:, 1])
    index = (seen.rank != NOTHING) & (seen.heat >= network.tuning.found)
    return int((told & own & index).sum()), int((told & ~own).sum())


def _too_few(deck: EnrolledDeck) -> str:
    """Which ranks and suits have too few cards enrolled, in words."""
    ranks = [rank.value for rank in RANKS if sum(card.rank is rank for card in deck.patches) < EACH]
    suits = [suit.value for suit in SUITS if sum(card.suit is suit for card in deck.patches) < EACH]
    return f"fewer than {EACH} cards are enrolled of {' '.join(ranks + suits)}" if ranks or suits else ""


def _learnt(
    seen: Shown, network: Eyes, strength: float, start: Sharpening | None, among: NDArray[np.bool_] | None = None
) -> Sharpening:
    """The mixtures that some of the finds teach."""
    some = seen.clear if among is None else seen.clear & among
    real = some & (seen.rank != NOTHING)
    tuning = network.tuning
    ranks = _mixture(seen.ranks[some], seen.rank[some], tuning.temperature_rank, strength, start and start.ranks)
    suits = _mixture(seen.suits[real], seen.suit[real], tuning.temperature_suit, strength, start and start.suits)
    return Sharpening(ranks, suits)


def _left_out(seen: Shown, deck: EnrolledDeck, network: Eyes, strength: float, start: Sharpening) -> tuple[Values, Values]:
    """The figures of each find by a mixture that was found without its card; of each rank one card is left out at a time."""
    fold = np.array([(RANKS.index(card.rank) + SUITS.index(card.suit)) % FOLDS for card in deck.patches])[seen.card]
    ranks, suits = seen.ranks.astype(np.float64), seen.suits.astype(np.float64)
    for number in range(FOLDS):
        out = fold == number
        learnt = _learnt(seen, network, strength, start, ~out)
        ranks[out], suits[out] = _mixed(seen.ranks[out], learnt.ranks), _mixed(seen.suits[out], learnt.suits)
    return ranks, suits


def _misnamed(seen: Shown, deck: EnrolledDeck, network: Eyes, ranks: Values, suits: Values) -> list[str]:
    """Cards that the others, and the reader as it is, know as another's rank or suit."""
    real = seen.rank != NOTHING
    denied = np.zeros(len(real), bool)
    for given, truth, warm in (
        (ranks[:, :NOTHING], np.minimum(seen.rank, NOTHING - 1), network.tuning.temperature_rank),
        (suits, seen.suit, network.tuning.temperature_suit),
    ):
        denied |= np.exp(_log_chances(given / warm))[np.arange(len(truth)), truth] < 1 - DENIED
    names = [str(card) for card in deck.patches]
    shares = [
        float(denied[real & (seen.card == place)].mean()) if (real & (seen.card == place)).any() else 0.0
        for place in range(len(names))
    ]
    return [name for name, share in zip(names, shares, strict=True) if share > MISNAMED]


def _mixed(given: NDArray[np.floating], mixture: Values) -> Values:
    """The reader's figures with their mixture added."""
    return np.asarray(given + _with_one(np.asarray(given, np.float64)) @ mixture, np.float64)


def _with_one(given: Values) -> Values:
    return np.concatenate([given / SPREAD, np.ones((len(given), 1))], axis=1)


def _cooled(mixture: Values, by: float) -> Values:
    """The mixture under which the figures come out divided."""
    unit = np.eye(*mixture.shape) * SPREAD
    return np.asarray((unit + mixture) / by - unit, np.float64)


def _log_chances(values: Values) -> Values:
    raised = values - values.max(axis=1, keepdims=True)
    return np.asarray(raised - np.log(np.exp(raised).sum(axis=1, keepdims=True)), np.float64)


def _warmth(values: Values, truth: NDArray[np.int64]) -> float:
    """The divisor, at least 1, under which the truth is likeliest: sharpening never makes surer than the cards left out bear."""
    tried = np.linspace(1.0, WARMEST, 41)
    losses = [-_log_chances(values / by)[np.arange(len(truth)), truth].mean() for by in tried]
    return float(tried[int(np.argmin(losses))])


def _mixture(given: NDArray[np.float32], truth: NDArray[np.int64], warm: float, strength: float, start: Values | None) -> Values:
    """The mixture under which the truth is likeliest, less `strength` times half its square: Newton's method, from `start`."""
    plain = given.astype(np.float64)
    features = _with_one(plain) / warm
    count, kinds, size = len(plain), plain.shape[1], plain.shape[1] + 1
    due = np.eye(kinds)[truth]
    mixture = np.zeros((size, kinds)) if start is None else start

    def loss(tried: Values) -> float:
        said = _log_chances(plain / warm + features @ tried)
        return float(0.5 * strength * (tried**2).sum() - said[np.arange(count), truth].sum())

    now = loss(mixture)
    for _ in range(STEPS):
        chance = np.exp(_log_chances(plain / warm + features @ mixture))
        slope = features.T @ (chance - due) + strength * mixture
        bend = np.empty((kinds, size, kinds, size))
        for one in range(kinds):
            for other in range(one, kinds):
                weight = chance[:, one] * ((one == other) - chance[:, other])
                bend[one, :, other, :] = bend[other, :, one, :] = features.T @ (features * weight[:, None])
        flat = bend.reshape(kinds * size, kinds * size) + strength * np.eye(kinds * size)
        step = np.linalg.solve(flat, slope.T.ravel()).reshape(kinds, size).T
        part = 1.0
        while (then := loss(mixture - part * step)) > now and part > 1e-3:
            part /= 2
        mixture = mixture - part * step
        if now - then < ENOUGH * max(1.0, now):
            break
        now = then
    return mixture
