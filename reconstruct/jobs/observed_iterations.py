"""Iterations of a job of which nothing is missing: what is compared must have been seen alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jobs.job_recognition import Job
from reconstruct.numeric.medians import MAD_TO_SIGMA

# So many iterations are long enough to show what is usual in the middle of them, though one or two are unlike.
_NEAR = 5
# A pair moves unlike itself by this share of what it moves in an iteration, or by so many times its own spread.
_UNLIKE, _BEYOND = 0.25, 6.0


@dataclass(frozen=True, slots=True)
class ObservedIterations:
    """Which of a job's iterations were seen as a whole.

    Attributes:
        whole: (iterations,) whether all that senders of the job did in it could be seen.
        lost: address codes of senders that could not be seen any more when the job was last seen, ascending.
        guessed: (iterations,) whether its beginning or its end may be that of a record that was lost.
        incomplete: (iterations,) whether records of several pairs are missing in it, or in the one before.
    """

    whole: Bool
    lost: tuple[int, ...]
    guessed: Bool
    incomplete: Bool

    def between(self, first: int, end: int) -> ObservedIterations:
        """Those of the iterations [first, end), with no sender lost."""
        return ObservedIterations(self.whole[first:end], (), self.guessed[first:end], self.incomplete[first:end])

    def longest(self) -> tuple[int, int]:
        """First iteration, and the one behind the last, of the longest stretch of whole ones; of several the first."""
        bounds = np.flatnonzero(np.diff(self.whole.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
        if not len(bounds):
            return 0, 0
        first, end = bounds[int(np.argmax(bounds[:, 1] - bounds[:, 0]))].tolist()
        return first, end


def observed_iterations(streams: Streams, job: Job) -> ObservedIterations:
    """Find what was seen of each iteration of a job.

    An exporter is heard from the first to the last thing that it sees, and whoever has nothing to do at either end of
    the window says nothing there: one that is heard before the second iteration ends was there from the beginning, one
    that is heard when the last one has begun is there to the end. A job that was restarted is asked run by run: hosts
    that were replaced need not have been seen all the time.

    Args:
        streams: the job's own, data rows by connection.
        job: on them.
    """
    mine = np.unique(job.stream_numbers)
    again_ns = np.array([again for _, again in job.restarts], np.int64)
    run_of_stream = np.searchsorted(again_ns, streams.start_ns[streams.offsets[mine]], side="right")
    run_of_edge = np.searchsorted(again_ns, job.edges_ns, side="right")
    whole, lost = np.ones(len(job.edges_ns), np.bool_), np.zeros(0, np.int64)
    for run in range(len(again_ns) + 1):
        own, at = mine[run_of_stream == run], np.flatnonzero(run_of_edge == run)
        if len(own) and len(at):
            first, last = _seen_between(streams, own, job.edges_ns[at])
            whole[at] = (np.arange(len(at)) >= first.max()) & (np.arange(len(at)) < last.min())
            lost = own[last < len(at)]
    return ObservedIterations(
        whole=whole,
        lost=tuple(np.unique(streams.src[lost]).tolist()),
        guessed=_and_the_next(np.searchsorted(job.edges_ns, streams.start_ns[streams.filled_rows]), whole),
        incomplete=_and_the_next(_incomplete(streams, mine, job.edges_ns), whole),
    )


def _and_the_next(numbers: Int, like: Bool) -> Bool:
    """Mark iterations, and those after them: where the end of one is not known, nor is the beginning of the next."""
    found = np.zeros(len(like) + 2, np.bool_)
    found[numbers] = found[numbers + 1] = True
    return found[: len(like)]


def _moved_bytes(streams: Streams, mine: Int, edges_ns: Int) -> Float:
    """(pairs, iterations) what each pair of endpoints moved, whatever connections it had in turn."""
    pair_of = np.full(len(streams), -1, np.int64)
    pair_of[mine] = np.unique(streams.src[mine] * len(streams.addresses) + streams.dst[mine], return_inverse=True)[1]
    pair = np.repeat(pair_of, np.diff(streams.offsets))
    number = np.searchsorted(edges_ns, streams.start_ns)
    kept = (pair >= 0) & (number < len(edges_ns))
    pairs, count = int(pair_of.max(initial=-1)) + 1, len(edges_ns)
    cells = np.bincount(pair[kept] * count + number[kept], streams.bytes[kept], pairs * count)
    return np.asarray(cells.reshape(pairs, count), np.float64)


def _incomplete(streams: Streams, mine: Int, edges_ns: Int) -> Int:
    """Find iterations in which an exporter was away, whether what it missed was put back or not."""
    spans = np.searchsorted(edges_ns, streams.outages_ns).tolist()
    away = [np.arange(first, min(last + 1, len(edges_ns))) for first, last in spans]
    return np.concatenate([_short(_moved_bytes(streams, mine, edges_ns)), *away])


def _short(moved_bytes: Float) -> Int:
    """Find iterations in which several pairs moved more or less than they do in those around it.

    The sum over three counts as well, so that what is sent a little earlier or later, in the next iteration, is not
    missing. A pair that is silent, between others in which it was heard, is missing too, however long that lasts.
    More than half of all iterations are none: what is usual is not known then.
    """
    if moved_bytes.shape[1] < _NEAR:
        return np.zeros(0, np.int64)
    usual = median_filter(moved_bytes, (1, _NEAR), mode="nearest")
    off = moved_bytes - usual
    spread = MAD_TO_SIGMA * np.median(np.abs(off), axis=1, keepdims=True)
    padded = np.pad(off, ((0, 0), (1, 1)))
    together = padded[:, :-2] + off + padded[:, 2:]
    unlike = np.minimum(np.abs(off), np.abs(together)) > np.maximum(_UNLIKE * usual, _BEYOND * spread)
    heard = moved_bytes > 0
    alive = np.cumsum(heard, axis=1) > heard
    alive &= np.cumsum(heard[:, ::-1], axis=1)[:, ::-1] > heard
    silent = ~heard & (np.median(moved_bytes, axis=1, keepdims=True) > 0)
    count = ((unlike | silent) & alive).sum(axis=0)
    typical = np.median(count)
    most = typical + max(1.0, _BEYOND * MAD_TO_SIGMA * float(np.median(np.abs(count - typical))))
    found = np.flatnonzero(count > most)
    return found if 2 * len(found) <= len(count) else np.zeros(0, np.int64)


def _seen_between(streams: Streams, own: Int, edges_ns: Int) -> tuple[Int, Int]:
    """(streams,) the first iteration that each could be seen from end to end in, and the one behind the last."""
    count = len(edges_ns)
    within = np.searchsorted(edges_ns, streams.watch_start_ns[own])
    ended = np.searchsorted(edges_ns, streams.watch_end_ns[own], side="right")
    return np.where(within <= 1, 0, within + 1), np.where(ended >= count - 1, count, ended)
