"""RFC 3161 time-stamps from a real authority: `openssl ts` with certificates that openssl made, behind a small HTTP server."""

from __future__ import annotations

import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from tablectl.cli import main
from tablectl.errors import ConfigError, InputError, LedgerError, TablectlError, UsageError
from tablectl.ledger.reader import Reader
from tablectl.ledger.signed_note import to_base64
from tablectl.ledger.timestamps import Authority, ask, keep, side_file, stamps, verify
from tests.broker import free_port
from tests.ledger.tables import Day

ASKED = "2026-11-30T10:00:00.000000Z"
CONFIG = """
[ req ]
distinguished_name = dn
prompt = no
[ dn ]
CN = Test Time
[ ca ]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[ tsa ]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[ tsa_default ]
serial = {folder}/serial
default_policy = 1.2.3.4.1
digests = sha256
signer_digest = sha256
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


class Time:
    """An authority: its root's certificate, its address, and how it is to misbehave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "ca.crt"
        self.url = ""
        self.chain = False
        self.answer: bytes | int | None = None
        self.asked: list[bytes] = []
        folder.mkdir()
        (folder / "conf").write_text(CONFIG.format(folder=folder))
        (folder / "serial").write_text("01\n")
        self.openssl("req", "-x509", "-new", "-nodes", "-days", "2", "-extensions", "ca", *self._key("ca"), "-out", self.root)
        self._certify("tsa", "tsa")

    def _certify(self, name: str, extensions: str) -> None:
        self.openssl("req", "-new", "-nodes", "-subj", f"/CN=Test {name}", *self._key(name), "-out", self.folder / f"{name}.csr")
        signed = ("-CA", self.root, "-CAkey", self.folder / "ca.key", "-CAcreateserial", "-days", "1")
        extended = ("-extfile", self.folder / "conf", "-extensions", extensions)
        self.openssl("x509", "-req", "-in", self.folder / f"{name}.csr", *signed, *extended, "-out", self.folder / f"{name}.crt")

    def reply(self, query: bytes) -> bytes:
        (self.folder / "query").write_bytes(query)
        signer = ("-signer", self.folder / "tsa.crt", "-inkey", self.folder / "tsa.key")
        chain = ("-chain", self.root) if self.chain else ()
        words = ("-reply", "-section", "tsa_default", "-queryfile", self.folder / "query", *chain)
        return self.openssl("ts", *words, *signer, "-config", self.folder / "conf")

    def _key(self, name: str) -> tuple[str | Path, ...]:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
        return (*curve, "-keyout", self.folder / f"{name}.key", "-config", self.folder / "conf")

    @staticmethod
    def openssl(*words: str | Path) -> bytes:
        done = subprocess.run(["openssl", *map(str, words)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout or done.stderr


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Time]:
    time = Time(tmp_path / "tsa")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/timestamp-query"
            query = self.rfile.read(int(self.headers["Content-Length"]))
            time.asked.append(query)
            if isinstance(time.answer, int):
                self.send_error(time.answer)
                return
            body = time.reply(query) if time.answer is None else time.answer
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        time.url = f"http://127.0.0.1:{server.server_port}/tsr"
        yield time
        server.shutdown()
        thread.join()


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    with Day(tmp_path / "day.db") as made:
        made.grown(10)
        yield made


def note_of(day: Day) -> bytes:
    with Reader(day.path) as reader:
        latest = reader.latest("checkpoint")
    assert latest is not None
    return latest.body


def test_a_checkpoint_is_stamped_and_the_stamp_holds(authority: Time, day: Day) -> None:
    for _ in range(2):
        keep(day.path, ask(authority.url, note_of(day), asked=ASKED))
        day.grown(10)
    found = verify(day.path, Authority(authority.root))
    assert [(one.size, one.by) for one in found] == [(11, "CN=Test tsa"), (21, "CN=Test tsa")]
    assert all("2020" < one.at < "2100" and one.at.endswith(".000000Z") for one in found)
    # Only a hash goes to the authority.
    assert all(len(query) < 100 and b"tablectl" not in query for query in authority.asked)
    # Another program says the same of what is kept: the response, and the note's own bytes.
    stamp = next(stamps(day.path))[1]
    (authority.folder / "kept").write_bytes(b64decode(stamp.response))
    (authority.folder / "note").write_text(stamp.note)
    files = ("-in", authority.folder / "kept", "-data", authority.folder / "note", "-CAfile", authority.root)
    assert b"OK" in authority.openssl("ts", "-verify", *files)


def test_an_authority_whose_chain_is_in_no_order_is_asked_again_without_it(authority: Time, day: Day, tmp_path: Path) -> None:
    """So `openssl ts -chain` answers: what is kept then has no certificate, and the authority's own is needed to check it."""
    authority.chain = True
    keep(day.path, ask(authority.url, note_of(day), asked=ASKED))
    assert len(authority.asked) == 2
    with pytest.raises(LedgerError, match="holds no certificate of who gave it"):
        verify(day.path, Authority(authority.root))
    both = tmp_path / "both.pem"
    both.write_bytes(authority.root.read_bytes() + (authority.folder / "tsa.crt").read_bytes())
    assert [(one.size, one.by) for one in verify(day.path, Authority(both))] == [(11, "CN=Test tsa")]


def test_a_stamp_of_another_note_another_authority_or_a_changed_one_is_none(authority: Time, day: Day, tmp_path: Path) -> None:
    stamp = ask(authority.url, note_of(day), asked=ASKED)
    day.grown(10)
    believed = Authority(authority.root)
    assert believed.check(stamp).size == 11
    moved = msgspec.structs.replace(stamp, note=note_of(day).decode(), size=21)
    with pytest.raises(LedgerError, match="can be believed"):
        believed.check(moved)
    with pytest.raises(LedgerError, match="is of 11 entries, and says 21"):
        believed.check(msgspec.structs.replace(stamp, size=21))
    with pytest.raises(LedgerError, match="can be believed"):
        Authority(Time(tmp_path / "other").root).check(stamp)
    raw = bytearray(b64decode(stamp.response))
    raw[-5] ^= 1  # in the signature
    with pytest.raises(LedgerError):
        believed.check(msgspec.structs.replace(stamp, response=to_base64(bytes(raw))))


def test_a_stamp_that_a_ledger_contradicts_is_named(authority: Time, day: Day, tmp_path: Path) -> None:
    keep(day.path, ask(authority.url, note_of(day), asked=ASKED))
    (tmp_path / "anew").mkdir()
    with Day(tmp_path / "anew" / "day.db", day.signer) as other:
        other.grown(10, "changed")
        side_file(other.path).write_bytes(side_file(day.path).read_bytes())
        with pytest.raises(
            LedgerError, match=r"day\.db\.timestamps\.jsonl:1: the time-stamp was given at .* the ledger does not have"
        ):
            verify(other.path, Authority(authority.root))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (500, "500 Internal Server Error"),
        (b"", "cannot be read"),
        (b"<html>", "cannot be read"),
        (b"0" * ((1 << 20) + 1), "too long"),
    ],
)
def test_an_authority_that_gives_no_stamp_is_told(authority: Time, day: Day, answer: bytes | int, said: str) -> None:
    authority.answer = answer
    with pytest.raises(TablectlError, match=said):
        ask(authority.url, note_of(day), asked=ASKED)


