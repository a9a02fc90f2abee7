"""The rules of a house: a closed vocabulary, every key required, since a default would be a hidden house rule.

The numbers R01 to R35 are the rows of the project's house rules; each names one key, and alerts, refusals and tests quote them.
A value that the house's own page does not state carries a comment that ends in `; assumed` in the file, and
`tablectl house show` marks it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tablectl.errors import HouseError
from tablectl.resources import named_files
from tablectl.settings import digest, line_of, read_toml

__all__ = ["ASSUMED", "ROWS", "House", "HouseFile", "Jurisdiction", "Prescribed", "Rules", "load", "names"]

ASSUMED = "; assumed"

Count = Annotated[int, msgspec.Meta(ge=1, le=99)]
Money = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
Ratio = Annotated[str, msgspec.Meta(pattern=r"^[1-9][0-9]?:[1-9][0-9]?$", examples=["3:2"])]
"""A payment such as `3:2`, winnings to stake."""

JURISDICTIONS = "houses/jurisdictions"

AlertPolicy = Literal["off", "alert", "suspend"]


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One house's rules. Amounts in the smallest currency unit."""

    decks: Annotated[int, msgspec.Meta(ge=1, le=12)]
    boxes: Annotated[int, msgspec.Meta(ge=1, le=7)]
    min_boxes: Annotated[int, msgspec.Meta(ge=1, le=7)]
    burn_cards: Annotated[int, msgspec.Meta(ge=0, le=52)]
    player_cut: bool
    table_min: Money
    table_max: Money | Literal["none"]
    back_betting: Literal["yes", "with_consent", "no"]
    box_authority: Literal["holder", "seated_player"]
    cash_plays: bool
    deal_order: Literal["left_to_right", "right_to_left"]
    blackjack_pays: Ratio
    blackjack_paid: Literal["at_once_unless_ace", "after_dealer"]
    blackjack_tie: Literal["lose", "push"]
    tie: Literal["carry", "push", "lose"]
    natural_beats_21: bool
    insurance_max: Literal["exactly_half", "up_to_half"]
    insurance_pays: Ratio
    insurance_offer: bool
    double_on: tuple[Annotated[int, msgspec.Meta(ge=4, le=20)], ...] | Literal["any"]
    double_cards: Literal[1]
    double_soft: bool
    split_on: Literal["same_rank", "same_value"]
    max_hands: Count | Literal["unlimited"]
    max_hands_aces: Count | Literal["unlimited"]
    split_aces_cards: Literal[1, "unlimited"]
    blackjack_after_split: bool
    double_after_split: bool
    split_deal: Literal["play_out_first", "one_to_each"]
    surrender: Literal["no", "any_card", "not_against_ace", "void_on_dealer_blackjack"]
    dealer_blackjack_takes: Literal["all", "first_stake"]
    dealer_stands: Literal["all_17", "hard_17"]
    dealer_draws_when_idle: bool
    rounding: Literal["house", "player"]
    smallest_chip: Money
    split_stake: Literal["equal"]
    double_stake: Literal["equal"]


