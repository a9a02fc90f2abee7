"""Text from elsewhere, made safe for a terminal."""

from __future__ import annotations

__all__ = ["visible"]

BLANKS = "\u00a0\u202f"
"""Blanks that languages write inside numbers and before colons."""


def visible(text: str) -> str:
    """The text with its control characters shown as escapes, so that a name in the input cannot move a cursor or forge a line."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in BLANKS else letter.encode("unicode_escape").decode() for letter in text
    )
