"""One job's streams alone: small enough to hand to another process, complete for every later stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.streams import Streams
from reconstruct.jobs import Job


def job_streams(streams: Streams, job: Job) -> tuple[Streams, Job]:
    """The streams of one job, members and followers, renumbered from 0 in the same order; and the job on them.

    Address codes, byte positions, boundaries and edges stay as they are, so later stages give the same results from
    either.

    Args:
        streams: the streams the job was found in.
        job: one of its jobs.
    """
    numbers = np.unique([*(m.stream for m in job.members), *(f.stream for f in job.followers)])
    own = streams.take(numbers)
    shift = dict(zip(numbers.tolist(), (streams.offsets[numbers] - own.offsets[:-1]).tolist(), strict=True))
    place = {number: n for n, number in enumerate(numbers.tolist())}
    members = tuple(replace(m, stream=place[m.stream], rows=m.rows - shift[m.stream]) for m in job.members)
    following = tuple(replace(f, stream=place[f.stream], rows=f.rows - shift[f.stream]) for f in job.followers)
    return own, replace(job, members=members, followers=following)