class Prescribed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A remedy as a file states it; `cite` may be left to the file."""

    do: Literal["accept", "burn", "move", "void_hand", "void_round", "correct", "call_supervisor"]
    text: Annotated[str, msgspec.Meta(min_length=1)]
    cite: str | None = None


class Jurisdiction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a jurisdiction prescribes: a file of remedies that houses may include. Keys as in `House.remedies`."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]*$", examples=["our-house"])]
    title: str
    cite: str
    remedies: dict[str, Prescribed]


class House(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A house file: who it is, its rules, what it does about each alert, and the remedies it prescribes.

    `fastest_draw_ms` is the time between two cards below which no hand has dealt them (0: never said). `jurisdictions` are names
    of files under `houses/jurisdictions`, or paths beside the house's own; the house's own remedies go before theirs, and an
    earlier jurisdiction's before a later one's. A remedy's key is an alert's code, `code@phase`, or `default` for all others.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]*$", examples=["our-house"])]
    title: str
    language: Literal["en", "es", "fr", "lt"]
    currency: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}$", examples=["EUR"])]
    rules: Rules
    fastest_draw_ms: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    jurisdictions: tuple[str, ...]
    alerts: dict[str, AlertPolicy]
    remedies: dict[str, Prescribed]


class HouseFile(msgspec.Struct, frozen=True):
    """A house as it was read: with its digest, and the keys whose value is assumed.

    Its remedies are all that apply, its jurisdictions' included, each with its citation; the digest covers these files too.
    """

    house: House
    path: Path
    digest: str
    assumed: frozenset[str]


ROWS: dict[str, tuple[str, ...]] = {
    "R01": ("decks",),
    "R02": ("boxes",),
    "R03": ("min_boxes",),
    "R04": ("burn_cards",),
    "R05": ("player_cut",),
    "R06": ("table_min", "table_max"),
    "R07": ("back_betting",),
    "R08": ("box_authority",),
    "R09": ("cash_plays",),
    "R10": ("deal_order",),
    "R11": ("blackjack_pays",),
    "R12": ("blackjack_paid",),
    "R13": ("blackjack_tie",),
    "R14": ("blackjack_pays", "insurance_pays"),
    "R15": ("tie",),
    "R16": ("natural_beats_21",),
    "R17": ("insurance_max", "insurance_pays"),
    "R18": ("insurance_offer",),
    "R19": ("double_on",),
    "R20": ("double_cards",),
    "R21": ("double_soft",),
    "R22": ("split_on",),
    "R23": ("max_hands",),
    "R24": ("max_hands_aces",),
    "R25": ("split_aces_cards",),
    "R26": ("blackjack_after_split",),
    "R27": ("blackjack_after_split",),
    "R28": ("double_after_split",),
    "R29": ("split_deal",),
    "R30": ("surrender",),
    "R31": ("dealer_blackjack_takes",),
    "R32": ("dealer_stands",),
    "R33": ("dealer_draws_when_idle",),
    "R34": ("rounding", "smallest_chip"),
    "R35": ("split_stake", "double_stake"),
}
"""Which keys carry each row."""


def names() -> list[str]:
    """The names of the houses that ship."""
    return list(named_files("houses"))


def load(name: str) -> HouseFile:
    """Read a house by its name (`fr`), or by the path of its TOML file.

    Raises `HouseError` with file, line and key when there is none, or something in it cannot be.
    """
    known = named_files("houses")
    path = known.get(name) or Path(name)
    if name not in known and not (path.suffix or path.exists()):
        raise HouseError(f"no such house; known are {', '.join(known)}, or give the path of a TOML file", where=name)
    house, data = read_toml(path, House, HouseError)
    text = data.decode()
    _check(house.rules, path, text)
    remedies = {key: _cited(remedy, house.title) for key, remedy in house.remedies.items()}
    for index, wanted in enumerate(house.jurisdictions):
        try:
            included, more = _jurisdiction(wanted, path)
        except HouseError as error:
            if error.line is None and error.field is None:  # it is not there: the house's own line is what is wrong
                field = f"jurisdictions[{index}]"
                raise HouseError(str(error), where=str(path), line=line_of(text, "jurisdictions"), field=field) from None
            raise
        data += more
        remedies = {key: _cited(remedy, included.cite) for key, remedy in included.remedies.items()} | remedies
    return HouseFile(msgspec.structs.replace(house, remedies=remedies), path, digest(data), _assumed(text))


def _jurisdiction(name: str, house: Path) -> tuple[Jurisdiction, bytes]:
    """Read a jurisdiction that ships, or one whose path is given from the house's folder. Raises `HouseError`."""
    path = named_files(JURISDICTIONS).get(name) or house.parent / name
    return read_toml(path, Jurisdiction, HouseError)


def _cited(remedy: Prescribed, cite: str) -> Prescribed:
    return remedy if remedy.cite is not None else msgspec.structs.replace(remedy, cite=cite)


def _check(rules: Rules, path: Path, text: str) -> None:
    """What no single key can show: keys that contradict each other."""
    wrong: list[tuple[str, str]] = []
    if rules.min_boxes > rules.boxes:
        wrong.append(("min_boxes", f"is {rules.min_boxes}, but the table has {rules.boxes} boxes"))
    if rules.table_max != "none" and rules.table_max < rules.table_min:
        wrong.append(("table_max", f"is {rules.table_max}, below table_min {rules.table_min}"))
    if rules.max_hands != "unlimited" and (rules.max_hands_aces == "unlimited" or rules.max_hands_aces > rules.max_hands):
        wrong.append(("max_hands_aces", f"is {rules.max_hands_aces}, above max_hands {rules.max_hands}"))
    if rules.burn_cards >= rules.decks * 52:
        wrong.append(("burn_cards", f"is {rules.burn_cards}, all of {rules.decks} packs"))
    for key, message in wrong:
        raise HouseError(message, where=str(path), line=line_of(text, f"rules.{key}"), field=f"rules.{key}")


def _assumed(text: str) -> frozenset[str]:
    return frozenset(
        line.split("=", 1)[0].strip() for line in text.splitlines() if "=" in line and line.rstrip().endswith(ASSUMED)
    )
