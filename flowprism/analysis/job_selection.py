"""Jobs that streams do not show: those of samples and of volumes; selects one of two results for the same job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.frame import concat
from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.flows import FLOWS, Flows
from flowprism.analysis.job_analysis import JobResult
from flowprism.analysis.job_layout import LayoutInputs, infer_job_layout
from flowprism.analysis.job_tasks import JobInputs, layout_inputs
from flowprism.analysis.sampled_analysis import (
    AnalysisContext,
    ReplaceableJob,
    SplitRecords,
    sampled_results,
    volume_results,
)
from reconstruct.jobs.job_recognition import Job, Recognition
from reconstruct.timelines.merged_messages import metered


def select_jobs(
    scene: JobInputs, parts: SplitRecords, around: AnalysisContext, found: Recognition
) -> tuple[list[JobResult], Recognition]:
    """Jobs that only samples or volumes show, or samples better than records; and what is left of those found before.

    Args:
        scene: the streams that those were found in, and what else is known of jobs on them.
        parts: records that are no whole messages.
        around: what else is known.
        found: the jobs of the streams.

    Returns:
        the results of further jobs; and the recognition less jobs that samples show better, with the reasons why
        sampled endpoints are in no job.
    """
    flow = scene.flow
    lesser = _lesser(scene, parts, around, found)
    taken = _ends(flow.addresses, [job for n, job in enumerate(found.jobs) if n not in lesser])
    results, reasons = sampled_results(_with_spare(parts, taken), around, taken, tuple(lesser.values()))
    left = tuple(job for n, job in enumerate(found.jobs) if n not in lesser or not taken[job.endpoints].any())
    taken |= _ends(flow.addresses, left)
    results += volume_results(parts.hiding, around, taken)
    return results, Recognition(left, _in_none([found.unassigned, reasons], taken), found.stepping)


def _lesser(
    scene: JobInputs, parts: SplitRecords, around: AnalysisContext, found: Recognition
) -> dict[int, ReplaceableJob]:
    """Find numbers of jobs that samples may show better.

    A meter merged messages, and neither rates of links nor the layout follow from the rest; or not all pairs are
    recorded.
    """
    flow = scene.flow
    if not len(parts.samples) and not len(parts.spare):
        return {}
    recorded = np.unique(flow.src << 32 | flow.dst)
    src, dst = (parts.samples.frame[name].astype(np.int64) for name in ("src_addr", "dst_addr"))
    beyond = ~np.isin(src << 32 | dst, recorded)
    open_ended = np.zeros(len(flow.addresses), np.bool_)
    open_ended[src[beyond]] = open_ended[dst[beyond]] = True
    lesser = {}
    for n, job in enumerate(found.jobs):
        if around.metered and _is_hidden(layout_inputs(scene, job), around.place.speed_bps):
            lesser[n] = ReplaceableJob(job, np.zeros(0, np.int64))
        elif open_ended[job.endpoints].any():
            lesser[n] = ReplaceableJob(job, recorded)
    return lesser


def _is_hidden(shown: LayoutInputs, speed_bps: Mapping[int, float]) -> bool:
    """Whether records of a cache hide messages of a job, and with them the rates of all its links or its layout."""
    if shown.streams.trains.any():
        return False
    cache = metered(shown.streams, shown.job, speed_bps)
    if not cache.merged.any():
        return False
    return bool(cache.merged.all()) or infer_job_layout(shown, cache).layout.dp is None


def _with_spare(parts: SplitRecords, taken: Bool) -> Flows:
    """The samples, with those put aside that run between endpoints of no job."""
    samples, spare = parts.samples, parts.spare
    free = ~taken[spare.frame["src_addr"]] & ~taken[spare.frame["dst_addr"]]
    if not free.any():
        return samples
    return Flows(concat(FLOWS, [samples.frame, spare.take(np.flatnonzero(free)).frame]), samples.addresses)


def _in_none(reasons: Sequence[Mapping[str, Int]], taken: Bool) -> dict[str, Int]:
    """Why endpoints are in no job, of those that are in none: the first reason of each."""
    free, rest = ~taken, {}
    for why, ends in (item for some in reasons for item in some.items()):
        rest[why] = ends[free[ends]]
        free[ends] = False
    return {why: ends for why, ends in rest.items() if len(ends)}


def _ends(addresses: Sequence[str], jobs: Sequence[Job]) -> Bool:
    """(addresses,) which are endpoints of jobs."""
    ends = np.zeros(len(addresses), np.bool_)
    for job in jobs:
        ends[job.endpoints] = True
    return ends
