"""`tablectl config`: what it begins, and what it finds wrong."""

import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tablectl.config import TableConfig
from tablectl.doctor.checkup import checkup
from tablectl.doctor.commented import commented
from tablectl.doctor.configuration import faults
from tablectl.ledger.keys import Signer

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "bj07.toml"
    path.write_text(commented("bj07"))
    return path


def with_all_keys(text: str) -> str:
    """The file with everything in force that stands as a comment."""
    return re.sub(r"^#(?! |$)", "", text, flags=re.MULTILINE)


def test_what_init_writes_is_what_check_accepts(tmp_path: Path, tablectl: Command) -> None:
    result = tablectl("config", "init", "-o", "bj07.toml")
    assert (result.returncode, result.stdout) == (0, "")
    assert "tablectl config check bj07.toml" in result.stderr
    checked = tablectl("config", "check", "bj07.toml")
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "ok bj07.toml\n", "")
    again = tablectl("config", "init", "-o", "bj07.toml")
    assert again.returncode == 2
    assert "not written over" in again.stderr
    assert tablectl("config", "init", "--name", "bj07").stdout == (tmp_path / "bj07.toml").read_text()


def test_a_name_that_a_topic_cannot_carry_begins_nothing(tmp_path: Path, tablectl: Command) -> None:
    result = tablectl("config", "init", "--name", "bj/07", "-o", "table.toml")
    assert result.returncode == 2
    assert not (tmp_path / "table.toml").exists()


def test_every_key_stands_in_it_and_is_explained(table: Path) -> None:
    values = tomllib.loads(with_all_keys(table.read_text()))
    msgspec.convert(values, TableConfig)  # the examples are such as may stand there
    assert missing(values, TableConfig) == []
    lines = table.read_text().splitlines()
    for number, line in enumerate(lines):
        if re.match(r"#?\w+ = ", line) and not re.match(r"#(name|port|profile|write|may|key) = ", line):
            assert lines[number - 1].startswith("# "), line


def missing(values: dict[str, Any], kind: Any, path: str = "") -> list[str]:
    """The keys of a type that are not among the values, and those without a description."""
    found = []
    for field in msgspec.structs.fields(kind):
        here = f"{path}{field.name}"
        if field.name not in values:
            found.append(here)
            continue
        value, text = values[field.name], str(field.type)
        inner = value[0] if isinstance(value, list) and isinstance(value[0], dict) else value
        struct = next((cls for name, cls in STRUCTS.items() if f".{name}" in text), None)
        if struct is not None and isinstance(inner, dict):
            found += missing(inner, struct, f"{here}.")
        elif "description=" not in text:
            found.append(f"{here}: no description")
    return found


SECTIONS: list[type] = type.__subclasses__(TableConfig.__mro__[1])
STRUCTS = {section.__name__: section for section in SECTIONS}


def test_the_defaults_it_shows_are_the_defaults(table: Path) -> None:
    text = re.sub(r"^#(\w+ = .*)", r"\1", table.read_text(), flags=re.MULTILINE)
    told = re.findall(r"Default: (.*)\.\n#(\w+) = (.*)\n", table.read_text())
    assert len(told) > 8
    assert [(name, value) for default, name, value in told if default != value] == [("zone", '"Europe/Paris"')]
    assert text != table.read_text()


def broken(table: Path, *changes: tuple[str, str]) -> list[str]:
    text = table.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    table.write_text(text)
    return [str(error).removeprefix(f"{table}:") for error in faults(table)]


def line_of(table: Path, words: str) -> int:
    return next(number for number, line in enumerate(table.read_text().splitlines(), 1) if line.startswith(words))


def test_every_fault_is_told_with_line_and_field(table: Path, tablectl: Command) -> None:
    broken(
        table,
        ('site = "my-casino"\n', ""),
        ("#min_free_mb = 500", "min_free_mb = -1\nmin_free = 7"),
        ('name = "shoe"', 'name = "show"'),
        ('"ack", "table"', '"ack", "tabel"'),
    )
    result = tablectl("config", "check", table.name)
    assert result.returncode == 4
    assert result.stdout == ""
    place = f"tablectl: {table.name}:"
    told = result.stderr.splitlines()
    assert told == [
        f"{place}{line_of(table, '[table]')}: table.site: is required, and not there",
        f"{place}{line_of(table, 'min_free = ')}: storage.min_free: there is no such key; known are folder, min_free_mb",
        f"{place}{line_of(table, 'min_free_mb')}: storage.min_free_mb: must be at least 0",
        f"{place}{line_of(table, 'name = ' + chr(34) + 'show')}: devices[0].name: 'show' is not known; known are pad, shoe",
        f"{place}{line_of(table, 'may = ')}: people[0].may[2]: 'tabel' is not known; "
        "known are ack, bet, proof, ruling, seat, shoe, table",
    ]


