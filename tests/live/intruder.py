"""Intruder: nobody who may not command acts, stops the table, or fills its disk; and all is recorded.

`python -m tests.live.intruder` plays every case at a live table and prints verdicts and figures, in some minutes; `--seconds N`
makes each flood shorter. Two tables: one whose broker vouches by certificates, and one on an open broker, with signed commands.

In each case the game waits for a ruling, and the intruder's would decide it. That the table's state is the same afterwards, that
the ledger holds nothing but what the devices said and the supervisor ordered, and that the cards after it are there, is asserted.
"""

from __future__ import annotations

import argparse
import base64
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tablectl.emulator.table import EmulatedTable
from tablectl.mqtt.identity import sealed
from tablectl.mqtt.orders import Response, RulingCommand
from tests.broker import Broker
from tests.guest import Guest
from tests.live.attacks import BASE, T07, T08, Attacks, answer, kept_out, listens, no_words, ruling, too_large
from tests.live.felt import CHIEF, Felt, expires, percentile
from tests.live.raw import COUNTED, Flood
from tests.live.running import Program, configured
from tests.tls_broker import Pair, TlsBroker

__all__ = ["HELPERS", "certificates", "signatures"]

CLERK = "CLERK"
"""Somebody who may acknowledge alerts, and nothing else."""
UNKNOWN = "VISITOR"
"""Somebody whom the broker lets write under his own name, and whom the table does not know."""
TLS = """
[broker]
url = "{url}"
ca = "{ca}"
certificate = "{certificate}"
key = "{key}"

[commands]
accept = ["certificate"]
"""
PLAIN = """
[broker]
url = "{url}"

[commands]
accept = ["signature"]
"""
PEOPLE = """
[[people]]
name = "CHIEF9"
may = ["ruling"]
key = "{key}"

[[people]]
name = "CLERK"
may = ["ack"]
key = "{clerk}"
"""
HELPER = """
[[people]]
name = "{name}"
may = ["ack"]
"""
HELPERS = ("HELPER1", "HELPER2", "HELPER3", "HELPER4")
"""As the clerk, one for each flood: who has flooded is not listened to for a while."""


@contextmanager
def _table(folder: Path, more: str, ask: Callable[[RulingCommand], bytes | None], pause: float) -> Iterator[Felt]:
    file = configured(folder, shoe="angel-eye-ii", more=more)
    with (
        EmulatedTable(folder / "devices", "es", "angel-eye-ii", "dealer-pad", supervisor=None, gap=0.0, seed=9) as emulated,
        Program(file) as program,
        Felt(file, program, emulated, ask, pause=pause) as felt,
    ):
        yield felt


