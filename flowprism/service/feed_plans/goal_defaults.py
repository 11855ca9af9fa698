"""Defaults of a feed plan's goal from what the service has seen: jobs, traffic, settings and feeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Any

from datamodel.cluster.inventory import Inventory
from datamodel.service.api_models import FeedRow, JobRow
from flowprism.feed_plan.goal import FEWEST_ITERATIONS, LONGEST_WINDOW_S, FeedGoal
from flowprism.service.config.settings import StoreSettings
from flowprism.service.queries.feeds.feed_queries import feeds
from flowprism.service.queries.feeds.traffic import traffic
from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

# What is simulated is bounded: larger rings show no less, and take longer (docs/feed-plan.md).
MOST_MEMBERS = 64
LONGEST_ITERATION_S = LONGEST_WINDOW_S / FEWEST_ITERATIONS
_LEAST_BUSY_RATIO = 0.01
_MOST_JOBS = 500


@dataclass(frozen=True, slots=True)
class GoalDefaults:
    """A goal, and where its values come from.

    Attributes:
        goal: the defaults.
        sources: by name of a field of the goal, what it was taken from; a field that is missing has the usual value.
    """

    goal: FeedGoal
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PresentFeed:
    """What arrives now.

    Attributes:
        exporters: that sent in the last hours.
        rates: N of 1 in N that they sample with, 0 unknown.
        records_per_s: of all, over the last hour.
    """

    exporters: int
    rates: tuple[int, ...]
    records_per_s: float


def goal_defaults(stores: Stores, viewer: Viewer, inventory: Inventory, now_ns: int) -> GoalDefaults:
    """Take job, traffic and retention from the service; what it does not know has the usual value.

    Raises:
        StorageError: the database cannot be reached.
    """
    rows = jobs(stores, viewer, now_ns, most=_MOST_JOBS, with_ended=False)
    found = [_from_settings(stores.settings.store), _from_job(rows), _from_traffic(stores, rows, inventory)]
    values: dict[str, Any] = {name: value for part in found for name, (value, _) in part.items()}
    sources = {name: source for part in found for name, (_, source) in part.items()}
    return GoalDefaults(replace(FeedGoal(), **values), sources)


def present_feed(stores: Stores, now_ns: int) -> PresentFeed | None:
    """What arrives now; None where nothing does.

    Raises:
        StorageError: the database cannot be reached.
    """
    rows = feeds(stores, now_ns)
    if not rows:
        return None
    rates = {rate for row in rows if row.sampling is not None for rate in row.sampling.rates}
    return PresentFeed(len(rows), tuple(sorted(rates)), sum(map(_records_per_s, rows)))


def _records_per_s(row: FeedRow) -> float:
    """Mean since its first record within the hour."""
    first = next((n for n, records in enumerate(row.trend) if records), len(row.trend))
    return row.records / (max(len(row.trend) - first, 1) * row.step_ns / 1e9)


_Found = dict[str, tuple[float | int, str]]


def _from_settings(store: StoreSettings) -> _Found:
    keep = store.keep.get("flows")
    found: _Found = {}
    if keep is not None and keep.age_h is not None:
        found["keep_h"] = (keep.age_h, "setting store.keep.flows")
    if keep is not None and keep.size_gib is not None:
        found["disk_gib"] = (keep.size_gib, "setting store.keep.flows")
    return found


def _from_job(rows: Sequence[JobRow]) -> _Found:
    """Iteration time and ring of the largest job: rings are of its data-parallel size where that is known."""
    paced = [row for row in rows if (row.norm_s or row.iteration_s) and row.endpoints > 1]
    if not paced:
        return {}
    largest = max(paced, key=lambda row: (row.endpoints, row.id))
    source = f"job {largest.label or largest.id}"
    ring = largest.layout.dp if largest.layout is not None and (largest.layout.dp or 0) > 1 else None
    return {
        "iteration_s": (min(float(f"{largest.norm_s or largest.iteration_s:.3g}"), LONGEST_ITERATION_S), source),
        "members": (min(ring or largest.endpoints, MOST_MEMBERS), source),
    }


def _from_traffic(stores: Stores, rows: Sequence[JobRow], inventory: Inventory) -> _Found:
    """Share of the NICs' rate that training used in the newest scanned window."""
    seen = traffic(stores)
    training = next((one for one in seen.classes if one.traffic_class == "training"), None) if seen else None
    speeds = [e.speed_gbps for host in inventory.hosts for e in host.endpoints if e.speed_gbps is not None]
    endpoints = sum(row.endpoints for row in rows)
    if training is None or not speeds or not endpoints:
        return {}
    ratio = training.rate_bps / (endpoints * median_low(speeds) * 1e9)
    return {"busy_ratio": (min(max(round(ratio, 2), _LEAST_BUSY_RATIO), 1.0), "training traffic of the newest scan")}
