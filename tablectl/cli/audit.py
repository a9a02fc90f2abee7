"""`tablectl audit`: whether a ledger is what was written; proofs for others; keys. Export, feeds, the witness stand beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import click
import msgspec

from tablectl.cli.audit_replay import replay_into
from tablectl.cli.given import given, public_keys, signer
from tablectl.cli.main import say
from tablectl.errors import InputError, LedgerError, UsageError
from tablectl.ledger.checkpoint import key_name
from tablectl.ledger.export import jsonl
from tablectl.ledger.export.writing import whole_file
from tablectl.ledger.keys import COSIGNS, SIGNS, Signer
from tablectl.ledger.pin import Pinned, TableName
from tablectl.ledger.prove import Proved, check_proof, entries_of_round, prove
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.timestamps import Authority, Stamped
from tablectl.ledger.timestamps import verify as verify_stamps
from tablectl.ledger.verify import Fault, Report, verify_days
from tablectl.ledger.witnessed import Witnessed

__all__ = ["audit"]

PAGE = 1000
"""Entries read at once."""

MAX_PROOF = 1 << 28
"""A longer proof is not read, in bytes."""

_FILE = click.Path(path_type=Path)

ELSEWHERE = {
    "export": "tablectl.cli.audit_export:export",
    "feed": "tablectl.cli.audit_feed:feed",
    "witness": "tablectl.cli.audit_witness:witness",
    "timestamp": "tablectl.cli.audit_timestamp:timestamp",
    "rotate-key": "tablectl.cli.audit_rotate:rotate_key",
}
"""Commands of this group that stand in files of their own."""


class _Commands(click.Group):
    """The commands of this file, and those of `ELSEWHERE`, which are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = ELSEWHERE.get(cmd_name)
        if target is None:
            return super().get_command(ctx, cmd_name)
        module, attribute = target.split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command), target
        return command


@click.group(cls=_Commands, epilog="\b\nExample:\n  tablectl audit verify day.ledger")
def audit() -> None:
    """Whether a ledger is what was written, and how to show it to others."""


# verify


@audit.command(
    "verify",
    epilog="\b\nExample:\n"
    "  tablectl audit verify day.ledger\n"
    "  tablectl audit verify ledger/*.db --key table.pub --witness seen.jsonl\n"
    "  tablectl audit verify ledger/2026-11-30.db --replay recordings\n"
    "  tablectl audit verify day.ledger --tsa-certificates tsa.pem",
)
@click.argument("ledgers", metavar="LEDGER...", nargs=-1, required=True, type=_FILE)
@click.option("--key", "keys", multiple=True, metavar="VKEY|FILE", help="A public key that is trusted; may be given again.")
@click.option("--witness", "witness", metavar="FILE", type=_FILE, help="What a witness has seen (tablectl audit witness).")
@click.option(
    "--tsa-certificates",
    "certificates",
    metavar="FILE",
    type=_FILE,
    help="Check the time-stamps (tablectl audit timestamp) against these certificates (PEM).",
)
@click.option(
    "--replay",
    "recordings",
    multiple=True,
    metavar="RECORDING|FOLDER",
    type=_FILE,
    help="Make each ledger again from its recordings, oldest first (a folder: those made for it), and compare.",
)
@click.option("--house", metavar="FILE", help="The house's file, for --replay, where it is none that ships.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line for each ledger.")
def verify_command(
    ledgers: Sequence[Path],
    keys: Sequence[str],
    witness: Path | None,
    certificates: Path | None,
    recordings: Sequence[Path],
    house: str | None,
    as_json: bool,
) -> int:
    """Find any entry that was changed, moved, added or taken out, and name the first.

    Looks at the file, the numbers and links of all entries, the keys, every checkpoint, and what is kept beside the entries; of
    several ledgers also whether each follows the one before it. Who may change the ledger and has its key can only be caught by
    what others have seen: --witness. Without --key a ledger's own word is taken for its key.

    With --replay each ledger is also made again from its recordings, by the decoders and the game of this program: the head has
    to be the same.

    LEDGER is only read, and may be written to meanwhile. Exit code 7 when anything is wrong.
    """
    seen = None if witness is None else Witnessed(witness)
    authority = None if certificates is None else Authority(certificates)
    reports = verify_days(ledgers, [key for text in keys for key in public_keys(text)], seen)
    if recordings:
        for report in reports:
            replay_into(report, recordings, house)
    for path, report in zip(ledgers, reports, strict=True):
        stamped = [] if authority is None else _stamped(path, report, authority)
        if as_json:
            more = {} if authority is None else {"stamped": [one._asdict() for one in stamped]}
            click.echo(msgspec.json.encode({"whole": report.whole, **msgspec.to_builtins(report), **more}).decode())
            continue
        _tell(report, trust=bool(keys), witness=seen is not None)
        if recordings and report.whole:
            click.echo("  replayed from its recordings, to the same head")
        if authority is not None:
            last = f"{stamped[-1].size} entries, at {stamped[-1].at} by {stamped[-1].by}" if stamped else "nothing"
            click.echo(f"  stamped  {last}")
    return 0 if all(report.whole for report in reports) else LedgerError.exit_code


