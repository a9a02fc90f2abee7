"""Rounds on file: observations as JSON lines, and between them what the house expects to be said (see `houses/README.md`).

`read` is strict: a directive that cannot be understood, or that could never fail, is a `BadRound` naming file and line.
`complaints` plays the file through a table and returns every way in which the table did not say what the file expects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from tablectl import notices
from tablectl.errors import InputError
from tablectl.game.table import Table
from tablectl.houses import rules
from tablectl.observations import Observation, decode

__all__ = ["BadRound", "RoundOnFile", "Step", "complaints", "files", "parse", "read"]

Subset = dict[str, Any]

CODES = frozenset(
    f"{about}.{what}"
    for about, wrongs in {
        "shoe": "burn_omitted card_unread impossible_card foreign_card missing_cards unshuffled books_unknown not_cut "
        "past_cut_card exhausted pulled_back double_draw fault",
        "deal": "too_few_boxes box_skipped out_of_order box_without_stake dealer_second_card_early dealer_card_missing "
        "extra_card card_outside_round while_suspended",
        "dealer": "drew_on_17 stopped_short drew_idle",
        "action": "illegal_double illegal_split illegal_surrender illegal_hit illegal_stand out_of_turn not_authorised",
        "insurance": "not_offered illegal",
        "bet": "below_min above_max late not_chips carried_removed",
        "pay": "blackjack_late",
        "felt": "identity_mismatch card_missing card_appeared card_moved card_swapped not_collected camera_moved camera_lost",
        "link": "lost corrupt clock",
        "rules": "layout_mismatch",
    }.items()
    for what in wrongs.split()
)
"""Every alert there is, so that a `never` with a misspelt code is an error and not a test that cannot fail."""

SERIOUS = ("warning", "critical")
KINDS: dict[str, type[msgspec.Struct]] = {str(kind.__struct_config__.tag): kind for kind in get_args(notices.Notice)}
RULE = re.compile(r"R(0[1-9]|[12]\d|3[0-5])", re.ASCII)
DIRECTIVE = re.compile(r"# (?P<word>house|expect|never|alerts|closed)(?: (?P<rest>.*))?", re.DOTALL)


class BadRound(Exception):
    """A round on file is not written as it must be."""


@dataclass(frozen=True)
class Step:
    """An observation, and what is said of the notices it causes. `expects` and `nevers` carry the number of their line."""

    line: int
    text: str
    observation: Observation
    expects: list[tuple[int, Subset]] = field(default_factory=list)
    nevers: list[tuple[int, Subset]] = field(default_factory=list)


@dataclass(frozen=True)
class RoundOnFile:
    """A whole file: its title, its house, its observations, and what holds for all of it."""

    name: str
    title: str
    house: str
    steps: list[Step]
    alerts: list[str]
    closed: list[tuple[int, Subset]]


def files(folder: Path) -> list[Path]:
    """The rounds on file in a folder, by name. Raises `FileNotFoundError` for none: no test passes for want of a file."""
    found = sorted(folder.glob("*.jsonl"))
    if not found:
        raise FileNotFoundError(f"no rounds on file in {folder}")
    return found


def read(path: Path) -> RoundOnFile:
    """Read a round on file. Raises `BadRound`."""
    return parse(path.read_text(encoding="utf-8"), path.name)


def parse(text: str, name: str) -> RoundOnFile:
    """Read a round on file from its text. Raises `BadRound` with name and line."""
    lines = text.splitlines()
    title = lines[0] if lines else ""
    if not title.startswith("# ") or DIRECTIVE.fullmatch(title):
        raise BadRound(f"{name}:1: the first line is the title, `# ` and what the file shows")
    house: str | None = None
    alerts: list[str] | None = None
    steps: list[Step] = []
    closed: list[tuple[int, Subset]] = []
    for number, line in enumerate(lines[1:], start=2):
        where = f"{name}:{number}"
        if not line.strip() or line.startswith("##"):
            continue
        if not line.startswith("#"):
            try:
                steps.append(Step(number, line, decode(line, where=name, number=number)))
            except InputError as error:
                raise BadRound(str(error)) from None
            continue
        match = DIRECTIVE.fullmatch(line)
        if match is None:
            raise BadRound(f"{where}: no such directive (a note begins with ##): {line}")
        word, rest = match["word"], (match["rest"] or "").strip()
        if word == "house":
            if house is not None or rest not in rules.names():
                raise BadRound(f"{where}: one house a file, one of {', '.join(rules.names())}")
            house = rest
        elif word == "alerts":
            if alerts is not None:
                raise BadRound(f"{where}: `# alerts` stands once in a file")
            alerts = rest.split()
            for code in alerts:
                _known_code(code, where)
        elif word == "closed":
            closed.append((number, _subset(rest, where, "round_closed")))
        else:
            if not steps:
                raise BadRound(f"{where}: there is no observation above")
            (steps[-1].expects if word == "expect" else steps[-1].nevers).append((number, _subset(rest, where)))
    if house is None:
        raise BadRound(f"{name}: `# house` is missing")
    if alerts is None:
        raise BadRound(f"{name}: `# alerts` is missing (without codes when there is no alert)")
    if not closed and not any(step.expects for step in steps):
        raise BadRound(f"{name}: nothing is expected: `# expect` or `# closed` at least once")
    return RoundOnFile(name, title.removeprefix("# "), house, steps, alerts, closed)


def complaints(round_: RoundOnFile) -> list[str]:
    """Play the file through a fresh table of its house; each complaint names the line that was not met. None: all is well."""
    table = Table(rules.load(round_.house).house)
    wrong: list[str] = []
    alerts: list[str] = []
    closed: list[Subset] = []
    for step in round_.steps:
        said = [_plain(notice) for notice in table.feed(step.observation)]
        alerts += [notice["code"] for notice in said if notice["notice"] == "alert" and notice["severity"] in SERIOUS]
        closed += [notice for notice in said if notice["notice"] == "round_closed"]
        heard = "".join(f"\n    {msgspec.json.encode(notice).decode()}" for notice in said) or " nothing"
        above = f"\n  line {step.line}: {step.text}\n  said:{heard}"
        for number, subset in step.expects:
            if not any(_holds(subset, notice) for notice in said):
                wrong.append(f"{round_.name}:{number}: expected {_show(subset)}{above}")
        for number, subset in step.nevers:
            if any(_holds(subset, notice) for notice in said):
                wrong.append(f"{round_.name}:{number}: never {_show(subset)}{above}")
    if alerts != round_.alerts:
        wrong.append(f"{round_.name}: alerts were {' '.join(alerts) or 'none'}; expected {' '.join(round_.alerts) or 'none'}")
    for (number, subset), notice in zip(round_.closed, closed, strict=False):
        if not _holds(subset, notice):
            wrong.append(f"{round_.name}:{number}: closed {_show(subset)}, but it was {_show(notice)}")
    if len(closed) != len(round_.closed):
        wrong.append(f"{round_.name}: {len(closed)} rounds closed; expected {len(round_.closed)}")
    return wrong


def _subset(rest: str, where: str, kind: str | None = None) -> Subset:
    """Read a directive's JSON and hold it against the type of its notice, so that no typing error makes it empty."""
    try:
        subset = msgspec.json.decode(rest)
    except msgspec.DecodeError as error:
        raise BadRound(f"{where}: no JSON: {error}") from None
    if not isinstance(subset, dict):
        raise BadRound(f"{where}: an object is wanted")
    named = kind or subset.get("notice")
    if named not in KINDS or (kind and "notice" in subset):
        raise BadRound(f"{where}: `notice` must be one of {', '.join(sorted(KINDS))}")
    struct = KINDS[named]
    types = get_type_hints(struct)
    fields = {other: types[own] for own, other in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)}
    for key, value in subset.items():
        if key == "notice":
            continue
        if key not in fields:
            raise BadRound(f"{where}: {named} has no field `{key}`")
        if key == "remedy":
            continue
        try:
            msgspec.convert(value, fields[key])
        except msgspec.ValidationError as error:
            raise BadRound(f"{where}: {named}.{key}: {error}") from None
        if key == "code" and named == "alert":
            _known_code(value, where)
        if key == "rule" and value is not None and not RULE.fullmatch(value):
            raise BadRound(f"{where}: {value} is no row of the house rules")
    return dict(subset)


def _known_code(code: str, where: str) -> None:
    if code not in CODES:
        raise BadRound(f"{where}: there is no alert {code}")


def _plain(notice: notices.Notice) -> Subset:
    """The notice as a reader of the JSON line sees it."""
    plain: Subset = msgspec.json.decode(notices.encode(notice))
    return plain


def _holds(subset: object, whole: object) -> bool:
    """Whether all of `subset` is in `whole`: objects field by field, everything else exactly (1 is not true)."""
    if isinstance(subset, dict):
        return isinstance(whole, dict) and all(key in whole and _holds(value, whole[key]) for key, value in subset.items())
    return type(subset) is type(whole) and subset == whole


def _show(value: Subset) -> str:
    return msgspec.json.encode(value).decode()
