"""Classes of traffic in the report: bytes by class, weights of reinforcement learning, served models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Int, Streams
from datamodel.reconstructed.traffic import PostTraining, ServingSummary
from datamodel.reports.report import JobReport
from datamodel.telemetry.flows import Flows
from reconstruct.jobs.job_recognition import Job
from reconstruct.streams.observations import is_unsampled
from reconstruct.streams.stream_builder import build_streams
from reconstruct.traffic_classes.classification import (
    ClassifiedTraffic,
    KnownJobs,
    WeightMoves,
    classify_traffic,
)
from reconstruct.traffic_classes.endpoint_roles import KnownEndpoints
from reconstruct.traffic_classes.options import TrafficOptions


@dataclass(frozen=True, slots=True)
class TrafficInputs:
    """What the classes are decided from.

    Attributes:
        streams: data rows by connection.
        samples: records of a known sampling rate.
        services: address codes that the inventory names.
        inventory: of the fabric.
        stepping: address codes of endpoints in steps of served models.
        hidden: (streams,) which of them span their pauses.
    """

    streams: Streams
    samples: Flows
    services: frozenset[int]
    inventory: Inventory | None
    stepping: Int
    hidden: Bool


def account_traffic(
    view: TrafficInputs, jobs: Sequence[Job], further: Sequence[JobReport], options: TrafficOptions
) -> ClassifiedTraffic:
    """Classify all traffic of a window.

    Args:
        view: the traffic and what is known of its endpoints.
        jobs: those of the streams, in the order in which they are numbered.
        further: jobs that only samples show, numbered behind them.
        options: thresholds.
    """
    codes = {address: code for code, address in enumerate(view.streams.addresses)}
    ends = [job.endpoints for job in jobs]
    ends += [np.array([codes[a] for a in job.endpoints if a in codes], np.int64) for job in further]
    job_of = np.full(len(codes), -1, np.int64)
    for number, own in enumerate(ends):
        job_of[own] = number
    nothing = np.zeros(0, np.int64)
    edges = [job.edges_ns for job in jobs] + [nothing for _ in further]
    streams = [job.stream_numbers for job in jobs] + [nothing for _ in further]
    known = _known(view, codes, job_of)
    sampled = build_streams(view.samples)
    return classify_traffic(view.streams, sampled, known, KnownJobs(edges, streams), view.hidden, options)


def sampled_records(flows: Flows, kept: Bool) -> Flows:
    """The samples among records that carry the volume."""
    some = kept & ~is_unsampled(flows.frame)
    return flows.take(np.flatnonzero(some))


def _known(view: TrafficInputs, codes: dict[str, int], job_of: Int) -> KnownEndpoints:
    count = len(codes)
    service, computes, stepping = (np.zeros(count, np.bool_) for _ in range(3))
    service[list(view.services)] = stepping[view.stepping] = True
    for host in view.inventory.hosts if view.inventory is not None else ():
        for endpoint in host.endpoints:
            if endpoint.gpu is not None:
                computes[[codes[a] for a in endpoint.all_addresses if a in codes]] = True
    return KnownEndpoints(job_of, service, computes, stepping)


def post_training(found: ClassifiedTraffic, addresses: Sequence[str]) -> dict[int, PostTraining]:
    """What each job of reinforcement learning does between its steps, by the job's number."""
    return {one.takers.job: _post_training(one, addresses) for one in found.weights}


def _post_training(one: WeightMoves, addresses: Sequence[str]) -> PostTraining:
    syncs = one.syncs
    gap = float(np.median(one.gaps_ns)) / 1e9 if len(one.gaps_ns) else None
    return PostTraining(
        takers=tuple(addresses[e] for e in one.takers.endpoints.tolist()),
        syncs=len(syncs.start_ns),
        sync_s=round(float(np.median(syncs.end_ns - syncs.start_ns)) / 1e9, 6),
        sync_bytes=int(np.median(syncs.bytes)),
        rollout_gap_s=None if gap is None else round(gap, 6),
    )


def syncs_ns(found: ClassifiedTraffic) -> dict[int, Int]:
    """(n, 2) start and end of each synchronization of a job's weights, by the job's number."""
    return {one.takers.job: np.stack([one.syncs.start_ns, one.syncs.end_ns], axis=1) for one in found.weights}


def serving_summary(pairs: Frame) -> ServingSummary | None:
    """Sums over all pairs of served models; None where there are none."""
    if not len(pairs):
        return None
    goodput = pairs["goodput_bps"]
    known = goodput[~np.isnan(goodput)]
    return ServingSummary(
        endpoints=len(np.union1d(pairs["src"], pairs["dst"])),
        pairs=len(pairs),
        bytes=int(pairs["bytes"].sum()),
        goodput_bps=round(float(np.median(known)), 3) if len(known) else None,
    )
