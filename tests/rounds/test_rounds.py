"""Whole rounds on file, and the reader of such files: what is malformed, or could never fail, is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds_on_file import BadRound, complaints, files, parse, read

FOLDER = Path(__file__).parent

GOOD = """\
# es: 20 against 17
# house es
## a note
{"event":"bet","box":1,"amount":1000}

{"event":"card","card":"TS"}
# expect {"notice":"dealt","to":{"box":1,"hand":0},"total":10}
# never {"notice":"alert","code":"deal.box_skipped"}
{"event":"card","card":"7S"}
{"event":"card","card":"KS"}
{"event":"decision","box":1,"action":"stand"}
{"event":"card","card":"JS"}
# expect {"notice":"outcome","box":1,"hand":0,"result":"win","returned":2000}
# alerts
# closed {"number":1,"staked":1000,"returned":2000,"carried":0}
"""

EXPECTED = (
    "split-hand-fr",
    "split-hand-lt",
    "doubled-hand-es",
    "surrender-lt",
    "insurance-taken-es",
    "insurance-declined-es",
    "even-money-es",
    "insurance-too-much-then-right-es",
    "insurance-exactly-half-fr",
    "carried-through-three-ties-fr",
    "aces-split-with-a-ten-es",
    "four-splits-lt",
    "all-bust-fr",
    "two-boxes-only-fr",
    "seven-boxes-each-split-fr",
    "seven-boxes-each-split-es",
    "seven-boxes-each-split-lt",
    "five-ace-ace-five-es",
    "three-sevens-against-blackjack-es",
    "split-on-three-cards-es",
    "repeated-key-presses-es",
)


@pytest.mark.parametrize("name", [path.stem for path in files(FOLDER)])
def test_round(name: str) -> None:
    round_ = read(FOLDER / f"{name}.jsonl")
    assert name.endswith(f"-{round_.house}")
    assert round_.title.startswith(f"{round_.house}: ")
    wrong = complaints(round_)
    assert not wrong, f"{round_.title}\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_rounds_that_must_be_on_file_are(name: str) -> None:
    assert (FOLDER / f"{name}.jsonl").is_file()


def test_a_good_file_has_no_complaint() -> None:
    assert complaints(parse(GOOD, "good")) == []


@pytest.mark.parametrize(
    ("of", "to", "complaint"),
    [
        ('"returned":2000}\n# alerts', '"returned":2001}\n# alerts', "good:13: expected"),
        ('"total":10', '"total":11', "good:7: expected"),
        ('{"box":1,"hand":0},"total"', '{"box":1,"hand":1},"total"', "good:7: expected"),
        (
            '# never {"notice":"alert","code":"deal.box_skipped"}',
            '# never {"notice":"alert","code":"shoe.books_unknown"}',
            "good:8: never",
        ),
        ("# alerts", "# alerts bet.late", "alerts were none; expected bet.late"),
        (
            '{"event":"card","card":"7S"}',
            '{"event":"bet","box":2,"amount":1000}\n{"event":"card","card":"7S"}',
            "alerts were bet.late; expected none",
        ),
        ('"carried":0}', '"carried":1}', "good:15: closed"),
        ('# closed {"number":1,"staked":1000,"returned":2000,"carried":0}\n', "", "1 rounds closed; expected 0"),
        (
            '# closed {"number":1,"staked":1000,"returned":2000,"carried":0}\n',
            '# closed {"number":1}\n# closed {"number":2}\n',
            "1 rounds closed; expected 2",
        ),
    ],
)
def test_what_the_table_does_not_say_is_complained_of(of: str, to: str, complaint: str) -> None:
    assert GOOD.count(of) == 1
    wrong = complaints(parse(GOOD.replace(of, to), "good"))
    assert any(complaint in one for one in wrong), wrong


@pytest.mark.parametrize(
    ("of", "to", "message"),
    [
        ("# es: 20 against 17\n", "", "bad:1: the first line is the title"),
        ("# house es\n", "", "`# house` is missing"),
        ("# house es", "# house uk", "bad:2: one house a file"),
        ("# house es", "# house es\n# house es", "bad:3: one house a file"),
        ("## a note", "# a note", "bad:3: no such directive"),
        ("# never", "# nevr", "bad:8: no such directive"),
        ("# never", "#never", "bad:8: no such directive"),
        ("## a note", '# expect {"notice":"dealt"}', "bad:3: there is no observation above"),
        ('"total":10}', '"total":10', "bad:7: no JSON"),
        ('{"notice":"alert","code":"deal.box_skipped"}', "alert", "bad:8: no JSON"),
        ('{"notice":"alert","code":"deal.box_skipped"}', "[]", "bad:8: an object is wanted"),
        ('{"notice":"alert","code":"deal.box_skipped"}', "", "bad:8: no JSON"),
        ('"notice":"alert"', '"notice":"alarm"', "bad:8: `notice` must be one of"),
        ('"notice":"alert",', "", "bad:8: `notice` must be one of"),
        ("deal.box_skipped", "deal.box_skiped", "bad:8: there is no alert deal.box_skiped"),
        ('"code":"deal', '"rule":"R36","code":"deal', "bad:8: R36 is no row"),
        ('"total":10', '"totl":10', "bad:7: dealt has no field `totl`"),
        ('"total":10', '"total":"10"', "bad:7: dealt.total: Expected `int | null`"),
        ('"result":"win"', '"result":"won"', "bad:13: outcome.result: Invalid enum value 'won'"),
        ('"box":1,"amount":1000', '"box":8,"amount":1000', "bad:4: box:"),
        ('"card":"7S"', '"card":"7X"', "bad:9: card:"),
        ("# alerts\n", "", "`# alerts` is missing"),
        ("# alerts\n", "# alerts\n# alerts\n", "bad:15: `# alerts` stands once"),
        ("# alerts\n", "# alerts bet.lat\n", "bad:14: there is no alert bet.lat"),
        ('"number":1', '"numbr":1', "bad:15: round_closed has no field `numbr`"),
        ('# closed {"number"', '# closed {"notice":"round_closed","number"', "bad:15: `notice`"),
    ],
)
def test_a_malformed_file_is_refused(of: str, to: str, message: str) -> None:
    assert GOOD.count(of) == 1, of
    with pytest.raises(BadRound, match="bad") as caught:
        parse(GOOD.replace(of, to), "bad")
    assert message in str(caught.value)


def test_a_file_that_expects_nothing_is_refused() -> None:
    nothing = "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith(("# expect", "# closed")))
    with pytest.raises(BadRound, match="nothing is expected"):
        parse(nothing, "bad")


def test_an_empty_folder_is_no_set_of_rounds(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files(tmp_path)
