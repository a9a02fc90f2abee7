"""The pages' words: none lacks in any language, none is left over, and every one that a script asks for is there."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import get_args, get_type_hints

import msgspec
import pytest

from tablectl.display.server import STATIC
from tablectl.display.words import ENGLISH, Words, best, catalogue
from tablectl.errors import ConfigError
from tablectl.notices import Favours, PhaseName, Result, Severity
from tablectl.observations import Ruling
from tests.display.catalogues import TRANSLATED, files, in_step

ROOT = Path(__file__).resolve().parents[2]
GROUPS = "word|title|grey|age|refused|event|severity|result|favours|ruling"
SAYING = [*STATIC.glob("*.js"), *(path for path in (ROOT / "tablectl/display").glob("*.py") if path.name != "words.py")]
PAGES = "".join(path.read_text("utf-8") for path in SAYING)


def fields(text: str) -> set[str]:
    return {name for _, name, *_ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", TRANSLATED)
def test_nothing_is_untranslated_or_left_over(language: str) -> None:
    found = catalogue(language)
    assert set(found) == set(ENGLISH)
    assert [key for key, text in found.items() if not text.strip()] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_is_filled_in_with_the_same(language: str) -> None:
    found = catalogue(language)
    assert {key: fields(text) for key, text in found.items()} == {key: fields(text) for key, text in ENGLISH.items()}


def test_the_catalogues_are_in_step() -> None:
    for path, language in files().items():
        assert path.read_text("utf-8") == in_step(language), "python -m tests.display.catalogues --write"


def banned(language: str) -> list[str]:
    """What the lists of docs/languages.md say that a thing is not called."""
    text = (ROOT / "docs/languages.md").read_text(encoding="utf-8")
    section = text[text.index(f"(`{language}`)") :].split("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.count("|") == 4][2:]
    found = [word.strip() for row in rows for word in row[3].split(",") if word.strip()]
    assert found
    return found


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_trades_words_are_used(language: str) -> None:
    for key, said in catalogue(language).items():
        for word in banned(language):
            assert not re.search(rf"\b{re.escape(word)}", said, re.IGNORECASE) or word in ("le croupier", "supervisor"), (
                key,
                word,
            )


def test_every_word_that_a_page_asks_for_is_there() -> None:
    asked = set(re.findall(rf"""["']((?:{GROUPS})\.[a-z_]+)["']""", PAGES))
    assert asked - set(ENGLISH) == set()
    made = ("refused.", "event.", "severity.", "result.", "favours.", "ruling.", "grey.", "device.")  # from what was told
    assert sorted(key for key in ENGLISH if key not in asked and not key.startswith(made)) == []


def test_every_code_has_a_word() -> None:
    rulings = get_type_hints(Ruling)["do"]
    for group, codes in (("severity", Severity), ("favours", Favours), ("result", Result), ("ruling", rulings)):
        assert {key.partition(".")[2] for key in ENGLISH if key.startswith(f"{group}.")} == set(get_args(codes))


@pytest.mark.parametrize("language", ["en", *TRANSLATED])
def test_a_browser_is_given_all_of_them_and_the_phases(language: str) -> None:
    given = msgspec.json.decode(Words.of(language).json)
    assert set(ENGLISH) <= set(given)
    assert {f"phase.{phase}" for phase in get_args(PhaseName)} <= set(given)


def test_the_languages_a_browser_likes() -> None:
    assert best("lt-LT,lt;q=0.9,en;q=0.8") == "lt"
    assert best("de, fr;q=0.4, es;q=0.6") == "es"
    assert best("fr;q=0, es;q=0.1") == "es"
    assert best("") == "en"
    assert best("x;q=abc, ,,;q=") == "en"


def test_a_language_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(ConfigError, match="there are no words in 'xx'"):
        Words.of("xx")
