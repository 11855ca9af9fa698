"""EROICA's localization alone: the worker whose patterns of behavior are furthest from those of all others.

Source: "EROICA: Online Performance Troubleshooting for Large-Scale Model Training" (arXiv 2506.08528). There a profiler
on every host gives each function of a worker a pattern: its share of time, and mean and deviation of its resource's
use over the critical execution duration. Workers far from the others by Manhattan distance are named. Assumed here: the
patterns are ours of spans and rates, over twenty iterations from where five take 5 % longer in the mean than the
shortest one; share and use are shares of the largest worker's; only workers of one pipeline stage are compared; a
worker is far where its mean distance to the others exceeds their median by five absolute deviations and by 0.05, in a
function that takes 1 % of its time. Of these the furthest is named: victims of a slow worker are far from the others
too. Expected ranges of functions, which the description also has, need a history. Jobs, stages and iterations are ours.
"""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.patterns import FUNCTION_NAMES
from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.timeline import SPAN_NAMES
from datamodel.reconstructed.transfers import ROLES
from datamodel.reports.analysis import Analysis
from datamodel.reports.report import JobReport
from diagnose.patterns.function_patterns import function_patterns
from flowprism.evaluation.baselines.verdict import Anomaly, JobVerdict

_MEAN_OF, _SLOWER, _PROFILED = 5, 1.05, 20
_DEVIATIONS, _LEAST_DISTANCE, _LEAST_SHARE, _LEAST_WORKERS = 5.0, 0.05, 0.01, 3
_OUTSIDE = FUNCTION_NAMES.index("outside")  # no function of a worker
_ROLE_OF = {
    SPAN_NAMES.index("pp_send"): ROLES.index("pp"),
    **{SPAN_NAMES.index(f"{name}_comm"): ROLES.index(name) for name in ("dp", "ep", "cp")},
}


def eroica(analysis: Analysis) -> list[JobVerdict]:
    """For each job the furthest worker, from when the job is slower."""
    code = {address: n for n, address in enumerate(analysis.timelines.addresses)}
    found = []
    for job in analysis.report.jobs:
        members = np.array(sorted(code[address] for address in job.endpoints), np.int64)
        anomaly = _furthest(analysis, job)
        found.append(JobVerdict(members, {}, {}, np.zeros(0, np.int64), [anomaly] if anomaly else []))
    return found


def _furthest(analysis: Analysis, job: JobReport) -> Anomaly | None:
    iterations = job.iterations[1:]  # of the first one only the end is seen
    took = np.array([one.end_ns - one.start_ns for one in iterations], np.float64)
    first = _slower_from(took)
    if first is None:
        return None
    profiled = iterations[first : first + _PROFILED]
    spans = analysis.timelines.spans
    number = spans["iteration"].astype(np.int64) - profiled[0].index + 1  # the first of a job never counts
    own = (spans["job"] == analysis.timelines.jobs.index(job.id)) & (number >= 1) & (number <= len(profiled))
    rows = spans.replace(iteration=number).take(np.flatnonzero(own))
    code = {address: n for n, address in enumerate(analysis.timelines.addresses)}
    stage = {code[member]: n for chain in job.groups.pp for n, member in enumerate(chain)}
    patterns = function_patterns(rows, _sent(rows), len(profiled) + 1, stage)
    worker = _far(patterns, float(took[first : first + _PROFILED].mean()) / 1e9)
    return None if worker is None else Anomaly("endpoint", (worker,), profiled[0].start_ns, profiled[-1].end_ns)


def _slower_from(took: Float) -> int | None:
    """The first of the first five iterations whose mean is above that of the shortest; None where there are none."""
    means = np.convolve(took, np.full(_MEAN_OF, 1 / _MEAN_OF), "valid") if len(took) >= _MEAN_OF else np.zeros(0)
    slower = np.flatnonzero(means > _SLOWER * took.min()) if len(means) else means
    return int(slower[0]) if len(slower) else None


def _sent(spans: Frame) -> Frame:
    """What spans say was sent, as operations."""
    role = np.array([_ROLE_OF.get(n, -1) for n in range(len(SPAN_NAMES))])[spans["span"]]
    sent, zero = spans.take(np.flatnonzero(role >= 0)), np.zeros(int((role >= 0).sum()), np.int64)
    same = {name: sent[name] for name in ("endpoint", "peer", "iteration", "start_ns", "end_ns", "bytes")}
    lasting = sent["end_ns"] - sent["start_ns"]
    none = dict.fromkeys(("stream", "group", "slot", "retransmitted_packets"), zero)
    times = {"delivered_ns": sent["end_ns"], "busy_ns": lasting, "sending_ns": lasting}
    return Frame(OPERATIONS, {**same, **none, **times, "role": role[role >= 0]})


def _far(patterns: Frame, iteration_s: float) -> int | None:
    """The endpoint that is furthest from the others in a function; None where none is far."""
    best: tuple[float, int] | None = None
    share = patterns["duration_s"] / iteration_s
    kind = patterns["stage"].astype(np.int64) * len(FUNCTION_NAMES) + patterns["function"]
    for one in np.unique(kind).tolist():
        rows = np.flatnonzero(kind == one)
        if len(rows) < _LEAST_WORKERS or one % len(FUNCTION_NAMES) == _OUTSIDE:
            continue
        distance = _distances(patterns, share, rows)
        median = float(np.median(distance))
        limit = median + max(_DEVIATIONS * float(np.median(np.abs(distance - median))), _LEAST_DISTANCE)
        distance = np.where(share[rows] >= _LEAST_SHARE, distance, 0)
        worst = int(np.argmax(distance))
        if distance[worst] > limit and (best is None or distance[worst] - median > best[0]):
            best = float(distance[worst] - median), int(patterns["endpoint"][rows[worst]])
    return None if best is None else best[1]


def _distances(patterns: Frame, share: Float, rows: Int) -> Float:
    """(workers,) mean Manhattan distance of each worker's pattern from the others'."""
    use, deviation = (
        np.nan_to_num(patterns[name][rows].astype(np.float64)) for name in ("rate_bps", "rate_spread_bps")
    )
    largest = max(float(use.max()), 1.0)
    values = np.stack([share[rows] / share[rows].max(), use / largest, deviation / largest], axis=1)
    total: Float = np.abs(values[:, None] - values[None]).sum(axis=(1, 2))
    return total / (len(rows) - 1)
