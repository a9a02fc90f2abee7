"""What a witness holds against a table: whether each checkpoint extends all that it has seen. Pure: no file, network or clock.

A table's ledger may only grow. Of two heads that its key has signed, the one proves to extend the other (RFC 6962), or the table
has lied, and both notes prove that to anybody. So the witness keeps every note, in lines of JSON, and refuses a checkpoint

- whose signature is not of a key that it trusts for this table,
- that is smaller than what it has seen, or as large with another root, or larger without growing out of it,
- of a new ledger (a new day) that does not follow the last one seen, or not as far as it was seen.

Where the proof from what was seen is not at hand, because the witness was away meanwhile, there is a *gap*: what was seen is
held, the proof is asked for, and what is told beyond the gap has to go on from there. What is refused changes nothing.

Keys are given, or believed at first sight (`first_use`); a key that follows one that is trusted, signed by both, is trusted too.
A key is called after its table (`tablectl/v1/SITE/PIT/TABLE`) and vouches for this table alone; one of another name for none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from tablectl.errors import ConfigError, LedgerError
from tablectl.ledger.checkpoint import Checkpoint, KeyEntry, key_name, signers, succeeds, vouches_for
from tablectl.ledger.keys import Verifier
from tablectl.ledger.merkle import consistent
from tablectl.ledger.pin import TableName
from tablectl.ledger.published import Published, follows, parse
from tablectl.ledger.signed_note import Note

__all__ = ["CHANNEL", "Gap", "Judged", "Line", "Proofs", "Witness", "table_of"]

CHANNEL: Final = "audit/checkpoint"
"""The topic below a table's own."""

_TOPIC = re.compile(rf"tablectl/v1/([^/]+)/([^/]+)/([^/]+)/{CHANNEL}")
_SESSION = re.compile(r"[0-9a-f]{16}", re.ASCII)


class Gap(msgspec.Struct, frozen=True, rename={"old": "from", "new": "to"}):
    """The proof that is missing: of the ledger `session`, from one size to another."""

    session: str
    old: int
    new: int


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a witness's file: a table's signed note that was seen, or what else is to be known of the table from then on.

    `seen` is a time of `tablectl.instants`. A `note` alone was taken as true; with `gap` it is still to be proved; with `refused`
    it is signed by the table's key and contradicts what was seen before, for that reason. `key` is trusted for this table from
    here on: because it was the first, or because (`succession`) it follows one that was. `settled`: a person has looked, and
    the witness begins anew with this table. `torn`: the line before this one was being written when the witness was stopped.
    """

    seen: str
    topic: str
    note: str | None = None
    gap: Gap | None = None
    refused: str | None = None
    key: str | None = None
    succession: KeyEntry | None = None
    settled: bool = False
    torn: bool = False


Proofs = Mapping[Gap, Sequence[bytes]]
"""RFC 6962's consistency proofs, by the gaps that they fill."""

_Head = tuple[int, bytes]


class Judged(NamedTuple):
    """What was found of a payload.

    `again` says what is known already. `why` is for a person; `lines` are to be kept, in this order, before anything is said.
    """

    verdict: Literal["new", "again", "gap", "refused"]
    why: str
    lines: tuple[Line, ...] = ()
    gap: Gap | None = None


class _Table:
    """What is known of a table: the ledgers it went through, its keys, and the notes that are kept.

    `last` is the last checkpoint that was taken as true. Within a gap, `held` is the newest beyond it, and `target` what the
    proof from `last` has to lead to: size and root, of the ledger of `last`.
    """

    def __init__(self) -> None:
        self.last: Checkpoint | None = None
        self.held: Checkpoint | None = None
        self.target: _Head = (0, b"")
        self.ledgers: set[str] = set()
        self.kept: set[str] = set()
        self.keys: list[Verifier] = []

    def take(self, new: Checkpoint, gap: Gap | None) -> None:
        """A checkpoint was kept."""
        if gap is None or self.last is None:
            self.last, self.held = new, None
        elif (gap.session, gap.old) == (_session(self.last), self.last.size):
            self.target = _leads_to(self.last, new) or self.target
            self.held = new
        else:  # behind another gap: it is not known to extend `held`
            return
        self.ledgers.add(new.origin)


class _Refused(Exception):
    """`evidence`: the note is signed by the table's key, so it is worth keeping."""

    def __init__(self, why: str, *, evidence: bool = False):
        super().__init__(why)
        self.evidence = evidence


