"""A job's data rows, stream after stream: the pause before each, and the iteration it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.jobs.job_recognition import Job
from reconstruct.numeric.ragged_arrays import offsets_of, select_rows
from reconstruct.periods.cycles import data_rows

# Who starts the next iteration before the last rank has ended this one is at most so much of an iteration ahead.
AHEAD_SHARE = 0.05
# A pause of at most so many lengths of a stream's rows lies inside a transfer; between packet trains, one of at most
# this share of an iteration does: shapers and windows of congestion control part them.
STEP_LENGTHS, TRAIN_PAUSE_SHARE = 3.0, 0.003


@dataclass(frozen=True, slots=True)
class JobRows:
    """Rows of a job's members and followers.

    Attributes:
        streams: (s,) stream numbers, ascending.
        offsets: (s + 1,) row bounds of each.
        rows: (r,) row numbers of the streams.
        start_ns, end_ns, bytes: (r,) of those rows.
        pause_ns: (r,) silence before each row; 0 before a stream's first.
        iteration: (r,) number of the iteration; that of all iterations together after the last edge.
        period_ns: median iteration time.
    """

    streams: Int
    offsets: Int
    rows: Int
    start_ns: Int
    end_ns: Int
    bytes: Int
    pause_ns: Int
    iteration: Int
    period_ns: float

    def owner(self) -> Int:
        """(r,) place of each row's stream among `streams`."""
        return np.repeat(np.arange(len(self.streams)), np.diff(self.offsets))

    def floor_ns(self, trains: np.ndarray) -> Float:
        """(s,) pauses up to this length lie inside a transfer.

        Args:
            trains: (s,) whether a stream's rows are packet trains.
        """
        length = np.maximum(self.end_ns - self.start_ns, 1)
        mean = np.add.reduceat(length, self.offsets[:-1]) / np.maximum(np.diff(self.offsets), 1)
        return np.maximum(STEP_LENGTHS * mean, np.where(trains, TRAIN_PAUSE_SHARE * self.period_ns, 0.0))


def job_rows(streams: Streams, job: Job) -> JobRows:
    """Collect the rows of a job.

    Iterations are those of the job's edges in time, whatever a stream's own cycles are. One begins with the first row
    after the edge; with an earlier row, at most a twentieth of an iteration before it, where the pause before that one
    is longer.
    """
    numbers, offsets, rows = _data_rows(streams, job)
    period = float(np.median(np.diff(job.edges_ns))) if len(job.edges_ns) > 1 else 0.0
    start, end, size = (_entries(column, rows) for column in (streams.start_ns, streams.end_ns, streams.bytes))
    pause, iteration = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    _walk(offsets, start, end, to_contiguous(job.edges_ns), round(AHEAD_SHARE * period), pause, iteration)
    return JobRows(numbers, offsets, rows, start, end, size, pause, iteration, period)


def _entries(column: Int, rows: Int) -> Int:
    """A column's entries at ascending rows; the column itself where these are all: most jobs carry nothing but data."""
    return column if len(rows) == len(column) else column[rows]


def _data_rows(streams: Streams, job: Job) -> tuple[Int, Int, Int]:
    """(streams,) numbers ascending, (streams + 1,) bounds, and the row numbers between them; of members and followers.

    Streams without data rows are left out.
    """
    numbers = job.stream_numbers
    offsets, rows = data_rows(streams, job.members)
    count = np.concatenate([np.diff(offsets), np.array([len(f.rows) for f in job.followers], np.int64)])
    rows = np.concatenate([rows, *(f.rows for f in job.followers)])
    order = np.argsort(numbers, kind="stable")
    order = order[count[order] > 0]
    if len(order) == len(count) and (np.diff(order) == 1).all():  # most jobs: nothing to move
        return numbers, offsets_of(count), rows
    offsets, place = select_rows(offsets_of(count), order)
    return numbers[order], offsets, rows[place]


@compiled
def _walk(offsets: Int, start: Int, end: Int, edges: Int, ahead_ns: int, pause: Int, iteration: Int) -> None:
    """Pause before each row and the iteration it belongs to, stream by stream."""
    for s in range(len(offsets) - 1):
        low, high = offsets[s], offsets[s + 1]
        sent = start[low] if high > low else 0
        for r in range(low, high):
            pause[r] = max(start[r] - sent, 0)
            sent = max(sent, end[r])
        done = low
        for k in range(len(edges)):
            stop = done
            while stop < high and start[stop] <= edges[k]:
                stop += 1
            cut, longest = stop, pause[stop] if stop < high else np.int64(1) << 62
            r = stop - 1
            while r > done and start[r] >= edges[k] - ahead_ns:
                if pause[r] > longest:
                    cut, longest = r, pause[r]
                r -= 1
            for r in range(done, cut):
                iteration[r] = k
            done = cut
        for r in range(done, high):
            iteration[r] = len(edges)
