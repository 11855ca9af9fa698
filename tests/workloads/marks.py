"""What reconstruct and strategy made of a feed, marked against what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.telemetry.flows import Flows
from reconstruct.jobs.job_recognition import Job, JobOptions, find_jobs
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.transfers import transfers
from strategy.layout_inference import InferredLayout, infer_layout
from strategy.placement import seats
from tests.workloads.feed import EPOCH_NS, address
from tests.workloads.training import Training

SIZES = ("tp", "cp", "ep", "dp", "pp")


@dataclass(frozen=True, slots=True)
class Mark:
    """One job of the truth beside what was found with exactly its endpoints; no strategy when there was none.

    Attributes:
        strategy: what was inferred.
        groups: kind -> groups of endpoint numbers, pp in stage order.
        iterations: (found, true within the window).
        timeline_error: mean relative error of iteration durations; nan where the counts differ.
        missing: iterations of the truth that were not found at the window's margins.
    """

    strategy: InferredLayout | None
    groups: dict[str, set[tuple[int, ...]]]
    iterations: tuple[int, int]
    timeline_error: float

    def sizes(self) -> dict[str, int | None]:
        """Sizes as inferred."""
        return {k: getattr(self.strategy.layout, k) for k in SIZES} if self.strategy is not None else {}


def marked(
    feed: Flows, trainings: Sequence[Training], known: Inventory | None, from_s: float = 0.0, to_s: float = 1e9
) -> tuple[list[Mark], int]:
    """Analyse a feed; a mark for each training, and how many jobs were found."""
    rows = build_streams(feed)
    seated = seats(known, rows.addresses)
    hosts = [seated[n].host if n in seated else None for n in range(len(rows.addresses))] if known else None
    jobs = find_jobs(rows, frozenset(), JobOptions(), hosts).jobs
    marks = []
    for training in trainings:
        true = {address(int(e)) for e in np.unique(np.concatenate([training.src, training.dst]))}
        job = next((j for j in jobs if {rows.addresses[e] for e in j.endpoints} == true), None)
        if job is None:
            marks.append(Mark(None, {}, (0, len(training.ends_ns)), float("nan")))
            continue
        strategy = infer_layout(transfers(rows, job), job.edges_ns, job.endpoints, seated)
        marks.append(_mark(training, job, strategy, rows.addresses, from_s, to_s))
    return marks, len(jobs)


def _mark(
    training: Training, job: Job, strategy: InferredLayout, addresses: tuple[str, ...], from_s: float, to_s: float
) -> Mark:
    number = {address(int(e)): int(e) for e in np.unique(training.endpoint)}
    groups = {
        kind: {tuple(_ordered(kind, [number[addresses[e]] for e in g])) for g in found}
        for kind, found in strategy.groups.items()
    }
    ends = training.ends_ns[(training.ends_ns > from_s * 1e9) & (training.ends_ns < to_s * 1e9)]
    return Mark(strategy, groups, (len(job.edges_ns), len(ends)), _timeline_error(job.edges_ns - EPOCH_NS, ends))


def _ordered(kind: str, group: list[int]) -> list[int]:
    return group if kind == "pp" else sorted(group)


def _timeline_error(found: np.ndarray, ends: np.ndarray) -> float:
    """Mean relative error of durations between edges, each found edge laid on the nearest true one."""
    if len(found) < 2 or len(ends) < 2:
        return float("nan")
    length = float(np.median(np.diff(ends)))
    offset = np.median([np.min(np.abs(ends - f)) * (1 if ends[np.argmin(np.abs(ends - f))] > f else -1) for f in found])
    nearest = np.array([int(np.argmin(np.abs(ends - f - offset))) for f in found])
    if (np.diff(nearest) != 1).any():
        return float("nan")
    true = np.diff(ends[nearest])
    return float(np.mean(np.abs(np.diff(found) - true) / true)) if length > 0 else float("nan")
