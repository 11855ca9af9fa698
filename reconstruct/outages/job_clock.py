"""A clock that streams drive which go on while others are silent: it stands still where their job does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Float, Int, Streams
from reconstruct.outages.silences import SharedSilence
from reconstruct.periods.byte_period import find_periods
from reconstruct.periods.cycles import CycleTable

# So many streams drive it at most: those of the most rows.
ENOUGH = 256


class JobClock(NamedTuple):
    """What streams that go on have done by when.

    Attributes:
        at_ns: (rows,) ascending.
        shown_ns: (rows,) what the clock shows then.
        cycle_ns: by how much it goes on in a cycle.
    """

    at_ns: Int
    shown_ns: Float
    cycle_ns: float

    def read(self, times_ns: Int) -> Int:
        """What it shows at some times."""
        return np.rint(np.interp(times_ns, self.at_ns, self.shown_ns)).astype(np.int64)


def find_job_clock(streams: Streams, silence: SharedSilence, part: CycleTable, coherence: float) -> JobClock | None:
    """The clock of the streams that went on at an endpoint of some that did not; None without any.

    Args:
        streams: data rows by connection.
        silence: which streams went on.
        part: cycles of one of the halves of streams that did not (`cycle_shifts.cut_halves`).
        coherence: least autocorrelation of what counts as a rhythm.
    """
    silent, going = silence.stream[part.stream // 2], silence.going_on
    ends = np.unique([streams.src[silent], streams.dst[silent]])
    going = going[np.isin(streams.src[going], ends) | np.isin(streams.dst[going], ends)]
    rows = np.diff(streams.offsets)[going]
    some = np.sort(going[np.argsort(-rows, kind="stable")[:ENOUGH]])
    heard = find_periods(streams, some, coherence)
    some, quantum_bytes = some[heard.coherence > 0], heard.quantum_bytes[heard.coherence > 0]
    own = streams.take(some)
    of = np.repeat(np.arange(len(own)), np.diff(own.offsets))
    within = (own.start_ns >= part.start_ns.min()) & (own.start_ns <= part.end_ns.max())
    turns = np.rint(np.bincount(of[within], own.bytes[within], len(own)) / quantum_bytes / np.median(part.count))
    kept = turns > 0
    if not kept.any():
        return None
    cycle_ns = float(np.median(part.cycle_ns))
    each_ns = np.divide(cycle_ns / kept.sum(), turns * quantum_bytes, out=np.zeros(len(own)), where=kept)
    order = np.argsort(own.end_ns, kind="stable")
    return JobClock(own.end_ns[order], np.cumsum((own.bytes * each_ns[of])[order]), cycle_ns)
