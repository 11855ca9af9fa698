"""One job seen through several feeds: exact records, a mirror, flow caches, samples, planes and address families.

A case's number is its job's, whatever the feed: what two feeds of one number show differs by the feed alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flowprism.evaluation.cases.faulty import KINDS as FAULTS
from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import TRAININGS, Drawn, draw
from simulate.export.feed_spec import FeedSpec
from simulate.network.fabric import Addressing
from simulate.scenarios.scenario import Scenario, Telemetry
from simulate.training.job import SimulatedJob
from simulate.training.model import Volumes

# Rows of a mirror gathered into one: as many as fast NICs need to keep a case small.
_GATHERED = 256


@dataclass(frozen=True, slots=True)
class View:
    """How a job is seen.

    Attributes:
        feeds: what switches export; without any, `telemetry` is what is analyzed.
        telemetry: exact records or a mirror.
        planes, sprayed, addressing: of the fabric, as `simulate.network.fabric.Fabric` has them.
    """

    feeds: tuple[FeedSpec, ...] = ()
    telemetry: Telemetry = "exact"
    planes: int = 1
    sprayed: bool = False
    addressing: Addressing = "ipv4"

    def of(self, drawn: Drawn, **named: object) -> Scenario:
        """The job as it is seen; queue pairs that keep to a plane are as many as there are planes at least."""
        pairs = max(drawn.job.queue_pairs, 1 if self.sprayed else self.planes)
        fabric = replace(drawn.fabric, planes=self.planes, sprayed=self.sprayed, addressing=self.addressing)
        gathered = _GATHERED if self.telemetry == "mirror" else 1
        made = Drawn(replace(drawn.job, queue_pairs=pairs), fabric)
        return plain(made, telemetry=self.telemetry, gathered=gathered, feeds=self.feeds, **named)


def _cache(active_s: float, inactive_s: float, rate: int = 1, *, prescaled: bool = False) -> View:
    return View((FeedSpec("ipfix", rate, active_s=active_s, inactive_s=inactive_s, prescaled=prescaled),))


# Timeouts in seconds, active and inactive, from what is set for detection to what devices come with.
FEEDS: dict[str, View] = {
    "exact": View(),
    "mirror": View(telemetry="mirror"),
    **{
        f"ipfix-{active}-{inactive}": _cache(active, inactive)
        for active, inactive in ((1, 1), (5, 1), (15, 5), (60, 15))
    },
    "netflow5": View((FeedSpec("netflow5", active_s=1, inactive_s=1),)),
    "ipfix-sampled": _cache(1, 1, 1000),
    "ipfix-prescaled": _cache(1, 1, 1024, prescaled=True),
    **{f"sflow-{rate}": View((FeedSpec("sflow", rate),)) for rate in (1000, 4096, 16_384, 65_536)},
    "ipfix-sflow": View((FeedSpec("ipfix", active_s=1, inactive_s=1), FeedSpec("sflow", 4096))),
    "planes-packets": View(planes=2, sprayed=True),
    "planes-pairs": View(planes=2),
    "ipv6": View(addressing="ipv6"),
    "srv6": View(addressing="segments"),
}
# What shows every message; the others are samples, or records that timeouts cut.
WHOLE = frozenset(name for name, view in FEEDS.items() if not view.feeds)
# Kinds of training and of fault; their numbers share no factor, so that rounds pair each with each.
KINDS = (
    "dense",
    "overlap",
    "zero",
    "interleaved",
    "embedding",
    "shuffled",
    "replicas",
    "replicas-one-bucket",
    "replicas-zero",
    "fsdp",
    "nics-2",
    "ring-attention",
)
WRONG = (None, "straggler", None, "slow-nic", "regression")
_PERIOD_S = (0.5, 60.0)
_ITERATIONS = 28


def seen(feed: str, number: int, random: np.random.Generator) -> Scenario:
    """The job of a number, its pace and fault drawn, as a feed sees it."""
    drawn = draw(TRAININGS[KINDS[number % len(KINDS)]], random, _ITERATIONS)
    period_s = float(np.exp(random.uniform(*np.log(_PERIOD_S))))
    drawn = Drawn(paced(drawn.job, period_s), drawn.fabric)
    wrong = WRONG[number % len(WRONG)]
    faults = (FAULTS[wrong].draw(drawn.job, random),) if wrong else ()
    about = f"{KINDS[number % len(KINDS)]}, {period_s:.2g} s, {wrong or 'healthy'}"
    return FEEDS[feed].of(drawn, about=about, faults=faults)


def paced(job: SimulatedJob, period_s: float) -> SimulatedJob:
    """The job with passes that take about so long altogether; where they become shorter, less is sent too."""
    work, own = job.workload, job.workload.volumes
    passes = work.batches + job.plan.pp - 1
    times = period_s / (passes * (own.forward_s + own.backward_s) + own.optimizer_s)
    return replace(job, workload=replace(work, volumes=_scaled(own, times)))


def _scaled(own: Volumes, times: float) -> Volumes:
    changed = {name: getattr(own, name) * times for name in own.__slots__ if name.endswith("_s")}
    sent = {name: getattr(own, name) * min(times, 1.0) for name in own.__slots__ if name.endswith("_bytes")}
    return replace(own, **changed, **sent)
