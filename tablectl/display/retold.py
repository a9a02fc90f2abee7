"""An alert in the languages of those who did not hear it at the table: surveillance, the pit, who reads a round on record.

A table says everything in its own language. An alert carries the operands of its words, so that it can be said in the others.
A remedy that the house words itself stays as the house has it.
"""

from __future__ import annotations

import msgspec

from tablectl.notices import Alert
from tablectl.texts import Texts, languages

__all__ = ["Retold", "retold"]


class Retold(msgspec.Struct, frozen=True, omit_defaults=True):
    """An alert's words in another language; `remedy` is empty where only the house has words for it."""

    text: str
    remedy: str = ""


def retold(alert: Alert, own: str) -> dict[str, Retold]:
    """The alert's words by language, without `own`, the language it was said in."""
    called = {Texts.of(language).call_supervisor() for language in languages()}
    found = {}
    for language in languages():
        if language == own:
            continue
        texts = Texts.of(language)
        cards = " ".join(alert.cards)
        try:
            text = texts.alert(alert.code, alert.operands, box=alert.box, hand=alert.hand, cards=cards, rule=alert.rule)
        except KeyError:  # a table of another version, which says it otherwise
            continue
        found[language] = Retold(text, texts.call_supervisor() if alert.remedy.text in called else "")
    return found
