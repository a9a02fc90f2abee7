"""A checkpoint as it is told to the world, with the proof that it extends the one before it: what stands on `audit/checkpoint`.

::

    {"note": the signed note,
     "previous": how many entries the checkpoint told before this one had, 0 where this is the ledger's first,
     "consistency": [the hashes of RFC 6962's proof from `previous` to this size, in base64],
     "key": the public key that signs,
     "succession": [the ledger's `key` entries up to here: which key followed which, signed by both]}

Only the note is signed; the rest proves itself. `key` is a claim, for who has nothing better to go by.

A ledger that follows another says so in a line of each of its checkpoints, `follows SESSION SIZE ROOT` (the root in base64), so
that the days of a table are one line of growth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from tablectl.errors import LedgerError
from tablectl.ledger import chain
from tablectl.ledger import pin as pins
from tablectl.ledger.checkpoint import Checkpoint, KeyEntry
from tablectl.ledger.merkle import SIZE, Frontier, Tree, node
from tablectl.ledger.pin import Follows
from tablectl.ledger.reader import Entry, Reader
from tablectl.ledger.signed_note import Note, of_base64, to_base64

__all__ = ["LATEST", "Announcer", "Growth", "Published", "follows", "follows_line", "parse", "prove", "published"]

LATEST: Final = "announced"
"""Under this name a ledger keeps (`Ledger.keep`) what was published last."""

LONGEST: Final = 1 << 20
"""A longer payload is refused, in bytes."""
MOST_HASHES: Final = 128
"""More hashes than any proof has."""
_PAGE: Final = 2000
_FOLLOWS: Final = "follows "


class _Payload(msgspec.Struct, frozen=True, omit_defaults=True):
    note: str
    previous: int
    consistency: list[str]
    key: str | None = None
    succession: list[KeyEntry] = []


class Published(NamedTuple):
    """What was published, read: the note is well-formed and its signatures are still to be checked."""

    note: Note
    checkpoint: Checkpoint
    previous: int
    consistency: tuple[bytes, ...]
    key: str | None
    succession: tuple[bytes, ...]


def published(
    note: bytes, previous: int, proof: Sequence[bytes], *, key: str | None = None, succession: Sequence[bytes] = ()
) -> bytes:
    """The payload. `succession` are the bodies of `key` entries."""
    entries = [msgspec.json.decode(body, type=KeyEntry) for body in succession]
    return msgspec.json.encode(_Payload(note.decode(), previous, [to_base64(one) for one in proof], key, entries))


def parse(payload: bytes) -> Published:
    """Read a payload strictly. Raises `LedgerError` that says why it is none."""
    if len(payload) > LONGEST:
        raise LedgerError(f"is no published checkpoint: it is longer than {LONGEST} bytes")
    try:
        read = msgspec.json.decode(payload, type=_Payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LedgerError(f"is no published checkpoint: {error}") from None
    note = Note.parse(read.note.encode("utf-8", "surrogatepass"))
    proof = hashes(read.consistency)
    succession = tuple(msgspec.json.encode(entry) for entry in read.succession)
    return Published(note, Checkpoint.parse(note.text), read.previous, proof, read.key, succession)


def hashes(texts: Sequence[str]) -> tuple[bytes, ...]:
    """The hashes of a proof from their base64. Raises `LedgerError` for what is none."""
    if len(texts) > MOST_HASHES:
        raise LedgerError("has a proof that is too long")
    try:
        proof = tuple(of_base64(text) for text in texts)
    except ValueError:
        proof = (b"",)
    if any(len(one) != SIZE for one in proof):
        raise LedgerError("has a proof with something in it that is no SHA-256 in base64")
    return proof


def follows_line(before: Follows) -> str:
    """The further line of the checkpoints of a ledger that follows another."""
    return f"{_FOLLOWS}{before.session} {before.size} {to_base64(bytes.fromhex(before.root))}"


def follows(checkpoint: Checkpoint) -> Follows | None:
    """Which ledger this one says it follows; None for none. Raises `LedgerError` where the line is none, or there are several."""
    lines = [line.removeprefix(_FOLLOWS) for line in checkpoint.extensions if line.startswith(_FOLLOWS)]
    if not lines:
        return None
    parts = lines[0].split(" ")
    try:
        session, size, root = parts
        before = Follows(session, int(size), of_base64(root).hex())
    except ValueError:
        before = Follows("", 0, "")
    if len(lines) > 1 or follows_line(before) != _FOLLOWS + lines[0] or len(before.root) != 2 * SIZE or before.size < 1:
        raise LedgerError("does not say rightly which ledger it follows")
    return before


class Growth:
    """A tree since its last mark: enough to prove that it extends what it was then. 32 bytes a leaf since, and a few before."""

    def __init__(self) -> None:
        self.marked = 0
        self._peaks: list[bytes] = []
        self._since: list[bytes] = []

    @property
    def size(self) -> int:
        """How many leaves it has."""
        return self.marked + len(self._since)

    def add(self, leaf: bytes) -> None:
        """One more leaf."""
        self._since.append(leaf)

    def mark(self) -> None:
        """The tree as it is now is what is to be extended."""
        for leaf in self._since:
            whole = self.marked
            peak = leaf
            while whole & 1:
                peak = node(self._peaks.pop(), peak)
                whole >>= 1
            self._peaks.append(peak)
            self.marked += 1
        self._since.clear()

    def proof(self) -> list[bytes]:
        """RFC 6962's consistency proof from the mark to now; empty where one of them is the empty tree, or nothing was added."""
        old, low, high = self.marked, 0, self.size
        if old in (0, high):
            return []
        path: list[bytes] = []
        peaks = iter(self._peaks)  # the old tree's whole subtrees are what the proof takes of it, the largest first
        while high != old:
            middle = low + (1 << ((high - low - 1).bit_length() - 1))
            if old <= middle:
                path.append(self._span(middle, high))
                high = middle
            else:
                path.append(next(peaks))
                low = middle
        if low:
            path.append(next(peaks))
        return path[::-1]

    def _span(self, low: int, high: int) -> bytes:
        part = Frontier()
        for leaf in self._since[low - self.marked : high - self.marked]:
            part.add(leaf)
        return part.root


