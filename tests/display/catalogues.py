"""The catalogues of the pages' words, brought into step with `tablectl.display.words.ENGLISH`.

    python -m tests.display.catalogues            say which files are out of step
    python -m tests.display.catalogues --write    write them anew

What is new, or whose English changed, stands empty until a person translates it, and the tests fail until then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.pofile import escape

from tablectl.display.words import ENGLISH, catalogue, path_of
from tablectl.texts import languages

__all__ = ["TRANSLATED", "files", "in_step"]

TRANSLATED = [language for language in languages() if language != "en"]


def _entries(translated: dict[str, str]) -> Iterator[str]:
    for key, text in ENGLISH.items():
        yield ""
        yield f"msgctxt {escape(key)}"
        yield f"msgid {escape(text)}"
        yield f"msgstr {escape(translated.get(key, ''))}"


def in_step(language: str) -> str:
    """A catalogue as it should stand on file; `` is the template."""
    head = ["# The words of the display's pages.", 'msgid ""', 'msgstr ""']
    head += [f'"Language: {language}\\n"'] if language else []
    head += ['"MIME-Version: 1.0\\n"', '"Content-Type: text/plain; charset=utf-8\\n"', '"Content-Transfer-Encoding: 8bit\\n"']
    known = catalogue(language) if language and path_of(language).is_file() else {}
    return "\n".join([*head, *_entries(known)]) + "\n"


def files() -> dict[Path, str]:
    """Every file that is made here, and the language that it is in."""
    template = path_of("en").parents[2] / "display.pot"
    return {template: ""} | {path_of(language): language for language in TRANSLATED}


def main() -> None:
    """Say what is out of step, or write it anew."""
    for path, language in files().items():
        text = in_step(language)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if "--write" in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        print("written" if "--write" in sys.argv[1:] else "out of step", path)


if __name__ == "__main__":
    main()
