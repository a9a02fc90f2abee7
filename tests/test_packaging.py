"""The wheel carries all that is data, and works from an empty folder in an environment of its own."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
Run = Callable[..., subprocess.CompletedProcess[str]]


def build(source: Path, target: str, out: Path) -> Path:
    """A distribution of the project in `source`, built by the backend that its pyproject.toml names."""
    line = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(line, cwd=source, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def content(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An environment with the wheel installed, run from an empty folder; our dependencies are lent by this environment."""
    place = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "venv/bin/python"), "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (packages,) = (place / "venv/lib").glob("python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (place / "empty").mkdir()
    env = {"PATH": f"{place / 'venv/bin'}:{os.environ['PATH']}", "HOME": str(place), "LANG": "C.UTF-8"}

    def run(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            args, cwd=place / "empty", env=env, input=stdin, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def test_the_wheel_has_every_data_file_of_the_checkout(content: set[str]) -> None:
    def files(folder: str) -> set[str]:
        return {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"}

    beside = files("firmware_profiles") | files("calibration")
    expected = files("tablectl") | {f"tablectl/{name}" for name in beside}
    assert {"tablectl/houses/fr.toml", "tablectl/firmware_profiles/bee-tek.toml", "tablectl/py.typed"} <= expected
    assert expected - content == set()


def test_the_wheel_has_nothing_else_but_its_metadata(content: set[str]) -> None:
    assert {name.split("/")[0] for name in content} == {"tablectl", f"tablectl-{_version()}.dist-info"}
    assert f"tablectl-{_version()}.dist-info/licenses/LICENSE" in content
    assert not [name for name in content if "__pycache__" in name or name.endswith((".db", ".pyc"))]


def _version() -> str:
    line = next(line for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith("version"))
    return line.split('"')[1]


def test_the_source_distribution_builds_the_same_wheel(content: set[str], tmp_path: Path) -> None:
    subprocess.run(["tar", "-xf", build(ROOT, "sdist", tmp_path / "sdist"), "-C", tmp_path], check=True)
    source = tmp_path / f"tablectl-{_version()}"
    assert (source / "tests/test_packaging.py").is_file()
    assert (source / "Makefile").is_file()
    with zipfile.ZipFile(build(source, "wheel", tmp_path / "wheel")) as archive:
        assert set(archive.namelist()) == content


def test_it_is_the_wheel_that_runs(installed: Run) -> None:
    result = installed("python", "-c", "import tablectl, sys; print(tablectl.__file__.startswith(sys.prefix))")
    assert result.stdout == "True\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("tablectl --version", f"tablectl {_version()}"),
        ("python -m tablectl --version", f"tablectl {_version()}"),
        ("tablectl house list", "Blackjack, maison française"),
        ("tablectl house show fr", "fr: Blackjack, maison française"),
        ("tablectl house check", "ok lt"),
        ("tablectl profile list", "bee-tek"),
        ("tablectl profile check", "angel-eye-ii"),
    ],
)
def test_an_installed_table_knows_its_houses_and_profiles(command: str, said: str, installed: Run) -> None:
    result = installed(*command.split())
    assert (result.returncode, result.stderr) == (0, "")
    assert said in result.stdout


def test_an_installed_table_plays(installed: Run) -> None:
    result = installed(
        "tablectl", "play", "--house", "es", stdin='{"event":"bet","box":1,"amount":1000}\n{"event":"no_more_bets"}\n'
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert '"deal_to_box"' in result.stdout


def test_an_installed_table_shows_itself(installed: Run) -> None:
    """The recorded sessions are inside, and Mosquitto is found outside."""
    result = installed("tablectl", "demo", "--house", "fr", "--no-felt")
    assert (result.returncode, result.stderr) == (0, "")
    assert "round 1: staked 80.00, returned 105.00, carried 20.00" in result.stdout
