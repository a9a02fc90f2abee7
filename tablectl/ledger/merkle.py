"""Merkle trees of RFC 6962 over leaves that are hashed already: heads, and the proofs of section 2.1.

A tree of n leaves is split at the largest power of two below n. A `Frontier` keeps only the roots of the whole subtrees from the
left, enough to add leaves and to give the head; a `Tree` keeps every node, for proofs. Leaves count from 0: entry N is leaf
N - 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

__all__ = ["EMPTY", "Frontier", "Tree", "consistent", "included", "node"]

SIZE = 32
"""Bytes of a hash."""

EMPTY = sha256().digest()
"""The head of a tree without leaves."""


def node(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(b"\x01" + left + right).digest()


class Frontier:
    """The right edge of a growing tree: `size` leaves, and the roots of its whole subtrees, the largest first."""

    __slots__ = ("_peaks", "size")

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def copy(self) -> Frontier:
        """Another that goes on from here."""
        other = Frontier()
        other.size, other._peaks = self.size, self._peaks.copy()
        return other

    def add(self, leaf: bytes) -> None:
        """One more leaf."""
        peaks, whole = self._peaks, self.size
        while whole & 1:
            leaf = node(peaks.pop(), leaf)
            whole >>= 1
        peaks.append(leaf)
        self.size += 1

    @property
    def root(self) -> bytes:
        """The head of the tree as it is now."""
        return _joined(self._peaks) if self._peaks else EMPTY


class Tree:
    """A tree whose every node is kept, 64 bytes a leaf."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._levels = [bytearray()]
        for leaf in leaves:
            self.add(leaf)

    @property
    def size(self) -> int:
        """How many leaves it has."""
        return len(self._levels[0]) // SIZE

    def add(self, leaf: bytes) -> None:
        """One more leaf."""
        level, whole = 0, self.size
        self._levels[0] += leaf
        while whole & 1:
            leaf = node(bytes(self._levels[level][-2 * SIZE : -SIZE]), leaf)
            whole >>= 1
            level += 1
            if level == len(self._levels):
                self._levels.append(bytearray())
            self._levels[level] += leaf

    def root(self, size: int | None = None) -> bytes:
        """The head of its first `size` leaves (all where None). Raises `ValueError` for more than there are."""
        size = self._within(self.size if size is None else size)
        return self._span(0, size) if size else EMPTY

    def inclusion(self, index: int, size: int | None = None) -> list[bytes]:
        """The proof that leaf `index` is in the tree of the first `size` leaves. Raises `ValueError` for one that is not."""
        size = self._within(self.size if size is None else size)
        if not 0 <= index < size:
            raise ValueError(f"a tree of {size} leaves has no leaf {index}")
        path: list[bytes] = []
        low, high = 0, size
        while high - low > 1:
            middle = low + _split(high - low)
            if index < middle:
                path.append(self._span(middle, high))
                high = middle
            else:
                path.append(self._span(low, middle))
                low = middle
        return path[::-1]

    def consistency(self, old: int, new: int | None = None) -> list[bytes]:
        """The proof that the tree of the first `new` leaves extends that of the first `old`; empty where `old` is 0 or all.

        Raises `ValueError` for sizes that are not in that order, or more than there are.
        """
        new = self._within(self.size if new is None else new)
        if not 0 <= old <= new:
            raise ValueError(f"a tree of {new} leaves does not extend one of {old}")
        if old in (0, new):
            return []
        path: list[bytes] = []
        low, high = 0, new
        whole = True  # whether what remains begins at the old tree's own beginning, so that its root is known
        while high != old:
            middle = low + _split(high - low)
            if old <= middle:
                path.append(self._span(middle, high))
                high = middle
            else:
                path.append(self._span(low, middle))
                low, whole = middle, False
        if not whole:
            path.append(self._span(low, high))
        return path[::-1]

    def _within(self, size: int) -> int:
        if not 0 <= size <= self.size:
            raise ValueError(f"the tree has {self.size} leaves, not {size}")
        return size

    def _span(self, low: int, high: int) -> bytes:
        """The root of leaves `low` up to `high`, where `low` is where a subtree begins: joined from the whole ones in it."""
        peaks: list[bytes] = []
        while low < high:
            level = (high - low).bit_length() - 1
            at = (low >> level) * SIZE
            peaks.append(bytes(self._levels[level][at : at + SIZE]))
            low += 1 << level
        return _joined(peaks)


def included(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether a proof shows that `leaf` is leaf `index` of the tree of `size` leaves with this head."""
    if not 0 <= index < size:
        return False
    at, last = index, size - 1
    found = leaf
    for other in path:
        if not last:
            return False
        if at & 1 or at == last:
            found = node(other, found)
            while not at & 1 and at:
                at >>= 1
                last >>= 1
        else:
            found = node(found, other)
        at >>= 1
        last >>= 1
    return not last and found == root


def consistent(old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]) -> bool:
    """Whether a proof shows that the tree of `new` leaves extends that of `old`, both with these heads."""
    if not 0 <= old <= new:
        return False
    if old == new:
        return not path and old_root == new_root
    if old == 0:
        return not path and old_root == EMPTY
    nodes = list(path)
    if old & (old - 1) == 0:
        nodes.insert(0, old_root)
    if not nodes:
        return False
    at, last = old - 1, new - 1
    while at & 1:
        at >>= 1
        last >>= 1
    of_old = of_new = nodes[0]
    for other in nodes[1:]:
        if not last:
            return False
        if at & 1 or at == last:
            of_old, of_new = node(other, of_old), node(other, of_new)
            while not at & 1 and at:
                at >>= 1
                last >>= 1
        else:
            of_new = node(of_new, other)
        at >>= 1
        last >>= 1
    return not last and of_old == old_root and of_new == new_root


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)


def _joined(peaks: Sequence[bytes]) -> bytes:
    """The root over whole subtrees that stand beside each other, the largest first."""
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node(peak, root)
    return root