def _public(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


DEEP = 10_000


def certificates(folder: Path, seconds: float, *, pause: float = 0.01, quiet: int = 300, short: bool = False) -> Attacks:
    """All cases at a table whose broker vouches. `seconds` is how long each flood lasts; `short` is with two of them only."""
    with ExitStack() as stack:
        broker = stack.enter_context(
            TlsBroker(folder / "broker", tables=[T07, T08], people=["CHIEF7", CHIEF, CLERK, UNKNOWN, *HELPERS], role="pit")
        )
        site = broker.site

        chief = stack.enter_context(Guest(broker, broker.person(CHIEF), f"{BASE}/reply/#"))
        at = f"{BASE}/cmd/ruling/{CHIEF}"

        def as_chief(command: RulingCommand) -> bytes | None:
            return answer(chief, at, msgspec.json.encode(command), command.reply_to or "")

        own = broker.table("t07")
        keys = PEOPLE.format(key=_public(Ed25519PrivateKey.generate()), clerk=_public(Ed25519PrivateKey.generate()))
        more = TLS.format(url=broker.url, ca=broker.ca, certificate=own.certificate, key=own.key) + keys
        more += "".join(HELPER.format(name=name) for name in HELPERS)
        felt = stack.enter_context(_table(folder, more, as_chief, pause))
        other, clerk, unknown, stranger, rival = (
            stack.enter_context(Guest(broker, pair))
            for pair in (
                broker.table("t08"),
                broker.person(CLERK),
                broker.person(UNKNOWN),
                site.client("PLAYER"),
                broker.person("CHIEF7"),
            )
        )
        attacks = Attacks(felt, broker, chief, folder)
        chief.publish(at, ruling(id="false-kept", seconds=250), retain=True)
        felt.start()
        listens(attacks, chief, at)
        assert felt.refused()["retained"] == 1
        attacks.refused["retained"] += 1

        def tried(
            name: str, who: Guest, expected: str, topic: str, payload: Callable[[], bytes], *, retain: bool = False
        ) -> None:
            attacks.try_(name, expected, lambda: attacks.publish(who, topic, payload(), retain=retain))

        # Who does not get in
        attacks.try_("anonymous", "broker not let in", lambda: kept_out(broker, site.context(None)))
        attacks.try_("anonymous, without TLS", "broker not let in", lambda: kept_out(broker, None))
        attacks.try_(
            "certificate of a wrong authority",
            "broker not let in",
            lambda: kept_out(broker, site.context(broker.stranger(CHIEF))),
        )
        # Who gets in, and may not
        tried("another table's certificate", other, "broker not authorised", at, ruling)
        tried("a player's certificate, in the chief's name", stranger, "broker not authorised", at, ruling)
        tried(
            "a player's certificate, in his own",
            stranger,
            "broker not authorised",
            f"{BASE}/cmd/ruling/PLAYER",
            lambda: ruling("PLAYER"),
        )
        tried("the chief's topic, by another chief", rival, "broker not authorised", at, ruling)
        tried("a topic that no person vouches for", clerk, "broker not authorised", f"{BASE}/cmd/ruling", ruling)
        tried("by the chief, from another chief's topic", rival, "table not_you", f"{BASE}/cmd/ruling/CHIEF7", ruling)
        tried(
            "a person unknown to the table",
            unknown,
            "table unknown_person",
            f"{BASE}/cmd/ruling/{UNKNOWN}",
            lambda: ruling(UNKNOWN),
        )
        tried(
            "a ruling by who may only acknowledge",
            clerk,
            "table not_allowed",
            f"{BASE}/cmd/ruling/{CLERK}",
            lambda: ruling(CLERK),
        )
        # What is no command for now
        tried("retained while it runs", chief, "table retained", at, ruling, retain=True)
        tried("expired", chief, "table expired", at, lambda: ruling(seconds=-1))
        tried("good for an hour", chief, "table expires_too_far", at, lambda: ruling(seconds=3600))
        # A true one again
        first: list[tuple[bytes, Response]] = []

        def a_true_one() -> None:
            felt.stop_the_game()
            payload = msgspec.json.encode(attacks.true_ruling())
            response = attacks.asked(chief, at, payload)
            assert isinstance(response, Response)
            assert response.done, response
            felt.was_ruled()
            first.append((payload, response))

        def killed() -> str:
            felt.program.kill()
            felt.start()
            listens(attacks, chief, at)
            return attacks.repeated(chief, at, *first[-1])

        a_true_one()
        attacks.try_("replayed: same id, same bytes", "table repeat", lambda: attacks.repeated(chief, at, *first[-1]))
        true_id = msgspec.json.decode(first[-1][0])["id"]
        tried("replayed: same id, other bytes", chief, "table id_used", at, lambda: ruling(id=true_id))
        tried("replayed by somebody else", clerk, "table not_you", f"{BASE}/cmd/ruling/{CLERK}", lambda: first[-1][0])
        attacks.refused.clear()  # what a kill does not lose is counted from here on
        attacks.try_("replayed after SIGKILL and restart", "table repeat", killed)
        tried("after it: same id, other bytes", chief, "table id_used", at, lambda: ruling(id=true_id))
        # What is no JSON, and what is much
        attacks.try_("100 MB", "broker hung up", lambda: too_large(broker, site.context(broker.person(CHIEF)), at))
        tried("900 KB", chief, "table too_long", at, lambda: bytes(900_000))
        attacks.try_("a topic that is no UTF-8", "broker hung up", lambda: no_words(broker, site.context(broker.person(CHIEF))))
        tried("a payload that is no UTF-8", chief, "table malformed", at, lambda: ruling().replace(b"intruder", b"\xff\xc3\x28"))
        tried("JSON 10,000 deep", chief, "table malformed", at, lambda: b'{"id":"deep","to":' + b"[" * DEEP + b"]" * DEEP + b"}")
        tried("a command that is none", chief, "table unknown_command", f"{BASE}/cmd/payout/{CHIEF}", ruling)

        # Floods
        def plan(pair: Pair, qos: int, *messages: tuple[str, bytes]) -> Flood:
            files = {"ca": str(broker.ca), "certificate": str(pair.certificate), "key": str(pair.key)}
            return Flood(port=broker.port, qos=qos, rate=10_000, seconds=seconds, messages=list(messages), **files)

        def forbidden(name: str) -> list[tuple[str, bytes]]:
            return [
                (f"{BASE}/cmd/ruling/{name}", ruling(name, seconds=250, id=COUNTED.decode())),
                (f"{BASE}/cmd/ack/{name}", b"{" + COUNTED),
                (f"{BASE}/cmd/payout/{name}", ruling(name, seconds=250)),
                (f"{BASE}/cmd/ruling/{name}", ruling(CHIEF, seconds=250, id=COUNTED.decode())),
            ]

        def allowed(name: str) -> tuple[str, bytes]:
            fields = {"id": f"{name}-{COUNTED.decode()}", "expires": expires(250), "by": name, "alert": 999_999}
            return f"{BASE}/cmd/ack/{name}", msgspec.json.encode(fields)

        felt.deal(quiet)
        one, two, three, four = HELPERS
        attacks.flood("what he may, QoS 0", plan(broker.person(three), 0, allowed(three)))
        attacks.flood("what he may not, QoS 0", plan(broker.person(one), 0, *forbidden(one)))
        if short:
            attacks.account(flooded=frozenset(HELPERS))
            return attacks
        attacks.flood("another table's certificate", plan(broker.table("t08"), 1, (at, ruling(id=COUNTED.decode(), seconds=250))))
        attacks.flood("what he may not, QoS 1", plan(broker.person(two), 1, *forbidden(two)))
        attacks.flood("what he may, QoS 1", plan(broker.person(four), 1, allowed(four)))
        attacks.account(flooded=frozenset(HELPERS))
        return attacks


def signatures(folder: Path, seconds: float, *, pause: float = 0.01, quiet: int = 300, short: bool = False) -> Attacks:
    """All cases at a table on a broker that lets everybody write, and vouches for nobody; `short` is with one flood only."""
    with ExitStack() as stack:
        broker = stack.enter_context(
            Broker(folder / "broker", persistent=True, settings="max_queued_messages 1000")
        )  # its default
        key, clerks, wrong = (Ed25519PrivateKey.generate() for _ in range(3))

        chief = stack.enter_context(Guest(broker, None, f"{BASE}/reply/#"))
        at = f"{BASE}/cmd/ruling"

        def as_chief(command: RulingCommand) -> bytes | None:
            return answer(chief, at, signed(msgspec.json.encode(command)), command.reply_to or "")

        def signed(payload: bytes, *, by: Ed25519PrivateKey = key, person: str = CHIEF, topic: str = at) -> bytes:
            return sealed(payload, topic=topic, person=person, key=by)

        more = PLAIN.format(url=broker.url) + PEOPLE.format(key=_public(key), clerk=_public(clerks))
        felt = stack.enter_context(_table(folder, more, as_chief, pause))
        anyone = stack.enter_context(Guest(broker, None, f"{BASE}/reply/#"))
        attacks = Attacks(felt, broker, anyone, folder)

        def tried(name: str, expected: str, payload: Callable[[], bytes], *, topic: str = at, retain: bool = False) -> None:
            attacks.try_(name, expected, lambda: attacks.publish(anyone, topic, payload(), retain=retain))

        anyone.publish(at, signed(ruling(id="false-kept", seconds=250)), retain=True)
        felt.start()
        listens(attacks, anyone, at)
        assert felt.refused()["retained"] == 1
        attacks.refused["retained"] += 1

        tried("unsigned", "table unsigned", ruling)
        tried("unsigned, on a topic of certificates", "table unsigned", ruling, topic=f"{at}/{CHIEF}")
        tried("signed with a wrong key", "table bad_signature", lambda: signed(ruling(), by=wrong))
        tried("a person unknown to the table", "table unknown_person", lambda: signed(ruling(UNKNOWN), by=wrong, person=UNKNOWN))
        tried("a person who has no key", "table not_allowed", lambda: signed(ruling(CLERK), by=clerks, person=CLERK))
        tried("by the chief, signed by another", "table not_you", lambda: signed(ruling(), by=clerks, person=CLERK))
        tried("signed for another table", "table bad_signature", lambda: signed(ruling(), topic=at.replace("t07", "t08")))
        tried("signed for another command", "table bad_signature", lambda: signed(ruling(), topic=f"{BASE}/cmd/ack"))

        def altered() -> bytes:
            envelope = msgspec.json.decode(signed(ruling(do="accept")))
            body = base64.urlsafe_b64decode(envelope["signed"] + "==").replace(b"accept", b"void_round")
            return msgspec.json.encode(envelope | {"signed": base64.urlsafe_b64encode(body).decode()})

        tried("altered bytes", "table bad_signature", altered)
        tried(
            "a signature that is none",
            "table bad_signature",
            lambda: signed(ruling()).replace(b'"signature":"', b'"signature":"!'),
        )
        tried("retained while it runs", "table retained", lambda: signed(ruling()), retain=True)
        tried("expired", "table expired", lambda: signed(ruling(seconds=-1)))
        tried("good for an hour", "table expires_too_far", lambda: signed(ruling(seconds=3600)))

        felt.stop_the_game()
        payload = signed(msgspec.json.encode(attacks.true_ruling()))
        first = attacks.asked(anyone, at, payload)
        assert isinstance(first, Response)
        assert first.done, first
        felt.was_ruled()
        attacks.try_("captured and replayed", "table repeat", lambda: attacks.repeated(anyone, at, payload, first))
        attacks.try_("100 MB", "broker dropped it, code [0]", lambda: too_large(broker, None, at))
        tried("900 KB", "table too_long", lambda: bytes(900_000))
        attacks.try_("a topic that is no UTF-8", "broker hung up", lambda: no_words(broker, None))
        tried("a payload that is no UTF-8", "table malformed", lambda: signed(ruling().replace(b"intruder", b"\xff\xc3\x28")))
        tried("JSON 10,000 deep", "table malformed", lambda: signed(b'{"id":"deep","to":' + b"[" * DEEP + b"]" * DEEP + b"}"))
        tried("an envelope 10,000 deep", "table malformed", lambda: b'{"signed":' + b"[" * DEEP)

        def plan(qos: int, *messages: tuple[str, bytes]) -> Flood:
            return Flood(port=broker.port, qos=qos, rate=10_000, seconds=seconds, messages=list(messages))

        felt.deal(quiet)
        attacks.flood("anybody, wrongly signed (QoS 1)", plan(1, (at, signed(ruling(seconds=250), by=wrong))))
        if short:
            attacks.account()
            return attacks
        attacks.flood("anybody, unsigned (QoS 0)", plan(0, (at, ruling(id=COUNTED.decode(), seconds=250))))
        attacks.flood("anybody, wrongly signed (QoS 0)", plan(0, (at, signed(ruling(seconds=250), by=wrong))))
        felt.stop_the_game()
        captured = signed(msgspec.json.encode(attacks.true_ruling()))
        response = attacks.asked(anyone, at, captured)
        assert isinstance(response, Response)
        assert response.done, response
        felt.was_ruled()
        attacks.flood("anybody, a captured ruling (QoS 0)", plan(0, (at, captured)))
        attacks.account()
        return attacks


def report(title: str, attacks: Attacks) -> None:
    """Verdicts and figures, for a person."""
    print(f"\n{title}\n")
    print(f"{'case':46} {'refused by':26} {'bytes':>7} {'dealt':>5}  recorded")
    for case in attacks.outcomes:
        print(f"{case.name:46} {case.refused_by:26} {case.grown:7} {case.dealt:5}  {case.recorded}")
    quiet = attacks.felt.delays["quiet"]
    print(f"\nbyte to ledger, quiet: p50 {percentile(quiet, 0.5):.1f} ms, p99 {percentile(quiet, 0.99):.1f} ms of {len(quiet)}")
    print(
        f"\n{'flood':38} {'sent/s':>7} {'p50 ms':>7} {'p99 ms':>7} {'dealt':>6} {'ruling s':>8} {'busy':>5} {'again':>5} "
        f"{'disk':>9} {'records':>8} {'memory':>10}  the broker's codes"
    )
    for name, made, found in attacks.floods:
        rate = made.sent / made.seconds
        print(
            f"{name:38} {rate:7.0f} {found['p50_ms']:7.1f} {found['p99_ms']:7.1f} {found['dealt']:6} {found['ruling_s']:8.2f} "
            f"{found['busy']:5} {found['unanswered']:5} {found['disk']:9} {found['records']:8} {found['memory']:10}  {made.codes}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each flood lasts")
    parser.add_argument("--only", choices=("certificates", "signatures"))
    options = parser.parse_args()
    for title, play in (("Certificates", certificates), ("Signatures", signatures)):
        if options.only in (None, play.__name__):
            with tempfile.TemporaryDirectory() as folder:
                report(title, play(Path(folder), options.seconds))


if __name__ == "__main__":
    main()
