"""The catalogue of what can go wrong at a table: how grave each is, whether it stops the game, whom it favours.

An integrity alert ends only by a supervisor's `ack` or ruling. A house may set for every code that it is off, only said, or
suspends (`[alerts]`), and what is to be done then (`[remedies]`); where it says nothing, the supervisor is called: the program
never invents a ruling.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

from tablectl.errors import HouseError
from tablectl.houses.rules import House, HouseFile
from tablectl.notices import Favours, PhaseName, Remedy, Severity
from tablectl.settings import line_of

__all__ = ["CATALOGUE", "Irregularity", "check_codes", "policy", "remedy"]


PHASE_NAMES = frozenset(get_args(PhaseName))


class Irregularity(NamedTuple):
    """What is known of a code before it happens. `rule` is the row of the house rules that it breaks, where there is one."""

    severity: Severity
    suspends: bool
    favours: Favours = "none"
    integrity: bool = False
    rule: str | None = None


CATALOGUE: dict[str, Irregularity] = {
    "shoe.burn_omitted": Irregularity("critical", True, rule="R04"),
    "shoe.card_unread": Irregularity("critical", True, integrity=True),
    "shoe.impossible_card": Irregularity("critical", True, integrity=True, rule="R01"),
    "shoe.foreign_card": Irregularity("critical", True, integrity=True, rule="R01"),
    "shoe.books_unknown": Irregularity("info", False),
    "shoe.not_cut": Irregularity("warning", False, rule="R05"),
    "shoe.past_cut_card": Irregularity("warning", True),
    "shoe.missing_cards": Irregularity("critical", False, integrity=True, rule="R01"),
    "shoe.unshuffled": Irregularity("warning", False, integrity=True),
    "shoe.double_draw": Irregularity("warning", False),
    "shoe.exhausted": Irregularity("critical", True),
    "shoe.pulled_back": Irregularity("critical", True, integrity=True),
    "shoe.fault": Irregularity("warning", True),
    "deal.too_few_boxes": Irregularity("critical", True, rule="R03"),
    "deal.box_skipped": Irregularity("critical", True, "house", rule="R10"),
    "deal.out_of_order": Irregularity("critical", True, rule="R10"),
    "deal.box_without_stake": Irregularity("critical", True, rule="R10"),
    "deal.dealer_second_card_early": Irregularity("critical", True, rule="R10"),
    "deal.dealer_card_missing": Irregularity("critical", True, rule="R10"),
    "deal.extra_card": Irregularity("critical", True, rule="R20"),
    "deal.card_outside_round": Irregularity("critical", True),
    "deal.while_suspended": Irregularity("critical", False),
    "dealer.drew_on_17": Irregularity("critical", True, rule="R32"),
    "dealer.stopped_short": Irregularity("critical", True, rule="R32"),
    "dealer.drew_idle": Irregularity("warning", False, rule="R33"),
    "action.illegal_double": Irregularity("warning", False, "player", rule="R19"),
    "action.illegal_split": Irregularity("warning", False, "player", rule="R22"),
    "action.illegal_surrender": Irregularity("warning", False, "player", rule="R30"),
    "action.illegal_hit": Irregularity("warning", False, "player", rule="R25"),
    "action.illegal_stand": Irregularity("warning", False, rule="R29"),
    "action.out_of_turn": Irregularity("warning", False, rule="R10"),
    "action.not_authorised": Irregularity("warning", False, rule="R08"),
    "insurance.not_offered": Irregularity("critical", True, "house", rule="R18"),
    "insurance.illegal": Irregularity("warning", False, "player", rule="R17"),
    "bet.below_min": Irregularity("warning", False, "player", rule="R06"),
    "bet.above_max": Irregularity("warning", False, "player", rule="R06"),
    "bet.late": Irregularity("critical", False, "player"),
    "bet.not_chips": Irregularity("warning", False, "player", rule="R09"),
    "bet.carried_removed": Irregularity("critical", False, "player", rule="R15"),
    "pay.blackjack_late": Irregularity("warning", False, "house", rule="R12"),
    "felt.identity_mismatch": Irregularity("critical", True, integrity=True),
    "felt.card_missing": Irregularity("critical", True, integrity=True),
    "felt.card_appeared": Irregularity("critical", True, integrity=True),
    "felt.card_moved": Irregularity("critical", True, integrity=True),
    "felt.card_swapped": Irregularity("critical", True, integrity=True),
    "felt.not_collected": Irregularity("warning", False),
    "felt.camera_moved": Irregularity("warning", False),
    "felt.camera_lost": Irregularity("warning", False),
    "link.lost": Irregularity("warning", False),
    "link.corrupt": Irregularity("warning", False),
    "link.clock": Irregularity("warning", False),
    "rules.layout_mismatch": Irregularity("critical", False),
}


def check_codes(file: HouseFile) -> None:
    """See that a house speaks of alerts and phases that there are. Raises `HouseError` with file, line and key."""
    house = file.house
    for table, keys in (("alerts", house.alerts), ("remedies", house.remedies)):
        for key in keys:
            code, _, phase = key.partition("@")
            known = code in CATALOGUE or (table == "remedies" and key == "default")
            if not known or (phase and phase not in PHASE_NAMES) or (table == "alerts" and phase):
                text = file.path.read_text("utf-8")
                field = f'{table}."{key}"'
                raise HouseError(
                    "there is no such alert, or phase after the @", where=str(file.path), line=line_of(text, field), field=field
                )


def policy(code: str, house: House) -> tuple[bool, bool]:
    """Whether this house says this alert, and whether the game stops for it."""
    chosen = house.alerts.get(code)
    if chosen is None:
        return True, CATALOGUE[code].suspends
    return chosen != "off", chosen == "suspend"


def remedy(code: str, phase: PhaseName, house: House, words: str) -> Remedy:
    """What the house prescribes for this code in this phase; where it says nothing, `words` call the supervisor."""
    remedies = house.remedies
    found = remedies.get(f"{code}@{phase}") or remedies.get(code) or remedies.get("default")
    return Remedy(found.do, found.text, found.cite or "") if found else Remedy("call_supervisor", words, "")
