"""A signed day, made once: whoever changes it works on a copy."""

from __future__ import annotations

import pytest

from tablectl.ledger.reader import Entry
from tests.ledger.days import Day, make_day, next_day, played


@pytest.fixture(scope="session")
def session_entries(tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    return played(tmp_path_factory.mktemp("played"))


@pytest.fixture(scope="session")
def day(tmp_path_factory: pytest.TempPathFactory, session_entries: list[Entry]) -> Day:
    folder = tmp_path_factory.mktemp("day")
    made = make_day(folder, session_entries)
    next_day(folder, made)
    return made
