"""`tablectl house`: what it lists, how it explains, what it finds wrong."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

SILENT = {
    "es": (
        "burn_cards table_min table_max blackjack_paid double_soft max_hands max_hands_aces blackjack_after_split "
        "double_after_split split_deal dealer_blackjack_takes dealer_draws_when_idle rounding smallest_chip"
    ),
    "fr": (
        "table_min table_max cash_plays insurance_offer double_soft blackjack_after_split split_deal dealer_blackjack_takes "
        "dealer_draws_when_idle rounding smallest_chip"
    ),
    "lt": (
        "decks boxes burn_cards player_cut table_min table_max back_betting box_authority cash_plays tie insurance_offer "
        "split_aces_cards blackjack_after_split double_after_split surrender dealer_blackjack_takes dealer_draws_when_idle "
        "rounding smallest_chip"
    ),
}
"""What the houses' own pages do not state, or leave to the sign on the table."""


def test_list(tablectl: Command) -> None:
    result = tablectl("house", "list")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["es", "fr", "lt"]


def test_list_as_json(tablectl: Command) -> None:
    houses = json.loads(tablectl("house", "list", "--json").stdout)
    assert [(house["name"], house["language"], house["currency"]) for house in houses] == [
        ("es", "es", "EUR"),
        ("fr", "fr", "EUR"),
        ("lt", "lt", "EUR"),
    ]
    assert all(Path(house["file"]).is_file() and len(house["sha256"]) == 64 for house in houses)


@pytest.mark.parametrize("name", list(SILENT))
def test_assumed_values_are_marked(name: str, tablectl: Command) -> None:
    shown = json.loads(tablectl("house", "show", name, "--json").stdout)
    assert {key for key, rule in shown["rules"].items() if rule["assumed"]} == set(SILENT[name].split())
    text = tablectl("house", "show", name).stdout.splitlines()
    marked = [line for line in text if line.endswith("[assumed]")]
    assert len(marked) == len(SILENT[name].split())
    for key in SILENT[name].split():
        assert any(f" {key} " in line for line in marked)


def test_each_rule_is_a_line_with_its_row_value_and_meaning(tablectl: Command) -> None:
    lines = tablectl("house", "show", "fr").stdout.splitlines()
    assert ["R03", "min_boxes", "2", "boxes that need a stake before the deal may start: 2"] in [
        line.split(maxsplit=3) for line in lines
    ]
    assert ["R19", "double_on", "[9, 10, 11]", "the first two cards may be doubled at a total of 9, 10, 11"] in [
        [cell.strip() for cell in line.split("  ") if cell] for line in lines
    ]
    rows = {word for line in lines for word in line.split() if word.startswith("R") and word[1:].isdigit()}
    assert rows == {f"R{number:02d}" for number in range(1, 36)}


def test_json_has_the_values_of_the_file(tablectl: Command) -> None:
    rules = json.loads(tablectl("house", "show", "lt", "--json").stdout)["rules"]
    assert rules["double_on"]["value"] == "any"
    assert rules["max_hands"] == {
        "value": 5,
        "rows": ["R23"],
        "meaning": "hands that a box may reach by splitting: 5",
        "assumed": False,
    }


@pytest.fixture
def our_house(tmp_path: Path, tablectl: Command) -> Path:
    """The French house with its own alert policy and remedy, as a file of the casino's."""
    shipped = Path(json.loads(tablectl("house", "list", "--json").stdout)[1]["file"]).read_text("utf-8")
    remedy = 'do = "move"\ntext = "the cards are moved to the boxes they belong to"\ncite = "our book, 4.2"\n'
    own = shipped.replace("[alerts]\n", '[alerts]\n"bet.late" = "off"\n', 1)
    own = own.replace("[remedies]\n", f'[remedies."deal.box_skipped"]\n{remedy}', 1)
    path = tmp_path / "our-house.toml"
    path.write_text(own, "utf-8")
    return path


def test_a_house_of_ones_own_with_policies_and_remedies(our_house: Path, tablectl: Command) -> None:
    shown = tablectl("house", "show", our_house)
    assert shown.returncode == 0
    assert "alert bet.late: off" in shown.stdout
    assert "remedy for deal.box_skipped: move: the cards are moved to the boxes they belong to (our book, 4.2)" in shown.stdout
    assert tablectl("house", "check", our_house).returncode == 0
    as_json = json.loads(tablectl("house", "show", our_house, "--json").stdout)
    assert as_json["alerts"] == {"bet.late": "off"}
    assert as_json["remedies"]["deal.box_skipped"]["cite"] == "our book, 4.2"


def test_check_without_a_name_checks_all_that_ship(tablectl: Command) -> None:
    result = tablectl("house", "check")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["ok es", "ok fr", "ok lt"]


def test_check_tells_every_bad_file_and_still_checks_the_good_one(our_house: Path, tablectl: Command) -> None:
    bad = our_house.with_name("bad.toml")
    bad.write_text(our_house.read_text("utf-8").replace("max_hands = 3 ", "max_hands = 0 "), "utf-8")
    line = (
        bad.read_text("utf-8").splitlines().index(next(x for x in bad.read_text("utf-8").splitlines() if "max_hands =" in x)) + 1
    )
    result = tablectl("house", "check", bad, our_house, "no-such-house")
    assert result.returncode == 4
    assert result.stdout.startswith(f"ok {our_house}: ")
    first, second = result.stderr.splitlines()
    assert first.startswith(f"tablectl: {bad}:{line}: rules.max_hands: ")
    assert second.startswith("tablectl: no-such-house: no such house; known are es, fr, lt")


def test_show_of_a_bad_file_is_the_same_error(tablectl: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('name = "x"\nrules = \n')
    result = tablectl("house", "show", "bad.toml")
    assert result.returncode == 4
    assert result.stderr.startswith("tablectl: bad.toml:2: no TOML: ")
    assert result.stdout == ""
