"""Remedies as data: a house's own, a jurisdiction's that it includes, and what is wrong with such files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablectl.cards import Card
from tablectl.errors import HouseError
from tablectl.game.irregularities import CATALOGUE, check_codes
from tablectl.game.table import Table
from tablectl.houses.rules import Jurisdiction, load
from tablectl.notices import Alert, Prompt
from tablectl.observations import Bet, CardDrawn, NoMoreBets, Ruling
from tablectl.places import BoxPlace
from tablectl.resources import data_folder, named_files
from tablectl.settings import read_toml

FR = data_folder("houses") / "fr.toml"


def house(folder: Path, *, jurisdictions: str = '["south-dakota"]', more: str = "") -> Path:
    path = folder / "ours.toml"
    text = FR.read_text("utf-8").replace("jurisdictions = []", f"jurisdictions = {jurisdictions}")
    path.write_text(text + more, "utf-8")
    return path


@pytest.mark.parametrize("name", named_files("houses/jurisdictions"))
def test_every_jurisdiction_that_ships_speaks_of_alerts_that_there_are(name: str) -> None:
    jurisdiction, _ = read_toml(named_files("houses/jurisdictions")[name], Jurisdiction, HouseError)
    assert jurisdiction.name == name
    assert {key.partition("@")[0] for key in jurisdiction.remedies} <= {*CATALOGUE, "default"}


def test_a_jurisdictions_remedies_become_the_houses_with_their_citation(tmp_path: Path) -> None:
    found = load(str(house(tmp_path))).house.remedies["dealer.drew_on_17"]
    assert (found.do, found.cite) == ("burn", "ARSD 20:18:15:28")


def test_the_houses_own_remedy_goes_before(tmp_path: Path) -> None:
    own = '\n[remedies."dealer.drew_on_17"]\ndo = "void_round"\ntext = "Ours"\n'
    found = load(str(house(tmp_path, more=own))).house.remedies["dealer.drew_on_17"]
    assert (found.do, found.text, found.cite) == ("void_round", "Ours", "Blackjack, maison française")


def test_a_jurisdiction_of_ones_own_stands_beside_the_house(tmp_path: Path) -> None:
    remedy = '[remedies.default]\ndo = "accept"\ntext = "Play on"\n'
    (tmp_path / "state.toml").write_text(f'name = "state"\ntitle = "State"\ncite = "Act 5"\n{remedy}')
    found = load(str(house(tmp_path, jurisdictions='["state.toml"]'))).house.remedies["default"]
    assert (found.do, found.cite) == ("accept", "Act 5")


def test_the_digest_covers_the_jurisdictions(tmp_path: Path) -> None:
    (tmp_path / "state.toml").write_text('name = "state"\ntitle = "S"\ncite = "Act 5"\n[remedies]\n')
    path = house(tmp_path, jurisdictions='["state.toml"]')
    before = load(str(path)).digest
    (tmp_path / "state.toml").write_text('name = "state"\ntitle = "S"\ncite = "Act 6"\n[remedies]\n')
    assert load(str(path)).digest != before


def test_a_jurisdiction_that_is_not_there_is_told_at_the_houses_line(tmp_path: Path) -> None:
    path = house(tmp_path, jurisdictions='["atlantis"]')
    line = next(n for n, text in enumerate(path.read_text("utf-8").splitlines(), 1) if text.startswith("jurisdictions"))
    with pytest.raises(HouseError) as caught:
        load(str(path))
    assert (caught.value.where, caught.value.line, caught.value.field) == (str(path), line, "jurisdictions[0]")


@pytest.mark.parametrize("key", ["deal.typo", "deal.extra_card@lunch"])
def test_a_remedy_for_what_there_is_not_is_told(tmp_path: Path, key: str) -> None:
    path = house(tmp_path, more=f'\n[remedies."{key}"]\ndo = "burn"\ntext = "x"\n')
    with pytest.raises(HouseError, match="no such alert") as caught:
        check_codes(load(str(path)))
    assert caught.value.line == path.read_text("utf-8").splitlines().index(f'[remedies."{key}"]') + 1


def test_the_prompt_asks_to_confirm_what_is_prescribed_and_one_ruling_does(tmp_path: Path) -> None:
    """South Dakota: the box that got no card is dead; one `void_hand` without operands confirms it."""
    table = Table(load(str(house(tmp_path))).house, language="en")
    for box in (1, 2, 3):
        table.feed(Bet(box=box, amount=1000))
    table.feed(NoMoreBets())
    table.feed(CardDrawn(card=Card("TH")))
    notices = table.feed(CardDrawn(card=Card("9C"), to=BoxPlace(3, 0)))
    alert = next(notice for notice in notices if isinstance(notice, Alert))
    prompt = next(notice for notice in notices if isinstance(notice, Prompt))
    assert (alert.code, alert.remedy.do, alert.remedy.cite) == ("deal.box_skipped", "void_hand", "ARSD 20:18:15:28")
    assert prompt.operands["do"] == "void_hand"
    table.feed(Ruling(do="void_hand", by="CHIEF7"))
    assert table.phase == "first_cards"
    assert table.due().card == "dealer"  # box 2 is dead, and the 9 lies on box 3
