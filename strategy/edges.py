"""Transfers -> edges: what each directed pair carries every iteration, and whether its two directions act together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.streams import Float, Int

# Bytes an iteration of two streams agree within this share (sequence and ready messages differ by some).
SAME_BYTES = 0.03
# Two directions that are busy at the same time for this share of the lesser one's time belong to one collective.
TOGETHER = 0.5
# Parameters are gathered when the iteration begins, within this share of it; and a third of it counts as used when the
# stream is busy for this share of the iteration in it.
AT_ONCE = 0.1
BUSY = 0.01


@dataclass(frozen=True, slots=True)
class Edge:
    """One directed pair's traffic of one behaviour; parallel queue pairs count as one.

    Attributes:
        src, dst: address codes.
        streams: the streams that make it.
        iteration_bytes: median bytes of an iteration, parallel streams summed.
        transfers: transfers of an iteration.
        phase: mean time of a transfer's end within the iteration, 0 its start, 1 its end.
        first: median time of the first transfer's start after the previous iteration's end, ns.
        throughout: whether it is busy from the iteration's beginning on and in each third of it.
        together: how far the reverse edge of the same bytes acts at the same time, in the slot of the iteration where
            it does least, 0..1; nan without such an edge.
    """

    src: int
    dst: int
    streams: tuple[int, ...]
    iteration_bytes: float
    transfers: int
    phase: float
    first_ns: float
    throughout: bool
    together: float

    @property
    def collective(self) -> bool:
        """Whether it is part of a collective: one way only, or both ways at once in every slot.

        A pipeline takes turns: forward and backward messages may meet in its steady state, but its first message goes
        alone.
        """
        return bool(np.isnan(self.together) or self.together >= TOGETHER)


@dataclass(frozen=True, slots=True)
class _Stream:
    number: int
    src: int
    dst: int
    iteration_bytes: float
    transfers: int
    phase: float
    first_ns: float
    throughout: bool
    iteration: Int
    slot: Int
    start_ns: Int
    end_ns: Int


def edges(transfers: Frame, edges_ns: Int) -> list[Edge]:
    """Edges of a job, by source, destination and stream.

    Args:
        transfers: the job's transfers.
        edges_ns: (iterations,) end of each iteration.
    """
    by_pair: dict[tuple[int, int], list[list[_Stream]]] = {}
    for rows in _rows_by_stream(transfers):
        stream = _stream(transfers, rows, edges_ns)
        if stream is None:
            continue
        groups = by_pair.setdefault((stream.src, stream.dst), [])
        twin = next((g for g in groups if _parallel(g[0], stream)), None)
        if twin is None:
            groups.append([stream])
        else:
            twin.append(stream)
    found = [_edge(g, by_pair.get((d, s), [])) for (s, d), groups in by_pair.items() for g in groups]
    return sorted(found, key=lambda e: e.streams)


def _rows_by_stream(transfers: Frame) -> list[Int]:
    """Row numbers of each stream's transfers in complete iterations but the first, whose beginning is not known."""
    rows = np.flatnonzero(transfers["iteration"] > 0)
    rows = rows[np.lexsort([transfers["start_ns"][rows], transfers["stream"][rows]])]
    return np.split(rows, np.flatnonzero(np.diff(transfers["stream"][rows])) + 1) if len(rows) else []


def _stream(transfers: Frame, rows: Int, edges_ns: Int) -> _Stream | None:
    column = {name: transfers[name][rows] for name in ("iteration", "slot", "bytes", "start_ns", "end_ns")}
    iteration, start, stop = column["iteration"].astype(np.int64), column["start_ns"], column["end_ns"]
    begin, end = edges_ns[iteration - 1], edges_ns[iteration]
    seen = np.unique(iteration)
    first_ns = float(np.median(np.minimum.reduceat(start - begin, np.searchsorted(iteration, seen))))
    return _Stream(
        number=int(transfers["stream"][rows[0]]),
        src=int(transfers["src"][rows[0]]),
        dst=int(transfers["dst"][rows[0]]),
        iteration_bytes=float(np.median(np.bincount(iteration, column["bytes"])[seen])),
        transfers=max(round(len(rows) / len(seen)), 1),
        phase=float(np.median((stop - begin) / np.maximum(end - begin, 1))),
        first_ns=first_ns,
        throughout=_throughout(start, stop, first_ns, edges_ns),
        iteration=iteration,
        slot=column["slot"].astype(np.int64),
        start_ns=start,
        end_ns=stop,
    )


