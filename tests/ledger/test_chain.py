"""The chain: what binds an entry to all before it, and that the first that does not fit is named."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tablectl.ledger import chain
from tablectl.ledger.chain import Break

BODIES = [("pin", b"{}"), ("observation", b'{"event":"tick"}'), ("notice", b""), ("key", b"\x00\xff\n")]


def rows() -> list[tuple[int, bytes, bytes, bytes]]:
    made, link = [], chain.START
    for seq, (kind, body) in enumerate(BODIES, start=1):
        link = chain.link(link, chain.leaf(seq, kind, body))
        made.append((seq, kind.encode(), body, link))
    return made


def test_leaf_and_link_are_as_the_documentation_says() -> None:
    leaf = sha256(b"\x00" + b"2 observation\n" + b"{}").digest()
    assert chain.leaf(2, "observation", b"{}") == leaf
    assert chain.link(b"b" * 32, leaf) == sha256(b"b" * 32 + leaf).digest()
    assert bytes(32) == chain.START


def test_a_whole_chain_is_walked_to_its_end() -> None:
    assert [(entry.seq, entry.kind, entry.body) for entry in chain.walk(rows())] == [
        (seq, kind, body) for seq, (kind, body) in enumerate(BODIES, start=1)
    ]


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("column", range(4))
def test_the_first_entry_that_does_not_fit_is_named(at: int, column: int) -> None:
    changed = rows()
    row = list(changed[at])
    row[column] = {0: 9, 1: b"\xff", 2: b"other", 3: bytes(32)}[column]
    changed[at] = (row[0], row[1], row[2], row[3])  # type: ignore[assignment]
    with pytest.raises(Break) as caught:
        list(chain.walk(changed))
    assert caught.value.seq == at + 1


def test_kind_and_body_cannot_lend_each_other_bytes() -> None:
    assert chain.leaf(1, "a", b"b") != chain.leaf(1, "ab", b"")
    assert chain.leaf(11, "a", b"") != chain.leaf(1, "1 a", b"")