@pytest.mark.parametrize(
    ("old", "new", "field", "said"),
    [
        ('house = "fr"', 'house = "xx"', "table.house", "no such house"),
        ('house = "fr"', 'house = "ours.toml"', "table.house", "cannot be read: No such file"),
        ('#language = "fr"', 'language = "de"', "table.language", "known are en, es, fr, lt"),
        ('#zone = "Europe/Paris"', 'zone = "Europe/Vilna"', "table.zone", "no time zone"),
        ("#layout = {", 'layout = { decks = 4, colour = "red",', "table.layout.decks", "the house says 6"),
        ("#layout = {", 'layout = { decks = 4, colour = "red",', "table.layout.colour", "no such rule"),
        ('#day_begins = "06:00"', 'day_begins = "6 am"', "table.day_begins", "must be written like 06:00"),
        ('name = "CHIEF7"', 'name = "the chief"', "people[0].name", "must be written like CHIEF7, service:witness"),
        ("#layout = {", "layout = []\n#layout = {", "table.layout", "expected keys with values, got a list"),
        ("#rotate_mb = 64", "rotate_mb = 6.4", "recording.rotate_mb", "expected a whole number, got a number with a point"),
        ('profile = "angel-eye-ii"', 'profile = "devil-eye"', "devices[0].profile", "no such profile"),
        ('profile = "angel-eye-ii"', 'profile = "dealer-pad"', "devices[0].profile", "of a pad, not of a shoe"),
        ('port = "/dev/tablectl/bj07-shoe"', 'port = "serial://x"', "devices[0].port", "no address of a device"),
        ("#[broker]", '[broker]\nurl = "mqtts://h:0"', "broker.url", "1 to 65535"),
        ("#[broker]", '[broker]\nurl = "mqtts://h"\nca = "ca.pem"', "broker", "ca.pem"),
        ("#[broker]", '[broker]\nurl = "http://h"', "broker.url", "it begins with mqtt://"),
        ("#[broker]", '[broker]\nurl = "mqtt://me:secret@127.0.0.1"', "broker.url", "the file broker.password"),
        ('folder = "/var/lib/tablectl/bj07"', 'folder = ""', "storage.folder", "must not be empty"),
        ('folder = "/var/lib/tablectl/bj07"', 'folder = "/dev/null/x"', "storage.folder", "/dev/null is no folder"),
        ('folder = "/var/lib/tablectl/bj07"', 'folder = "bj07.toml"', "storage.folder", "bj07.toml is no folder"),
        ('port = "/dev/tablectl/bj07-shoe"', 'port = "."', "devices[0].port", "is a folder, and no serial port"),
        ('port = "/dev/tablectl/bj07-shoe"', 'port = "bj07.toml"', "devices[0].port", "is a file, and no serial port"),
        ('"ruling", "ack"', '"ack"', "people", "nobody may rule"),
        ("#[metrics]", '[metrics]\nlisten = "127.0.0.1:70000"', "metrics.listen", "a port is 1 to 65535"),
        ("#[metrics]", '[metrics]\nlisten = "127.0.0.900:9723"', "metrics.listen", "127.0.0.900 is no address"),
        (
            '#[[people]]\n#name = "INSPECTOR2"\n#may',
            '[[people]]\nname = "CHIEF7"\nmay',
            "people[1].name",
            "is there twice",
        ),
        ('#key = "credential:signing.key"', 'key = "no.key"', "ledger.key", "cannot be read"),
        ('#key = "11qYAYKx', 'key = "12qYAYK', "people[0].key", "no Ed25519 public key"),
    ],
)
def test_what_it_names_is_looked_at(old: str, new: str, field: str, said: str, table: Path) -> None:
    told = broken(table, (old, new))
    mine = [line for line in told if f" {field}: " in line]
    assert len(mine) == 1, told
    assert said in mine[0]
    assert re.match(r"\d+: ", mine[0])


PAD = '[[devices]]\nname = "pad"\nport = "{}"\nprofile = "dealer-pad"\n\n[[people]]\n'


