"""Prompts and alerts in four languages: nothing lacks, every number has its form, and the bytes are the same everywhere."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import get_args, get_type_hints

import pytest

from tablectl import texts as module
from tablectl.errors import ConfigError
from tablectl.game.irregularities import CATALOGUE
from tablectl.game.table import Table
from tablectl.houses.rules import House, load
from tablectl.notices import Alert, Operand, PhaseName, Prompt, PromptCode
from tablectl.observations import Action, Bet, Ruling
from tablectl.texts import ENGLISH, Counted, Texts, languages
from tests import rounds_on_file
from tests.catalogues import TRANSLATED, catalogue, files, forms, page, path_of

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = languages()
every_language = pytest.mark.parametrize("language", LANGUAGES)
every_translation = pytest.mark.parametrize("language", TRANSLATED)

COMING = {"shoe.missing_cards", "shoe.unshuffled", "shoe.double_draw", "link.clock"}
"""Alerts whose texts came before the checks that raise them."""

NBSP, NARROW = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"


def fields(text: str) -> set[str]:
    """The operands that a text is filled in with. None has a format or a conversion: the words come as they are."""
    found = set()
    for _, name, format_, conversion in Formatter().parse(text):
        if name is not None:
            assert not format_
            assert conversion is None
            found.add(name)
    return found


def english(key: str) -> list[str]:
    text = ENGLISH[key]
    return [text] if isinstance(text, str) else [text.one, text.other]


def say(language: str, code: str, box: int | None = 3, cards: str = "KS", **operands: Operand) -> str:
    return alert(language, code, operands, box, cards)


def alert(
    language: str, code: str, operands: Mapping[str, Operand], box: int | None = 3, cards: str = "KS", rule: str = "R22"
) -> str:
    return Texts.of(language).alert(code, operands, box=box, hand=0, cards=cards, rule=rule)


# Nothing lacks


def test_every_prompt_has_a_text() -> None:
    prompts = {key.split(".")[1] for key in ENGLISH if key.startswith("prompt.")}
    assert prompts == set(get_args(PromptCode))


def test_every_irregularity_has_a_text_and_no_text_is_for_none() -> None:
    alerts = {key.removeprefix("alert.").removesuffix(".refused") for key in ENGLISH if key.startswith("alert.")}
    assert alerts >= set(CATALOGUE) | COMING
    assert alerts <= rounds_on_file.CODES


def test_every_word_of_the_contract_has_a_translation() -> None:
    def tokens(group: str) -> set[str]:
        return {key.partition(".")[2] for key in ENGLISH if key.startswith(f"{group}.")}

    ruled = set(get_args(get_type_hints(Ruling)["do"])) | {"ack"}  # what may be refused, besides the players' decisions
    assert tokens("action") == set(get_args(Action)) | ruled
    assert tokens("phase") == set(get_args(PhaseName))
    assert tokens("kind") == set(get_args(get_type_hints(Bet)["kind"]))


def test_there_are_texts_in_the_language_of_every_house() -> None:
    assert set(LANGUAGES) == set(get_args(get_type_hints(House)["language"])) == {"en", "es", "fr", "lt"}


@every_translation
def test_nothing_is_untranslated_fuzzy_or_left_over(language: str) -> None:
    found = catalogue(language)
    plurals = found.num_plurals
    for key, text in ENGLISH.items():
        translated = forms(found, key)
        assert len(translated) == (plurals if isinstance(text, Counted) else 1), key
        assert all(string.strip() or key == "number.group" for string in translated), key
    assert not [message.id for message in found if message.fuzzy]
    assert len(found) == len(ENGLISH)
    assert not found.obsolete


@every_translation
def test_a_translation_has_exactly_the_operands_of_the_english(language: str) -> None:
    found = catalogue(language)
    for key in ENGLISH:
        wanted = [fields(text) for text in english(key)]
        for string in forms(found, key):
            assert [fields(string)] * len(wanted) == wanted, key


def test_a_text_that_speaks_a_number_says_it() -> None:
    for key, text in ENGLISH.items():
        if isinstance(text, Counted):
            assert text.by in fields(text.one) & fields(text.other), key


@pytest.mark.parametrize(("path", "make"), [pytest.param(path, make, id=path.name) for path, make in files().items()])
def test_template_catalogues_and_pages_are_in_step(path: Path, make: object) -> None:
    """Where this fails: `python -m tests.catalogues --write`, translate what stands empty, and read the diff."""
    assert callable(make)
    assert path.read_text(encoding="utf-8") == make()


@every_language
def test_whatever_the_game_says_can_be_said(language: str) -> None:
    """Every prompt and alert of the rounds on file: each text finds its operands in the notice."""
    texts = Texts.of(language)
    prompts, alerts = set(), set()
    for notice in heard():
        if isinstance(notice, Prompt):
            text = texts.prompt(notice.code, notice.operands, notice.box, notice.hand)
            prompts.add(notice.code)
        else:
            cards = " ".join(notice.cards)
            text = texts.alert(notice.code, notice.operands, box=notice.box, hand=notice.hand, cards=cards, rule=notice.rule)
            alerts.add(notice.code)
            assert cards in text or "{cards}" not in english(f"alert.{notice.code}")[0]
        assert text
        assert not set("{}") & set(text)
    assert prompts == set(get_args(PromptCode))
    assert len(alerts) >= 30


@cache
def heard() -> tuple[Prompt | Alert, ...]:
    rounds = [rounds_on_file.read(path) for path in rounds_on_file.files(ROOT / "tests/rounds")]
    said: list[Prompt | Alert] = [Prompt(1, None, 1, 1, "waiting_shoe", None, None, {}, "")]  # no round on file loses its shoe
    for round_ in rounds:
        table = Table(load(round_.house).house)
        notices = [notice for step in round_.steps for notice in table.feed(step.observation)]
        said += [notice for notice in notices if isinstance(notice, Prompt | Alert)]
    return tuple(said)


# Sentences, written by hand


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Box 3, hand 1, 15: hit, stand, double"),
        ("fr", f"Case 3 (main 1), 15{NBSP}: tirer, rester, doubler"),
        ("es", "Casilla 3 (mano 1), 15: pedir carta, plantarse, doblar"),
        ("lt", "3 laukelis (1 ranka), 15: traukti, sustoti, dvigubinti"),
    ],
)
def test_a_box_is_asked(language: str, said: str) -> None:
    operands: dict[str, Operand] = {"total": 15, "soft": False, "actions": ("hit", "stand", "double")}
    assert Texts.of(language).prompt("ask_box", operands, 3, 1) == said


@pytest.mark.parametrize(
    ("language", "terms", "said"),
    [
        ("en", "exactly", "Insurance, box 2: exactly 5.00?"),
        ("fr", "exactly", f"Assurance, case 2{NBSP}: exactement 5,00{NARROW}?"),
        ("es", "up_to", "Seguro, casilla 2: ¿hasta 5,00?"),
        ("lt", "up_to", "Draudimas, 2 laukelis: iki 5,00?"),
    ],
)
def test_insurance_is_offered(language: str, terms: str, said: str) -> None:
    assert Texts.of(language).prompt("offer_insurance", {"amount": 500, "terms": terms}, 2, 0) == said


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "KS went to box 5, hand 1, the next card was due to the dealer"),
        ("fr", "La carte KS est allée à la case 5 (main 1), la suivante revenait à la banque"),
        ("es", "La carta KS ha ido a la casilla 5 (mano 1), la siguiente correspondía a la banca"),
        ("lt", "Korta KS atiteko 5 laukeliui (1 ranka), kita korta priklausė krupjė"),
    ],
)
def test_places_are_words_of_the_language(language: str, said: str) -> None:
    assert say(language, "deal.out_of_order", place="box 5.1", due="dealer") == said


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Box 3 may not split KS QH: R22, not a pair"),
        ("fr", f"La case 3 ne peut pas séparer KS QH{NBSP}: R22, pas une paire"),
        ("es", "La casilla 3 no puede separar KS QH: R22, no es una pareja"),
        ("lt", "3 laukelis negali išskirti KS QH: R22, tai ne pora"),
    ],
)
def test_a_refused_action_names_rule_and_cards(language: str, said: str) -> None:
    """The operand `cards`, a number that decided, does not stand where the notice's cards belong."""
    assert alert(language, "action.illegal_split", {"cards": 2}, cards="KS QH") == said


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "The ruling “burn the card” by CHIEF7 is refused: no card waits"),
        ("fr", f"La décision «{NBSP}brûler la carte{NBSP}» de CHIEF7 est refusée{NBSP}: aucune carte n’est en attente"),
        ("es", "La decisión «quemar la carta» de CHIEF7 se rechaza: no hay ninguna carta en espera"),
        ("lt", "Sprendimas „sudeginti kortą“ (CHIEF7) atmestas: jokia korta nelaukia"),
    ],
)
def test_a_refused_ruling_says_why(language: str, said: str) -> None:
    operands = {"action": "burn", "by": "CHIEF7", "refused": "no_card_waits"}
    assert alert(language, "action.out_of_turn", operands) == said