class Announcer:
    """Makes what is published of the checkpoints of one ledger, each with the proof from the one published before it.

    It reads the ledger once from its beginning, and from then on what is new at each checkpoint. It belongs to the thread that
    made `reader`. Raises `LedgerError` as the reader does.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._growth = Growth()
        self._key: str | None = None
        self._succession: list[bytes] = []
        self._last: tuple[bytes, bytes] | None = None
        kept = reader.latest(LATEST)
        if kept is not None:
            before = parse(kept.body)
            self._last = before.note.encode(), kept.body
            self._read_to(before.checkpoint.size)
            self._growth.mark()

    def announce(self, note: bytes) -> bytes:
        """The payload of a checkpoint that was just signed; that of the last one again where it is the same."""
        if self._last is not None and self._last[0] == note:
            return self._last[1]
        self._read_to(Checkpoint.parse(Note.parse(note).text).size)
        payload = published(note, self._growth.marked, self._growth.proof(), key=self._key, succession=self._succession)
        self._growth.mark()
        self._last = note, payload
        return payload

    def _read_to(self, size: int) -> None:
        while (left := size - self._growth.size) > 0:
            page = self._reader.entries(self._growth.size, min(left, _PAGE))
            if not page:
                raise LedgerError(f"has {self._growth.size} entries, and a checkpoint of {size}", where=str(self._reader.path))
            for entry in page:
                self._take(entry)

    def _take(self, entry: Entry) -> None:
        self._growth.add(chain.leaf(*entry))
        if entry.seq == 1:
            self._key = pins.decode(entry.body).signer
        elif entry.kind == "key":
            self._key = msgspec.json.decode(entry.body, type=KeyEntry).key
            self._succession.append(entry.body)


def prove(reader: Reader, old: int, new: int) -> list[str]:
    """The answer to who asks for the consistency proof between two sizes of a ledger: its hashes in base64.

    All entries up to `new` are read: about a second for 100,000. Raises `ValueError` for sizes that are not in order or that the
    ledger has not reached, `LedgerError` when it cannot be read.
    """
    if not 0 < old <= new <= reader.last():
        raise ValueError(f"there is no proof from {old} to {new}")
    tree = Tree()
    while (left := new - tree.size) > 0:
        for entry in reader.entries(tree.size, min(left, _PAGE)):
            tree.add(chain.leaf(*entry))
    return [to_base64(one) for one in tree.consistency(old, new)]
