"""What the recorded sessions say is what it was when somebody last read it."""

from __future__ import annotations

import difflib

from tests.golden.made import FOLDER, made


def test_the_golden_files_are_as_they_were_read() -> None:
    changes: list[str] = []
    for name, content in made().items():
        before = (FOLDER / name).read_text("utf-8").splitlines()
        changes += difflib.unified_diff(before, content.decode().splitlines(), f"{name} (golden)", f"{name} (now)", lineterm="")
    assert not changes, "\n".join([*changes, "If this is meant: python -m tests.golden, and read the diff"])
