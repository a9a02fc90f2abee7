"""What holds for every table, whatever it sees. Each law listens to all that a table takes in and says, and objects.

They know the contract and the house rules, and nothing of how the game works inside; who gets the next card and which hand acts
they are told by `Table.due`, which the oracle of `tests/perft` has checked.
"""

from __future__ import annotations

import re
from collections import defaultdict

from tablectl import notices
from tablectl.game.table import Due
from tablectl.notices import Alert, Dealt, Notice, Outcome, PhaseChanged, Prompt, RoundClosed, ShoeNotice
from tablectl.observations import Bet, CardDrawn, Decision, Felt, Insurance, Observation, Ruling, TableState
from tablectl.places import BoxPlace
from tests.perft import oracle

__all__ = ["ALWAYS", "IN_ANY_HOUSE", "IN_GOOD_PLAY", "Law"]


class Law:
    """One thing that always holds."""

    def __init__(self, house: str) -> None:
        self.house = oracle.HOUSES[house]  # read only by the laws about houses that ship

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        """What the table took in, what it said, and what was due before. Raises `AssertionError` when the law is broken."""
        raise NotImplementedError


class Numbered(Law):
    """`seq` and an alert's `id` count without a gap, `cause` counts observations, `at` is the last seen, `round` never sinks."""

    seq = cause = alert = round = 0
    at: str | None = None

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        self.cause += 1
        self.at = seen.at or self.at
        for notice in said:
            self.seq += 1
            assert (notice.seq, notice.cause, notice.at) == (self.seq, self.cause, self.at)
            assert notice.round in (self.round, self.round + 1)
            self.round = notice.round
            if isinstance(notice, Alert):
                again = notice.id <= self.alert
                assert not again or (isinstance(seen, TableState) and notice.ack_required), "only an opened table says it again"
                self.alert += not again
                assert again or notice.id == self.alert


class InOrder(Law):
    """The notices of one observation come in the contract's order, outcomes by box and hand."""

    ORDER = (Dealt, Alert, Outcome, RoundClosed, PhaseChanged, ShoeNotice, Prompt)

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        ranks = [self.ORDER.index(type(notice)) for notice in said if type(notice) in self.ORDER]
        assert ranks == sorted(ranks), said
        outcomes = [(notice.box, notice.hand) for notice in said if isinstance(notice, Outcome)]
        assert outcomes == sorted(set(outcomes)), said


class PhasesFollow(Law):
    """Each change of phase starts where the last one ended."""

    phase = "betting"

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        for notice in said:
            if isinstance(notice, PhaseChanged):
                assert notice.from_ == self.phase
                assert notice.to != notice.from_
                self.phase = notice.to


class ThePromptIsWhatIsDue(Law):
    """What the dealer was told last is what is due, to the action."""

    STANDING = (
        "place_bets",
        "deal_to_box",
        "deal_to_dealer",
        "burn",
        "offer_insurance",
        "ask_box",
        "dealer_must_draw",
        "shuffle",
    )
    prompt: Prompt | None = None

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        prompt = self.prompt
        if prompt and prompt.code in self.STANDING:
            told = (prompt.code, prompt.box, prompt.hand)
            if due.hand:
                assert told == ("ask_box", due.hand.box, due.hand.number)
                assert prompt.operands["actions"] == due.allowed
            elif due.insurance:
                assert told == ("offer_insurance", due.insurance.box, due.insurance.number)
            elif isinstance(due.card, BoxPlace):
                assert told == ("deal_to_box", due.card.box, due.card.hand)
            elif due.card:
                assert told[0] in ({"burn"} if due.card == "burn" else {"deal_to_dealer", "dealer_must_draw"})
        self.prompt = next((notice for notice in reversed(said) if isinstance(notice, Prompt)), prompt)


class NothingIsGuessed(Law):
    """A hand with an unread card has no total, and is neither won, lost nor tied before the card is known."""

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        for notice in said:
            if isinstance(notice, Dealt) and notice.card == "??":
                assert notice.total is None
                assert not notice.soft
            if isinstance(notice, Outcome) and "??" in notice.cards:
                assert notice.total is None
                assert notice.result in ("void", "surrendered")


class NoCardGoesUnnoticed(Law):
    """Every card drawn is dealt or alerted; while the game is suspended it is said to be."""

    phase = "betting"

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        codes = [notice.code for notice in said if isinstance(notice, Alert)]
        if isinstance(seen, CardDrawn):
            assert codes or any(isinstance(notice, Dealt) for notice in said)
            assert self.phase != "suspended" or "deal.while_suspended" in codes
        for notice in said:
            if isinstance(notice, PhaseChanged):
                self.phase = notice.to