def test_an_old_answer_and_a_refusal_are_no_stamps(authority: Time, day: Day) -> None:
    stamp = ask(authority.url, note_of(day), asked=ASKED)
    authority.answer = b64decode(stamp.response)
    with pytest.raises(TablectlError, match="the answer to another question"):
        ask(authority.url, note_of(day), asked=ASKED)
    config = authority.folder / "conf"
    config.write_text(config.read_text().replace("digests = sha256", "digests = sha512"))
    authority.answer = None
    with pytest.raises(TablectlError, match="gives no time-stamp"):
        ask(authority.url, note_of(day), asked=ASKED)


def test_nobody_there_and_no_address(day: Day) -> None:
    with pytest.raises(TablectlError, match="cannot be reached: Connection refused"):
        ask(f"http://127.0.0.1:{free_port()}/", note_of(day), asked=ASKED)
    for url in ("file:///etc/passwd", "tsa.example", "https://"):
        with pytest.raises(UsageError, match="is no address"):
            ask(url, note_of(day), asked=ASKED)


def test_certificates_that_are_none(authority: Time, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        Authority(tmp_path / "none.pem")
    (tmp_path / "text.pem").write_text("text")
    with pytest.raises(ConfigError, match="holds no certificate"):
        Authority(tmp_path / "text.pem")
    with pytest.raises(ConfigError, match="holds no root"):
        Authority(authority.folder / "tsa.crt")


def test_a_line_that_was_cut_off_costs_no_other(authority: Time, day: Day) -> None:
    stamp = ask(authority.url, note_of(day), asked=ASKED)
    keep(day.path, stamp)
    path = side_file(day.path)
    path.write_bytes(path.read_bytes() + path.read_bytes()[:50])
    keep(day.path, stamp)
    assert list(stamps(day.path)) == [(1, stamp), (3, stamp)]
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        keep(day.path, stamp)


def test_the_command_stamps_a_checkpoint_once(
    authority: Time, day: Day, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def call(*words: str | Path) -> tuple[int, str, str]:
        code = main.run(["audit", "timestamp", str(day.path), *map(str, words)])
        return code, *capsys.readouterr()

    believed = ("--url", authority.url, "--tsa-certificates", authority.root)
    assert call(*believed) == (0, f"{day.path}: the checkpoint of 11 entries is stamped, in day.db.timestamps.jsonl\n", "")
    assert call(*believed) == (0, f"{day.path}: its latest checkpoint, of 11 entries, is stamped already\n", "")
    assert len(authority.asked) == 1
    day.grown(5)

    def verified(*words: str | Path) -> tuple[int, str, str]:
        code = main.run(["audit", "verify", str(day.path), *map(str, words)])
        return code, *capsys.readouterr()

    code, out, err = verified("--tsa-certificates", authority.root)
    assert (code, err) == (0, "")
    assert "  stamped  11 entries, at 20" in out
    assert out.endswith(" by CN=Test tsa\n")
    code, out, _ = verified("--tsa-certificates", authority.root, "--json")
    assert [one["size"] for one in msgspec.json.decode(out)["stamped"]] == [11]
    code, out, err = verified("--tsa-certificates", Time(tmp_path / "third").root)
    assert (code, "NOT WHOLE" in out) == (7, True)
    assert f"{side_file(day.path)}:1: the time-stamp is no time-stamp that can be believed" in err

    strangers = ("--url", authority.url, "--tsa-certificates", Time(tmp_path / "other").root)
    code, out, err = call(*strangers)
    assert (code, out) == (1, "")
    assert "what it gave is no time-stamp that can be believed" in err
    assert len(list(stamps(day.path))) == 1


def test_without_the_library_it_is_said_what_is_missing(day: Day, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rfc3161_client", None)
    with pytest.raises(ConfigError, match=r"pip install 'tablectl\[timestamps\]'"):
        ask("http://127.0.0.1/", note_of(day), asked=ASKED)
