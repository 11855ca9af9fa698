"""Linear algebra over GF(2): vectors of bits packed into words, the subspace that some of them span, cosets of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.streams import Int

Words = npt.NDArray[np.uint64]
WORD_BITS = 64


def pack(fields: list[tuple[npt.NDArray[np.uint64], int]]) -> Words:
    """(n, words) bits of several fields next to one another, each (n,) values with its number of bits, at most 64."""
    width = sum(bits for _, bits in fields)
    count = len(fields[0][0]) if fields else 0
    packed = np.zeros((count, max(-(-width // WORD_BITS), 1)), np.uint64)
    at = 0
    for values, bits in fields:
        word, shift = divmod(at, WORD_BITS)
        packed[:, word] |= values << np.uint64(shift)
        if shift + bits > WORD_BITS:
            packed[:, word + 1] |= values >> np.uint64(WORD_BITS - shift)
        at += bits
    return packed


@dataclass(frozen=True, slots=True)
class Subspace:
    """A subspace by a basis in reduced echelon form: no other vector of it has a vector's pivot.

    Attributes:
        basis: (rank, words).
        pivot: (rank,) bit of each vector.
    """

    basis: Words
    pivot: Int

    def residual(self, vectors: Words) -> Words:
        """(n, words) what each vector has beyond the subspace; vectors of one coset have the same."""
        rest = vectors.copy()
        for row, bit in zip(self.basis, self.pivot.tolist(), strict=True):
            rest[_has(rest, bit)] ^= row
        return rest


def span(vectors: Words) -> Subspace:
    """The subspace that (n, words) vectors span, by Gauss-Jordan elimination on all rows at once."""
    rows = vectors[vectors.any(axis=1)]
    found: list[int] = []
    pivots: list[int] = []
    free = np.ones(len(rows), np.bool_)
    used = np.bitwise_or.reduce(rows, axis=0)[None, :] if len(rows) else rows
    for bit in [bit for bit in range(rows.shape[1] * WORD_BITS) if _has(used, bit).any()]:
        has = _has(rows, bit)
        candidates = np.flatnonzero(has & free)
        if not len(candidates):
            continue
        pivot = int(candidates[0])
        has[pivot] = False
        rows[has] ^= rows[pivot]
        free[pivot] = False
        found.append(pivot)
        pivots.append(bit)
    return Subspace(rows[found], np.array(pivots, np.int64))


def _has(rows: Words, bit: int) -> npt.NDArray[np.bool_]:
    word, shift = divmod(bit, WORD_BITS)
    return np.asarray((rows[:, word] >> np.uint64(shift)) & np.uint64(1), np.bool_)