class Witness:
    """What one witness has seen of all its tables. `remember` the lines of its file first, then `judge` what comes."""

    def __init__(self, keys: Iterable[Verifier] = (), *, first_use: bool = False) -> None:
        self._given = tuple(keys)
        self._first_use = first_use
        self._tables: dict[str, _Table] = {}

    @property
    def tables(self) -> list[str]:
        """The topics of which something is known."""
        return list(self._tables)

    def last(self, topic: str) -> Checkpoint | None:
        """The last checkpoint that was taken as true."""
        return self._tables[topic].last if topic in self._tables else None

    def remember(self, line: Line) -> None:
        """Take up a line that was written. Raises `LedgerError` for one that cannot have been."""
        if line.torn:
            return
        table = self._of(line.topic)
        if line.settled:
            table.last = table.held = None
            table.ledgers.clear()
        if line.key is not None:
            self._trust(table, line)
        if line.note is not None:
            note = Note.parse(line.note.encode("utf-8", "surrogatepass"))
            table.kept.add(note.text)
            if line.refused is None:
                table.take(Checkpoint.parse(note.text), line.gap)

    def judge(self, topic: str, payload: bytes, *, seen: str, proofs: Proofs | None = None) -> Judged:
        """Hold what was published at `seen` against what is known; never raises.

        `proofs` fill gaps that were found before; there may be another behind one that is filled. Nothing is remembered: hand
        `lines` to `remember` once they are kept.
        """
        lines: list[Line] = []
        text = None
        try:
            found = _read(topic, payload)
            text = found.note.text
            table = self._tables.get(topic) or _Table()  # what is only claimed takes no room
            lines += self._trusted(topic, table, found, seen)
            gap = _compare(table, found, proofs or {})
        except (_Refused, LedgerError) as error:
            keep = isinstance(error, _Refused) and error.evidence and text not in table.kept
            why = error.message if isinstance(error, LedgerError) else str(error)
            note = found.note.encode().decode() if keep else None
            return Judged("refused", why, (*lines, Line(seen=seen, topic=topic, note=note, refused=why)) if keep else ())
        head = found.checkpoint
        if table.last is not None and (head.origin, head.size) == (table.last.origin, table.last.size):
            return Judged("again", f"{head.size} entries of {_session(head)}, as seen before", tuple(lines))
        if gap is None or text not in table.kept:
            lines.append(Line(seen=seen, topic=topic, note=found.note.encode().decode(), gap=gap))
        if gap is not None:
            why = f"the proof from {gap.old} to {gap.new} entries of {gap.session} is missing"
            return Judged("gap", why, tuple(lines), gap)
        return Judged("new", f"{head.size} entries of {_session(head)}", tuple(lines))

    def _of(self, topic: str) -> _Table:
        return self._tables.setdefault(topic, _Table())

    def _trust(self, table: _Table, line: Line) -> None:
        """A key from the file: it counts while the one that it follows does, or believing at first sight is asked for."""
        assert line.key is not None
        try:
            verifier = Verifier.parse(line.key)
        except ConfigError as error:
            raise LedgerError(f"its key {error.message}") from None
        trusted = self._first_use
        if line.succession is not None:
            body, ledger = msgspec.json.encode(line.succession), line.succession.note.partition("\n")[0]
            trusted = any(_succeeds(body, ledger, before) == verifier for before in self._keys(line.topic, table))
        if trusted and vouches_for(verifier, table_of(line.topic)) and verifier not in table.keys:
            table.keys.append(verifier)

    def _keys(self, topic: str, table: _Table) -> list[Verifier]:
        name = table_of(topic)
        return [*(one for one in self._given if vouches_for(one, name)), *table.keys]

    def _trusted(self, topic: str, table: _Table, found: Published, seen: str) -> list[Line]:
        """See that a trusted key signed; gives what is to be remembered of keys. Raises `_Refused`, `LedgerError`."""
        lines: list[Line] = []
        trusted = self._keys(topic, table)
        for body in found.succession:
            entry = msgspec.json.decode(body, type=KeyEntry)
            new = next((new for before in trusted if (new := _succeeds(body, found.checkpoint.origin, before))), None)
            if new is not None and new not in trusted:
                trusted.append(new)
                lines.append(Line(seen=seen, topic=topic, key=new.vkey, succession=entry))
        if not trusted and self._first_use and found.key is not None:
            try:
                first = Verifier.parse(found.key)
            except ConfigError as error:
                raise _Refused(f"comes with a key that {error.message}") from None
            if not vouches_for(first, table_of(topic)):
                raise _Refused(f"comes with a key that is not this table's, but called {first.name}")
            trusted.append(first)
            lines.append(Line(seen=seen, topic=topic, key=found.key))
        if not trusted:
            raise _Refused("is of a table of which no key is known: give it with --key")
        if not signers(found.note, trusted):
            names = ", ".join(sorted({one.name for one in found.note.signatures}))
            raise _Refused(f"is not signed by a key that is trusted for this table (but by {names})")
        return lines


