"""The period of a stream on its own byte axis: the same bytes come back every iteration, however slow it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import find_peaks

from datamodel.streams import Float, Int, Streams

# Resolution of the byte axis. A cycle must span some tens of bins for its pauses to stay apart: longer streams are
# looked at in a stretch from their middle.
BINS = 8192
MIN_ROWS = 12
MIN_CYCLES = 3
# A stretch of fewer rows has few enough cycles to be seen at once.
MANY_ROWS = 1000
# Cycles of fewer bins run into one another.
FEWEST_BINS = 50
# A candidate within this share of the best comb is as good: then the shorter period is the fundamental.
AS_GOOD_RATIO = 0.9
UNIT_RATIO = 0.5
# A pause is a gap this many times as long as the stream's median gap.
PAUSE_RATIO = 5.0


@dataclass(frozen=True, slots=True)
class Correlogram:
    """Autocorrelation of a stream's pauses against distance in bytes.

    Attributes:
        values: (BINS,) autocorrelation, 1 at lag 0, corrected for the shrinking overlap.
        total_bytes: bytes of the whole stream; one bin is `total_bytes / BINS`.
    """

    values: Float
    total_bytes: int

    def comb(self, lag: float, slack: float = 0.0) -> float:
        """Mean autocorrelation at up to eight multiples of `lag` (bins), each within +-(1 bin + slack) of its place."""
        heights = [self._near(m * lag, 1.5 + slack * m * lag) for m in range(1, self._teeth(lag) + 1)]
        return float(np.mean(heights)) if heights else 0.0

    def refine(self, lag: float, slack: float = 0.02) -> float:
        """The lag near `lag` that its own multiples agree on: each further tooth divides the error by its number."""
        for m in range(1, self._teeth(lag) + 1):
            reach = 1.5 + (slack * lag if m == 1 else 0.75)
            lag = self._peak(m * lag, reach) / m
        return lag

    def _teeth(self, lag: float) -> int:
        return min(8, int(0.6 * BINS / lag))

    def _window(self, centre: float, reach: float) -> tuple[int, int]:
        return max(1, int(np.floor(centre - reach))), min(BINS - 1, int(np.ceil(centre + reach)) + 1)

    def _near(self, centre: float, reach: float) -> float:
        low, high = self._window(centre, reach)
        return float(self.values[low:high].max()) if low < high else 0.0

    def _peak(self, centre: float, reach: float) -> float:
        low, high = self._window(centre, reach)
        at = low + int(np.argmax(self.values[low:high]))
        if not 0 < at < BINS - 1:
            return float(at)
        left, top, right = self.values[at - 1 : at + 2]
        bend = left - 2 * top + right
        return at + float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend < 0 else float(at)


def pauses_ns(streams: Streams, stream: int) -> Int:
    """(rows - 1,) idle time between each row and the next of one stream; rows that overlap have none."""
    rows = streams.rows(stream)
    ends = np.maximum.accumulate(streams.end_ns[rows])
    return np.maximum(streams.start_ns[rows][1:] - ends[:-1], 0)


def pause_threshold_ns(gap_ns: Float, trains: bool) -> float:
    """What a gap must exceed to be a pause between messages.

    Args:
        gap_ns: gaps between the rows of a stream.
        trains: whether rows are packet trains. Then five median gaps; 0 where that is of the order of the longest
            gaps, or rows are flow records: every row is a message of its own already, and every gap a pause.
    """
    threshold = PAUSE_RATIO * float(np.median(gap_ns))
    return threshold if trains and threshold < 0.5 * float(np.sort(gap_ns)[-3:][0]) else 0.0


def _cap_ns(gap_ns: Float) -> float:
    """Length at which pauses are clipped: those longer, the three longest aside, hold under 40 % of all idle time."""
    longest: Float = np.sort(gap_ns)[::-1]
    clipped: Float = np.minimum(longest, longest[min(2, len(longest) - 1)])
    return float(clipped[np.searchsorted(np.cumsum(clipped), 0.4 * clipped.sum())])


def correlogram(streams: Streams, stream: int, middle_share: float = 1.0) -> Correlogram | None:
    """Autocorrelate a stream's pauses over its byte axis; None where it has too few rows to have a rhythm.

    Only the rows of the middle `middle_share` of the stream are looked at.

    1. Gaps between the packets of one message count nothing (`pause_threshold_ns`).
    2. Pauses are clipped so that rare ones, a checkpoint or an evaluation, do not outweigh the rhythm (`_cap_ns`).
    3. Pauses are put into bins of the cumulative bytes before them and autocorrelated by FFT.
    """
    whole = streams.rows(stream)
    aside = int((whole.stop - whole.start) * (1 - middle_share) / 2)
    rows = slice(whole.start + aside, whole.stop - aside)
    if rows.stop - rows.start < MIN_ROWS:
        return None
    cumulative = np.cumsum(streams.bytes[rows])
    gap = pauses_ns(streams, stream)[aside : whole.stop - whole.start - aside - 1].astype(np.float64)
    threshold = pause_threshold_ns(gap, bool(streams.trains[stream]))
    weight = np.where(gap > threshold, np.minimum(gap, _cap_ns(gap)), 0.0)
    place = np.minimum(cumulative[:-1] * BINS // cumulative[-1], BINS - 1)
    signal: Float = np.bincount(place, weight, BINS).astype(np.float64)
    signal = np.asarray(np.convolve(signal, (1 / 3, 2 / 3, 1.0, 2 / 3, 1 / 3), "same"), np.float64)
    return Correlogram(_autocorrelation(signal - signal.mean()), int(cumulative[-1]))


@dataclass(frozen=True, slots=True)
class Beat:
    """What repeats in a stream.

    Attributes:
        quantum_bytes: the fundamental, bytes after which the pauses come back.
        unit_bytes: the shortest distance at which anything comes back, one message of many alike; divides the quantum
            of the whole job even where the stream's own fundamental is mistaken.
        coherence: mean autocorrelation at multiples of the quantum, 0..1.
    """

    quantum_bytes: float
    unit_bytes: float
    coherence: float


def fundamental(found: Correlogram) -> Beat | None:
    """The shortest lag whose comb is as good as the best one's, or None without any peak."""
    reach = BINS // MIN_CYCLES
    peaks, _ = find_peaks(found.values[:reach], prominence=0.1)
    if not len(peaks):
        return None
    combs = np.array([found.comb(float(p), 0.002) for p in peaks])
    at = int(np.flatnonzero(combs >= AS_GOOD_RATIO * combs.max())[0])
    unit = int(np.flatnonzero(combs >= UNIT_RATIO * combs.max())[0])
    scale = found.total_bytes / BINS
    quantum, least = found.refine(float(peaks[at]), 0.0), found.refine(float(peaks[unit]), 0.0)
    return Beat(quantum * scale, least * scale, float(combs[at]))


