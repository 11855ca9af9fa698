"""Iterations of a job that all its exporters saw from end to end: what is compared must have been seen alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Bool, Int, Streams
from reconstruct.jobs.job_recognition import Job


@dataclass(frozen=True, slots=True)
class ObservedIterations:
    """Which of a job's iterations were seen as a whole.

    Attributes:
        whole: (iterations,) whether all that senders of the job did in it could be seen.
        lost: address codes of senders that could not be seen any more when the job was last seen, ascending.
    """

    whole: Bool
    lost: tuple[int, ...]

    def longest(self) -> tuple[int, int]:
        """First iteration, and the one behind the last, of the longest stretch of whole ones; of several the first."""
        bounds = np.flatnonzero(np.diff(self.whole.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
        if not len(bounds):
            return 0, 0
        first, end = bounds[int(np.argmax(bounds[:, 1] - bounds[:, 0]))].tolist()
        return first, end


def watched_iterations(streams: Streams, job: Job) -> ObservedIterations:
    """Tell which iterations lie in the time in which all streams of a job could be seen.

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
    return ObservedIterations(whole, tuple(np.unique(streams.src[lost]).tolist()))


def find_guessed_iterations(streams: Streams, edges_ns: Int) -> Bool | None:
    """(iterations,) whether one holds, or follows one that holds, records that were lost; None where none were.

    The others show about when a lost record was sent, not to the share of an iteration that makes a single one slow.

    Args:
        streams: the job's own, data rows by connection.
        edges_ns: (iterations,) end of each.
    """
    if not len(streams.filled_rows):
        return None
    found = np.zeros(len(edges_ns) + 2, np.bool_)
    holds = np.searchsorted(edges_ns, streams.start_ns[streams.filled_rows])
    found[holds] = found[holds + 1] = True
    return found[: len(edges_ns)]


def _seen_between(streams: Streams, own: Int, edges_ns: Int) -> tuple[Int, Int]:
    """(streams,) the first iteration that each could be seen from end to end in, and the one behind the last."""
    count = len(edges_ns)
    within = np.searchsorted(edges_ns, streams.watch_start_ns[own])
    ended = np.searchsorted(edges_ns, streams.watch_end_ns[own], side="right")
    return np.where(within <= 1, 0, within + 1), np.where(ended >= count - 1, count, ended)