@every_language
def test_the_remedy_calls_the_supervisor_by_the_prompts_name(language: str) -> None:
    texts = Texts.of(language)
    call = texts.call_supervisor()
    assert call.lower() in texts.prompt("call_supervisor", {"text": ""}).lower()


@every_language
def test_an_unknown_word_is_said_as_it_is(language: str) -> None:
    assert "pedal" in say(language, "link.lost", device="pedal", why="pulled {out}")
    assert "pulled {out}" in say(language, "link.lost", device="pedal", why="pulled {out}")
    assert "box 8x" in say(language, "shoe.card_unread", place="box 8x")
    assert "R99" in alert(language, "action.illegal_hit", {}, rule="R99")


@every_language
def test_what_nobody_knows_is_a_question_mark(language: str) -> None:
    assert "?" in say(language, "dealer.stopped_short", total=None)
    assert "?" in say(language, "deal.extra_card", box=None, cards="KS")
    assert "?" in say(language, "shoe.missing_cards", cards="", count=2)
    assert "?" in say(language, "shoe.missing_cards", count=None)


def test_a_text_without_its_operand_is_our_own_fault() -> None:
    with pytest.raises(KeyError, match="place"):
        say("fr", "shoe.card_unread")
    with pytest.raises(KeyError, match="count"):
        say("fr", "shoe.missing_cards")
    with pytest.raises(KeyError, match=r"alert\.no\.such"):
        say("fr", "no.such")


