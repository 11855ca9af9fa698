"""One job seen through several feeds: exact records, and the records of flow caches with timeouts of several lengths.

A case's number is its job's, whatever the feed: what two feeds of one number show differs by the feed alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flowprism.evaluation.cases.faulty import KINDS as FAULTS
from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import TRAININGS, Drawn, draw
from simulate.export.feed_spec import FeedSpec
from simulate.scenarios.scenario import Scenario
from simulate.training.job import Job
from simulate.training.model import Volumes

# Active and inactive timeout in seconds, from what is set for detection to what devices come with.
TIMEOUTS = ((1, 1), (5, 1), (15, 5), (60, 15))
FEEDS: dict[str, tuple[FeedSpec, ...]] = {"exact": ()} | {
    f"ipfix-{active}-{inactive}": (FeedSpec("ipfix", active_s=active, inactive_s=inactive),)
    for active, inactive in TIMEOUTS
}
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
    return plain(drawn, about=about, faults=faults, feeds=FEEDS[feed])


def paced(job: Job, period_s: float) -> Job:
    """The job with passes that take about so long altogether; where they become shorter, less is sent too."""
    work, own = job.workload, job.workload.volumes
    passes = work.batches + job.plan.pp - 1
    times = period_s / (passes * (own.forward_s + own.backward_s) + own.optimizer_s)
    return replace(job, workload=replace(work, volumes=_scaled(own, times)))


def _scaled(own: Volumes, times: float) -> Volumes:
    changed = {name: getattr(own, name) * times for name in own.__slots__ if name.endswith("_s")}
    sent = {name: getattr(own, name) * min(times, 1.0) for name in own.__slots__ if name.endswith("_bytes")}
    return replace(own, **changed, **sent)
