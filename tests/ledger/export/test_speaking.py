"""What a feed says of an entry: in every language the same things, in the trade's own words."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import get_args, get_type_hints

import pytest

from tablectl.ledger.export import speaking
from tablectl.ledger.export.selecting import select
from tablectl.observations import Ruling
from tablectl.texts import languages
from tests.display.test_words import banned
from tests.ledger.export.written import Written

RULED = {
    "en": "Ruling by CHIEF7: card burned (drawn by mistake)",
    "es": "Decisión de CHIEF7: carta quemada (drawn by mistake)",
    "fr": "Décision de CHIEF7\N{NO-BREAK SPACE}: carte brûlée (drawn by mistake)",
    "lt": "Sprendimas (CHIEF7): korta sudeginta (drawn by mistake)",
}


@pytest.mark.parametrize("language", languages())
def test_a_ruling_is_said_in_words_and_not_in_codes(tmp_path: Path, language: str) -> None:
    written = Written(tmp_path / "day.db")
    written.say(1, observation=Ruling(do="burn", by="CHIEF7", reason="drawn by mistake"))
    said = [found for one in select([written.close()]) if (found := speaking.spoken(one, language))]
    assert [one.text for one in said] == [RULED[language]]


@pytest.mark.parametrize("language", languages())
def test_every_language_says_everything_and_is_filled_in_alike(language: str) -> None:
    words, english = speaking._WORDS[language], speaking._ENGLISH
    assert set(words) == set(english)
    assert set(get_args(get_type_hints(Ruling)["do"])) <= set(words)
    for key, text in words.items():
        assert _fields(text) == _fields(english[key]), key


@pytest.mark.parametrize("language", [language for language in languages() if language != "en"])
def test_no_word_is_one_that_the_trade_does_not_use(language: str) -> None:
    for word in banned(language):
        assert not [
            text for text in speaking._WORDS[language].values() if re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE)
        ]


def _fields(text: str) -> set[str]:
    return {name for _, name, *_ in Formatter().parse(text) if name is not None}