def _stamped(path: Path, report: Report, authority: Authority) -> list[Stamped]:
    """The time-stamps of a ledger, where all are right; else the first that is not is a fault of it."""
    try:
        return verify_stamps(path, authority)
    except (LedgerError, InputError) as error:
        report.faults.append(Fault(None, str(error) if error.where != str(path) else error.message))
        return []


def _tell(report: Report, *, trust: bool, witness: bool) -> None:
    """What was found, on stdout; what is wrong, on stderr."""
    for fault in report.faults:
        place = f"entry {fault.entry} " if fault.entry is not None else ""
        say(f"{report.ledger}: {place}{fault.what}")
    if not report.table:
        click.echo(f"{report.ledger}: {'NOT WHOLE' if Path(report.ledger).is_file() else 'NOT THERE: nothing was verified'}")
        return
    verdict = "whole" if report.whole else "NOT WHOLE"
    click.echo(f"{report.ledger}: {verdict}: {report.size} entries of table {report.table}, session {report.session}")
    click.echo(f"  head     {report.root}")
    if report.checkpoints:
        left = report.size - report.signed
        after = f"; {left} after it are bound by the chain alone" if left else ""
        believed = "" if trust else " (by the ledger's own word: give --key)"
        when = f", at {report.at}" if report.at else ""
        click.echo(f"  signed   {report.signed} entries{when} by {report.key}{believed}{after}")
    else:
        click.echo("  signed   nothing: it has no checkpoint, so that whoever can write the file could have made all of it anew")
    if witness:
        click.echo(f"  witness  has seen {report.witnessed} entries of it")
    for one in report.calibrated:
        click.echo(f"  cameras  from entry {one.entry} on {_measured_by(one.calibration, one.deck)}")
    if report.follows is not None:
        click.echo(f"  follows  {report.follows.size} entries of session {report.follows.session}")


def _measured_by(calibration: Pinned | None, deck: Pinned | None) -> str:
    """By what a table's cameras measured, in words."""
    if calibration is None:
        return "no calibration"
    return f"calibration {calibration.name} {calibration.digest}, {f'deck {deck.digest}' if deck else 'no deck enrolled'}"


# prove, check-proof


@audit.command(
    "prove",
    epilog="\b\nExample:\n  tablectl audit prove day.ledger --round 17 -o round-17.json\n"
    "  tablectl audit check-proof round-17.json --key table.pub",
)
@click.argument("ledger", metavar="LEDGER", type=_FILE)
@click.option("--round", "rounds", multiple=True, type=click.IntRange(min=0), metavar="N", help="All that belongs to a round.")
@click.option("--entry", "entries", multiple=True, type=click.IntRange(min=1), metavar="N", help="One entry, by its number.")
@click.option("-o", "--output", metavar="FILE", type=_FILE, help="Where to write it.  [default: stdout]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def prove_command(ledger: Path, rounds: Sequence[int], entries: Sequence[int], output: Path | None, force: bool) -> None:
    """Write a proof that entries are in a ledger, for who does not have the ledger.

    It holds the entries themselves, their paths in the Merkle tree, and the first signed checkpoint that covers them; a public
    key is all that is needed to check it. It shows the ledger's other entries to nobody.
    """
    if not rounds and not entries:
        raise UsageError("what is to be proved? give --round or --entry")
    if output is not None and not force and (output.is_file() or output.is_symlink()):
        raise UsageError("is there already; --force writes over it", where=str(output))
    wanted = set(entries)
    with Reader(ledger) as reader:
        for number in rounds:
            found = entries_of_round(_entries(reader), number)
            if not found:
                raise LedgerError(f"has no round {number}", where=str(ledger))
            wanted.update(found)
    proof = prove(ledger, wanted)
    if output is None:
        click.echo(proof, nl=False)
    else:
        with whole_file(output) as file:
            file.write(proof)


@audit.command("check-proof", epilog="\b\nExample:\n  tablectl audit check-proof round-17.json --key table.pub")
@click.argument("file", metavar="FILE")
@click.option("--key", "keys", multiple=True, required=True, metavar="VKEY|FILE", help="A public key; may be given again.")
@click.option("--json", "as_json", is_flag=True, help="The entries that are proved, as JSON lines.")
def check_proof_command(file: str, keys: Sequence[str], as_json: bool) -> None:
    """Check a proof that `audit prove` wrote. FILE may be - for stdin. Exit code 7 when it does not hold.

    The entries are printed. Those that follow each other without a gap are all that the ledger has between them.
    """
    try:
        if file == "-":
            body = sys.stdin.buffer.read(MAX_PROOF)
        else:
            with open(file, "rb") as source:
                body = source.read(MAX_PROOF)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=file) from None
    proved = check_proof(body, [key for text in keys for key in public_keys(text)], where=file)
    if as_json:
        for entry in proved.entries:
            click.echo(jsonl.line(entry))
    else:
        _show(proved)


