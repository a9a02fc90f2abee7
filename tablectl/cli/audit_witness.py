"""`tablectl audit witness`: keep the checkpoints of tables on another machine, and say aloud when one contradicts another."""

from __future__ import annotations

import secrets
import signal
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
import msgspec

from tablectl.cli.asked import mqtt_option
from tablectl.cli.given import given, public_keys, signer
from tablectl.cli.main import say
from tablectl.errors import BrokerError, InputError, LedgerError, UsageError
from tablectl.instants import from_micros
from tablectl.ledger.checkpoint import Checkpoint
from tablectl.ledger.keys import COSIGNS, Signer
from tablectl.ledger.pin import TableName
from tablectl.ledger.published import hashes
from tablectl.ledger.signed_note import Note
from tablectl.ledger.witness import CHANNEL, Gap, Judged, Line, Witness, table_of
from tablectl.ledger.witness_file import WitnessFile
from tablectl.mqtt.address import Address
from tablectl.mqtt.client import Lost, Refused
from tablectl.mqtt.commands import ask
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.judgement import Arrived
from tablectl.mqtt.proofs import ProofCommand, ProofResponse
from tablectl.mqtt.talk import open_talk

__all__ = ["witness"]

LOOK: Final = 0.2
"""Seconds after which a witness that was asked to stop notices."""
QUIET: Final = 0.5
"""Seconds without a checkpoint after which, with --once, all that were retained have come."""
LONGEST_PAUSE: Final = 30.0
PATIENCE: Final = 10.0
"""Seconds that a broker has to let us in, and a table to answer with a proof."""
TOLD: Final = 20
TOLD_SECONDS: Final = 60.0
"""So many refusals are told in so much time: whoever floods the topics is not to fill a log."""
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    epilog="\b\nExamples:\n"
    "  tablectl audit witness t07.jsonl --mqtt mqtt://broker --key t07.pub\n"
    "  tablectl audit witness hall.jsonl --mqtt mqtts://broker --ca ca.crt --cert witness.crt --cert-key witness.key "
    "--trust-on-first-use\n"
    "  tablectl audit witness t07.jsonl --key t07.pub --once"
)
@click.argument("file", type=FILE)
@mqtt_option
@click.option("--ca", type=FILE, metavar="FILE", help="Whom to believe about the broker, instead of the system's authorities.")
@click.option("--cert", type=FILE, metavar="FILE", help="Our client certificate; needs mqtts://.")
@click.option("--cert-key", type=FILE, metavar="FILE", help="Its private key, where it is not in the same file.")
@click.option("--site", default="+", metavar="NAME", help="Only the tables of this site.")
@click.option("--pit", default="+", metavar="NAME", help="Only the tables of this pit.")
@click.option("--table", default="+", metavar="NAME", help="Only the tables of this name.")
@click.option("--key", "keys", multiple=True, metavar="VKEY|FILE", help="A public key that is trusted; may be given again.")
@click.option("--trust-on-first-use", "first_use", is_flag=True, help="Trust the key of a table's first checkpoint; it is kept.")
@click.option("--by", default="service:witness", show_default=True, metavar="NAME", help="Who asks a table for a missing proof.")
@click.option("--sign", type=FILE, metavar="KEYFILE", help="Cosign what is kept, with a witness's key.")
@click.option(
    "--settled",
    multiple=True,
    metavar="SITE/PIT/TABLE",
    help="Begin anew with a table whose contradiction or gap was cleared up.",
)
@click.option("--once", is_flag=True, help="Judge what is retained on the broker, and end.")
@click.option(
    "--wait",
    type=click.FloatRange(0.1, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="With --once: for the first.",
)
@click.option("--json", "as_json", is_flag=True, help="What is kept, as it is kept: lines of JSON.")
def witness(
    file: Path,
    mqtt: str,
    ca: Path | None,
    cert: Path | None,
    cert_key: Path | None,
    site: str,
    pit: str,
    table: str,
    keys: Sequence[str],
    first_use: bool,
    by: str,
    sign: Path | None,
    settled: Sequence[str],
    once: bool,
    wait: float,
    as_json: bool,
) -> int:
    """Keep the signed checkpoints of tables in FILE, and refuse those that do not extend what was seen.

    It is to run on a machine that nobody has who could change a table's ledger. FILE is made where there is none, and only ever
    added to; `tablectl audit verify --witness FILE` holds a ledger against it. A broken connection is made again.

    Ends when it is told to (SIGINT, SIGTERM). Exit code 0 when nothing was refused, 7 when something was.
    """
    if not keys and not first_use:
        raise UsageError("no key is trusted: give --key, or --trust-on-first-use")
    address = Address.parse(mqtt)
    credentials = Credentials(ca, cert, cert_key)
    with given("--cert"):
        credentials.check(address)
    seen = Witness([key for text in keys for key in public_keys(text)], first_use=first_use)
    cosigner = None if sign is None else _cosigner(sign)
    with WitnessFile(file, now=_now()) as kept:
        watch = _Watch(seen, kept, cosigner, address, credentials, by, as_json=as_json)
        watch.take_up(settled)
        topics = f"tablectl/v1/{site}/{pit}/{table}/{CHANNEL}"
        if once:
            watch.once(topics, wait)
        else:
            watch.stay(topics)
    return LedgerError.exit_code if watch.refused else 0


class _Watch:
    """One witness at work: what comes from the broker is judged, kept, and told."""

    def __init__(
        self,
        witness: Witness,
        file: WitnessFile,
        cosigner: Signer | None,
        address: Address,
        credentials: Credentials,
        by: str,
        *,
        as_json: bool,
    ) -> None:
        self.refused = 0
        self._witness = witness
        self._file = file
        self._cosigner = cosigner
        self._address = address
        self._credentials = credentials
        self._by = by
        self._json = as_json
        self._told: deque[float] = deque(maxlen=TOLD)
        self._untold = 0
        self._gaps: dict[str, Checkpoint | None] = {}
        self._stopping = False

    def take_up(self, settled: Sequence[str]) -> None:
        """Remember what stands in the file, and say how it stands. Raises `InputError`."""
        if self._file.torn:
            say(f"{self._file.path}: its last line had been cut off; what it was to say was not kept")
        refused = 0
        for line in self._file.before:
            try:
                self._witness.remember(line)
            except LedgerError as error:
                raise InputError(f"a line of {line.seen} {error.message}", where=str(self._file.path)) from None
            refused = 0 if line.settled else refused + (line.refused is not None)
        for name in settled:
            topic = f"tablectl/v1/{name}/{CHANNEL}"
            try:
                table_of(topic)
            except LedgerError:
                raise UsageError(f"{name!r} is no SITE/PIT/TABLE", field="--settled") from None
            if self._witness.last(topic) is None:
                raise UsageError(f"nothing of {name!r} was seen", field="--settled")
            self._keep(Line(seen=_now(), topic=topic, settled=True))
            refused = 0
        if refused:
            say(f"{self._file.path}: of what was seen before, {refused} checkpoint{'s' if refused > 1 else ''} had to be refused")

    def once(self, topics: str, seconds: float) -> None:
        """Judge what is retained. Raises `BrokerError` when nothing comes within `seconds`."""
        try:
            talk = open_talk(self._address, self._credentials, _client(), topics, PATIENCE)
            try:
                until = time.monotonic() + seconds
                count = 0
                while (left := until - time.monotonic()) > 0:
                    talk.turn(min(left, LOOK))
                    while talk.arrived:
                        self._take(talk.arrived.popleft())
                        count += 1
                        until = time.monotonic() + QUIET
            finally:
                talk.close()
        except Lost as lost:
            raise BrokerError(f"cannot be reached: {lost}", where=str(self._address)) from None
        if not count:
            raise BrokerError(f"no table has told a checkpoint there within {seconds:g} s", where=str(self._address))

    def stay(self, topics: str) -> None:
        """Judge what comes until asked to stop. Raises `BrokerError` when the broker refuses us at the beginning."""
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        met = trouble = False
        pause = LOOK
        try:
            while not self._stopping:
                began = time.monotonic()
                try:
                    talk = open_talk(self._address, self._credentials, _client(), topics, PATIENCE)
                    try:
                        say(f"witnessing {topics} at {self._address}{' again' if met else ''}")
                        met, trouble = True, False
                        while not self._stopping:
                            talk.turn(LOOK)
                            while talk.arrived:
                                self._take(talk.arrived.popleft())
                    finally:
                        talk.close()
                except Lost as lost:
                    if isinstance(lost, Refused) and not met:
                        raise BrokerError(f"cannot be reached: {lost}", where=str(self._address)) from None
                    if not trouble:
                        say(f"{self._address}: nothing is witnessed at the moment: {lost}")
                    trouble = True
                pause = LOOK if time.monotonic() - began > LONGEST_PAUSE else min(pause * 2, LONGEST_PAUSE)
                self._rest(pause)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, LOOK))

    def _take(self, arrived: Arrived) -> None:
        topic, payload = arrived.topic, arrived.payload or b""
        judged = self._witness.judge(topic, payload, seen=_now())
        proofs: dict[Gap, tuple[bytes, ...]] = {}
        while judged.gap is not None and judged.gap not in proofs:
            proof = self._ask(topic, judged.gap)
            if proof is None:
                break
            proofs[judged.gap] = proof
            judged = self._witness.judge(topic, payload, seen=_now(), proofs=proofs)
        for line in judged.lines:
            self._keep(line)
        self._tell(topic, judged)

    def _keep(self, line: Line) -> None:
        if self._cosigner is not None and line.note is not None and line.gap is None and line.refused is None:
            note = self._cosigner.cosign(Note.parse(line.note.encode()), time.time_ns() // 1_000_000_000)
            line = msgspec.structs.replace(line, note=note.encode().decode())
        self._file.append(line)
        self._witness.remember(line)
        if self._json:
            click.echo(msgspec.json.encode(line))

    def _tell(self, topic: str, judged: Judged) -> None:
        table = _named(topic)
        if judged.verdict == "refused":
            self.refused += 1
            self._tell_refusal(f"REFUSED: {table}: the checkpoint {judged.why}")
        elif judged.verdict == "gap":
            self._tell_gap(
                topic, f"GAP: {table}: {judged.why}; what was seen is held. `tablectl audit verify --witness` settles it"
            )
        elif judged.verdict == "new" and not self._json:
            click.echo(f"{table}: {judged.why}")

    def _tell_gap(self, topic: str, words: str, *, note: bool = True) -> None:
        """Once for each checkpoint that is held; the file has the rest."""
        held = self._witness.last(topic)
        if self._gaps.get(topic) != held:
            say(words)
            if note:
                self._gaps[topic] = held

    def _tell_refusal(self, words: str) -> None:
        now = time.monotonic()
        if len(self._told) == TOLD and now - self._told[0] < TOLD_SECONDS:
            self._untold += 1
            return
        self._told.append(now)
        say(words + (f" ({self._untold} refusals before this one were not told)" if self._untold else ""))
        self._untold = 0

    def _ask(self, topic: str, gap: Gap) -> tuple[bytes, ...] | None:
        """The proof that fills a gap, from the table itself; None where it gives none."""
        good_until = from_micros(time.time_ns() // 1000 + int(2 * PATIENCE) * 1_000_000)
        command = ProofCommand(
            id=secrets.token_hex(16), expires=good_until, by=self._by, session=gap.session, old=gap.old, new=gap.new
        )
        shown = self._credentials
        vouched = shown.certificate is not None
        try:
            answer = ask(self._address, table_of(topic), "proof", command, seconds=PATIENCE, credentials=shown, vouched=vouched)
            read = msgspec.json.decode(answer, type=ProofResponse)
            if read.done:
                return hashes(read.consistency)
            why = f"{read.reason}{f' ({read.detail})' if read.detail else ''}"
        except (BrokerError, LedgerError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            why = error.message if isinstance(error, BrokerError | LedgerError) else str(error)
        self._tell_gap(topic, f"{table_of(topic)}: gives no proof: {why}", note=False)
        return None


def _cosigner(path: Path) -> Signer:
    key = signer(path, "--sign")
    if key.verifier.use != COSIGNS:
        raise UsageError("is the key of a table, not a witness's", where=str(path))
    return key


def _named(topic: str) -> TableName | str:
    with suppress(LedgerError):
        return table_of(topic)
    return topic


def _client() -> str:
    return f"tablectl-witness-{secrets.token_hex(8)}"


def _now() -> str:
    return from_micros(time.time_ns() // 1000)
