"""Own times of a job -> how much longer each endpoint computes than others of its stage."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame, empty
from datamodel.reconstructed.patterns import PATTERNS
from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.compute.send_delays import assign_peer_classes
from diagnose.job_view import JobView
from reconstruct.numeric.medians import medians_of_own_group, row_medians

MIN_ITERATIONS = 6


def patterns(job: JobView) -> Frame:
    """How late each endpoint of a job is among its stage, over all iterations that were seen whole.

    Only own time counts, which ready-to-receive messages show. Delays before sends do not: the endpoint before a late
    one in a ring also sends late, and often the same host precedes another in job after job. Nor do stages whose
    endpoints differ in their number of neighbors: in a tree the place decides how long a turn takes.

    Returns:
        Rows of `PATTERNS`, those of endpoints whose own time is known; none where stages are not.
    """
    whole = job.seen_whole()
    if whole.own is None or whole.iterations < MIN_ITERATIONS or not whole.stages_known:
        return empty(PATTERNS)
    stages = whole.stages
    # of the first iteration only the end is known
    own_ns = row_medians(whole.own.own_ns[:, 1:])[whole.own.cell]
    late = compare_with_role(own_ns, stages)
    alike = _is_uniform(stages, assign_peer_classes(whole.operations, whole.endpoints, stages))
    known = np.flatnonzero(np.isfinite(late) & alike[stages])
    return Frame(PATTERNS, {"endpoint": whole.endpoints[known], "role": stages[known], "late_ratio": late[known]})


def _is_uniform(stages: Int, classes: Int) -> Bool:
    """(stages,) whether all endpoints of a stage are of one class."""
    pairs = np.unique(np.stack([stages, classes]), axis=1)
    return np.asarray(np.bincount(pairs[0]) == 1)


def compare_with_role(value: Float, role: Int) -> Float:
    """(e,) each value over the median of its role, less 1; nan where it is not known, or the median is not positive."""
    usual = medians_of_own_group(value, role)
    return np.asarray(np.divide(value, usual, out=np.full(len(value), np.nan), where=usual > 0) - 1)
