"""Cells of a sweep over link rate, iteration period, group size and sampling rate, each affordable by itself.

What a sampled feed can show depends on how many samples fall into a burst. A cell's job therefore sends what its
links and its period allow, or less where more samples would be taken than the cell is given: a cell of a dense
sampling rate sends little, one of a sparse rate as much as a real job.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulate.bursts import MTU_BYTES
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.network.fabric import GBPS, Fabric
from simulate.scenarios.base_job import one_job
from simulate.scenarios.scenario import Scenario
from simulate.training.collective import CollectiveOptions
from simulate.training.model import Volumes
from simulate.training.plan import Plan
from simulate.training.workload import Workload

_BATCHES = 4
_OPTIMIZER_RATIO = 0.02  # of the period
_PIPELINE_RATIO = 0.1  # of what a NIC sends in an iteration, where there are stages
_LEAST_BYTES = 1 << 20  # that a NIC sends in an iteration
_HOSTS_A_LEAF = 4, 32
# Rings run step by step: what members send before they stall for a late one shows which is late. In larger ones a
# step is too small to be simulated; they run in pieces that all begin at once and do not show which was late.
_LARGE_GROUP, _PIECES = 64, 8


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        feed: what switches export; its rate is the sampling rate.
        gbps: rate of the NICs.
        period_s: of an iteration, about.
        group: members of a gradient group, each with a NIC and a host of its own.
        stages: of the pipeline; each has a group.
        iterations: how many.
        busy_ratio: most of the period that a NIC sends at full rate.
        samples: about how many the whole feed has at most.
    """

    feed: FeedSpec
    gbps: float = 400.0
    period_s: float = 8.0
    group: int = 64
    stages: int = 1
    iterations: int = 30
    busy_ratio: float = 0.2
    samples: int = 200_000

    @property
    def sent_bytes(self) -> float:
        """What each NIC sends in an iteration."""
        room = self.busy_ratio * self.period_s * 1e9 * self.gbps * GBPS
        counted = self.samples * self.feed.rate * MTU_BYTES / (self.iterations * self.group * self.stages)
        return max(min(room, counted), _LEAST_BYTES)


def sweep(cell: Cell, *faults: Fault) -> Scenario:
    """The cell as a scenario, with faults where they are given."""
    plan = Plan(tp=1, dp=cell.group, pp=cell.stages)
    hosts = plan.world
    least, most = _HOSTS_A_LEAF
    fabric = Fabric(
        hosts=hosts,
        gpus_per_host=1,
        nics_per_host=1,
        hosts_per_leaf=min(max(hosts // 8, least), most),
        spines=4,
        nic_gbps=cell.gbps,
        uplink_gbps=4 * cell.gbps,
    )
    rings = CollectiveOptions(steps=2 * (cell.group - 1) if cell.group <= _LARGE_GROUP else _PIECES)
    workload = Workload(volumes=_volumes(cell), batches=_BATCHES, collectives=rings)
    job = one_job(plan, workload, cell.iterations)
    about = f"{cell.gbps:g} Gb/s, {cell.period_s:g} s, groups of {cell.group}, 1 in {cell.feed.rate}"
    return Scenario("sweep", about, fabric, (job,), faults=faults, feeds=(cell.feed,))


def _volumes(cell: Cell) -> Volumes:
    """A job whose iterations take about the period, with so much sent as the cell allows."""
    sent, staged = cell.sent_bytes, cell.stages > 1
    message = sent * _PIPELINE_RATIO / _BATCHES / 2 if staged else 0.0  # an inner stage sends both ways
    reduced = sent * (1 - _PIPELINE_RATIO * staged)
    bytes_per_ns = cell.gbps * GBPS
    rounds = _BATCHES + cell.stages - 1
    moving_s = (reduced + 2 * rounds * message) / bytes_per_ns / 1e9
    computing_s = max(cell.period_s * (1 - _OPTIMIZER_RATIO) - moving_s, 0.1 * cell.period_s) / rounds
    return Volumes(
        layers=1,
        forward_s=computing_s / 3,
        backward_s=computing_s * 2 / 3,
        optimizer_s=cell.period_s * _OPTIMIZER_RATIO,
        activation_bytes=message,
        gradient_bytes=reduced * cell.group / (2 * (cell.group - 1)),
        parameter_bytes=0.0,
    )