def table_of(topic: str) -> TableName:
    """Whose checkpoints these are. Raises `LedgerError` for a topic that is no table's."""
    match = _TOPIC.fullmatch(topic)
    try:
        return TableName(*match.groups()) if match else TableName("", "", "")
    except ConfigError:
        raise LedgerError("is published where no table's checkpoints are") from None


def _read(topic: str, payload: bytes) -> Published:
    table = table_of(topic)
    found = parse(payload)
    ledger, _, session = found.checkpoint.origin.rpartition("/")
    if ledger != key_name(table) or not _SESSION.fullmatch(session):
        raise _Refused(f"is of another ledger than this table's: {found.checkpoint.origin}")
    return found


def _succeeds(body: bytes, origin: str, before: Verifier) -> Verifier | None:
    try:
        return succeeds(body, origin, before)
    except LedgerError:
        return None


def _session(checkpoint: Checkpoint) -> str:
    return checkpoint.origin.rpartition("/")[2]


def _compare(table: _Table, found: Published, proofs: Proofs) -> Gap | None:
    """See that a checkpoint, rightly signed, extends all that was seen; gives the first gap in that. Raises `_Refused`."""
    last, new = table.last, found.checkpoint
    if last is None:
        return None
    newest = table.held or last
    if new.origin != newest.origin and new.origin in table.ledgers:
        raise _Refused(f"is of the ledger {_session(new)}, which was left behind for {_session(newest)}", evidence=True)
    gap = _extends(newest, found, proofs)
    if table.held is None or gap is not None:
        return gap
    return _grown(_session(last), (last.size, last.root), _leads_to(last, new) or table.target, proofs)


def _extends(old: Checkpoint, found: Published, proofs: Proofs) -> Gap | None:
    new = found.checkpoint
    before = follows(new)
    target = _leads_to(old, new)
    if new.origin == old.origin:
        if before != follows(old):
            raise _Refused("now says that it follows another ledger than it said before", evidence=True)
    elif before is None:
        raise _Refused(f"begins a new ledger, {_session(new)}, that follows none; {_session(old)} was seen last", evidence=True)
    if target is None:
        other = f"follows {before.session if before else None}, which was never seen; {_session(old)} was seen last"
        raise _Refused(f"is of a ledger, {_session(new)}, that {other}", evidence=True)
    if new.origin == old.origin and found.previous == old.size:
        proofs = {Gap(_session(old), old.size, new.size): found.consistency, **proofs}
    return _grown(_session(old), (old.size, old.root), target, proofs)


def _leads_to(old: Checkpoint, new: Checkpoint) -> _Head | None:
    """The head of the ledger of `old` that `new` speaks of: its own, or that of the ledger it follows; None where of neither."""
    if new.origin == old.origin:
        return new.size, new.root
    before = follows(new)
    if before is None or before.session != _session(old):
        return None
    return before.size, bytes.fromhex(before.root)


def _grown(session: str, old: _Head, new: _Head, proofs: Proofs) -> Gap | None:
    if new[0] < old[0]:
        raise _Refused(f"has {new[0]} entries of {session}, where {old[0]} were seen already: it goes back", evidence=True)
    if new[0] == old[0]:
        if new[1] != old[1]:
            raise _Refused(f"has other {new[0]} entries of {session} than were seen: the ledger is forked", evidence=True)
        return None
    gap = Gap(session, old[0], new[0])
    proof = proofs.get(gap)
    if proof is None:
        return gap
    if not consistent(old[0], new[0], old[1], new[1], proof):
        why = f"has {new[0]} entries of {session} that do not grow out of the {old[0]} seen before: the ledger is forked"
        raise _Refused(why, evidence=True)
    return None
