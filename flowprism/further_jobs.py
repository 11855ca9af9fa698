"""Jobs that streams do not show: those of samples and of volumes, and which of two readings of one job is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.flows import FLOWS, Flows
from datamodel.frame import concat
from datamodel.streams import Bool, Int, Streams
from flowprism.job_analysis import JobResult
from flowprism.sampled_analysis import Apart, Around, sampled_results, volume_results
from reconstruct.job_streams import job_streams
from reconstruct.jobs import Job, Recognition
from reconstruct.metered import merged_pause_ns


def further_jobs(
    flow: Streams, parts: Apart, around: Around, found: Recognition
) -> tuple[list[JobResult], Recognition]:
    """Jobs that only samples or volumes show, or samples better than a meter; and what is left of those found before.

    Args:
        flow: the streams that those were found in.
        parts: records that are no whole messages.
        around: what else is known.
        found: the jobs of the streams.

    Returns:
        the results of further jobs; and the recognition less jobs that samples show better, with the reasons why
        sampled endpoints are in no job.
    """
    sampled = around.metered and (len(parts.samples) or len(parts.spare))
    merged = tuple(job for job in found.jobs if sampled and merged_pause_ns(*job_streams(flow, job)))
    lesser = {id(job) for job in merged}
    taken = _ends(flow.addresses, [job for job in found.jobs if id(job) not in lesser])
    results, reasons = sampled_results(_with_spare(parts, merged), around, taken, merged)
    left = tuple(job for job in found.jobs if id(job) not in lesser or not taken[job.endpoints].any())
    taken |= _ends(flow.addresses, left)
    results += volume_results(parts.hiding, around, taken)
    return results, Recognition(left, _in_none([found.unassigned, reasons], taken))


def _in_none(reasons: Sequence[Mapping[str, Int]], taken: Bool) -> dict[str, Int]:
    """Why endpoints are in no job, of those that are in none: the first reason of each."""
    free, rest = ~taken, {}
    for why, ends in (item for some in reasons for item in some.items()):
        rest[why] = ends[free[ends]]
        free[ends] = False
    return {why: ends for why, ends in rest.items() if len(ends)}


def _with_spare(parts: Apart, merged: Sequence[Job]) -> Flows:
    """The samples, with those put aside that endpoints of merged jobs sent."""
    samples, spare = parts.samples, parts.spare
    if not merged or not len(spare):
        return samples
    more = spare.take(np.flatnonzero(_ends(spare.addresses, merged)[spare.frame["src_addr"]]))
    return Flows(concat(FLOWS, [samples.frame, more.frame]), samples.addresses)


def _ends(addresses: Sequence[str], jobs: Sequence[Job]) -> Bool:
    """(addresses,) which are endpoints of jobs."""
    ends = np.zeros(len(addresses), np.bool_)
    for job in jobs:
        ends[job.endpoints] = True
    return ends