def _throughout(start_ns: Int, end_ns: Int, first_ns: float, edges_ns: Int) -> bool:
    begin, length = edges_ns[:-1], np.diff(edges_ns)
    if first_ns > AT_ONCE * float(np.median(length)):
        return False
    marks = begin[:, None] + length[:, None] * np.arange(4)[None, :] // 3
    busy = np.diff(_busy_until(start_ns, end_ns, marks.ravel()).reshape(marks.shape), axis=1)
    return bool((np.median(busy / length[:, None], axis=0) > BUSY).all())


def _parallel(a: _Stream, b: _Stream) -> bool:
    """Whether two streams of one directed pair move alike at the same time: queue pairs of one connection."""
    if (a.src, a.dst, a.transfers) != (b.src, b.dst, b.transfers):
        return False
    return _alike(a.iteration_bytes, b.iteration_bytes) and _together(a, b) >= 0.8


def _alike(a: float, b: float) -> bool:
    return abs(a - b) <= SAME_BYTES * max(a, b)


def _edge(group: list[_Stream], reverse: list[list[_Stream]]) -> Edge:
    one = group[0]
    together = [
        max(_together(one, g[0]), _in_exchange(one, g[0]))
        for g in reverse
        if _alike(len(g) * g[0].iteration_bytes, len(group) * one.iteration_bytes)
    ]
    return Edge(
        src=one.src,
        dst=one.dst,
        streams=tuple(s.number for s in group),
        iteration_bytes=sum(s.iteration_bytes for s in group),
        transfers=one.transfers,
        phase=one.phase,
        first_ns=one.first_ns,
        throughout=one.throughout,
        together=max(together) if together else float("nan"),
    )


def _together(a: _Stream, b: _Stream) -> float:
    """Share of each transfer of `a` in which `b` is busy too: the least over slots of the median over iterations."""
    length = np.maximum(a.end_ns - a.start_ns, 1)
    busy = _busy_until(b.start_ns, b.end_ns, a.start_ns + length) - _busy_until(b.start_ns, b.end_ns, a.start_ns)
    return min(float(np.median((busy / length)[a.slot == slot])) for slot in np.unique(a.slot))


def _in_exchange(a: _Stream, b: _Stream) -> float:
    """1 where each transfer begins with its counterpart, 0 where half the time to the next one lies between them.

    Short messages of an exchange all to all may miss one another by the jitter of the ranks, and yet belong to one
    round; a pipeline's answer comes at the earliest when the next stage has computed it, about when the next message
    goes. The least over slots of the median over iterations; 0 where an iteration holds no two transfers to compare.
    """
    if a.transfers != b.transfers or a.transfers < 2:
        return 0.0
    key_a, key_b = (s.iteration * (1 << 20) + s.slot for s in (a, b))
    _, at_a, at_b = np.intersect1d(key_a, key_b, return_indices=True)
    if 2 * len(at_a) < len(key_a):
        return 0.0
    step = np.where(np.diff(a.iteration) == 0, np.diff(a.start_ns), 0)
    spacing = np.maximum(np.concatenate([[0], step]), np.concatenate([step, [0]]))[at_a]
    apart = np.abs(a.start_ns[at_a] - b.start_ns[at_b]) / np.maximum(spacing, 1)
    slots = a.slot[at_a]
    worst = max(float(np.median(apart[slots == slot])) for slot in np.unique(slots))
    return max(1.0 - 2.0 * worst, 0.0)


def _busy_until(start_ns: Int, end_ns: Int, at_ns: Int) -> Float:
    """Time a stream has been busy up to each instant; its transfers, in order, do not overlap one another."""
    length = np.concatenate([[0], np.cumsum(end_ns - start_ns)])
    k = np.searchsorted(start_ns, at_ns, side="right")
    last = np.maximum(k - 1, 0)
    over = np.maximum(end_ns[last] - at_ns, 0)
    return np.where(k > 0, length[k] - np.where(at_ns < end_ns[last], over, 0), 0).astype(np.float64)
