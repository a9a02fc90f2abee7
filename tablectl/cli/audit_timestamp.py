"""`tablectl audit timestamp`: an authority's word for when a ledger's head was there."""

from __future__ import annotations

import time
from pathlib import Path

import click

from tablectl.errors import LedgerError, TablectlError
from tablectl.instants import from_micros
from tablectl.ledger.reader import Reader
from tablectl.ledger.timestamps import Authority, ask, keep, side_file, stamps

__all__ = ["timestamp"]


@click.command(
    epilog="\b\nExamples:\n"
    "  tablectl audit timestamp day.ledger --url https://tsa.example/tsr\n"
    "  tablectl audit verify day.ledger --tsa-certificates tsa.pem"
)
@click.argument("ledger", metavar="LEDGER", type=click.Path(path_type=Path))
@click.option("--url", required=True, envvar="TABLECTL_TSA", show_envvar=True, metavar="URL", help="The authority (RFC 3161).")
@click.option(
    "--wait", type=click.FloatRange(0.1, 300), default=20.0, show_default=True, metavar="SECONDS", help="For its answer."
)
@click.option(
    "--tsa-certificates",
    "certificates",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Keep no stamp but one that these certificates (PEM) vouch for.",
)
def timestamp(ledger: Path, url: str, wait: float, certificates: Path | None) -> None:
    """Have the latest checkpoint of LEDGER stamped by a time-stamping authority.

    The authority is sent a hash, and nothing else of the ledger. Its answer is kept beside the ledger, in
    LEDGER.timestamps.jsonl; a checkpoint that it has stamped already is not stamped again. LEDGER is only read.
    """
    authority = None if certificates is None else Authority(certificates)
    with Reader(ledger) as reader:
        latest = reader.latest("checkpoint")
    if latest is None:
        raise LedgerError("has no checkpoint yet: nothing is signed that could be stamped", where=str(ledger))
    note = latest.body
    if any(stamp.url == url and stamp.note.encode() == note for _, stamp in stamps(ledger)):
        click.echo(f"{ledger}: its latest checkpoint, of {latest.seq} entries, is stamped already")
        return
    stamp = ask(url, note, asked=from_micros(time.time_ns() // 1000), seconds=wait)
    if authority is not None:
        try:
            authority.check(stamp)
        except LedgerError as error:
            raise TablectlError(f"what it gave {error.message}", where=url) from None
    keep(ledger, stamp)
    click.echo(f"{ledger}: the checkpoint of {stamp.size} entries is stamped, in {side_file(ledger).name}")
