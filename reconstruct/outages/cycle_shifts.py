"""Shifts of the cycle that bring what a stream sent behind a silence over what it sent before.

Bytes come back every iteration, so that the pauses behind a silence lie at the same places of the cycle as those
before it, moved by what was lost, but for whole cycles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from datamodel.reconstructed.streams import Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.outages.job_clock import JobClock
from reconstruct.outages.silences import SharedSilence
from reconstruct.periods.byte_period import StreamPeriods, find_periods, latest_ends
from reconstruct.periods.cycles import CycleTable, cut_cycles
from reconstruct.periods.folding import thinned

# Two places are the same within this share of the cycle: those of two short stretches are less sharp than of one long.
SAME_PLACE = 0.012
# Shifts under which this share of the best one's pauses meet are as good, and so many of them are looked at.
AS_GOOD, MOST_SHIFTS = 0.8, 8
# Pauses that are tried for what they may be on the other side: the longest.
TRIED_BEFORE, TRIED_BEHIND = 8, 4
# Cycles next to a silence that show how long one takes: a job that turned slow long before has been so since.
CYCLES_BESIDE = 5


@dataclass(frozen=True, slots=True)
class CycleShifts:
    """By how much streams may be shifted: (n,) each, or (n, shifts), nan beyond those that fit.

    Attributes:
        stream, row: a stream, and its last row before the silence.
        passed_ns: how long it was silent.
        cycle_bytes: of a cycle before it.
        cycle_ns, behind_ns: of a cycle, the usual one of those just before and just behind.
        bytes: what is missing but for whole cycles.
        took_ns: how long as much took in cycles before.
        met_ratio: time of the pauses that meet, as a part of what meets at best.
        others_go_on: whether times are those of a clock that streams drive which went on.
    """

    stream: Int
    row: Int
    passed_ns: Float
    cycle_bytes: Float
    cycle_ns: Float
    behind_ns: Float
    bytes: Float
    took_ns: Float
    met_ratio: Float
    others_go_on: bool

    def __len__(self) -> int:
        return len(self.stream)

    def take(self, index: Int) -> CycleShifts:
        """Some of them."""
        return replace(self, **{name: getattr(self, name)[index] for name in _EACH})


_EACH = tuple(CycleShifts.__dataclass_fields__)[:-1]


def cut_halves(streams: Streams, silence: SharedSilence, coherence: float) -> tuple[Streams, CycleTable]:
    """The streams of a silence in halves, and of those with a rhythm the halves that show it better: all the longer.

    Args:
        streams: data rows by connection.
        silence: that several share.
        coherence: least autocorrelation of what counts as a rhythm.

    Returns:
        Stream 2 n is what the silence's nth one sent before, stream 2 n + 1 what it sent behind; cycles of either.
    """
    halves = _halves(streams, silence)
    size = halves.total_bytes()
    longer = int(size[1::2].sum() > size[::2].sum())
    some = np.arange(longer, len(halves), 2)
    heard = find_periods(halves, some, coherence)
    rhythm = np.flatnonzero(heard.coherence > 0)
    return halves, cut_cycles(halves, some[rhythm], StreamPeriods(*(column[rhythm] for column in heard)))


def find_shifts(halves: Streams, part: CycleTable, silence: SharedSilence, clock: JobClock | None) -> CycleShifts:
    """Bring both halves of some streams together; those of which the shorter one shows no cycle are left out.

    Args:
        halves: see `cut_halves`.
        part: cycles of one of the halves of some streams.
        silence: between them.
        clock: what others show of how the job went on.
    """
    beats = StreamPeriods(part.beat_bytes, part.unit_bytes, np.ones(len(part)))
    other = cut_cycles(halves, part.stream ^ 1, beats)
    part = part.take(np.flatnonzero(np.isin(part.stream ^ 1, other.stream)))
    before, behind = (part, other) if (part.stream % 2 == 0).all() else (other, part)
    own = before.stream // 2
    pairs = np.unique(own)
    halves = halves.take(np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel())  # a clock is read for no other's rows
    at = 2 * np.searchsorted(pairs, own)
    start_ns, end_ns = to_contiguous(halves.start_ns), to_contiguous(halves.end_ns)
    if clock is not None:
        start_ns, end_ns = clock.read(start_ns), clock.read(end_ns)
    columns = halves.offsets, start_ns, end_ns, to_contiguous(halves.bytes)
    lost_bytes, took_ns, met_ratio, passed_ns, beside_ns = _each_shift(
        at, *_columns(before), at + 1, *_columns(behind), *columns
    )
    if clock is not None:
        cycle_ns = behind_ns = np.full(len(before), clock.cycle_ns)
    else:
        usual_ns = np.stack([before.cycle_ns, behind.cycle_ns])
        cycle_ns, behind_ns = np.where(beside_ns > 0, beside_ns, usual_ns)
    return CycleShifts(
        stream=silence.stream[own],
        row=silence.row[own],
        passed_ns=passed_ns,
        cycle_bytes=before.quantum_bytes,
        cycle_ns=cycle_ns,
        behind_ns=behind_ns,
        bytes=lost_bytes,
        took_ns=took_ns,
        met_ratio=met_ratio,
        others_go_on=clock is not None,
    )


def _halves(streams: Streams, silence: SharedSilence) -> Streams:
    """The streams of a silence, each as two: its rows before, and those behind."""
    own = streams.take(silence.stream)
    cut = own.offsets[:-1] + silence.row - streams.offsets[silence.stream] + 1
    offsets = np.empty(2 * len(own) + 1, np.int64)
    offsets[::2], offsets[1::2] = own.offsets, cut
    each = ("src", "dst", "name", "trains", "watch_start_ns", "watch_end_ns")
    twice: dict[str, Any] = {name: np.repeat(getattr(own, name), 2) for name in each}
    return replace(own, offsets=offsets, **twice)


def _columns(cycles: CycleTable) -> tuple[Float, Float, Int, Float, Float]:
    return cycles.quantum_bytes, cycles.least_bytes, cycles.place_offsets, cycles.places, cycles.pause_ns


@compiled
def _each_shift(
    stream: Int,
    quantum_bytes: Float,
    least_bytes: Float,
    offsets: Int,
    places: Float,
    pause_ns: Float,
    behind: Int,
    behind_quantum_bytes: Float,
    behind_least_bytes: Float,
    behind_offsets: Int,
    behind_places: Float,
    behind_pause_ns: Float,
    row_offsets: Int,
    start_ns: Int,
    end_ns: Int,
    size: Int,
) -> tuple[Float, Float, Float, Float, Float]:
    lost_bytes = np.full((len(stream), MOST_SHIFTS), np.nan)
    took_ns, met_ratio, passed_ns = lost_bytes.copy(), np.zeros(lost_bytes.shape), np.zeros(len(stream))
    beside_ns = np.empty((2, len(stream)))
    for n in range(len(stream)):
        low, high = row_offsets[stream[n]], row_offsets[stream[n] + 1]
        rows, cumulative = thinned(size[low:high], least_bytes[n])
        starts, ends = start_ns[low:high][rows], latest_ends(end_ns[low:high][rows])
        low, high = row_offsets[behind[n]], row_offsets[behind[n] + 1]
        then, then_cumulative = thinned(size[low:high], behind_least_bytes[n])
        then_starts = start_ns[low:high][then]
        passed_ns[n] = then_starts[0] - ends[-1]
        beside_ns[0, n] = _last_cycles_ns(ends, cumulative, quantum_bytes[n])
        beside_ns[1, n] = _first_cycles_ns(then_starts, then_cumulative, behind_quantum_bytes[n])
        own, other = slice(offsets[n], offsets[n + 1]), slice(behind_offsets[n], behind_offsets[n + 1])
        quantum, total = quantum_bytes[n], float(cumulative[-1])
        scale = quantum / behind_quantum_bytes[n]
        shifts, met = _best_shifts(
            places[own], pause_ns[own], behind_places[other] * scale, behind_pause_ns[other], quantum
        )
        for k in range(len(shifts)):
            missing = (shifts[k] - total) % quantum
            missing = 0.0 if min(missing, quantum - missing) < SAME_PLACE * quantum else missing
            lost_bytes[n, k], met_ratio[n, k] = missing, met[k]
            took_ns[n, k] = _took_ns(starts, ends, cumulative, missing, quantum)
    return lost_bytes, took_ns, met_ratio, passed_ns, beside_ns


@compiled
def _best_shifts(
    places: Float, pause_ns: Float, other: Float, other_pause_ns: Float, quantum: float
) -> tuple[Float, Float]:
    """Shifts of other places under which most time of pauses meets, the best first; and how much, of the best."""
    order, other_order = np.argsort(pause_ns)[::-1], np.argsort(other_pause_ns)[::-1]
    tried = np.empty(TRIED_BEFORE * TRIED_BEHIND)
    met = np.empty(len(tried))
    n = 0
    for i in order[:TRIED_BEFORE]:
        for j in other_order[:TRIED_BEHIND]:
            shift = (places[i] - other[j]) % quantum
            known = False
            for m in range(n):
                known = known or _apart(tried[m], shift, quantum) < SAME_PLACE * quantum
            if not known:
                tried[n] = shift
                met[n] = _met_ns(places, pause_ns, other, other_pause_ns, shift, quantum)
                n += 1
    best = np.argsort(met[:n])[::-1][:MOST_SHIFTS]
    best = best[met[best] >= AS_GOOD * met[best[0]]]
    return tried[best], met[best] / met[best[0]]


@compiled
def _apart(one: float, other: float, quantum: float) -> float:
    away = abs(one - other)
    return min(away, quantum - away)


@compiled
def _met_ns(places: Float, pause_ns: Float, other: Float, other_pause_ns: Float, shift: float, quantum: float) -> float:
    """Time of pauses that meet others under a shift."""
    met = 0.0
    for j in range(len(other)):
        at = (other[j] + shift) % quantum
        best = 0.0
        for i in range(len(places)):
            if _apart(places[i], at, quantum) < SAME_PLACE * quantum:
                best = max(best, min(pause_ns[i], other_pause_ns[j]))
        met += best
    return met


@compiled
def _took_ns(starts: Int, ends: Int, cumulative: Int, missing: float, quantum: float) -> float:
    """How long it took from the end of a row at the last one's place of the cycle until `missing` bytes later."""
    total, slack = float(cumulative[-1]), SAME_PLACE * quantum
    took = np.empty(CYCLES_BESIDE)
    n = 0
    for back in range(1, CYCLES_BESIDE + 1):
        first = total - back * quantum
        if first < -slack:
            break
        stop = np.searchsorted(cumulative, first - slack)
        go = np.searchsorted(cumulative, first + missing + slack, side="right")
        if go >= len(cumulative):
            continue
        # a stretch that begins with the stream itself has no row before it
        stopped_ns = ends[stop] if first > slack else starts[0]
        took[n] = starts[go] - stopped_ns
        n += 1
    return float(np.median(took[:n])) if n else np.nan


@compiled
def _last_cycles_ns(ends: Int, cumulative: Int, quantum: float) -> float:
    """The usual time of a stream's last cycles, counted back from its last row; nan without a whole one."""
    total, slack = float(cumulative[-1]), SAME_PLACE * quantum
    took = np.empty(CYCLES_BESIDE)
    n = 0
    until = len(ends) - 1
    for back in range(1, CYCLES_BESIDE + 1):
        place = total - back * quantum - slack
        if place <= 0:
            break
        since = int(np.searchsorted(cumulative, place))
        took[n] = ends[until] - ends[since]
        until = since
        n += 1
    return float(np.median(took[:n])) if n else np.nan


@compiled
def _first_cycles_ns(starts: Int, cumulative: Int, quantum: float) -> float:
    """The usual time of a stream's first cycles, counted from its first row; nan without a whole one."""
    took = np.empty(CYCLES_BESIDE)
    n = since = 0
    for ahead in range(1, CYCLES_BESIDE + 1):
        until = int(np.searchsorted(cumulative, (ahead - SAME_PLACE) * quantum)) + 1
        if until >= len(starts):
            break
        took[n] = starts[until] - starts[since]
        since = until
        n += 1
    return float(np.median(took[:n])) if n else np.nan
