"""The table as it is drawn on a terminal: pictures that a person can read."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from tablectl.cli.felt_view import HEIGHT, WIDTH, felt
from tablectl.game.table import Table
from tablectl.game.view import TableView, view
from tablectl.houses import rules
from tablectl.notices import Outcome, RoundClosed
from tablectl.observations import decode
from tests import rounds_on_file

ROUNDS = Path(__file__).parent.parent / "rounds"


def table(house: str) -> Table:
    """A table of that house whose prompts are in English."""
    return Table(replace(rules.load(house).house, language="en"))


class Played:
    """A table, and what was said of its hands and rounds."""

    def __init__(self, house: str) -> None:
        self.table = table(house)
        self.said: list[Outcome | RoundClosed] = []

    def feed(self, *observations: str) -> Played:
        for text in observations:
            observation = decode(text.encode(), where="test", number=1)
            self.said += [notice for notice in self.table.feed(observation) if isinstance(notice, Outcome | RoundClosed)]
        return self

    def cards(self, cards: str) -> Played:
        return self.feed(*(f'{{"event":"card","card":"{card}"}}' for card in cards.split()))

    def drawn(self, height: int = HEIGHT) -> list[str]:
        return drawn(view(self.table), self.said, height)


def drawn(seen: TableView, said: list[Outcome | RoundClosed], height: int = HEIGHT, *, colour: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=80, force_terminal=colour, color_system="standard" if colour else None)
    console.print(felt(seen, said, height=height))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def picture(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def french_round() -> Played:
    """Box 1 is paid its blackjack, box 3 has split and doubled, box 5 acts."""
    played = Played("fr").feed('{"event":"shoe_loaded","decks":6,"cut":true,"at":"2026-11-30T05:57:42Z"}').cards("2C 9D KS 4H 7S")
    played.feed(
        '{"event":"bet","box":1,"amount":1000}', '{"event":"bet","box":3,"amount":2000}', '{"event":"bet","box":5,"amount":1000}'
    )
    played.cards("AS 8H TD 6C KD 8D 6S").feed('{"event":"decision","box":3,"action":"split"}').cards("3C")
    played.feed('{"event":"decision","box":3,"action":"double"}').cards("TH TC")
    return played.feed('{"event":"decision","box":3,"hand":1,"action":"stand","at":"2026-11-30T05:57:47Z"}')


def test_a_round_being_played() -> None:
    assert french_round().drawn(17) == picture("""
 House fr, round 1: players   05:57:47              Shoe: 15 drawn, 297 remain
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃                           Box 5, 16: hit, stand                            ┃
┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                              Dealer   6C   = 6
╭──────────┬──────────┬──────────┬──────────┬──────────┬──────────┬──────────╮
│  box 1   │  box 2   │  box 3   │  box 4   │> box 5 < │  box 6   │  box 7   │
├──────────┼──────────┼──────────┼──────────┼──────────┼──────────┼──────────┤
│  AS KD   │          │ 8H 3C TH │          │  TD 6S   │          │          │
│blackjack │          │21 doubled│          │   > 16   │          │          │
│  10.00   │          │  40.00   │          │  10.00   │          │          │
│          │          │- hand 1 -│          │          │          │          │
│          │          │  8D TC   │          │          │          │          │
│          │          │ 18 stood │          │          │          │          │
│          │          │  20.00   │          │          │          │          │
╰──────────┴──────────┴──────────┴──────────┴──────────┴──────────┴──────────╯
 box 1.0  AS KD: blackjack, 25.00 back of 10.00
""")


def test_a_round_that_closed_and_what_stays_for_the_next() -> None:
    played = french_round().feed('{"event":"decision","box":5,"action":"hit"}').cards("9H 5D 7C")
    assert played.drawn(21) == picture("""
 House fr, round 1: betting   05:57:47              Shoe: 18 drawn, 294 remain
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃                              Place your bets                               ┃
┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                           Dealer   6C 5D 7C   = 18
╭──────────┬──────────┬──────────┬──────────┬──────────┬──────────┬──────────╮
│  box 1   │  box 2   │  box 3   │  box 4   │  box 5   │  box 6   │  box 7   │
├──────────┼──────────┼──────────┼──────────┼──────────┼──────────┼──────────┤
│  AS KD   │          │ 8H 3C TH │          │ TD 6S 9H │          │          │
│blackjack │          │  21 win  │          │ 25 bust  │          │          │
│  10.00   │          │  40.00   │          │  10.00   │          │          │
│          │          │- hand 1 -│          │          │          │          │
│          │          │  8D TC   │          │          │          │          │
│          │          │18 carried│          │          │          │          │
│          │          │  20.00   │          │          │          │          │
╰──────────┴──────────┴──────────┴──────────┴──────────┴──────────┴──────────╯
 box 1.0  AS KD: blackjack, 25.00 back of 10.00
 box 5.0  TD 6S 9H: bust, nothing back of 10.00
 box 3.0  8H 3C TH: win, 80.00 back of 40.00
 box 3.1  8D TC: carried, nothing back, 20.00 stays in place of 20.00
 Round 1 closed: staked 80.00, returned 105.00, carried 20.00
