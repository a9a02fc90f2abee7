"""The catalogues of texts and the pages that a person can read, written from the table of texts.

    python -m tests.catalogues            say which files are out of step
    python -m tests.catalogues --write    write them anew; then read the diff

The template `tablectl.pot` is made from `tablectl.texts.ENGLISH`. A catalogue keeps every translation whose key and English are
unchanged; what is new, or whose English changed, stands empty until a person translates it, and the tests fail until then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from babel.messages.catalog import Catalog
from babel.messages.pofile import escape, read_po

from tablectl.game.irregularities import CATALOGUE
from tablectl.notices import Operand, PromptCode
from tablectl.resources import data_folder
from tablectl.texts import ENGLISH, Counted, Texts, languages

__all__ = ["COUNTS", "LOCALES", "PAGES", "TRANSLATED", "catalogue", "files", "forms", "notes", "page", "path_of"]

LOCALES = data_folder("locales")
PAGES = Path(__file__).parent / "golden"
TRANSLATED = [language for language in languages() if language != "en"]
COUNTS = (1, 2, 10, 11, 21, 22)
"""Numbers that between them take every plural form of our languages, and look like one another."""

NOTES = {
    "prompt.call_supervisor": "{text} is the sentence of the alert that stopped the game.",
    "which": "Said after a box, where it is not the first of the box's hands.",
    "to_box": "Where a card went, or was due: said after “went” and “due”, like the places below.",
    "place.": "Where a card went, or was due: said after “went” and “due”.",
    "action.": "What a hand may do; they are listed one after the other.",
    "terms.": "Said before an amount.",
    "rule.": "Why the house rules refuse an action; said after a colon. The number of the rule stays.",
    "reason.": "Why an insurance is refused; said after a colon.",
    "refused.": "Why a ruling is refused; said after a colon.",
    "phase.": "Where the game stands.",
    "kind.": "What was laid as a stake; said after “not”.",
    "device.": "At the head of a sentence, before a colon.",
    "why.": "In brackets.",
    "key.": "A rule; at the head of a sentence, before a colon.",
    "value.": "What a rule says.",
    "number.group": "Between thousands. A blank must be one that does not break: U+00A0 or the narrow U+202F.",
    "money.": "A blank must be one that does not break: U+00A0.",
}
"""What a translator must know: for the key itself, or for all keys that begin so."""


def path_of(language: str) -> Path:
    """The catalogue of a language."""
    return LOCALES / language / "LC_MESSAGES" / "tablectl.po"


def catalogue(language: str) -> Catalog:
    """A catalogue as it is on file."""
    with path_of(language).open("rb") as file:
        return read_po(file, abort_invalid=True)


def forms(catalog: Catalog, key: str) -> list[str]:
    """A text's translations, one for each plural form where it speaks a number; empty where it is not translated."""
    text = ENGLISH[key]
    message = catalog.get(text if isinstance(text, str) else text.one, key)
    wanted = (text,) if isinstance(text, str) else (text.one, text.other)
    if message is None or (message.id if isinstance(message.id, tuple) else (message.id,)) != wanted:
        return []
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


def notes(key: str) -> Iterator[str]:
    """The notes for a key's translator."""
    group = f"{key.split('.')[0]}."
    return (NOTES[name] for name in dict.fromkeys((group, key)) if name in NOTES)


def _entries(translated: Callable[[str], Sequence[str]], plurals: int) -> Iterator[str]:
    for key, text in ENGLISH.items():
        yield ""
        yield from (f"#. {note}" for note in notes(key))
        yield f"msgctxt {escape(key)}"
        strings = list(translated(key))
        if isinstance(text, Counted):
            yield f"msgid {escape(text.one)}"
            yield f"msgid_plural {escape(text.other)}"
            strings = strings if len(strings) == plurals else [""] * plurals
            yield from (f"msgstr[{index}] {escape(string)}" for index, string in enumerate(strings))
        else:
            yield f"msgid {escape(text)}"
            yield f"msgstr {escape(strings[0] if strings else '')}"


def _written(comment: Sequence[str], headers: Sequence[str], entries: Iterator[str]) -> str:
    """A catalogue's text. Written here and not by Babel, whose header names its version and the hour."""
    common = ["MIME-Version: 1.0", "Content-Type: text/plain; charset=UTF-8", "Content-Transfer-Encoding: 8bit"]
    head = [f'"{header}\\n"' for header in [*common, *headers]]
    return "\n".join([*(f"# {line}" for line in comment), 'msgid ""', 'msgstr ""', *head, *entries]) + "\n"


def template() -> str:
    """The template that a new language starts from."""
    comment = [
        "The texts of tablectl's prompts and alerts. Made from tablectl/texts.py by `python -m tests.catalogues --write`.",
        "prompt.*: to the dealer, short, imperative. alert.*: what happened, in one sentence. Terms: docs/languages.md.",
    ]
    return _written(comment, ["Language: ", "Plural-Forms: nplurals=2; plural=(n != 1);"], _entries(lambda _: (), 2))