def beat(streams: Streams, stream: int, least_coherence: float) -> Beat | None:
    """The beat of a stream, looked for at a resolution that shows single cycles; None where it has none.

    A long stream has too few bins a cycle: single cycles blur, and a multiple of them stands out, or nothing. So it is
    looked at again in ever shorter stretches of its middle; a beat heard there that was too short to be told apart in
    the longer stretch is the better one.
    """
    share, best = 1.0, _heard(streams, stream, 1.0, least_coherence)
    rows, total = streams.rows(stream), float(streams.bytes[streams.rows(stream)].sum())
    while share * (rows.stop - rows.start) >= MANY_ROWS:
        blurred_bytes = FEWEST_BINS * share * total / BINS
        share /= 4
        closer = _heard(streams, stream, share, least_coherence)
        if best is None or (closer is not None and closer.quantum_bytes < blurred_bytes):
            best = closer
    return best


def _heard(streams: Streams, stream: int, middle_share: float, least_coherence: float) -> Beat | None:
    picture = correlogram(streams, stream, middle_share)
    found = fundamental(picture) if picture is not None else None
    return found if found is not None and found.coherence >= least_coherence else None


def _autocorrelation(signal: Float) -> Float:
    spectrum = np.fft.rfft(signal, 2 * BINS)
    raw = np.fft.irfft(np.abs(spectrum) ** 2)[:BINS]
    if raw[0] <= 0:
        return np.zeros(BINS)
    return np.asarray(raw / raw[0] / (1 - np.arange(BINS) / BINS), np.float64)
