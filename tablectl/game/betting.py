"""What lies on the boxes before the deal, whose it is, and who decides for a box.

Stakes are kept by box and bettor: a second `bet` of the same bettor replaces the first. What was carried from the last round lies
there besides, outside the posted limits.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tablectl.game.round import Hand, Stake
from tablectl.houses.rules import Rules
from tablectl.observations import Bet, Seat

__all__ = ["Stakes", "holder", "may_decide", "seated"]


class Sitting(NamedTuple):
    """A player at a box."""

    player: str
    box: int


class Limit(NamedTuple):
    """A box outside the posted limits (R06)."""

    code: str
    box: int
    amount: int
    limit: int


class Stakes(msgspec.Struct, frozen=True, gc=False):
    """All stakes before the deal, in the order in which their bettors came; and what the last round left in place."""

    laid: tuple[Stake, ...] = ()
    carried: tuple[tuple[int, int], ...] = ()

    def on(self, box: int) -> int:
        """What was newly staked on a box by all its bettors."""
        return sum(stake.amount for stake in self.laid if stake.box == box)

    def carried_on(self, box: int) -> int:
        """What lies on a box from the last round."""
        return dict(self.carried).get(box, 0)

    def of(self, box: int, by: str | None) -> int:
        """What one bettor has newly staked on a box."""
        return next((stake.amount for stake in self.laid if stake.box == box and stake.by == by), 0)

    def with_bet(self, bet: Bet) -> Stakes:
        """The stakes after a bettor changed what is his in all."""
        mine = Stake(bet.box, bet.by, bet.amount)
        laid = [mine if (stake.box, stake.by) == (bet.box, bet.by) else stake for stake in self.laid]
        if mine not in laid:
            laid.append(mine)
        return Stakes(tuple(stake for stake in laid if stake.amount), self.carried)

    def with_carried(self, box: int, amount: int) -> Stakes:
        """The stakes after the amount that lies on a box from the last round is known anew."""
        kept = {**dict(self.carried), box: amount}
        return Stakes(self.laid, tuple(sorted((b, a) for b, a in kept.items() if a)))

    def boxes(self, rules: Rules) -> list[int]:
        """The boxes with anything on them, in dealing order (R10)."""
        staked = {stake.box for stake in self.laid} | {box for box, _ in self.carried}
        return sorted(staked, reverse=rules.deal_order == "right_to_left")

    def outside_limits(self, rules: Rules) -> list[Limit]:
        """The boxes whose new stakes are below the posted minimum or above the maximum (R06)."""
        limits = []
        for box in self.boxes(rules):
            amount = self.on(box)
            if 0 < amount < rules.table_min:
                limits.append(Limit("bet.below_min", box, amount, rules.table_min))
            elif rules.table_max != "none" and amount > rules.table_max:
                limits.append(Limit("bet.above_max", box, amount, rules.table_max))
        return limits

    def hands(self, rules: Rules) -> tuple[Hand, ...]:
        """The hands that are dealt to. A new stake below the minimum gets no card and is not staked (R06)."""
        hands = []
        for box in self.boxes(rules):
            new = self.on(box)
            stake = self.carried_on(box) + (new if new >= rules.table_min else 0)
            if stake:
                hands.append(Hand(box, 0, stake, stake))
        return tuple(hands)


def seated(seats: tuple[Sitting, ...], seat: Seat) -> tuple[Sitting, ...]:
    """The players at the table after one sat down or left, in the order in which they sat down at the table.

    A player who takes another box keeps his place in that order; who leaves and comes back loses it.
    """
    sitting = Sitting(seat.player, seat.box)
    if seat.state == "left":
        return tuple(other for other in seats if other != sitting)
    if sitting in seats:
        return seats
    return (*seats, sitting)


def holder(box: int, laid: tuple[Stake, ...], seats: tuple[Sitting, ...], rules: Rules) -> str | None:
    """Who decides for a box (R08); None when that is not known.

    `holder`: who sits at the box alone, else who staked there first. `seated_player`: who sits at the box alone; where several
    share it or nobody sits there, the one of those staking on it who has been seated longest at the table.
    """
    at_box = [sitting.player for sitting in seats if sitting.box == box]
    bettors = [stake.by for stake in laid if stake.box == box]
    if len(at_box) == 1:
        return at_box[0]
    if rules.box_authority == "holder":
        return next((by for by in bettors if not at_box or by in at_box), None)
    return next((sitting.player for sitting in seats if sitting.player in bettors), None)


def may_decide(by: str | None, box: int, laid: tuple[Stake, ...], seats: tuple[Sitting, ...], rules: Rules) -> bool:
    """Whether this person may decide for a box, as far as is known: nobody is accused on what nobody saw."""
    if by is None:
        return True
    authority = holder(box, laid, seats, rules)
    return authority is None or authority == by
