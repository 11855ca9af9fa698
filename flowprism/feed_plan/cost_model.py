"""What collecting and analyzing cost on this machine: straight lines through a few measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulate.export.feed_spec import Kind

SFLOW: Final = "sflow"
NETFLOW9: Final = "netflow9"
IPFIX: Final = "ipfix"
RECORDS_A_DATAGRAM: Mapping[Kind, int] = {SFLOW: 6, NETFLOW9: 27, IPFIX: 23}  # full ones of 1,400 bytes
WORKER_BYTES = (256 + 100 + 250) << 20  # of a collector worker: ring, receiver, decoder (docs/collector.md)


@dataclass(frozen=True, slots=True)
class CostSample:
    """One measurement.

    Attributes:
        records: flow records.
        state: endpoints that they are of.
        cost: seconds of processor time, or bytes.
    """

    records: int
    state: int
    cost: float


@dataclass(frozen=True, slots=True)
class StageCost:
    """Cost of a stage: fixed + per_record x records + per_state x endpoints.

    Attributes:
        fixed, per_record, per_state: in s of processor time, or bytes.
        error_ratio: median of |fitted - measured| / measured over what it was fitted to.
    """

    fixed: float
    per_record: float
    per_state: float = 0.0
    error_ratio: float = 0.0

    def of(self, records: float, state: float = 0.0) -> float:
        """The predicted cost."""
        return self.fixed + self.per_record * records + self.per_state * state


@dataclass(frozen=True, slots=True)
class ProtocolCosts:
    """Costs of one protocol's records: decode and commit a batch, read and analyze a window, its memory, disk."""

    decode: StageCost
    commit: StageCost
    analyze: StageCost
    analyze_bytes: StageCost
    stored_bytes: StageCost


@dataclass(frozen=True, slots=True)
class Costs:
    """All costs: to receive a datagram (s), and by protocol."""

    receive_s: float
    protocols: Mapping[Kind, ProtocolCosts]


def fit_line(samples: Sequence[CostSample], *, with_state: bool = False) -> StageCost:
    """The line of non-negative coefficients with the least relative squared error.

    Errors of timings grow with what is timed, so each measurement counts by its share.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - a fifth of the API's start; only measurements are fitted

    rows = np.array([[1.0, s.records, s.state if with_state else 0.0] for s in samples])
    cost = np.array([max(s.cost, 1e-9) for s in samples])
    scale = np.maximum(rows.max(axis=0), 1.0)  # columns of like size: the solver stops by absolute tolerance
    found = nnls(rows / scale / cost[:, None], np.ones(len(cost)))[0] / scale
    error = np.abs(rows @ found - cost) / cost
    return StageCost(float(found[0]), float(found[1]), float(found[2]), float(np.median(error)))


@dataclass(frozen=True, slots=True)
class FeedLoad:
    """What arrives and how it is looked at.

    Attributes:
        protocol: of the feed.
        records_per_s: flow records or samples.
        endpoints: that are seen.
        window_s, every_s: a scan's window, and how often there is one.
        commit_every_s: how often records are made durable.
    """

    protocol: Kind
    records_per_s: float
    endpoints: float
    window_s: float
    every_s: float
    commit_every_s: float = 5.0


@dataclass(frozen=True, slots=True)
class LoadCost:
    """Predicted cost of a load.

    Attributes:
        collect_cores, analyze_cores: processor seconds a second.
        memory_bytes: of all processes.
        stored_bytes_per_s: segments as they are committed.
        most_records_per_s: at which one worker loses the first datagram: receiver and decoder have a core each.
    """

    collect_cores: float
    analyze_cores: float
    memory_bytes: float
    stored_bytes_per_s: float
    most_records_per_s: float

    @property
    def cores(self) -> float:
        """All of it."""
        return self.collect_cores + self.analyze_cores

    def workers(self, records_per_s: float) -> int:
        """Collector workers for this many records a second, each filled to four fifths at most."""
        return _workers(records_per_s, self.most_records_per_s)


def cost_of(costs: Costs, load: FeedLoad) -> LoadCost:
    """Predict what a load costs."""
    stage = costs.protocols[load.protocol]
    per_datagram = RECORDS_A_DATAGRAM[load.protocol]
    batch = load.records_per_s * load.commit_every_s
    decoding = (stage.decode.of(batch) + stage.commit.of(batch)) / load.commit_every_s
    records = load.records_per_s * load.window_s
    receive_s, decode_s = costs.receive_s / per_datagram, stage.decode.per_record + stage.commit.per_record
    most = 1 / max(receive_s, decode_s, 1e-12)
    workers = _workers(load.records_per_s, most)
    return LoadCost(
        collect_cores=load.records_per_s * receive_s + decoding,
        analyze_cores=stage.analyze.of(records, load.endpoints) / load.every_s,
        memory_bytes=workers * WORKER_BYTES + stage.analyze_bytes.of(records, load.endpoints),
        stored_bytes_per_s=stage.stored_bytes.of(batch) / load.commit_every_s,
        most_records_per_s=most,
    )


def _workers(records_per_s: float, most_records_per_s: float) -> int:
    return max(1, int(np.ceil(records_per_s / (0.8 * most_records_per_s))))


def worst_error(costs: Iterable[StageCost]) -> float:
    """The greatest of the errors."""
    return max(cost.error_ratio for cost in costs)
