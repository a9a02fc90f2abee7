"""The dealer: legal play that a seed settles, and mistakes that a table can see, ruled on or left open."""

from collections.abc import Iterable
from hashlib import sha256

import pytest

from tablectl.emulator.dealer import Dealer, LegalPlay
from tablectl.emulator.mistakes import MISTAKES
from tablectl.errors import UsageError
from tablectl.game.table import Table
from tablectl.houses.rules import load, names
from tablectl.notices import Alert
from tablectl.observations import CutCard, Observation, Ruling, ShoeFault, encode

HOUSES = {name: load(name).house for name in names()}

DIGESTS = {
    "es": "66f7a66325d3e5948b9c1f2c129591d331145497e66e369cd3010b8d182762e2",
    "fr": "eec8544f88414075ed04e771aaa909db365324d3ab57748e38f8fedb5140f3ef",
    "lt": "5f2c5cdfbde03a60445d878c07876d563a3101b8a45236a2d7fd7fe8ea4f4176",
}
"""Of twenty rounds, from before this play was a part of the package: benchmarks and goldens are made of it."""


def alerts(house: str, observations: Iterable[Observation]) -> list[Alert]:
    table = Table(HOUSES[house])
    return [notice for observation in observations for notice in table.feed(observation) if isinstance(notice, Alert)]


@pytest.mark.parametrize("house", DIGESTS)
def test_a_seed_gives_the_play_that_it_always_gave(house: str) -> None:
    lines = b"\n".join(encode(one) for one in LegalPlay(HOUSES[house], seed=7, rounds=20, begins="2026-11-30T12:00:00Z"))
    assert sha256(lines).hexdigest() == DIGESTS[house]


@pytest.mark.parametrize("house", HOUSES)
def test_without_mistakes_nothing_is_wrong(house: str) -> None:
    dealer = Dealer(HOUSES[house], seed=4, rounds=40)
    assert [alert.code for alert in alerts(house, dealer)] == []
    assert dealer.closed == 40
    assert dealer.made == []


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_leads_to_its_alert_and_the_play_goes_on(name: str) -> None:
    made = 0
    for house in HOUSES:
        dealer = Dealer(HOUSES[house], seed=3, rounds=20, mistakes=[name], every=1)
        codes = [alert.code for alert in alerts(house, dealer)]
        assert dealer.closed == 20
        assert {one.name for one in dealer.made} <= {name}
        assert sum(code in MISTAKES[name].leads_to for code in codes) >= len(dealer.made)
        made += len(dealer.made)
    assert made


def test_a_mistake_can_be_asked_for() -> None:
    dealer = Dealer(HOUSES["es"], seed=1, rounds=3)
    dealer.err("unread_card")
    seen = [encode(one) for one in dealer]
    assert [one.name for one in dealer.made] == ["unread_card"]
    assert sum(b"??" in line for line in seen) == 1
    with pytest.raises(UsageError, match="'asleep' is no mistake"):
        dealer.err("asleep")


def test_what_a_device_cannot_report_is_not_made() -> None:
    dealer = Dealer(
        HOUSES["fr"],
        seed=1,
        rounds=20,
        mistakes=["pulled_back"],
        every=1,
        can_say=lambda one: not isinstance(one, ShoeFault | CutCard),
    )
    assert not any(isinstance(one, ShoeFault | CutCard) for one in dealer)
    assert dealer.made == []


def test_left_open_the_play_stops_until_somebody_rules() -> None:
    dealer = Dealer(HOUSES["fr"], seed=1, rounds=3, mistakes=["drew_on_17"], every=1, supervisor=None)
    before = list(dealer)
    assert dealer.table.phase == "suspended"
    assert list(dealer) == []
    dealer.told(Ruling(do="accept", by="PIT"))
    after = list(dealer)
    assert after
    assert not any(isinstance(one, Ruling) for one in before + after)


def test_a_round_that_is_voided_from_outside_is_counted_once() -> None:
    dealer = Dealer(HOUSES["es"], seed=2, rounds=2, supervisor=None)
    dealer.err("pulled_back")
    list(dealer)
    assert (dealer.table.phase, dealer.closed) == ("suspended", 0)
    dealer.told(Ruling(do="void_round", by="PIT"))
    assert dealer.closed == 1
    list(dealer)
    assert dealer.closed == 2
