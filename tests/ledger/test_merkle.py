"""Merkle trees against RFC 6962: its own definition, the vectors of Certificate Transparency, and another implementation."""

from __future__ import annotations

from hashlib import sha256

import pymerkle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.ledger.merkle import EMPTY, Frontier, Tree, consistent, included

LARGEST = 67

# The inputs and roots with which Certificate Transparency's implementations are tested.
INPUTS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


# RFC 6962, section 2.1, as it is written there: D is a list of data, k the largest power of two smaller than n.


def k_of(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def mth(data: list[bytes]) -> bytes:
    n = len(data)
    if n == 0:
        return sha256().digest()
    if n == 1:
        return sha256(b"\x00" + data[0]).digest()
    k = k_of(n)
    return sha256(b"\x01" + mth(data[:k]) + mth(data[k:])).digest()


def path(m: int, data: list[bytes]) -> list[bytes]:
    n = len(data)
    if n == 1:
        return []
    k = k_of(n)
    return [*path(m, data[:k]), mth(data[k:])] if m < k else [*path(m - k, data[k:]), mth(data[:k])]


def subproof(m: int, data: list[bytes], known: bool) -> list[bytes]:
    n = len(data)
    if m == n:
        return [] if known else [mth(data)]
    k = k_of(n)
    return [*subproof(m, data[:k], known), mth(data[k:])] if m <= k else [*subproof(m - k, data[k:], False), mth(data[:k])]


def leaf(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


DATA = [b"entry %d" % number for number in range(LARGEST)]
TREE = Tree(map(leaf, DATA))


def test_the_vectors_of_certificate_transparency() -> None:
    tree, frontier = Tree(), Frontier()
    for size, root in enumerate(ROOTS):
        assert tree.root().hex() == frontier.root.hex() == root
        if size < len(INPUTS):
            tree.add(leaf(bytes.fromhex(INPUTS[size])))
            frontier.add(leaf(bytes.fromhex(INPUTS[size])))


def test_roots_are_the_ones_of_the_rfc() -> None:
    frontier = Frontier()
    for size in range(LARGEST + 1):
        assert TREE.root(size) == frontier.root == mth(DATA[:size])
        if size < LARGEST:
            frontier.add(leaf(DATA[size]))


def test_every_inclusion_proof_is_the_one_of_the_rfc_and_holds() -> None:
    for size in range(1, LARGEST + 1):
        root = TREE.root(size)
        for index in range(size):
            proof = TREE.inclusion(index, size)
            assert proof == path(index, DATA[:size])
            assert included(leaf(DATA[index]), index, size, proof, root)


def test_every_consistency_proof_is_the_one_of_the_rfc_and_holds() -> None:
    for new in range(LARGEST + 1):
        for old in range(new + 1):
            proof = TREE.consistency(old, new)
            assert proof == ([] if old == 0 else subproof(old, DATA[:new], True))
            assert consistent(old, new, TREE.root(old), TREE.root(new), proof)


def test_another_implementation_agrees() -> None:
    other = pymerkle.InmemoryTree(algorithm="sha256")
    for size, data in enumerate(DATA, start=1):
        other.append_entry(data)
        assert other.get_root() == TREE.root(size)
        for index in range(size):
            theirs = other.prove_inclusion(index + 1, size)
            theirs.path = [leaf(DATA[index]), *TREE.inclusion(index, size)]
            pymerkle.verify_inclusion(leaf(DATA[index]), TREE.root(size), theirs, index=index + 1, size=size)


places = st.integers(1, LARGEST).flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size)))


@settings(max_examples=300, deadline=None)
@given(places, st.data())
def test_no_inclusion_proof_holds_for_anything_else(place: tuple[int, int], data: st.DataObject) -> None:
    index, size = place
    proof, root = TREE.inclusion(index, size), TREE.root(size)
    other = data.draw(st.integers(0, LARGEST - 1).filter(lambda number: number != index))
    assert not included(leaf(DATA[other]), index, size, proof, root)
    assert not included(leaf(DATA[index]), other, size, proof, root)
    assert not included(leaf(DATA[index]), index, size, [*proof, EMPTY], root)
    assert not included(leaf(DATA[index]), index, size, proof, EMPTY)
    if proof:
        at = data.draw(st.integers(0, len(proof) - 1))
        assert not included(leaf(DATA[index]), index, size, [*proof[:at], EMPTY, *proof[at + 1 :]], root)
        assert not included(leaf(DATA[index]), index, size, [*proof[:at], *proof[at + 1 :]], root)


@settings(max_examples=300, deadline=None)
@given(places, st.data())
def test_no_consistency_proof_holds_for_anything_else(place: tuple[int, int], data: st.DataObject) -> None:
    old, new = place[0] + 1, place[1]
    proof, before, after = TREE.consistency(old, new), TREE.root(old), TREE.root(new)
    assert not consistent(old, new, EMPTY, after, proof)
    assert not consistent(old, new, before, EMPTY, proof)
    assert not consistent(old, new, before, after, [*proof, EMPTY])
    assert not consistent(new + 1, new, before, after, proof)
    if proof:
        at = data.draw(st.integers(0, len(proof) - 1))
        assert not consistent(old, new, before, after, [*proof[:at], EMPTY, *proof[at + 1 :]])
        assert not consistent(old, new, before, after, [*proof[:at], *proof[at + 1 :]])


@pytest.mark.parametrize(("index", "size"), [(5, 5), (-1, 5), (0, 6), (0, 0)])
def test_a_leaf_that_is_not_there_cannot_be_proved(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="lea"):
        Tree(map(leaf, DATA[:5])).inclusion(index, size)


@pytest.mark.parametrize(("old", "new"), [(3, 6), (4, 3), (-1, 3)])
def test_a_growth_that_was_not_cannot_be_proved(old: int, new: int) -> None:
    with pytest.raises(ValueError, match="leaves"):
        Tree(map(leaf, DATA[:5])).consistency(old, new)


def test_a_copy_of_a_frontier_grows_by_itself() -> None:
    one = Frontier()
    one.add(leaf(b"x"))
    other = one.copy()
    other.add(leaf(b"y"))
    assert (one.size, one.root) == (1, leaf(b"x"))
    assert (other.size, other.root) == (2, mth([b"x", b"y"]))
