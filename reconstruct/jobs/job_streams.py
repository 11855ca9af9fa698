"""One job's streams alone: small enough to hand to another process, complete for every later stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.reconstructed.streams import Streams
from reconstruct.jobs.job_recognition import Job


def job_streams(streams: Streams, job: Job) -> tuple[Streams, Job]:
    """The streams of one job, members and followers, renumbered from 0 in the same order; and the job on them.

    Address codes, byte positions, boundaries and edges stay as they are, so later stages give the same results from
    either.

    Args:
        streams: the streams the job was found in.
        job: one of its jobs.
    """
    numbers = np.unique(job.stream_numbers)
    own = streams.take(numbers)
    shift = streams.offsets[numbers] - own.offsets[:-1]
    members = replace(job.members, stream=np.searchsorted(numbers, job.members.stream))
    following = []
    for f in job.followers:
        here = int(np.searchsorted(numbers, f.stream))
        following.append(replace(f, stream=here, rows=f.rows - shift[here]))
    return own, replace(job, members=members, followers=tuple(following))
