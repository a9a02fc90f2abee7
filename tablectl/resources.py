"""Where the data files are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["data_folder", "named_files"]

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """The folder of `houses`, `samples`, `firmware_profiles` or `calibration` files.

    The last two stand at the top of a checkout and inside the package once it is installed from a wheel.
    """
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def named_files(folder: str) -> dict[str, Path]:
    """The data files of a folder by name: `fr` -> `.../houses/fr.toml`; twins such as `NAME.vectors.toml` left out."""
    files = sorted(data_folder(folder).glob("*.toml"))
    return {path.stem: path for path in files if "." not in path.stem}
