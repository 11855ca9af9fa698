"""How many bytes streams lost in a silence: from the place of the cycle at which they stopped to where they go on.

How many whole cycles lie between shows in the time that has passed: what lies between the two places takes about as
long as it did in the cycles before, at a pace that all streams of a job share. Who only pauses goes on where it
stopped, however long that took: nothing was lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Float, Int, Streams
from reconstruct.jit import to_contiguous
from reconstruct.jobs.job_fragments import align_to_iteration, connected
from reconstruct.numeric.robust_statistics import evenly
from reconstruct.outages.cycle_shifts import CycleShifts, cut_halves, find_shifts
from reconstruct.outages.job_clock import ENOUGH, find_job_clock
from reconstruct.outages.silences import SharedSilence, count_rows

# What is between the places took so long within this share of a cycle, or something else happened than a loss.
IN_TIME = 0.12
# Paces that are tried lie so much beyond those before and behind, or beyond that of streams that go on.
BEYOND, BEYOND_SEEN, PACES = 0.1, 0.04, 61
# After more cycles, a pace that may be so much beyond fits any time; and a job that is so many times slower or faster
# behind a silence does other work, or another one does.
MOST_CYCLES, LIKE_PACE = 5, 2.5
# So many streams must agree, of all jobs together that lost something: whoever was away was so for all of them. Those
# of jobs that only paused say nothing of it.
MOST_AGREE = 0.8
# Streams that go on where they stopped have pauses that meet as well so, on average.
MEETS_AS_WELL = 0.9
# One stream's pauses may meet by chance.
FEWEST_STREAMS = 2


class LostCycles(NamedTuple):
    """What was lost, (n,) each.

    Attributes:
        stream: its number, ascending.
        row: its last row before the silence, counted from its first.
        bytes: how many are missing.
        cycle_bytes: of a cycle.
    """

    stream: Int
    row: Int
    bytes: Int
    cycle_bytes: Int


_NOTHING = LostCycles(*np.zeros((4, 0), np.int64))


def find_lost_cycles(streams: Streams, silence: SharedSilence, coherence: float) -> LostCycles:
    """Estimate what streams lost in a silence; nothing where it was none but a pause.

    Args:
        streams: data rows by connection.
        silence: that several streams share.
        coherence: least autocorrelation of what counts as a rhythm.
    """
    if not _may_be_loss(streams, silence, coherence):
        return _NOTHING
    halves, cycles = cut_halves(streams, silence, coherence)
    aligned = align_to_iteration(halves, connected(halves, cycles), cycles.stream)
    parts = [p for p in aligned if len(p) >= FEWEST_STREAMS]
    clocks = [find_job_clock(streams, silence, part, coherence) for part in parts]
    shifts = [find_shifts(halves, part, silence, clock) for part, clock in zip(parts, clocks, strict=True)]
    shifts = [some for some in shifts if len(some) >= FEWEST_STREAMS]
    found = [(len(some), *_lost(streams, some)) for some in shifts]
    losing = [(n, agree) for n, lost, agree in found if len(lost.stream)]
    if sum(agree for _, agree in losing) < MOST_AGREE * sum(n for n, _ in losing):
        return _NOTHING
    columns = [np.concatenate(column) for column in zip(_NOTHING, *(lost for _, lost, _ in found), strict=True)]
    lost = LostCycles(*(column[np.argsort(columns[0])] for column in columns))
    return _NOTHING if _were_seen(streams, lost) else lost


def _were_seen(streams: Streams, lost: LostCycles) -> bool:
    """Whether exporters were there: senders of some silent streams sent others, and receivers of some received others.

    In an evaluation gradients rest while activations go on.
    """
    if not len(lost.stream):
        return False
    row = streams.offsets[lost.stream] + lost.row
    first_ns, last_ns = int(streams.end_ns[row].max()), int(streams.start_ns[row + 1].min())
    sending = count_rows(streams.offsets, to_contiguous(streams.start_ns), first_ns, last_ns) > 0
    sending[lost.stream] = False
    sent = np.isin(streams.src[lost.stream], streams.src[sending]).mean()
    received = np.isin(streams.dst[lost.stream], streams.dst[sending]).mean()
    return bool(last_ns <= first_ns or min(sent, received) > 1 - MOST_AGREE)


def _may_be_loss(streams: Streams, silence: SharedSilence, coherence: float) -> bool:
    """Whether some of many streams did anything but pause; each is looked at alone, which is quick.

    Not so where streams of the same endpoints went on: then all must be looked at together.
    """
    silent, going_on = silence.stream, silence.going_on
    beside = np.unique([streams.src[going_on], streams.dst[going_on]])
    some = evenly(len(silent), ENOUGH)
    if len(some) == len(silent) or np.isin(streams.src[silent], beside).mean() > 1 - MOST_AGREE:
        return True
    few = silence._replace(stream=silent[some], row=silence.row[some])
    shifts = find_shifts(*cut_halves(streams, few, coherence), few, None)
    return len(shifts) >= FEWEST_STREAMS and _is_loss(shifts, np.zeros(0))


def _lost(streams: Streams, fit: CycleShifts) -> tuple[LostCycles, int]:
    """What streams of one job lost at the pace at which most agree, and how many do; nothing where they only paused."""
    off, cycles, shift = _at_pace(fit, _pace(fit))
    good = off < IN_TIME
    if not fit.others_go_on:
        good &= (cycles <= MOST_CYCLES) & (abs(np.log(np.median(fit.behind_ns / fit.cycle_ns))) < np.log(LIKE_PACE))
    if not _is_loss(fit, cycles):
        return _NOTHING, 0
    missing = fit.bytes[np.arange(len(shift)), shift] + cycles * fit.cycle_bytes
    kept = np.flatnonzero(good & (missing > 0))
    row = fit.row[kept] - streams.offsets[fit.stream[kept]]
    missing_bytes, cycle_bytes = (np.rint(size[kept]).astype(np.int64) for size in (missing, fit.cycle_bytes))
    return LostCycles(fit.stream[kept], row, missing_bytes, cycle_bytes), int(good.sum())


def _is_loss(fit: CycleShifts, cycles: Float) -> bool:
    """Whether streams lost something, and did not pause.

    Others went on; or their pauses meet better if they do not go on where they stopped; or they would not have paused
    for the same time.
    """
    stays = fit.bytes == 0
    meet = np.where(stays, fit.met_ratio, 0.0).max(axis=1)
    extra = np.where(stays, fit.passed_ns[:, None] - fit.took_ns, np.nan) / fit.cycle_ns[:, None]
    known = extra[np.isfinite(extra)]
    apart = np.ptp(np.quantile(known, [1 - MOST_AGREE, MOST_AGREE])) if len(known) else 0.0
    going_on = fit.others_go_on and (cycles > 0).any()
    return bool(going_on or meet.mean() < MEETS_AS_WELL or apart > 2 * IN_TIME)


def _pace(fit: CycleShifts) -> float:
    """The pace, as a part of that before, at which most streams agree; one beyond those that were seen must fit better.

    It is between those before and behind, or that of streams that go on, and where it is not, it is not far.
    """
    sample = fit.take(evenly(len(fit.stream), ENOUGH))
    ratio = float(np.median(fit.behind_ns / fit.cycle_ns))
    low, high, beyond = min(1.0, ratio), max(1.0, ratio), BEYOND_SEEN if fit.others_go_on else BEYOND
    paces = np.geomspace(low / (1 + beyond), high * (1 + beyond), PACES)
    off = _away(sample, paces)[1].min(axis=2)
    merit = np.maximum(1 - (off / IN_TIME) ** 2, 0).mean(axis=1)
    away = np.maximum(np.maximum(np.log(low / paces), np.log(paces / high)), 0)
    return float(paces[np.argmax(merit - 0.5 * (away / beyond) ** 2)])


def _at_pace(fit: CycleShifts, pace: float) -> tuple[Float, Float, Int]:
    """(n,) by how much of a cycle the time that passed is off, at best; cycles that were lost for that; which shift."""
    cycles, off = (of[0] for of in _away(fit, np.array([pace])))
    shift = np.argmin(off, axis=1)
    rows = np.arange(len(shift))
    return off[rows, shift], cycles[rows, shift], shift


def _away(fit: CycleShifts, paces: Float) -> tuple[Float, Float]:
    """(paces, n, shifts) cycles that were lost, and by how much of one the time that passed is off; inf for none."""
    own_ns = (paces[:, None] * fit.cycle_ns)[:, :, None]
    passed = fit.passed_ns[:, None] / own_ns - fit.took_ns / fit.cycle_ns[:, None]
    cycles = np.maximum(np.rint(passed), 0)
    return cycles, np.nan_to_num(np.abs(passed - cycles), nan=np.inf)