def test_a_rule_on_the_felt_is_said_in_words() -> None:
    said = say("fr", "rules.layout_mismatch", key="dealer_stands", printed="hard_17", ruled="all_17")
    assert said == f"La banque reste à{NBSP}: la table porte 17 dur seulement, le règlement dit tout 17"
    said = say("es", "rules.layout_mismatch", key="player_cut", printed=False, ruled="True")
    assert said == "player_cut: en la mesa pone no, el reglamento dice sí"


# Which words


def terms(language: str) -> list[tuple[str, str, str]]:
    """The list of terms in docs/languages.md: what is meant, the word, and the words that are not used for it."""
    text = (ROOT / "docs/languages.md").read_text(encoding="utf-8")
    section = re.search(rf"^## .*\(`{language}`\)$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section[1].splitlines() if line.startswith("|")]
    return [(row[0], row[1], row[2]) for row in rows[2:]]


@every_translation
def test_no_text_uses_a_word_that_the_list_of_terms_rules_out(language: str) -> None:
    words = [word.strip() for _, _, unused in terms(language) for word in unused.split(",") if word.strip()]
    assert len(words) > 10
    found = catalogue(language)
    for key in ENGLISH:
        for string in forms(found, key):
            for word in words:
                assert not re.search(rf"\b{word}", string, re.IGNORECASE), f"{key}: {word} in {string}"


def test_french_has_its_blanks() -> None:
    found = catalogue("fr")
    for key in ENGLISH:
        for string in forms(found, key):
            assert not re.search(r"(?<![\u00a0])[:]|(?<!\u202f)[;?!]|'", string), f"{key}: {string}"


# How they are read


def test_the_texts_of_a_language_are_read_once() -> None:
    assert Texts.of("lt") is Texts.of("lt")


@pytest.mark.parametrize("language", ["de", "", "FR", "../fr", "fr/LC_MESSAGES"])
def test_another_language_is_a_configuration_error(language: str) -> None:
    with pytest.raises(ConfigError, match=r"language: there are no texts in .*; there are en, es, fr, lt$"):
        Texts.of(language)


@pytest.mark.parametrize(
    ("language", "sound", "spoilt", "line"),
    [
        ("xa", 'msgstr "Mélangez"', "Mélangez", True),
        ("xb", "plural=(n > 1)", "plural=(n > )", False),
        ("xc", "charset=UTF-8", "charset=none", False),
    ],
)
def test_a_catalogue_that_cannot_be_read_names_file_and_line(
    language: str, sound: str, spoilt: str, line: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / language / "LC_MESSAGES/tablectl.po"
    path.parent.mkdir(parents=True)
    text = path_of("fr").read_text(encoding="utf-8")
    above, found, _ = text.partition(sound)
    assert found
    path.write_text(text.replace(sound, spoilt), encoding="utf-8")
    monkeypatch.setattr(module, "data_folder", lambda _: tmp_path)
    where = f"{path}:{above.count(chr(10)) + 1}" if line else str(path)
    with pytest.raises(ConfigError, match=f"^{re.escape(where)}: no catalogue of texts: "):
        Texts.of(language)


def run(code: str, **env: str) -> str:
    line = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        line, cwd=ROOT, env={"PATH": os.environ["PATH"], **env}, check=True, capture_output=True, encoding="utf-8"
    ).stdout


def test_english_and_the_import_do_without_babel() -> None:
    code = "import sys, tablectl.game.table; from tablectl.texts import Texts; Texts.of('en').prompt('burn', {'count': 5})"
    assert run(f"{code}; print('babel' in sys.modules)") == "False\n"


def test_the_machines_language_changes_nothing() -> None:
    code = "import sys; from tests.catalogues import page; sys.stdout.buffer.write(page('lt').encode())"
    said = run(code, LANGUAGE="de:fr", LC_ALL="C", LANG="C", PYTHONHASHSEED="7", TZ="Asia/Tokyo")
    assert said == page("lt")
