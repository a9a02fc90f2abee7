"""How the game goes on by itself: a round opens, cards come to lie, hands end and are settled, phases follow one another.

What the table knows, and its words, are in `speech`. The observations are taken in by `cards_in`, `bets_in`, `play_in`, `pit_in`
and `rulings`, which change this state and nothing else.
"""

from __future__ import annotations

from msgspec.structs import replace

from tablectl.cards import Card
from tablectl.game import prompting
from tablectl.game.betting import Stakes
from tablectl.game.dealing import due_place
from tablectl.game.hand import total
from tablectl.game.phases import IN_ROUND, ONWARD
from tablectl.game.round import Ended, Hand, Round, change_hand, find
from tablectl.game.settlement import natural, settle
from tablectl.game.speech import Speech
from tablectl.houses.rules import Rules
from tablectl.instants import to_micros
from tablectl.notices import (
    Alert,
    Outcome,
    PhaseName,
    RoundClosed,
)
from tablectl.places import BoxPlace, Place

__all__ = ["State"]

MOST_PLACES = 255
"""No round has more cards than these."""


class State(Speech):
    """One table's state, and how it moves."""

    def open_round(self) -> None:
        """A round begins: with its first stake, or with the close of a betting on carried stakes alone."""
        self.claims_cards = False
        if not self.round_open:
            self.round_open = True
            self.paid_late = ()
            self.lies = ()
            self.superseded = {}
            self.superseded_close = None
            # What was said already of the observation that opens it carries the new round's number.
            said = sum(kind is Alert for _, kind, _ in self._draft)
            self.round = Round(self.round.number + 1, opened_at=self.at, alerts=said)

    def lay(self, card: Card, place: Place, source: str | None) -> Place:
        """Put a card where it belongs, into a hand, to the dealer, or to the burned cards; gives that place in full."""
        if place == "dealer":
            cards = (*self.round.dealer, card)
            self.round = replace(self.round, dealer=cards, cards=self.round.cards + 1)
            self.dealt(card, place, source, cards)
        elif isinstance(place, BoxPlace):
            if place.hand is None:
                place = BoxPlace(place.box, 0)
            hand = find(self.round, place.box, place.hand or 0)
            cards = (*hand.cards, card) if hand else (card,)
            if hand:
                self._take(hand, cards)
            self.dealt(card, place, source, cards)
        else:
            self.dealt(card, "burn", source, ())
        return place

    def note_place(self, cause: int, place: Place | None) -> None:
        """Keep where the draw of this number lies (None: nothing saw it); a later place takes the earlier one's."""
        self.lies = (*(pair for pair in self.lies[-MOST_PLACES:] if pair[0] != cause), (cause, place))

    def place_of(self, cause: int) -> Place | None:
        """Where the draw of this number lies, as far as is known."""
        return next((place for number, place in self.lies if number == cause), None)

    def _take(self, hand: Hand, cards: tuple[Card, ...]) -> None:
        """Give a hand its new cards, and end it where they end it."""
        changed = replace(hand, cards=cards, owed=None, ended=_ended(hand, cards, self.rules))
        self.round = replace(change_hand(self.round, hand, changed), cards=self.round.cards + 1)
        if changed.ended == "bust" and hand.result is None:
            self.prompt(prompting.collect(changed))
            self._settle(changed)

    def end_hand(self, hand: Hand, ended: Ended) -> None:
        """A hand acts no more, by its own decision or by a card that went past it."""
        changed = replace(hand, owed=None, ended=ended)
        self.round = change_hand(self.round, hand, changed)
        if ended in ("surrendered", "void"):
            self._settle(changed)

    def go_on(self) -> None:
        """Let the game go on as far as it goes by itself."""
        moved = True
        while moved:
            moved = False
            for arc in ONWARD[self.phases.phase]:
                if arc.guard is None or arc.guard(self):
                    moved = self.fire(arc.trigger)
                    if moved:
                        self._entered(arc.source, arc.dest)
                    break

    def _entered(self, source: PhaseName, dest: PhaseName) -> None:
        if dest == "players":
            self.settle_all()
        elif dest == "settling":
            if len(self.round.dealer) > 1:
                self.prompt(prompting.dealer_stands(self.round))
            self.settle_all(dealer_finished=True)
        elif source == "settling":
            self.close_round()
        elif source == "burning":
            self.shoe_notice()

    def settle_all(self, *, dealer_finished: bool = False) -> None:
        """Settle every hand whose result is known by now."""
        for hand in self.round.hands:
            if hand.result is None and hand.ended is not None:
                self._settle(hand, dealer_finished=dealer_finished)

    def _settle(self, hand: Hand, *, dealer_finished: bool = False) -> None:
        settlement = settle(hand, self.round, self.rules, dealer_finished=dealer_finished)
        if settlement is None:
            return
        done = replace(hand, result=settlement.result, returned=settlement.returned, carried=settlement.carried)
        self.round = change_hand(self.round, hand, done)
        said = prompting.settled(done, settlement)
        self.settled += 1
        self.say(
            Outcome,
            done.box,
            done.number,
            settlement.result,
            done.cards,
            total(done.cards).value,
            self.round.dealer_total if settlement.compared else None,
            done.stake,
            done.insurance or 0,
            settlement.returned,
            settlement.carried,
            settlement.rounded,
            self.superseded.get((done.box, done.number)) if self.superseded else None,
        )
        for prompt in said:
            self.prompt(prompt)

    def close_round(self) -> None:
        """The round is over: its money is counted, and what stays in place becomes the next round's."""
        round_ = self.round
        carried: dict[int, int] = {}
        for hand in round_.hands:
            if hand.carried:
                carried[hand.box] = carried.get(hand.box, 0) + hand.carried
        valid = [hand for hand in round_.hands if hand.result != "void"]
        self.say(
            RoundClosed,
            round_.number,
            sum(hand.laid for hand in valid),
            sum(hand.returned for hand in valid),
            sum(carried.values()),
            round_.cards,
            self._duration(),
            round_.alerts,
            self.superseded_close,
        )
        self.shoe_notice()
        self.stakes = Stakes((), tuple(sorted(carried.items())))
        self.round_open = False
        self.claims_cards = True
        self.waived = frozenset()

    def _duration(self) -> int | None:
        if self.round.opened_at is None or self.at is None:
            return None
        try:
            return (to_micros(self.at) - to_micros(self.round.opened_at)) // 1000
        except ValueError:  # a hand-made observation whose time is none
            return None

    def look_for_exhausted_shoe(self) -> None:
        """Say once that the shoe is empty while a card is due."""
        if self.phase in IN_ROUND and "shoe.exhausted" not in self.waived and due_place(self.phase, self.round, self.rules):
            self.waived |= {"shoe.exhausted"}
            self.alert("shoe.exhausted")

    def prompt_current(self) -> None:
        """Say what is to be done now, where that is not what was said last."""
        phase = self.phases.phase
        if phase == "suspended":
            said: prompting.Said | None = prompting.call_supervisor(self.blockers[0])
        elif phase == "settling":
            said = prompting.wait_for_correction(self.round, self.texts)
        else:
            said = prompting.current(phase, self.round, self.rules, burn_left=self.burn_left, shoe_up=self.shoe_up)
        if said is not None and said != self.prompted:
            self.prompt(said)


def _ended(hand: Hand, cards: tuple[Card, ...], rules: Rules) -> Ended | None:
    """Whether a hand has ended by the card that makes it `cards`, and why."""
    count = total(cards).value
    if count is not None and count > 21:
        return "bust"
    if hand.ended is not None or len(cards) < 2:
        return hand.ended
    if hand.owed == "double":
        return "doubled"
    if count == 21:
        return "blackjack" if natural(hand, rules, cards) else "twenty_one"
    if hand.split and rules.split_aces_cards == 1 and cards[0].points == 1 and len(cards) == 2:
        return "split_ace"
    return None
