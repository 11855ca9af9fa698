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
        together: share of time that the reverse edge of the same bytes is busy too, in the slot of the iteration where
            it is least; nan without such an edge.
    """

    src: int
    dst: int
    streams: tuple[int, ...]
    iteration_bytes: float
    transfers: int
    phase: float
    first_ns: float
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
    slot: Int
    start_ns: Int
    end_ns: Int


def edges(transfers: Frame, edges_ns: Int) -> list[Edge]:
    """Edges of a job, by source, destination and stream.

    Args:
        transfers: the job's transfers.
        edges_ns: (iterations,) end of each iteration.
    """
    found = [s for n in np.unique(transfers["stream"]) if (s := _stream(transfers, int(n), edges_ns)) is not None]
    groups: list[list[_Stream]] = []
    for stream in found:
        twin = next((g for g in groups if _parallel(g[0], stream)), None)
        if twin is None:
            groups.append([stream])
        else:
            twin.append(stream)
    return [_edge(group, groups) for group in groups]


def _stream(transfers: Frame, number: int, edges_ns: Int) -> _Stream | None:
    own = transfers.take((transfers["stream"] == number) & (transfers["iteration"] > 0))
    if not len(own):
        return None
    iteration = own["iteration"].astype(np.int64)
    begin, end = edges_ns[iteration - 1], edges_ns[iteration]
    seen = len(np.unique(iteration))
    phase = float(np.median((own["end_ns"] - begin) / np.maximum(end - begin, 1)))
    first = own["slot"] == own["slot"].min()
    return _Stream(
        number=number,
        src=int(own["src"][0]),
        dst=int(own["dst"][0]),
        iteration_bytes=float(np.median(np.bincount(iteration, own["bytes"])[np.unique(iteration)])),
        transfers=max(round(len(own) / seen), 1),
        phase=phase,
        first_ns=float(np.median((own["start_ns"] - begin)[first])),
        slot=own["slot"].astype(np.int64),
        start_ns=own["start_ns"],
        end_ns=own["end_ns"],
    )


def _parallel(a: _Stream, b: _Stream) -> bool:
    """Whether two streams of one directed pair move alike at the same time: queue pairs of one connection."""
    if (a.src, a.dst, a.transfers) != (b.src, b.dst, b.transfers):
        return False
    return _alike(a.iteration_bytes, b.iteration_bytes) and _together(a, b) >= 0.8


def _alike(a: float, b: float) -> bool:
    return abs(a - b) <= SAME_BYTES * max(a, b)


def _edge(group: list[_Stream], groups: list[list[_Stream]]) -> Edge:
    one = group[0]
    reverse = [
        _together(one, g[0])
        for g in groups
        if (g[0].src, g[0].dst) == (one.dst, one.src)
        and _alike(len(g) * g[0].iteration_bytes, len(group) * one.iteration_bytes)
    ]
    return Edge(
        src=one.src,
        dst=one.dst,
        streams=tuple(s.number for s in group),
        iteration_bytes=sum(s.iteration_bytes for s in group),
        transfers=one.transfers,
        phase=one.phase,
        first_ns=one.first_ns,
        together=max(reverse) if reverse else float("nan"),
    )


def _together(a: _Stream, b: _Stream) -> float:
    """Share of each transfer of `a` during which `b` is busy too: the least over slots of the median over iterations."""
    length = np.maximum(a.end_ns - a.start_ns, 1)
    share = (_busy_until(b, a.start_ns + length) - _busy_until(b, a.start_ns)) / length
    return min(float(np.median(share[a.slot == slot])) for slot in np.unique(a.slot))


def _busy_until(stream: _Stream, at_ns: Int) -> Float:
    """Time a stream has been busy up to each instant; its transfers do not overlap one another."""
    length = np.concatenate([[0], np.cumsum(stream.end_ns - stream.start_ns)])
    k = np.searchsorted(stream.start_ns, at_ns, side="right")
    last = np.maximum(k - 1, 0)
    over = np.maximum(stream.end_ns[last] - at_ns, 0)
    return np.where(k > 0, length[k] - np.where(at_ns < stream.end_ns[last], over, 0), 0).astype(np.float64)
