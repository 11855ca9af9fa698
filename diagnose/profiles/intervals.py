"""Arithmetic of intervals: unions, what lies outside of them, and nesting. Times in ns, columns of equal length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reconstruct.jit import compiled

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Union:
    """Disjoint intervals in order of time."""

    start_ns: Ints
    end_ns: Ints

    def covered(self, start_ns: Ints, end_ns: Ints) -> Ints:
        """How much of each interval the union covers."""
        return self._before(end_ns) - self._before(start_ns)

    def joined(self, start_ns: Ints, end_ns: Ints) -> Union:
        """The union with more intervals."""
        return union_of(np.concatenate([self.start_ns, start_ns]), np.concatenate([self.end_ns, end_ns]))

    def _before(self, times_ns: Ints) -> Ints:
        lengths = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.end_ns - self.start_ns)])
        begun = np.searchsorted(self.start_ns, times_ns, side="right")
        open_ns = np.maximum(np.concatenate([np.zeros(1, np.int64), self.end_ns])[begun] - times_ns, 0)
        return np.where(begun > 0, lengths[begun] - open_ns, 0)


EMPTY = Union(np.zeros(0, np.int64), np.zeros(0, np.int64))


def union_of(start_ns: Ints, end_ns: Ints) -> Union:
    """The union of intervals in any order."""
    if not len(start_ns):
        return EMPTY
    order = np.argsort(start_ns, kind="stable")
    starts, ends = start_ns[order], np.maximum.accumulate(end_ns[order])
    first = np.concatenate([[True], starts[1:] > ends[:-1]])
    return Union(starts[first], ends[np.concatenate([first[1:], [True]])])


def trimmed(start_ns: Ints, end_ns: Ints) -> tuple[Ints, Ints]:
    """Intervals in order of their begin without what earlier ones cover, so that every moment belongs to one."""
    if not len(start_ns):
        return start_ns, end_ns
    covered_ns = np.concatenate([start_ns[:1], np.maximum.accumulate(end_ns)[:-1]])
    begin_ns = np.maximum(start_ns, covered_ns)
    return begin_ns, np.maximum(end_ns, begin_ns)


def parents(start_ns: Ints, end_ns: Ints) -> Ints:
    """The innermost interval that holds each one, -1 none; they are in order of begin, longer ones first."""
    found = np.full(len(start_ns), -1, np.int64)
    _fill_parents(start_ns, end_ns, found, np.zeros(len(start_ns), np.int64))
    return found


@compiled
def _fill_parents(start_ns: Ints, end_ns: Ints, found: Ints, stack: Ints) -> None:
    depth = 0
    for n in range(len(start_ns)):
        while depth and end_ns[stack[depth - 1]] < end_ns[n]:
            depth -= 1
        if depth:
            found[n] = stack[depth - 1]
        stack[depth] = n
        depth += 1


def outermost_of_name(parent: Ints, name: Ints) -> npt.NDArray[np.bool_]:
    """Whether no interval around one bears its name: recursion counts once."""
    found = np.ones(len(parent), np.bool_)
    _fill_outermost(parent, name, found)
    return found


@compiled
def _fill_outermost(parent: Ints, name: Ints, found: npt.NDArray[np.bool_]) -> None:
    for n in range(len(parent)):
        around = parent[n]
        while around >= 0:
            if name[around] == name[n]:
                found[n] = False
                break
            around = parent[around]
