"""What the golden files should hold: each recorded session as its notices, and as it is told to a person."""

from __future__ import annotations

from pathlib import Path

from tests.cli.samples import SESSIONS, run

__all__ = ["FOLDER", "made"]

FOLDER = Path(__file__).resolve().parent


def made() -> dict[str, bytes]:
    """The files by name."""
    found: dict[str, bytes] = {}
    for name, session in SESSIONS.items():
        found[f"{name}.jsonl"] = run(*session.replay, "--json").stdout
        found[f"{name}.txt"] = run(*session.replay).stdout
    return found
