"""What an import may cost, and that it asks for nothing that is not there; which module may import which is import-linter's."""

import json
import pkgutil
import subprocess
import sys

import pytest

import tablectl

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(tablectl.__path__, "tablectl.") if not module.name.endswith("__main__")
)

SEES = (
    "tablectl.felt",
    "tablectl.cli.calibrate",
    "tablectl.cli.drawn",
    "tablectl.cli.felt",
    "tablectl.daemon.felt",
    "tablectl.doctor.cameras",
    "tablectl.emulator.felt",
)
"""What works on pictures, and is imported by who has a camera."""

ALONE = """
import importlib, json, sys
for absent in ("cv2", "numpy", "pyzbar", "pytest", "hypothesis"):
    sys.modules[absent] = None
failed = {}
for name in json.load(sys.stdin):
    for loaded in [module for module in sys.modules if FIRST and module.partition(".")[0] == "tablectl"]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except Exception as error:
        failed[name] = repr(error)
print(json.dumps(failed))
"""


@pytest.mark.parametrize("first", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["in turn", "each the first"])
def test_every_module_needs_no_camera_and_can_be_the_first(first: bool) -> None:
    blind = [name for name in MODULES if not name.startswith(SEES)]
    assert len(blind) > 200
    program = f"FIRST = {first}\n{ALONE}"
    result = subprocess.run([sys.executable, "-c", program], input=json.dumps(blind), capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == {}
    assert result.stderr == ""


LOADED = """
import sys
from tablectl.cli import main
code = main.run(sys.argv[1:])
print(code, *sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["completion", "bash"]])
def test_what_is_quick_stays_quick(args: list[str]) -> None:
    """Neither the game nor a library that takes its time is imported to print a help text."""
    result = subprocess.run([sys.executable, "-c", LOADED, *args], capture_output=True, text=True, check=True)
    code, *loaded = result.stderr.split()
    assert code == "0"
    assert "click" in loaded
    assert set(loaded).isdisjoint(
        {"paho", "transitions", "rich", "sqlite3", "msgspec", "crccheck", "tablectl.game", "tablectl.mqtt"}
    )