class Readable(Law):
    """Every notice survives being written down and read, and no text has a part that was not filled in."""

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        for notice in said:
            line = notices.encode(notice)
            assert notices.decode(line) == notice
            assert notices.encode(notices.decode(line)) == line
            if isinstance(notice, Alert | Prompt):
                own = self._own_words(notice)
                assert not re.search(r"[{}]|None|\bnull\b", own), notice
            if isinstance(notice, Alert):
                assert notice.text
                assert notice.rule is None or re.fullmatch(r"R[0-3]\d", notice.rule)
                assert notice.remedy.do
                assert notice.remedy.text
                assert "?" not in own.replace("??", "") or None in notice.operands.values(), notice

    @staticmethod
    def _own_words(notice: Alert | Prompt) -> str:
        """The text without what it was filled in with, since a shoe's fault may be called `None` or `{}`."""
        text = notice.text
        filled = [value for value in notice.operands.values() if isinstance(value, str) and value]
        for value in sorted(filled, key=len, reverse=True):
            text = text.replace(value, "")
        return text


class MoneyIsConserved(Law):
    """What a round returns, what it carries and what the table wins is what was staked; each hand is settled once."""

    def __init__(self, house: str) -> None:
        super().__init__(house)
        self.outcomes: dict[int, dict[tuple[int, int], Outcome]] = defaultdict(dict)
        self.alerts: dict[int, int] = defaultdict(int)
        self.newest = 0
        self.closed = 0

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        before = self.alerts.copy()
        for notice in said:
            if isinstance(notice, Alert):
                self.alerts[notice.round] += notice.id > self.newest  # an opened table says those again that are still open
                self.newest = max(self.newest, notice.id)
            elif isinstance(notice, Outcome):
                before_it = self.outcomes[notice.round].get((notice.box, notice.hand))
                assert notice.corrects == (before_it and before_it.seq), "a hand is settled once, or corrected"
                assert min(notice.stake, notice.insurance, notice.returned, notice.carried) >= 0
                if notice.result == "void":
                    assert (notice.returned, notice.carried) == (notice.stake + notice.insurance, 0)
                self.outcomes[notice.round][notice.box, notice.hand] = notice
            elif isinstance(notice, RoundClosed):
                self.closed += notice.corrects is None
                assert notice.number == notice.round == self.closed, "rounds close one after another"
                played = [outcome for outcome in self.outcomes[notice.number].values() if outcome.result != "void"]
                assert notice.staked == sum(outcome.stake + outcome.insurance for outcome in played), (notice, played)
                assert notice.returned == sum(outcome.returned for outcome in played), (notice, played)
                assert notice.carried == sum(outcome.carried for outcome in played), (notice, played)
                # What the closing card itself is alerted for may belong to the time after the round.
                assert before[notice.number] <= notice.alerts <= self.alerts[notice.number], "those with its number"


class TheDealNeedsEnoughBoxes(Law):
    """R03: a round with fewer boxes than the house deals to was alerted, each round anew."""

    def __init__(self, house: str) -> None:
        super().__init__(house)
        self.boxes: dict[int, set[int]] = defaultdict(set)
        self.alerted: set[int] = set()

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        for notice in said:
            if isinstance(notice, Alert) and notice.code == "deal.too_few_boxes":
                self.alerted.add(notice.round)
            elif isinstance(notice, Outcome):
                self.boxes[notice.round].add(notice.box)
            elif isinstance(notice, RoundClosed) and 0 < len(self.boxes[notice.number]) < self.house.fewest_boxes:
                assert notice.number in self.alerted, "too few boxes, and nobody was told"


class Played(Law):
    """A law about rounds that were played out with nothing to be ruled on."""

    def __init__(self, house: str) -> None:
        super().__init__(house)
        self.round = 0
        self.begin()

    def begin(self) -> None:
        """A new round: nothing is known of it."""
        self.outcomes: list[Outcome] = []
        self.dealer: list[str] = []
        self.cards = 0
        self.disputed = False

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        for notice in said:
            if notice.round != self.round:
                self.round = notice.round
                self.begin()
            self.disputed |= isinstance(seen, Ruling | Felt)
            if isinstance(notice, Alert) and notice.severity == "critical":
                self.disputed = True
            elif isinstance(notice, Dealt) and notice.to != "burn":
                self.cards += 1
                if notice.to == "dealer":
                    self.dealer.append(str(notice.card))
            elif isinstance(notice, Outcome):
                self.outcomes.append(notice)
            elif isinstance(notice, RoundClosed) and not self.disputed:
                self.over(notice)

    def over(self, closed: RoundClosed) -> None:
        """A round that nobody had to rule on is over."""
        raise NotImplementedError

    def hand(self, outcome: Outcome) -> oracle.Hand:
        """The hand of an outcome as the oracle knows it."""
        return oracle.Hand(
            outcome.box,
            outcome.hand,
            outcome.stake,
            [str(card) for card in outcome.cards],
            split=sum(other.box == outcome.box for other in self.outcomes) > 1,
            surrendered=outcome.result == "surrendered",
        )


class EachIsPaidItsDue(Played):
    """Every hand is paid what the house rules say for its cards, its stake and the dealer's cards."""

    def over(self, closed: RoundClosed) -> None:
        assert closed.cards == self.cards
        for outcome in self.outcomes:
            hand = self.hand(outcome)
            assert (outcome.returned, outcome.carried) == oracle.pay(hand, outcome.insurance, self.dealer, self.house), outcome
            assert outcome.total == oracle.count(hand.cards)
            assert outcome.dealer_total in (None, oracle.count(self.dealer))