def in_step(language: str) -> str:
    """A language's catalogue with its translations, brought into step with the table of texts."""
    found = catalogue(language)
    comment = [line.removeprefix("#").strip() for line in found.header_comment.splitlines()]
    headers = [f"Language: {language}", f"Plural-Forms: {found.plural_forms}"]
    return _written(comment, headers, _entries(lambda key: forms(found, key), found.num_plurals))


SAMPLE: dict[str, Operand] = {
    "actions": ("hit", "stand", "double", "split", "surrender"),
    "alert": 7,
    "amount": 123450,
    "by": "ANNA",
    "camera": "7D",
    "carried": 2500,
    "code": "shoe.not_cut",
    "count": 2,
    "decks": 6,
    "device": "shoe",
    "due": "dealer",
    "key": "decks",
    "kind": "cash",
    "least": 300,
    "limit": 10000,
    "ms": 180,
    "p": "0.00002",
    "place": "box 5",
    "printed": "8",
    "reason": "exactly_half",
    "ruled": "6",
    "seconds": 2,
    "shoe": "9S",
    "terms": "exactly",
    "test": "runs",
    "text": "E07",
    "total": 15,
    "was": "KS",
    "why": "no_reason",
}
"""Something for every operand that the game gives to a text."""

OWN_SAMPLE: dict[str, dict[str, Operand]] = {
    "alert.action.out_of_turn.refused": {"action": "burn", "by": "ANNA", "refused": "settled"},
    "alert.action.not_authorised.refused": {"action": "accept", "by": "ANNA", "refused": "not_a_supervisor"},
    "alert.deal.too_few_boxes": {"least": 30},
    "alert.dealer.drew_on_17": {"total": 17},
    "prompt.collect_hand": {"total": 24},
    "prompt.dealer_must_stand": {"total": 18},
}

WORDS = ("place", "action", "terms", "rule", "reason", "refused", "phase", "kind", "device", "why", "key", "value")
"""The groups of tokens, in the order of the table of texts."""


def page(language: str) -> str:
    """All that is said in a language, each text filled in, for a person to read."""
    texts = Texts.of(language)
    stopped = texts.alert("shoe.not_cut", {}, box=3, hand=0, cards="", rule="R05")
    lines = [f"All that tablectl says in “{language}”, filled in with samples. Written by `python -m tests.catalogues --write`."]
    for code in get_args(PromptCode):
        lines += ["", f"prompt {code}"]
        for operands in _operands(f"prompt.{code}"):
            said = dict.fromkeys(texts.prompt(code, operands | {"text": stopped}, 3, hand) for hand in (0, 1))
            lines += [f"    {text}" for text in said]
    for key in (key for key in ENGLISH if key.startswith("alert.")):
        code = key.removeprefix("alert.").removesuffix(".refused")
        rule = CATALOGUE[code].rule if code in CATALOGUE else None
        cards = "KS QH" if code.startswith("action.") else "KS"
        lines += ["", key.replace(".", " ", 1)]
        lines += [f"    {texts.alert(code, found, box=3, hand=1, cards=cards, rule=rule)}" for found in _operands(key)]
    lines += ["", "remedy call_supervisor", f"    {texts.call_supervisor()}", "", "words"]
    for group, _, token in (key.partition(".") for key in ENGLISH):
        if group in WORDS:
            lines.append(f"    {group}.{token}: {texts.word('ruled' if group == 'value' else group, token)}")
    lines += [f"    place {place}: {texts.word('place', place)}" for place in ("box 3", "box 3.1")]
    lines += ["", "money"]
    lines += [f"    {texts.money(amount)}" for amount in (0, 5, 100, 123450, 123456789, -2550)]
    lines += [f"    {texts.money(amount, currency)}" for amount in (123450, -2550) for currency in ("EUR", "CHF")]
    return "\n".join(lines) + "\n"


def _operands(key: str) -> Iterator[dict[str, Operand]]:
    """Operands for a text: once, or with every number that may have a form of its own."""
    text = ENGLISH[key]
    for number in COUNTS if isinstance(text, Counted) else (2,):
        yield SAMPLE | OWN_SAMPLE.get(key, {}) | ({text.by: number} if isinstance(text, Counted) else {})


def files() -> dict[Path, Callable[[], str]]:
    """Every file that is made here, and what makes it."""
    made: dict[Path, Callable[[], str]] = {LOCALES / "tablectl.pot": template}
    made |= {path_of(language): partial(in_step, language) for language in TRANSLATED}
    return made | {PAGES / f"texts.{language}.txt": partial(page, language) for language in languages()}


def main() -> None:
    """Say what is out of step, or write it anew."""
    PAGES.mkdir(exist_ok=True)
    for path, make in files().items():
        text = make()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if "--write" in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        print("written" if "--write" in sys.argv[1:] else "out of step", path)


if __name__ == "__main__":
    main()