""")
    stakes = played.feed('{"event":"bet","box":1,"amount":1000}', '{"event":"bet","box":3,"amount":500}').drawn()[8:11]
    assert stakes == picture("""
│  10.00   │          │   5.00   │          │          │          │          │
│          │          │  20.00   │          │          │          │          │
│          │          │ carried  │          │          │          │          │
""")


def test_insurance_and_soft_totals() -> None:
    played = (
        Played("es").feed('{"event":"bet","box":2,"amount":1000}', '{"event":"bet","box":6,"amount":200}').cards("AS 9C AH 6D 8C")
    )
    assert "no card" not in played.drawn()[4]
    assert played.drawn()[4].strip() == "Dealer   AH   = soft 11"
    answered = played.feed('{"event":"insurance","box":2,"amount":500}', '{"event":"insurance","box":6,"amount":0}')
    assert answered.drawn()[6:12] == picture("""
│  box 1   │> box 2 < │  box 3   │  box 4   │  box 5   │  box 6   │  box 7   │
├──────────┼──────────┼──────────┼──────────┼──────────┼──────────┼──────────┤
│          │  AS 6D   │          │          │          │  9C 8C   │          │
│          │> soft 17 │          │          │          │    17    │          │
│          │  10.00   │          │          │          │   2.00   │          │
│          │ ins 5.00 │          │          │          │          │          │
""")


def test_the_dealer_who_drew_on_17() -> None:
    played = Played("es").feed('{"event":"bet","box":2,"amount":1000}').cards("9S 7H 8D")
    played.feed('{"event":"decision","box":2,"action":"stand"}').cards("TD 4S")
    lines = played.drawn()
    assert lines[0].startswith(" House es, round 1: suspended ")
    assert lines[0].endswith(" Shoe: 5 drawn, its books are off")
    assert lines[2].strip("┃ ") == "Stop: call the supervisor. The dealer drew 4S on 17"
    assert lines[4] == " ! critical: dealer.drew_on_17: The dealer drew 4S on 17"


def test_the_gravest_alerts_first_and_the_others_counted() -> None:
    unread = rounds_on_file.read(ROUNDS / "unread-card-es.jsonl")
    spanish = table("es")
    for step in unread.steps:
        spanish.feed(step.observation)
        if len(view(spanish).alerts) == 3:
            break
    lines = drawn(view(spanish), [])
    assert [line for line in lines if line.startswith(" !")] == [
        f" ! critical: shoe.card_unread: {view(spanish).alerts[0].text}",
        " ! critical: deal.while_suspended: 5S was drawn while a ruling is open",
        " ! and 1 more",
    ]
    assert any("TH ??" in line for line in lines)
    assert any(line.split("│")[2].strip() == "?" for line in lines if line.count("│") == 8)


@pytest.mark.parametrize("name", ["three-sevens-against-blackjack-lt", "surrender-lt", "illegal-and-a-card-follows-es"])
def test_it_is_as_high_as_it_is_told(name: str) -> None:
    for seen, said in moments(name):
        for height in (HEIGHT, 24, 40):
            assert len(drawn(seen, said, height)) == height


CROWDED = ["seven-boxes-each-split-es", "seven-boxes-each-split-fr", "seven-boxes-each-split-lt", "four-splits-lt"]


@pytest.mark.parametrize("name", [*CROWDED, "carried-through-three-ties-fr", "unread-card-es", "even-money-fr"])
def test_every_card_on_the_felt_is_there_within_its_columns(name: str) -> None:
    for seen, said in moments(name):
        lines = drawn(seen, said, 24)
        assert max(map(len, lines)) <= WIDTH
        assert len(lines) <= 24
        rows = [line.strip("│").split("│") for line in lines if line.count("│") == 8]
        for box in seen.boxes:
            shown = re.findall(r"[2-9TJQKA][CDHS]|\?\?", " ".join(row[box.box - 1] for row in rows))
            assert shown == [card for hand in box.hands for card in hand.cards]
            assert sum(row[box.box - 1].lstrip().startswith("> ") for row in rows[1:]) == sum(hand.acting for hand in box.hands)


def test_colours_only_repeat_what_the_words_say() -> None:
    for seen, said in moments("even-money-fr"):
        coloured = drawn(seen, said, colour=True)
        assert any("\x1b[" in line for line in coloured)
        assert [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in coloured] == drawn(seen, said)


def moments(name: str) -> Iterator[tuple[TableView, list[Outcome | RoundClosed]]]:
    """The table after each observation of a round on file."""
    found = rounds_on_file.read(ROUNDS / f"{name}.jsonl")
    seen = table(found.house)
    said: list[Outcome | RoundClosed] = []
    for step in found.steps:
        said += [notice for notice in seen.feed(step.observation) if isinstance(notice, Outcome | RoundClosed)]
        yield view(seen), said
