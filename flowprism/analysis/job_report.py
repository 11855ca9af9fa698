"""One job's part of the report."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Inventory, JobLabel
from datamodel.reconstructed.streams import Float, Int
from datamodel.reports.layout import Groups
from datamodel.reports.report import Detectability, Iteration, JobReport, ShownResult
from diagnose.job_view import JobView
from diagnose.pace_intervals import durations_ns, noise_ratio
from reconstruct.timelines.iteration_time_errors import computing_ns, errors, estimate_hidden_step
from strategy.layout_inference import InferredLayout

# A label from the inventory names a job when they share this much of their hosts (Jaccard).
LABEL_SHARE = 0.5
# Fewer iterations have nothing to be compared with.
FEWEST_TO_COMPARE = 6


def job_id(addresses: Sequence[str], before: int = 0) -> str:
    """A name that the same endpoints get again, but for a job of theirs that `before` others came before."""
    named = [*sorted(addresses), *([f"|{before}"] if before else [])]
    return hashlib.sha256(",".join(named).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """What a feed shows of one job.

    Attributes:
        id: its name.
        endpoints: address codes, ascending.
        begin_ns: the job's first byte in the window, as far as it is seen.
        edges_ns: (iterations,) end of each iteration; empty where unknown.
        place: where endpoints are plugged in, and their addresses.
        strategy: layout and groups.
        detectability: what can and cannot be seen.
        errors_ns: (iterations - 1,) error of the time from each edge to the next (1.96 of it: 95 %), nan where it
            is unknown; None where the feed shows none.
    """

    id: str
    endpoints: Int
    begin_ns: int
    edges_ns: Int
    place: EndpointLocations
    strategy: InferredLayout
    detectability: Detectability
    errors_ns: Float | None = None


def shown(
    job: JobView,
    strategy: InferredLayout,
    feed: Sequence[str] = ("every packet or message is recorded",),
    shows: tuple[ShownResult, ...] = (),
) -> ObservedJob:
    """What a feed of mirrors or exact records shows of a job; `feed` says what is recorded, and what a cache is."""
    begin_ns = int(job.operations["start_ns"].min())
    whole = job.seen_whole()
    share = estimate_hidden_step(job.operations, job.iterations, len(set(job.stage.values())))
    off = errors(job.edges_ns, computing_ns(job.operations, job.edges_ns), unseen_share=share)
    found = _detectability(job, whole, float(np.mean(off.mean_ns())) if job.iterations > 1 else np.nan, feed)
    found = found.model_copy(update={"reasons": (*found.reasons, *(s.sentence() for s in shows)), "shows": shows})
    if found.hides("iterations"):
        found = found.model_copy(update={"timeline_error_ratio": None})
    known = off.interval_ns() if found.timeline_error_ratio is not None else None
    return ObservedJob(job.id, job.endpoints, begin_ns, job.edges_ns, job.fabric, strategy, found, known)


def job_report(job: ObservedJob, inventory: Inventory | None) -> JobReport:
    """What the report says of one job."""
    place, strategy = job.place, job.strategy
    hosts = tuple(sorted({place.host[e] for e in job.endpoints.tolist() if e in place.host}))
    label = _label(hosts, inventory)
    endpoints = place.names(job.endpoints)
    return JobReport(
        id=job.id,
        label=label.name if label else None,
        tenant=_tenant(hosts, label, inventory),
        endpoints=endpoints,
        hosts=hosts,
        world_size=strategy.world_size,
        layout=strategy.layout,
        groups=Groups(**{kind: tuple(place.names(g) for g in groups) for kind, groups in strategy.groups.items()}),
        iterations=_iterations(job),
        period_s=round(float(np.median(np.diff(job.edges_ns))) / 1e9, 6) if len(job.edges_ns) > 1 else None,
        jitter_ratio=round(noise_ratio(durations_ns(job.edges_ns)), 5) if len(job.edges_ns) > 1 else None,
        detectability=job.detectability,
    )


def _iterations(job: ObservedJob) -> tuple[Iteration, ...]:
    """Iterations from edge to edge; the first one begins with the job's first byte in the window."""
    starts = [job.begin_ns, *job.edges_ns[:-1].tolist()]
    edges = zip(starts, job.edges_ns.tolist(), strict=False)
    known = [] if job.errors_ns is None else [round(e) if np.isfinite(e) else None for e in job.errors_ns.tolist()]
    errors = [None, *known, *[None] * len(job.edges_ns)]
    return tuple(
        Iteration(index=n, start_ns=start, end_ns=end, duration_error_ns=errors[n])
        for n, (start, end) in enumerate(edges)
    )


def _label(hosts: tuple[str, ...], inventory: Inventory | None) -> JobLabel | None:
    best: tuple[float, JobLabel] | None = None
    for label in inventory.jobs if inventory else ():
        both, either = set(hosts) & set(label.hosts), set(hosts) | set(label.hosts)
        share = len(both) / len(either) if either else 0.0
        if share >= LABEL_SHARE and (best is None or share > best[0]):
            best = (share, label)
    return best[1] if best else None


def _tenant(hosts: tuple[str, ...], label: JobLabel | None, inventory: Inventory | None) -> str | None:
    if label is not None and label.tenant is not None:
        return label.tenant
    owners = [t.name for t in (inventory.tenants if inventory else ()) if hosts and set(hosts) <= set(t.hosts)]
    return owners[0] if owners else None


def _detectability(job: JobView, whole: JobView, error_ns: float, feed: Sequence[str]) -> Detectability:
    """What an unsampled feed shows: the timeline to the unseen end of the step, slowdowns beyond the noise.

    Args:
        job: all that was seen of it.
        whole: that of it which was seen from end to end by all exporters, and is compared.
        error_ns: mean error of an iteration time.
        feed: what is recorded, and more about the feed.
    """
    noise = noise_ratio(durations_ns(whole.edges_ns))
    reasons = [f"{feed[0]}; the optimizer step after the last transfer is not seen", *feed[1:]]
    if whole.iterations < job.iterations:
        compared = f"{whole.iterations} of {job.iterations} iterations compared"
        reasons.append(f"some endpoints were not seen all the time: {compared}")
    if not np.isfinite(noise) or whole.iterations < FEWEST_TO_COMPARE:
        reasons.append("fewer than six iterations: nothing to compare with")
        return Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None, reasons=tuple(reasons))
    if noise > 0.05:
        reasons.append(f"iteration times vary by {100 * noise:.0f} % by themselves")
    smallest = 1 + max(0.05, 3 * noise / np.sqrt(max(whole.iterations / 2, 1)))
    return Detectability(
        timeline_error_ratio=round(error_ns / float(np.median(np.diff(job.edges_ns))), 6),
        smallest_slowdown_ratio=round(float(smallest), 4),
        reasons=tuple(reasons),
    )