class TheDealerDrawsWhatHeMust(Played):
    """The dealer's final hand is one that the house allows: to 17 for a hand to be compared, else as few cards as R33 says."""

    def over(self, closed: RoundClosed) -> None:
        hands = [self.hand(outcome) for outcome in self.outcomes]
        compared = [
            hand for hand in hands if not hand.surrendered and oracle.count(hand.cards) <= 21 and not oracle.blackjack(hand)
        ]
        if compared:
            assert oracle.count(self.dealer) >= 17, self.dealer
            assert oracle.count(self.dealer[:-1]) < 17, self.dealer
            return
        insured = any(outcome.insurance for outcome in self.outcomes)
        waiting = any(oracle.blackjack(hand) for hand in hands) and oracle.waits(self.dealer[0], self.house)
        assert len(self.dealer) == (2 if insured or waiting else 1), self.dealer


class AFinishedHandGetsNoCard(Law):
    """A hand that stood, surrendered, doubled and got its card, has 21 or is bust gets no card without an alert or a ruling."""

    def __init__(self, house: str) -> None:
        super().__init__(house)
        self.finished: set[BoxPlace] = set()
        self.doubled: set[BoxPlace] = set()
        self.round = 0

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        quiet = not any(isinstance(notice, Alert) for notice in said)
        if isinstance(seen, Felt):  # a card may lie elsewhere than was thought
            self.finished.clear()
            self.doubled.clear()
        if quiet and isinstance(seen, Decision):
            acting = BoxPlace(due.hand.box, due.hand.number) if due.hand else due.card
            if isinstance(acting, BoxPlace) and seen.box == acting.box and seen.hand in (None, acting.hand):
                if seen.action in ("stand", "surrender"):
                    self.finished.add(acting)
                elif seen.action == "double":
                    self.doubled.add(acting)
        for notice in said:
            if notice.round != self.round:
                self.round = notice.round
                self.finished.clear()
                self.doubled.clear()
            if quiet and isinstance(notice, Dealt) and isinstance(notice.to, BoxPlace):
                assert notice.to not in self.finished or isinstance(seen, Ruling | Felt), notice
                if notice.to in self.doubled or (notice.total or 0) >= 21:
                    self.finished.add(notice.to)


class StakesAreWhatWasLaid(Law):
    """Without mishaps, what was bet, carried in, doubled, split and insured is what the round says was staked."""

    def __init__(self, house: str) -> None:
        super().__init__(house)
        self.laid: dict[tuple[int, str | None], int] = {}
        self.carried: dict[int, int] = {}
        self.stays: dict[int, int] = defaultdict(int)
        self.added = 0

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        if isinstance(seen, Bet):
            self.laid[seen.box, seen.by] = seen.amount
        elif isinstance(seen, Insurance):
            self.added += seen.amount
        elif isinstance(seen, Decision) and seen.action in ("double", "split"):
            box = sum(amount for (box, _), amount in self.laid.items() if box == seen.box)
            self.added += box + self.carried.get(seen.box, 0)
        for notice in said:
            if isinstance(notice, Outcome) and notice.carried:
                self.stays[notice.box] += notice.carried
            elif isinstance(notice, RoundClosed):
                assert notice.staked == sum(self.laid.values()) + sum(self.carried.values()) + self.added
                self.laid, self.carried, self.added, self.stays = {}, self.stays, 0, defaultdict(int)


OF_CLOCK_AND_SHOE = frozenset({"shoe.double_draw", "link.clock", "shoe.unshuffled"})
"""The streams' times are any, and their shoes of few ranks and never shuffled: what is said of these accuses no dealer."""


class NobodyIsAccused(Law):
    """Where nobody does anything wrong there is no alert, but that the shoe was in use before."""

    def hear(self, seen: Observation, said: tuple[Notice, ...], due: Due) -> None:
        codes = {notice.code for notice in said if isinstance(notice, Alert)}
        assert codes <= {"shoe.books_unknown", *OF_CLOCK_AND_SHOE}, said


IN_ANY_HOUSE: tuple[type[Law], ...] = (
    Numbered,
    InOrder,
    PhasesFollow,
    ThePromptIsWhatIsDue,
    NothingIsGuessed,
    Readable,
    MoneyIsConserved,
)
"""These hold whatever a house's rules are, even where some alerts are switched off."""

ALWAYS: tuple[type[Law], ...] = (
    *IN_ANY_HOUSE,
    NoCardGoesUnnoticed,
    TheDealNeedsEnoughBoxes,
    EachIsPaidItsDue,
    TheDealerDrawsWhatHeMust,
    AFinishedHandGetsNoCard,
)
"""These hold in the houses that ship, whatever happens."""

IN_GOOD_PLAY: tuple[type[Law], ...] = (*ALWAYS, StakesAreWhatWasLaid, NobodyIsAccused)
"""These hold in the houses that ship, where nobody does anything wrong."""
