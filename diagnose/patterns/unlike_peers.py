"""Own times -> the cells that are least like their peers and their own past: unusual, which proves nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.reports.findings import Evidence, Finding
from diagnose.compute.send_delays import assign_peer_classes
from diagnose.finding_text import listed
from diagnose.job_view import JobView
from diagnose.model.compared_iterations import ComparedIterations
from diagnose.patterns.repeat_offenders import MAX_SIGMAS, TOLERATED_RATIO
from reconstruct.numeric.medians import MAD_TO_SIGMA, medians_of_own_group, row_medians, typical_over

MOST_UNUSUAL = 5


@dataclass(frozen=True, slots=True)
class UnusualCell:
    """A cell that computes longer than its peers do, and than it did before.

    Attributes:
        cell: its number.
        own_ns: its own time of an iteration.
        peers_ns: the median of its role.
    """

    cell: int
    own_ns: float
    peers_ns: float


def with_unusual(finding: Finding, job: JobView, compared: ComparedIterations) -> Finding:
    """A finding without a place, with the cells that are least like their peers as evidence: they are no suspects.

    Each is named by its first endpoint. Unchanged where own times or stages are not known.
    """
    if job.own is None or not job.stages_known:
        return finding
    first = np.unique(job.own.cell, return_index=True)[1]
    role = assign_peer_classes(job.operations, job.endpoints, job.stages)[first]
    evidence = tuple(
        Evidence(
            metric="own time, unusual among peers",
            value=round(one.own_ns / 1e9, 6),
            baseline=round(one.peers_ns / 1e9, 6),
            unit="s",
            where=job.name(int(job.endpoints[first[one.cell]])),
            window_ns=finding.evidence[0].window_ns,
        )
        for one in least_alike(job.own.own_ns, role, compared.interval, compared.baseline)
    )
    if not evidence:
        return finding
    said = f"Unusual, not proven: {listed(tuple(one.where for one in evidence), MOST_UNUSUAL)}."
    update = {"evidence": (*finding.evidence, *evidence), "summary": f"{finding.summary} {said}"}
    return finding.model_copy(update=update)


def least_alike(own_ns: Float, role: Int, interval: Int, baseline: Int) -> tuple[UnusualCell, ...]:
    """The cells least like their peers, at most five; none where no cell is further away than chance takes some.

    A cell counts by its lateness among its role, or by how much later it became than its role did, whichever is less
    unusual: what was always so explains no change. Time: O(n log n).

    Args:
        own_ns: (cells, iterations) own times.
        role: (cells,) role of each cell.
        interval: iterations to judge.
        baseline: iterations before; may be empty.
    """
    now = typical_over(own_ns, interval)
    distance = robust_distance(np.log(now), role)
    if len(baseline):
        distance = np.fmin(distance, robust_distance(np.log(now / typical_over(own_ns, baseline)), role))
    order = np.argsort(-distance, kind="stable")[:MOST_UNUSUAL]
    usual = medians_of_own_group(now, role)
    return tuple(UnusualCell(n, float(now[n]), float(usual[n])) for n in order.tolist() if distance[n] > MAX_SIGMAS)


def robust_distance(value: Float, role: Int) -> Float:
    """(n,) standard deviations by which each value is above the median of its role; 0 where not known, or tolerated.

    The spread is that of all roles together, by medians: single roles may have two members.
    """
    above = value - medians_of_own_group(value, role)
    spread = MAD_TO_SIGMA * row_medians(np.abs(above))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above > TOLERATED_RATIO, above / spread, 0.0)
