"""`tablectl broker`: what it writes and how private it is, what it refuses, and that a broker starts on it."""

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509

from tablectl.cli.main import run
from tests.broker import Broker, free_port


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Result]
TABLE = ("--site", "hall", "--pit", "main", "--table", "t07")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `tablectl broker ARGS...` within this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Result:
        code = run(["broker", *args])
        return Result(code, *capsys.readouterr())

    return call


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


class Written(Broker):
    """A broker on a configuration that lies there."""

    def __init__(self, configuration: Path, port: int):
        super().__init__(configuration.parent)
        self.port = port
        self._configuration = configuration

    def _configure(self) -> Path:
        return self._configuration


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    for words in (
        ["ca", "--name", "Test Hall"],
        ["broker", "--host", "localhost", "--host", "127.0.0.1"],
        ["table", *TABLE],
    ):
        assert run(["broker", "certificate", *words, "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def pki(made: Path, tmp_path: Path) -> Path:
    """An authority, a broker's certificate and a table's, in the folder `certs`."""
    return Path(shutil.copytree(made, tmp_path / "certs"))


def test_all_by_the_command_line(tablectl: Callable[..., subprocess.CompletedProcess[str]], pki: Path, tmp_path: Path) -> None:
    """The certificates and the files as they are written: a broker starts on them, and a table gets in by the broker's name."""
    port, second, user = free_port(), free_port(), pwd.getpwuid(os.getuid()).pw_name
    options = ["--place", tmp_path, "--state", tmp_path, "--port", str(port), "--bind", "127.0.0.1", "--user", user]
    options += ["--loopback", str(second)]
    result = tablectl("broker", "config", "--for", "table", *TABLE, "--person", "CHIEF7", *options, "-o", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    with Written(tmp_path / "mosquitto.conf", port) as broker:
        line = ["mosquitto_pub", "-h", "localhost", "-V", "mqttv5", "-q", "1", "-d", "-m", "x"]
        line += ["--cafile", f"{pki}/ca.crt", "--cert", f"{pki}/table-hall-main-t07.crt"]
        line += ["--key", f"{pki}/table-hall-main-t07.key"]
        said = [
            subprocess.run(
                [*line, "-p", str(where), "-t", f"tablectl/v1/hall/main/{name}/status"],
                capture_output=True,
                text=True,
                check=False,
            )
            for name, where in (("t07", port), ("t08", port), ("t07", second))
        ]
        assert [re.findall(r"PUBACK .*RC:(\d+)", result.stdout) for result in said] == [["16"], ["135"], ["16"]]
        assert "Error" not in broker.log()


def test_it_says_what_to_do_next(here: Command) -> None:
    result = here("config", "--for", "pit", *TABLE, "--table", "t08", "-o", "pit")
    assert "table:hall:main:t07" in result.stdout
    assert "table:hall:main:t08" in result.stdout
    assert "install -o mosquitto -g mosquitto -m 600 pit/tablectl.acl /etc/mosquitto/" in result.stdout
    assert "--test-config" not in result.stdout
    bridge = here("config", "--for", "bridge", *TABLE, "--to", "pit.example", "-o", "t07")
    for suffix in (".crt", ".key"):
        assert re.search(rf"install .* table-hall-main-t07{suffix} /etc/mosquitto/certs/table{suffix}\b", bridge.stdout)
    newer = here("config", "--for", "pit", "--mosquitto", "2.1", *TABLE, "-o", "newer")
    assert "mosquitto --test-config -c /etc/mosquitto/mosquitto.conf" in newer.stdout


def test_private_files_are_private_whatever_the_umask(pki: Path, here: Command, tmp_path: Path) -> None:
    assert here("config", "--for", "table", *TABLE, "-o", "t07").returncode == 0
    assert mode(tmp_path / "t07" / "tablectl.acl") == 0o600
    assert mode(tmp_path / "t07" / "mosquitto.conf") == 0o644
    assert {mode(path) for path in pki.glob("*.key")} == {0o600}
    assert {mode(path) for path in pki.glob("*.crt")} == {0o644}
    assert {path.suffix for path in pki.iterdir()} == {".crt", ".key"}


def test_nothing_is_written_over_unasked(here: Command, tmp_path: Path) -> None:
    words = ["config", "--for", "table", *TABLE, "-o", "t07"]
    acl = tmp_path / "t07" / "tablectl.acl"
    acl.parent.mkdir()
    acl.write_text("ours")
    refused = here(*words)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "tablectl: t07/tablectl.acl: is there already; --force writes over it\n"
    assert (acl.read_text(), list(acl.parent.iterdir())) == ("ours", [acl])
    assert here(*words, "--force").returncode == 0
    assert "user table:hall:main:t07\n" in acl.read_text()
    assert mode(acl) == 0o600


def test_an_authority_is_not_made_twice_by_accident(pki: Path, here: Command) -> None:
    before = (pki / "ca.key").read_bytes()
    assert here("certificate", "ca", "-o", "certs").returncode == 2
    assert (pki / "ca.key").read_bytes() == before


def test_what_a_certificate_says(pki: Path, here: Command) -> None:
    """Names, purposes, validity; and openssl finds the chain good for that purpose and no other."""
    result = here("certificate", "person", "--name", "Mme Noël", "--days", "30", "-o", "certs")
    assert result.returncode == 0
    valid = re.search(r"^valid until (\S+)$", result.stdout, re.MULTILINE)
    person = x509.load_pem_x509_certificate((pki / "Mme-Noël.crt").read_bytes())
    assert [attribute.value for attribute in person.subject] == ["Mme Noël"]
    assert valid is not None
    assert valid[1] == f"{person.not_valid_after_utc:%Y-%m-%d}"
    assert (person.not_valid_after_utc - person.not_valid_before_utc).days == 30
    server = x509.load_pem_x509_certificate((pki / "broker.crt").read_bytes())
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["localhost", "127.0.0.1"]
    for path, good, bad in (("Mme-Noël", "sslclient", "sslserver"), ("broker", "sslserver", "sslclient")):
        line = ["openssl", "verify", "-x509_strict", "-CAfile", f"{pki}/ca.crt", "-purpose"]
        codes = [
            subprocess.run([*line, purpose, pki / f"{path}.crt"], capture_output=True, check=False).returncode
            for purpose in (good, bad)
        ]
        assert codes == [0, 2]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["config", "--for", "bridge", *TABLE, "-o", "x"], 2, "--to: a bridge needs it"),
        (["config", "--for", "bridge", *TABLE, "--to", "a b", "-o", "x"], 2, "--to: 'a b' is no host"),
        (["config", "--for", "bridge", *TABLE, "--to", "pit:99999", "-o", "x"], 2, "--to: 99999 is no port"),
        (["config", "--for", "bridge", *TABLE, "--to", "::1", "-o", "x"], 2, "--to: '::1' is no HOST[:PORT]"),
        (["config", "--for", "bridge", *TABLE, "--table", "t08", "--to", "a", "-o", "x"], 2, "--table: a bridge is of one"),
        (["config", "--for", "pit", *TABLE, "--to", "a", "-o", "x"], 2, "--to: only a bridge has it"),
        (["config", "--for", "pit", "--table", "a/b", "-o", "x"], 2, "--table: 'a/b' has a '/'"),
        (["config", "--for", "pit", "--table", "+", "-o", "x"], 2, "--table: '+' has a '+'"),
        (["config", "--for", "table", *TABLE, "--table", "t08", "-o", "x"], 2, "--table: a table's own broker has one"),
        (["config", "--for", "pit", *TABLE, "--person", "a:b", "-o", "x"], 2, "--person: 'a:b' has a ':'"),
        (["config", "--for", "pit", *TABLE, "--place", "a", "-o", "x"], 2, "--place: 'a' is no absolute folder"),
        (["certificate", "table", *TABLE, "-o", "x"], 2, "x: there is no authority"),
        (["certificate", "ca", "--name", "n" * 65, "-o", "x"], 2, "is no name of a certificate"),
        (["certificate", "ca", "--name", "", "-o", "x"], 2, "--name: '' is no name of a certificate"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_written(
    here: Command, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    result = here(*words)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["broker"], "--host: a broker needs"),
        (["broker", "--host", "é"], "is no host"),
        (["table"], "--table: which table"),
        (["person"], "--name: who it is for"),
        (["person", "--name", "a/b"], "--name: 'a/b' has a '/'"),
        (["person", "--name", ""], "--name: is empty"),
        (["table", "--table", "t", "--site", "a:b"], "--site: 'a:b' has a ':'"),
        (["table", "--table", "t" * 60], "is longer than the 64 characters"),
    ],
)
def test_a_certificate_for_nobody_is_refused(pki: Path, here: Command, words: list[str], message: str) -> None:
    before = sorted(pki.iterdir())
    result = here("certificate", *words, "-o", "certs", "--force")
    assert result.returncode == 2
    assert message in result.stderr
    assert sorted(pki.iterdir()) == before


def test_keys_that_do_not_belong_to_their_certificate_are_told(pki: Path, here: Command) -> None:
    (pki / "ca.key").write_bytes((pki / "broker.key").read_bytes())
    result = here("certificate", "display", "-o", "certs")
    assert (result.returncode, result.stderr) == (
        4,
        "tablectl: certs: certificate and key of the authority do not belong together\n",
    )
    (pki / "ca.key").write_text("none")
    assert here("certificate", "display", "-o", "certs").returncode == 4
