"""What the command line gives and what is not fit: a wrong value or key there is wrong usage, and no bad configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablectl.errors import ConfigError, UsageError
from tablectl.ledger.keys import SIGNS, Signer, Verifier

__all__ = ["given", "public_keys", "signer"]


@contextmanager
def given(option: str | None = None) -> Iterator[None]:
    """Turn a `ConfigError` into a `UsageError`, of this option, or of the one that is called as the error's field.

    Where the error names a file, that says enough.
    """
    try:
        yield
    except ConfigError as error:
        field = option or (f"--{error.field}" if error.field else None)
        raise UsageError(error.message, where=error.where, line=error.line, field=None if error.where else field) from None


def public_keys(text: str, option: str = "--key") -> Iterator[Verifier]:
    """A public key of a table as it was given, or those of a file, one a line, without empty lines and comments.

    A file with a private key stands for its public half. Raises `UsageError`, also for a key that is called after no table.
    """
    with given(option):
        if "+" in text and not os.path.exists(text):
            yield _of_table(text)
            return
        try:
            lines = Path(text).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigError(f"the key cannot be read: {why}", where=text) from None
        numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
        keys = [(number, line) for number, line in numbered if line and not line.startswith("#")]
        for number, line in keys:
            try:
                yield _of_table(Signer.load(Path(text)).verifier.vkey if line.startswith("PRIVATE+KEY+") else line)
            except ConfigError as error:
                raise ConfigError(error.message, where=text, line=None if error.where else number) from None
        if not keys:
            raise ConfigError("holds no key", where=text)


def _of_table(vkey: str) -> Verifier:
    key = Verifier.parse(vkey)
    if key.use != SIGNS or not key.name.startswith("tablectl/v1/"):
        raise ConfigError(f"{key.name} is the key of no table, which would be called after it: tablectl audit key --table")
    return key


def signer(path: Path, option: str) -> Signer:
    """The private key in a file that was given. Raises `UsageError`."""
    with given(option):
        return Signer.load(path)