def _show(proved: Proved) -> None:
    head, last = proved.checkpoint, proved.entries[-1].seq
    gap = "" if proved.whole else " (with gaps between them)"
    when = f" at {head.at}" if head.at else ""
    click.echo(
        f"holds: {len(proved.entries)} entries, 1 and others up to {last}{gap}, are in the ledger of table {proved.pin.table}"
    )
    click.echo(f"  ledger  {head.origin}, {head.size} entries signed{when} by {proved.key.name}")
    click.echo(f"  rules   {proved.pin.house.name} {proved.pin.house.digest}, {proved.pin.software}")
    if proved.pin.calibration is not None:
        click.echo(f"  cameras {_measured_by(proved.pin.calibration, proved.pin.deck)}")
    for entry in proved.entries[1:]:
        click.echo(f"  {entry.seq:>7} {entry.kind:<11} {entry.body.decode(errors='backslashreplace')}")


def _entries(reader: Reader) -> Iterator[Entry]:
    """All entries that are there now, some at a time: a table that plays on does not keep us here."""
    after, last = 0, reader.last()
    while after < last:
        page = reader.entries(after, min(PAGE, last - after))
        if not page:
            return
        yield from page
        after = page[-1].seq


# key


@audit.command(
    "key",
    epilog="\b\nExample:\n  tablectl audit key t07.key --table site/pit/t07 > t07.pub\n  tablectl audit key t07.key\n"
    "  tablectl audit key witness.key --witness > witness.pub",
)
@click.argument("file", metavar="FILE", type=_FILE)
@click.option("--table", metavar="SITE/PIT/TABLE", help="Make the key of this table, for whose ledgers alone it is.")
@click.option("--name", metavar="NAME", help="With --witness: what it is called, without blanks and +.  [default: as the file]")
@click.option("--witness", is_flag=True, help="Make the key of a witness, which cosigns.")
def key_command(file: Path, table: str | None, name: str | None, witness: bool) -> None:
    """Print the public key that belongs to the private one in FILE; where there is no such file, make both.

    A table's key is called after it and signs for it alone; a witness's may have any name. Only its owner may read FILE. The
    public key (C2SP's vkey) is for all who verify.
    """
    if witness and table is not None:
        raise UsageError("a witness is of no table; --name gives its key a name", field="--table")
    if name is not None and not witness:
        raise UsageError("is for --witness: a table's key is called after it (--table)", field="--name")
    if witness or table is not None:
        with given("--table" if table is not None else "--name"):
            key = Signer.make(_called(table) if table is not None else name or file.stem, COSIGNS if witness else SIGNS)
        with given():
            key.save(file)
        say(f"{file}: a new key, for its owner alone")
    elif file.exists():
        key = signer(file, "FILE")
    else:
        raise UsageError("there is no such key; to make it, say for whom: --table SITE/PIT/TABLE, or --witness", where=str(file))
    click.echo(key.verifier.vkey)


def _called(table: str) -> str:
    parts = table.split("/")
    if len(parts) != len(TableName.__struct_fields__):
        raise UsageError("give site, pit and table, with a / between", field="--table")
    return key_name(TableName(*parts))
