"""Every error put into a legal round is noticed and named, and where there is no error there is no alert."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablectl.game.irregularities import CATALOGUE
from tablectl.houses import rules
from tests.mutations.judging import HEARINGS, HOUSES, SORTS, Hearing, Tally, false_alarms, run
from tests.mutations.kinds import CLASSES


def missed(tallies: dict[str, Tally]) -> list[str]:
    """The rounds in which an error was not noticed, or was called something else; the shortest of each class."""
    return [tally.wrong[0] for tally in tallies.values() if tally.wrong or tally.detected < tally.made]


@pytest.mark.parametrize("house", HOUSES)
def test_every_error_is_noticed_and_named(house: str) -> None:
    tallies = run(house, 250)
    assert not missed(tallies), "\n".join(missed(tallies))
    assert min(tally.made for tally in tallies.values()) >= 6


@pytest.mark.parametrize("hearing", HEARINGS)
@pytest.mark.parametrize("house", HOUSES)
def test_where_nobody_does_wrong_nothing_is_said(house: str, hearing: Hearing) -> None:
    assert false_alarms(house, 80, hearing) == []


@pytest.mark.slow
@pytest.mark.parametrize("house", HOUSES)
def test_every_error_in_ten_thousand_rounds_is_noticed_and_named(house: str) -> None:
    tallies = run(house, 10_000, seed=2)
    assert not missed(tallies), "\n".join(missed(tallies))


@pytest.mark.slow
@pytest.mark.parametrize("hearing", HEARINGS)
@pytest.mark.parametrize("house", HOUSES)
def test_a_hundred_thousand_rounds_without_an_alert(house: str, hearing: Hearing) -> None:
    assert false_alarms(house, 100_000, hearing, seed=2) == []


def test_each_class_says_what_it_is_and_what_may_come_first() -> None:
    assert len({one.name for one in CLASSES}) == len(CLASSES)
    assert {one.make.__module__ for one in CLASSES} == {sort.__name__ for sort in SORTS}
    for one in CLASSES:
        assert one.make.__doc__
        assert set(one.first) <= set(CATALOGUE), one.name
        assert "" in one.first.values(), one.name
        assert set(one.houses) <= set(HOUSES), one.name


@pytest.mark.parametrize(
    ("code", "name"),
    [("bet.late", "a_stake_touched_after_the_close"), ("deal.extra_card", "a_card_to_a_hand_that_stood")],
)
def test_a_game_that_overlooks_an_error_is_found_out(code: str, name: str, tmp_path: Path) -> None:
    """A house that has switched the alert off: the judge must say that nothing was said, or something else."""
    shipped = Path(rules.__file__).with_name("es.toml").read_text(encoding="utf-8")
    assert shipped.count("\n[alerts]") == 1
    deaf = tmp_path / "es.toml"
    deaf.write_text(shipped.replace("\n[alerts]", f'\n[alerts]\n"{code}" = "off"\n#'), encoding="utf-8")
    tallies = run("es", 5, only=[name], file=deaf)
    assert missed(tallies)
    assert not missed(run("es", 5, only=[name]))
