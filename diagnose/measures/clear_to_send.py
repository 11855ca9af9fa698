"""Ready-to-receive messages beside a job's data: when each endpoint said to whom that its buffer is there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int, Streams
from reconstruct.jobs.job_recognition import Job
from reconstruct.periods.cycles import CONTROL_SHARE


@dataclass(frozen=True, slots=True)
class Ready:
    """Ready-to-receive messages of a job (NCCL's clear-to-send).

    Attributes:
        endpoint: (r,) address code of who said so.
        peer: (r,) to whom.
        at_ns: (r,) when.
    """

    endpoint: Int
    peer: Int
    at_ns: Int


def least_data_bytes(job: Job) -> float:
    """Rows of a job's own streams that are smaller are no data: a sender announces what it sends (gloo does)."""
    return CONTROL_SHARE * float(np.median(job.members.quantum_bytes))


def ready_messages(beside: Streams, job: Job) -> Ready | None:
    """What a job's endpoints say to one another beside its data; None where nothing was seen.

    A stream of nothing but messages far smaller than what the job sends in a cycle is taken for one of them.

    Args:
        beside: streams between endpoints of jobs that are no part of one.
        job: the job.
    """
    told = beside.take(np.flatnonzero(np.isin(beside.src, job.endpoints)))
    if not len(told):
        return None
    largest = np.maximum.reduceat(told.bytes, told.offsets[:-1])
    said = told.take(np.flatnonzero(largest < least_data_bytes(job)))
    if not len(said):
        return None
    count = np.diff(said.offsets)
    return Ready(np.repeat(said.src, count), np.repeat(said.dst, count), said.start_ns)
