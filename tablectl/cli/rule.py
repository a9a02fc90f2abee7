"""`tablectl rule`: a supervisor's ruling, or acknowledgement, to a table that listens on MQTT, and what came of it in words."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path
from typing import Final

import click
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tablectl.cards import Card
from tablectl.cli.asked import mqtt_option
from tablectl.cli.given import given
from tablectl.cli.main import say
from tablectl.cli.telling import told
from tablectl.errors import BrokerError, ConfigError, UsageError
from tablectl.instants import from_micros
from tablectl.ledger.pin import TableName
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import ask
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.identity import Person, private_key
from tablectl.mqtt.orders import COMMANDS, Response
from tablectl.notices import Notice, PhaseChanged, decode
from tablectl.places import BoxPlace, Place
from tablectl.texts import Texts

__all__ = ["rule"]

ACK = "ack"
DOES: Final = ("accept", "burn", "move", "void_hand", "void_round", "correct", ACK)
NEEDS: Final = {"move": "to", "correct": "card", ACK: "alert"}
"""What an order makes no sense without."""
GOOD_FOR: Final = 20
"""Seconds beyond the wait for which a command is good, so that clocks may differ a little."""
_BOX = re.compile(r"(?:box[:.]?)?([1-7])(?:\.(\d{1,2}))?", re.ASCII)
_TEN = re.compile(r"10(?=[CDHS]$)")

WORDS: Final = {
    "retained": "it was retained on the broker",
    "too_long": "it is too long",
    "unknown_command": "the table does not know this command",
    "malformed": "the table cannot read it",
    "expired": "it came too late, or the clocks of this machine and the table's differ",
    "expires_too_far": "the clocks of this machine and the table's differ",
    "reply_topic": "the table does not answer there",
    "unsigned": "the table wants to know who commands: sign it (--sign), or show a client certificate (--cert)",
    "unknown_person": "the table does not know this person",
    "not_you": "it is in the name of another than its sender",
    "not_allowed": "this person may not do this at this table",
    "bad_signature": "the signature is not believed",
    "id_used": "another command had its number",
    "interrupted": "the table stopped while it was being done",
    "busy": "the table has too many commands to do",
    "no_such_alert": "there is no open alert with this number",
    "needs_ruling": "the game waits for a ruling on this alert; an acknowledgement is not enough",
    "nothing_changed": "it changed nothing",
}
"""What the table's edge refuses for; what the game refuses for stands in `tablectl.texts`."""
SAY_ALL: Final = frozenset({"unknown_person", "not_you", "not_allowed"})
"""What is said of these above is all that the table's detail says."""


FILE = click.Path(path_type=Path)


class PlaceType(click.ParamType[Place]):
    """`box:3`, `box:3.0` (box and hand), `dealer` or `burn`."""

    name = "place"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        """Read it; a usage error for what is no place."""
        if isinstance(value, BoxPlace) or value in ("dealer", "burn"):
            return value
        match = _BOX.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is no place: box:3, box:3.0, dealer or burn", param, ctx)
        return BoxPlace(int(match[1]), int(match[2]) if match[2] else None)


class CardType(click.ParamType[Card]):
    """A card that was read: rank, then suit."""

    name = "card"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Card:
        """Read it; a usage error for what is no card."""
        try:
            card = Card(_TEN.sub("T", str(value).upper()))
        except ValueError:
            card = Card.UNREAD
        if card is Card.UNREAD:
            self.fail(f"{value!r} is no card: rank, then suit (C D H S), as in 8S or TH", param, ctx)
        return card


