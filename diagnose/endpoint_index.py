"""Address codes -> places among a job's endpoints, for millions of codes at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from datamodel.reconstructed.streams import Int


class Numbering:
    """Places 0, 1, ... of some address codes; every other code has place -1."""

    __slots__ = ("_table",)

    def __init__(self, codes: Int) -> None:
        """Number `codes` in the order given."""
        self._table = np.full(int(codes.max(initial=-1)) + 2, -1, np.int64)
        self._table[codes] = np.arange(len(codes))

    def of(self, codes: Int) -> Int:
        """(n,) place of each code."""
        known = (codes >= 0) & (codes < len(self._table) - 1)
        return np.asarray(self._table[np.where(known, codes, -1)])


def group_numbers(endpoints: Int, groups: Sequence[Iterable[int]]) -> Int:
    """(e,) number of the first group that holds each endpoint; -1 for none."""
    found = np.full(len(endpoints), -1, np.int64)
    if not groups:
        return found
    sizes = [len(tuple(g)) for g in groups]
    members = np.fromiter((e for g in groups for e in g), np.int64, sum(sizes))
    place = Numbering(endpoints).of(members)
    number = np.repeat(np.arange(len(groups)), sizes)
    known = place >= 0
    found[place[known][::-1]] = number[known][::-1]
    return found