@pytest.mark.parametrize(
    ("port", "said"), [("/dev/tablectl/bj07-shoe", "is the port of shoe"), ("other", "leads to the port of shoe")]
)
def test_two_devices_on_one_port(port: str, said: str, table: Path) -> None:
    (table.parent / "other").symlink_to("/dev/zero")
    shoe = "/dev/zero" if port == "other" else port
    told = broken(table, ("/dev/tablectl/bj07-shoe", shoe), ("[[people]]\n", PAD.format(port)))
    assert [line for line in told if f" devices[1].port: {said}" in line] == told != []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "no [[people]] has a key"),
        ("accept = []", "nothing is accepted"),
        ('accept = ["certificate"]', "over TLS only"),
        ('accept = ["open"]', None),
    ],
)
def test_a_table_that_nobody_can_command_is_doubtful(more: str, said: str | None, table: Path, tablectl: Command) -> None:
    assert broken(table, ("#[broker]", '[broker]\nurl = "mqtt://127.0.0.1"'), ("[commands]", f"[commands]\n{more}")) == []
    result = tablectl("config", "check", table.name)
    assert (result.returncode, result.stdout) == (0, f"ok {table.name}\n")
    assert len(result.stderr.splitlines()) == (said is not None)
    assert said is None or (f"tablectl: warning: {table.name}:" in result.stderr and said in result.stderr)
    assert [finding.verdict for finding in checkup(table, 0) if said and said in finding.text] == ["warn"] * (said is not None)


def test_every_line_names_the_file_as_it_was_given(table: Path, tablectl: Command) -> None:
    broken(table, ("[[people]]", "[[nobody]]"), ('zone = "', 'zone = "x'))
    broken(table, ("[[nobody]]", "[[people]]"), ('"ruling", "ack"', '"ack"'), ('house = "fr"', 'house = "xx"'))
    lines = tablectl("config", "check", table.name).stderr.splitlines()
    assert len(lines) > 1
    assert all(line.startswith(f"tablectl: {table.name}:") for line in lines)


def test_a_house_that_is_another_kind_of_file(table: Path) -> None:
    (told,) = broken(table, ('house = "fr"', 'house = "bj07.toml"'))
    assert "table.house:" in told
    assert "is no house" in told


def test_a_file_that_cannot_be_written(tablectl: Command) -> None:
    result = tablectl("config", "init", "-o", "nodir/q.toml")
    assert (result.returncode, result.stderr) == (2, "tablectl: nodir/q.toml: cannot be written: No such file or directory\n")


def test_a_house_file_is_faulted_at_its_own_line(table: Path, tablectl: Command) -> None:
    shipped = Path(__file__).resolve().parent.parent.parent / "tablectl/houses/fr.toml"
    (table.parent / "ours.toml").write_text(shipped.read_text().replace("decks = 6", "decks = 66"))
    told = broken(table, ('house = "fr"', 'house = "ours.toml"'))
    assert len(told) == 1
    assert re.fullmatch(r"/.*/ours\.toml:\d+: rules\.decks: .*", told[0])


def test_a_secret_that_others_may_read(table: Path) -> None:
    (table.parent / "secret").write_text("x")
    (table.parent / "secret").chmod(0o644)
    told = broken(table, ("#[broker]", '[broker]\nurl = "mqtt://127.0.0.1"\nuser = "a"\npassword = "secret"'))
    assert len(told) == 1
    assert told[0].endswith(f"{table.parent}/secret may be used by others (mode 0644): chmod 600 {table.parent}/secret")
    (table.parent / "secret").chmod(0o600)
    assert faults(table) == []


def test_another_tables_signing_key(table: Path) -> None:
    Signer.make("tablectl/v1/site/pit/other").save(table.parent / "other.key")
    [told] = broken(table, ('#key = "credential:signing.key"', 'key = "other.key"'))
    assert "ledger.key: " in told
    assert "is the key tablectl/v1/site/pit/other, not that of table " in told


def test_credentials_of_the_service_are_not_asked_for(table: Path) -> None:
    """They are there when the service starts, and nobody else sees them."""
    assert broken(table, ('#key = "credential:signing.key"', 'key = "credential:signing.key"')) == []


@pytest.mark.parametrize("text", ["[table", "\xff", ""])
def test_what_is_no_configuration_at_all(text: str, tmp_path: Path, tablectl: Command) -> None:
    (tmp_path / "bad.toml").write_bytes(text.encode("latin-1"))
    result = tablectl("config", "check", "bad.toml", "none.toml")
    assert result.returncode == 4
    assert result.stderr.splitlines()[-1] == "tablectl: none.toml: cannot be read: No such file or directory"
    assert result.stderr.startswith("tablectl: bad.toml:")
