"""Which time of a job its account is of, and what of its iterations the account reads."""

from __future__ import annotations

import numpy as np

from datamodel.durations import DAY_NS
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.service.result_rows import JobRecord

# What a crash undid is looked for so far back: as long as a job may go without a checkpoint, with a margin.
LOOKBACK_NS = DAY_NS


def step_times(frame: Frame) -> Int:
    """(iterations, 2) start and end of stored iterations."""
    return np.stack([frame["start_ns"], frame["end_ns"]], axis=1)


def lifetime(job: JobRecord, steps: Int, start_ns: int, end_ns: int) -> tuple[int, int]:
    """Of [start_ns, end_ns) the time that a job is accounted for: from its first iteration to when it was seen last.

    Args:
        job: the job.
        steps: (iterations, 2) its iterations, those before `start_ns` included.
        start_ns: begin of what is asked for, UTC.
        end_ns: its end.
    """
    first_ns = min(job.first_seen_ns, int(steps[:, 0].min(initial=job.first_seen_ns)))
    begin_ns = max(start_ns, first_ns)
    return begin_ns, max(min(end_ns, job.last_seen_ns), begin_ns)
