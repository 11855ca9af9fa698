"""The layout of one job, by whole messages or by what a flow cache's records show of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int, Streams
from datamodel.reports.layout import Layout, Sizes
from flowprism.analysis.job_changes import CopiedChange
from reconstruct.jobs.job_recognition import Job
from reconstruct.membership.continued_transfers import continued_transfers, current_holders
from reconstruct.sampled.caches.cache_records import DrawnPackets
from reconstruct.timelines.merged_messages import Metered
from reconstruct.timelines.metered_transfers import both_ways, known_transfers
from reconstruct.timelines.transfers import transfers
from strategy.layout_inference import NO_ENDPOINTS, UNKNOWN_LAYOUT, InferredLayout, infer_layout
from strategy.placement import Seat


@dataclass(frozen=True, slots=True)
class LayoutInputs:
    """What the layout of a job is inferred from.

    Attributes:
        streams, job: the job's own streams, and the job on them.
        seats: where the job's endpoints are plugged in, and others of their hosts.
        changes: of its members.
        unreported: those of its endpoints whose switches export nothing.
        drawn: how well a cache that is fed with sampled packets shows it; None where all packets are counted.
        former: the layout that the window before showed of it; None where that is not known.
    """

    streams: Streams
    job: Job
    seats: Mapping[int, Seat]
    changes: tuple[CopiedChange, ...] = ()
    unreported: Int = field(default_factory=lambda: NO_ENDPOINTS)
    drawn: DrawnPackets | None = None
    former: Layout | None = None


def infer_job_layout(shown: LayoutInputs, cache: Metered | None) -> InferredLayout:
    """The layout by whole messages, or by what a cache's records show of them.

    Args:
        shown: of the job.
        cache: what the records show if a cache made them.
    """
    if cache is None:
        return _inferred(shown, transfers(shown.streams, shown.job))
    ways = known_transfers(shown.streams, shown.job, cache)
    if cache.spanning.any():
        merged = cache.merged[ways[0]["stream"]]
        whole, rest = (ways[0].take(np.flatnonzero(rows)) for rows in (~merged, merged))
        hidden = np.unique(np.stack([rest["src"], rest["dst"]], axis=1), axis=0).astype(np.int64)
        return _inferred(shown, whole, hidden) if len(whole) else UNKNOWN_LAYOUT
    found = [_inferred(shown, moved) for moved in ways]
    return found[0] if len(found) == 1 else _shown_either_way(found, both_ways(shown.streams, cache.merged))


def _inferred(shown: LayoutInputs, moved: Frame, merged: Int | None = None) -> InferredLayout:
    """The layout that some transfers show; `merged` are further pairs, (pairs, 2), whose transfers are not known."""
    job = shown.job
    hidden = job.unexplained if merged is None else np.concatenate([job.unexplained, merged])
    changes = [one.change for one in shown.changes]
    size = len(shown.streams.addresses)
    now = continued_transfers(moved, changes, size)
    members = job.endpoints if now is moved else np.unique(current_holders(changes, size)[job.endpoints])
    seats = dict(shown.seats)
    return infer_layout(
        now,
        job.edges_ns,
        members,
        seats,
        unexplained=hidden,
        unreported=shown.unreported,
        exact_bytes=shown.drawn is None,
        former=shown.former,
    )


def _shown_either_way(found: list[InferredLayout], both_ways: bool) -> InferredLayout:
    """The layout that one way of placing what records hide shows, and none contradicts.

    With `both_ways`, pairs that send in both directions may be stages as well as replicas: that there is no pipeline
    is not shown then.
    """
    known = [s for s in found if s.layout.dp is not None and (s.layout.pp != 1 or not both_ways)]
    sizes = [[value for s in known if (value := getattr(s.layout, name)) is not None] for name in Sizes.model_fields]
    if not known or any(len(set(values)) > 1 for values in sizes):
        return UNKNOWN_LAYOUT
    return max(known, key=lambda s: sum(getattr(s.layout, name) is not None for name in Sizes.model_fields))
