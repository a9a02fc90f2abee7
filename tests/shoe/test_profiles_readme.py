"""The profile that README.md of firmware_profiles shows is a real one, and its vectors hold."""

import re
from pathlib import Path

from tablectl.resources import data_folder
from tablectl.shoe.fields import FIELDS
from tablectl.shoe.framings import FRAMINGS
from tablectl.shoe.profile import load
from tablectl.shoe.vectors import check

README = (data_folder("firmware_profiles") / "README.md").read_text()


def test_the_example(tmp_path: Path) -> None:
    profile, vectors = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "our-shoe.toml").write_text(profile)
    (tmp_path / "our-shoe.vectors.toml").write_text(vectors)
    result = check(load(str(tmp_path / "our-shoe.toml")))
    assert (result.failures, result.untested, result.vectors) == ((), (), 2)


def test_every_kind_and_type_is_explained() -> None:
    for name in (*FRAMINGS, *FIELDS):
        assert f"`{name}`" in README
