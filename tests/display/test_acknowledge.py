"""Who is let in and who may acknowledge: over a real broker, to a table that judges commands as a live one does."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tablectl.cli.main import run
from tablectl.display.access import COOKIE, MEMBER_SECONDS, Access
from tablectl.display.people import Member, digest_of
from tablectl.mqtt.identity import Person, Trust
from tablectl.observations import Ack
from tests.broker import Broker
from tests.display.screens import Answer, LiveTelling, Screens, eventually
from tests.display.test_view import DREW, ILLEGAL
from tests.display.told import NAME, another
from tests.tls_broker import TlsBroker

NOWHERE = "hall/main/t%207"
READ = "read-only-token-0123456789"
CHIEF = "chief-token-0123456789abcdef"
KEY = Ed25519PrivateKey.generate()
SIGNED = Trust({"CHIEF7": Person("CHIEF7", frozenset({"ack", "ruling"}), KEY.public_key())})


def private(path: Path, text: str | bytes) -> Path:
    path.touch(0o600)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    private(folder / "chief7.pem", KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    digest = hashlib.sha256(CHIEF.encode()).hexdigest()
    text = f'[[people]]\nname = "CHIEF7"\nuser = "anna.k"\ntoken_sha256 = "{digest}"\nsign = "chief7.pem"\n'
    return private(folder / "people.toml", text)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("broker")) as made:
        yield made


@pytest.fixture
def table(broker: Broker) -> Iterator[LiveTelling]:
    with LiveTelling(broker, SIGNED, another()) as made:
        made.feed(*ILLEGAL)
        yield made


@pytest.fixture(scope="module")
def screens(broker: Broker, people: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    token = private(tmp_path_factory.mktemp("token") / "token", READ + "\n")
    with Screens(broker.url, "--token", str(token), "--people", str(people)) as made:
        yield made


def signed_in(screens: Screens, token: str = CHIEF) -> str:
    answer = screens.post("/sign-in", f"token={token}&to=/surveillance")
    assert (answer.code, answer.headers["location"]) == (303, "/surveillance")
    (cookie,) = answer.cookies
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    return cookie.partition(";")[0]


def ack(screens: Screens, table: LiveTelling, alert: int, **headers: str) -> Answer:
    return screens.post("/ack", {"table": table.path, "alert": alert}, **headers)


def open_alert(screens: Screens, table: LiveTelling, **headers: str) -> int:
    with screens.stream("/events/alerts", **headers) as page:
        found: int = page.wait("alert", lambda alert: alert["table"] == table.path and alert["open"])["id"]
        return found


def test_who_has_no_token_sees_nothing(screens: Screens) -> None:
    for path in ("/", f"/table/{NOWHERE}", "/surveillance"):
        answer = screens.get(path)
        assert (answer.code, answer.headers["location"].split("?")[0]) == (303, "/sign-in")
    for path in ("/events/all", f"/events/table/{NOWHERE}", "/words/fr"):
        assert screens.get(path).code == 401
        assert screens.get(path, authorization="Bearer wrong").code == 401
        assert screens.get(path, cookie=f"{COOKIE}=x.y").code == 401
    assert screens.post("/sign-in", "token=wrong").code == 403
    assert screens.get("/sign-in").code == 200


def test_a_reader_sees_all_and_acknowledges_nothing(screens: Screens, table: LiveTelling) -> None:
    cookie = signed_in(screens, READ)
    alert = open_alert(screens, table, cookie=cookie)
    answer = ack(screens, table, alert, cookie=cookie)
    assert (answer.code, answer.json) == (401, {"done": False, "reason": "sign_in", "detail": "", "by": ""})
    assert ack(screens, table, alert, authorization=f"Bearer {READ}").code == 401
    assert table.seen == []


def test_a_supervisor_acknowledges_by_name_and_the_table_says_so(screens: Screens, table: LiveTelling) -> None:
    cookie = signed_in(screens)
    alert = open_alert(screens, table, cookie=cookie)
    with screens.stream("/events/alerts", cookie=cookie) as page:
        answer = ack(screens, table, alert, cookie=cookie)
        assert (answer.code, answer.json["done"], answer.json["by"]) == (200, True, "CHIEF7")
        page.wait("alert", lambda one: (one["table"], one["id"], one["open"]) == (table.path, alert, False))
    assert [(seen.by, seen.alert) for seen in table.seen if isinstance(seen, Ack)] == [("CHIEF7", alert)]
    again = ack(screens, table, alert, cookie=cookie)
    assert (again.code, again.json["reason"]) == (409, "no_such_alert")


def test_an_alert_that_needs_a_ruling_is_not_acknowledged_away(screens: Screens, table: LiveTelling) -> None:
    table.feed(*DREW[len(ILLEGAL) - 1 :])
    cookie = signed_in(screens)
    with screens.stream("/events/alerts", cookie=cookie) as page:
        alert = page.wait("alert", lambda one: one["table"] == table.path and one["code"] == "dealer.drew_on_17")["id"]
    assert ack(screens, table, alert, cookie=cookie).json["reason"] == "needs_ruling"


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_sites_page_cannot_acknowledge_for_who_is_signed_in(
    screens: Screens, table: LiveTelling, headers: dict[str, str]
) -> None:
    assert ack(screens, table, 1, cookie=signed_in(screens), **headers).code == 403
    assert screens.ask("POST", "/ack", b"{}", **{"content-type": "application/json", "cookie": signed_in(screens)}).code == 403
    assert table.seen == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"table": NOWHERE},
        {"table": NOWHERE, "alert": "1"},
        {"table": "x", "alert": 1},
        {"table": NOWHERE, "alert": 1, "do": "burn"},
        [],
    ],
)
def test_nothing_else_can_be_asked_for(screens: Screens, table: LiveTelling, body: Any) -> None:
    assert screens.post("/ack", body, cookie=signed_in(screens)).code == 400
    assert screens.post("/ack", {"table": "a/b/c", "alert": 1}, cookie=signed_in(screens)).code == 404
    assert screens.post("/ack", {"table": NOWHERE, "alert": 1, "x": "y" * 10_000}, cookie=signed_in(screens)).code == 413
    assert table.seen == []


def test_a_table_that_does_not_know_the_person_refuses(broker: Broker, people: Path) -> None:
    other = Trust({"CHIEF7": Person("CHIEF7", frozenset({"ack"}), Ed25519PrivateKey.generate().public_key())})
    with LiveTelling(broker, other, another()) as table, Screens(broker.url, "--people", str(people)) as screens:
        table.feed(*ILLEGAL)
        alert = open_alert(screens, table)
        answer = ack(screens, table, alert, authorization=f"Bearer {CHIEF}")
        assert (answer.code, answer.json["reason"]) == (409, "bad_signature")
        assert table.seen == []


def test_signing_out_ends_it(screens: Screens) -> None:
    cookie = signed_in(screens)
    answer = screens.post("/sign-out", "", cookie=cookie)
    assert answer.code == 303
    assert f'{COOKIE}=""' in answer.cookies[0]


def test_only_a_path_of_our_own_is_gone_to_after_signing_in(screens: Screens) -> None:
    for to in ("//evil.example", "https://evil.example", "/\\evil.example", "evil"):
        assert screens.post("/sign-in", f"token={READ}&to={to}").headers["location"] == "/"


# A reverse proxy


def test_the_proxys_word_is_who_it_is(broker: Broker, table: LiveTelling, people: Path) -> None:
    with Screens(broker.url, "--header", "X-Remote-User", "--people", str(people)) as screens:
        assert screens.get("/").code == 403
        assert screens.get("/", x_remote_user="").code == 403
        assert screens.get("/", x_remote_user="guest").code == 200
        eventually(lambda: screens.get(f"/table/{table.path}", x_remote_user="guest").code == 200)
        alert = open_alert(screens, table, x_remote_user="guest")
        refused = ack(screens, table, alert, x_remote_user="guest")
        assert (refused.code, refused.json["reason"]) == (403, "not_a_member")
        assert ack(screens, table, alert, x_remote_user="anna.k").json["done"]
        assert [seen.by for seen in table.seen if isinstance(seen, Ack)] == ["CHIEF7"]


def test_a_header_from_elsewhere_is_nobodys_word(broker: Broker) -> None:
    with Screens(broker.url, "--header", "X-Remote-User", "--proxy", "192.0.2.1") as screens:
        refused = screens.get("/", x_remote_user="anna.k", accept_language="es")
        assert (refused.code, "Aquí no se puede hacer" in refused.body) == (403, True)
        assert screens.get("/events/all", x_remote_user="anna.k").code == 403


# A person's certificate, for which the broker vouches


def test_the_broker_vouches_and_the_display_itself_may_write_nothing(tmp_path: Path) -> None:
    digest = hashlib.sha256(CHIEF.encode()).hexdigest()
    trust = Trust({"CHIEF7": Person("CHIEF7", frozenset({"ack"}))}, vouched=True)
    with TlsBroker(tmp_path / "broker", tables=[NAME], people=["CHIEF7"]) as broker, LiveTelling(broker, trust) as table:
        table.feed(*ILLEGAL)
        pair, own = broker.person("CHIEF7"), broker.display
        text = f'[[people]]\nname = "CHIEF7"\ntoken_sha256 = "{digest}"\ncertificate = "{pair.certificate}"\nkey = "{pair.key}"\n'
        listed = private(tmp_path / "people.toml", text)
        shown = ("--ca", str(broker.ca), "--cert", str(own.certificate), "--key", str(own.key), "--people", str(listed))
        with Screens(broker.url, *shown) as screens, screens.stream("/events/all") as page:
            page.wait("row")
            with screens.stream("/events/alerts") as alerts:
                table.feed({"event": "decision", "box": 3, "hand": 1, "action": "surrender"})
                alert = alerts.wait("alert", lambda one: one["open"])["id"]
            answer = ack(screens, table, alert, authorization=f"Bearer {CHIEF}")
            assert (answer.code, answer.json["done"], answer.json["by"]) == (200, True, "CHIEF7"), answer.body
            assert [seen.by for seen in table.seen if isinstance(seen, Ack)] == ["CHIEF7"]
            host, port = "localhost", str(broker.port)
            for topic in ("cmd/ack", "cmd/ack/CHIEF7", "evt/alert", "state"):
                command = ["mosquitto_pub", "-h", host, "-p", port, "--cafile", str(broker.ca), "--cert", str(own.certificate)]
                command += [
                    "--key",
                    str(own.key),
                    "-V",
                    "mqttv5",
                    "-q",
                    "1",
                    "-d",
                    "-t",
                    f"tablectl/v1/{NAME}/{topic}",
                    "-m",
                    "x",
                ]
                said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
                assert "RC:135" in said.stdout + said.stderr


# The files and the command line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[people]]\nname = "A/B"\n', "people.toml:2: people[0].name: "),
        ('[[people]]\nname = "A"\n[[people]]\nname = "A"\n', "people.toml:4: people[1].name: 'A' is named twice"),
        ('[[people]]\nname = "A"\ntoken_sha256 = "secret"\n', "people.toml:3: people[0].token_sha256"),
        ('[[people]]\nname = "A"\nsign = "nowhere.pem"\n', "nowhere.pem: cannot be read"),
        ('[[people]]\nname = "A"\nkey = "x"\n', "people.toml:3: people[0].key: belongs to a certificate"),
        ('[[people]]\nname = "A"\nmore = 1\n', "people.toml:3: people[0].more"),
        (
            '[[people]]\nname = "A"\n[[people]]\nname = "B"\nuser = "A"\n',
            "people.toml:5: people[1].user: 'A' is another's already",
        ),
    ],
)
def test_a_list_of_people_that_makes_no_sense_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = private(tmp_path / "people.toml", text)
    assert said in refused(capsys, "--people", str(path), code=4)


def test_secrets_that_everybody_may_read_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = private(tmp_path / "token", READ)
    path.chmod(0o644)
    assert "may be read by everybody" in refused(capsys, "--token", str(path), code=4)
    path.chmod(0o600)
    path.write_text("short")
    assert "is no token" in refused(capsys, "--token", str(path), code=4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--listen", "0.0.0.0:0"], "--listen: others than this machine could look"),
        (["--listen", "8080"], "--listen: is HOST:PORT"),
        (["--token", "t", "--header", "X"], "--token: "),
        (["--proxy", "10.0.0.1"], "--proxy: "),
        (["--aim", "fast"], "--aim: "),
        (["--ledgers", "/nowhere"], "--ledgers: is no folder"),
        (["--mqtt", "http://x"], "no broker address"),
    ],
)
def test_a_command_line_that_makes_no_sense(capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    assert said in refused(capsys, *options, code=2)


def refused(capsys: pytest.CaptureFixture[str], *options: str, code: int) -> str:
    assert run(["display", "--listen", "127.0.0.1:0", *options]) == code
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1
    return told


# Cookies


def test_a_cookie_is_good_for_its_time_and_its_person() -> None:
    member = Member("CHIEF7", "CHIEF7", digest_of(CHIEF))
    access = Access(token=READ, people=(member,))
    visitor = access.by_token(CHIEF)
    assert visitor is not None
    cookie, seconds = access.cookie(visitor, 1000)
    assert seconds == MEMBER_SECONDS
    assert access._of_cookie(cookie, 1000 + seconds) == visitor
    assert access._of_cookie(cookie, 1001 + seconds) is None
    body, _, signature = cookie.partition(".")
    forged = base64.urlsafe_b64encode(b"9999999999 CHIEF8").rstrip(b"=").decode()
    assert access._of_cookie(f"{forged}.{signature}", 1000) is None
    assert Access(token=READ + "x", people=(member,))._of_cookie(cookie, 1000) is None
    assert Access(token=READ)._of_cookie(cookie, 1000) is None
    for nonsense in ("", ".", "a.b", f"{body}.", "é.ü", f"{body}.{signature}x"):
        assert access._of_cookie(nonsense, 1000) is None
