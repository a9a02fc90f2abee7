"""Decks drawn by artists who gave their work away (CC0), as a second source of faces beside our own drawing."""

from __future__ import annotations

from tablectl.felt.scene import Deck

__all__ = ["decks_of_art"]


def decks_of_art() -> list[Deck]:
    """The decks of art that are at hand; none where they were not fetched."""
    return []