@click.command(
    epilog="\b\nExamples:\n"
    '  tablectl rule --table t07 accept --by CHIEF7 --reason "the card stays"\n'
    "  tablectl rule --table t07 move --to box:3 --by CHIEF7\n"
    "  tablectl rule --table t07 correct --card 8S --by CHIEF7\n"
    "  tablectl rule --table t07 ack --alert 3 --by CHIEF7\n"
    "  tablectl rule --table t07 accept --by CHIEF7 --sign chief7.pem\n"
    "  tablectl rule --table t07 --mqtt mqtts://broker --ca ca.crt --cert chief7.crt --key chief7.key accept --by CHIEF7"
)
@click.argument("do", metavar="DO", type=click.Choice(DOES))
@click.option("--site", default="site", show_default=True, help="The site in the topics.")
@click.option("--pit", default="pit", show_default=True, help="The pit in the topics.")
@click.option("--table", "name", default="table", show_default=True, help="The table in the topics.")
@mqtt_option
@click.option("--ca", type=FILE, metavar="FILE", help="Whom to believe about the broker, instead of the system's authorities.")
@click.option("--cert", type=FILE, metavar="FILE", help="The certificate of --by, for which the broker vouches; needs mqtts://.")
@click.option("--key", type=FILE, metavar="FILE", help="Its private key, where it is not in the same file.")
@click.option("--sign", type=FILE, metavar="FILE", help="Sign with this Ed25519 key of --by, in PEM.")
@click.option("--by", required=True, envvar="TABLECTL_BY", show_envvar=True, metavar="NAME", help="Who rules.")
@click.option("--reason", default="", metavar="TEXT", help="Why; it is kept in the record.")
@click.option("--alert", type=click.IntRange(1), metavar="N", help="Which alert this is about; else all that the game waits for.")
@click.option("--box", type=click.IntRange(1, 7), metavar="B", help="The box of the hand to void; else the alert's.")
@click.option("--hand", type=click.IntRange(0, 99), metavar="H", help="Its hand: 0, or of a split 1, 2, ...")
@click.option("--to", type=PlaceType(), metavar="PLACE", help="Where the waiting card goes: box:3, box:3.1, dealer, burn.")
@click.option("--card", type=CardType(), metavar="CARD", help="What the card really was: 8S, TH.")
@click.option("--draw", type=click.IntRange(1), metavar="N", help="Which card of the round, counted from 1; else the unread one.")
@click.option(
    "--wait", type=click.FloatRange(0.1, 200), default=10.0, show_default=True, metavar="SECONDS", help="For an answer."
)
@click.option("--json", "as_json", is_flag=True, help="The table's response as it came, a line of JSON.")
def rule(
    do: str,
    site: str,
    pit: str,
    name: str,
    mqtt: str,
    ca: Path | None,
    cert: Path | None,
    key: Path | None,
    sign: Path | None,
    by: str,
    reason: str,
    alert: int | None,
    box: int | None,
    hand: int | None,
    to: Place | None,
    card: Card | None,
    draw: int | None,
    wait: float,
    as_json: bool,
) -> int:
    """Rule on what a table waits for, and say what changed.

    \b
    DO is one of
      accept      what happened stands, and the game goes on
      burn        the waiting card is burned
      move        the waiting card goes where it belongs (--to)
      void_hand   a hand gets its stake back (--box, --hand)
      void_round  all hands that are not settled get their stakes back
      correct     a card was another than was read (--card, --draw)
      ack         an alert was seen (--alert); it is no longer open

    A table that wants to know who rules is told by --cert (the broker vouches for the certificate's owner) or by --sign.

    Exit code 0 when it was done, 1 when the table refused it, 6 when the table could not be asked or gave no answer.
    """
    operands = {"alert": alert, "box": box, "hand": hand, "to": to, "card": card, "draw": draw}
    missing = NEEDS.get(do)
    if missing and operands[missing] is None:
        raise UsageError(f"`{do}` needs it", field=f"--{missing}")
    address = Address.parse(mqtt)
    with given():
        table = TableName(site, pit, name)
    identity = {"id": secrets.token_hex(16), "expires": from_micros(time.time_ns() // 1000 + int((wait + GOOD_FOR) * 1_000_000))}
    order = {"alert": alert, "by": by} if do == ACK else {"do": do, "by": by, "reason": reason, **operands}
    kind = "ack" if do == ACK else "ruling"
    try:
        command = msgspec.convert(identity | order, COMMANDS[kind])
    except msgspec.ValidationError as error:
        raise UsageError(f"no command can be made of this: {error}") from None
    signing = _signing(sign)
    if cert is not None and signing is None:
        with given("--by"):
            Person(by, frozenset())  # it becomes a level of the topic
    shown = Credentials(authorities=ca, certificate=cert, key=key)
    with given("--cert"):
        shown.check(address)
    answer = ask(address, table, kind, command, seconds=wait, credentials=shown, vouched=cert is not None, key=signing)
    try:
        response = msgspec.json.decode(answer, type=Response)
        notices = [decode(notice) for notice in response.notices]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokerError(f"the answer cannot be read: {error}", where=str(address)) from None
    if as_json:
        click.echo(answer)
    elif response.done:
        click.echo(f"Alert {alert} is acknowledged by {by}." if do == ACK else f"Done: {do} by {by}.")
        for line in filter(None, map(_line, notices)):
            click.echo(line)
    if response.done:
        return 0
    why = response.reason or "no_reason"
    words = WORDS.get(why) or Texts.of("en").word("refused", why)
    if why == "no_such_draw" and draw is None and alert is None:
        words = "no card of this round passed unread; say with --draw which one is to be corrected"
    say(f"refused: {words}{f' ({response.detail})' if response.detail and why not in SAY_ALL else ''}")
    return 1


def _signing(path: Path | None) -> Ed25519PrivateKey | None:
    if path is None:
        return None
    try:
        return private_key(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ConfigError as error:
        raise UsageError(error.message, where=str(path)) from None


def _line(notice: Notice) -> str | None:
    """A notice in words; here a change of phase is worth a line, since it is what was asked for."""
    if not isinstance(notice, PhaseChanged):
        return told(notice)
    clock = notice.at[11:23] if notice.at else ""
    en = Texts.of("en")
    return f"{clock:12}  {en.word('phase', notice.from_)} -> {en.word('phase', notice.to)}"
