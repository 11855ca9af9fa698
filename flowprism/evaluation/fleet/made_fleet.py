"""A month of a fleet at the level of patterns: jobs come and go, and every day shows how late each host is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from diagnose.patterns.repeat_offenders import HostLateness
from reconstruct.numeric.medians import medians_of_own_group

HOSTS, DAYS = 1000, 30
_SIZES, _SHARES = (4, 8, 16, 32, 64, 128), (0.15, 0.2, 0.25, 0.2, 0.15, 0.05)
_STAGES = (1, 2, 4, 8)
_MIN_HOSTS_OF_STAGE = 2


@dataclass(frozen=True, slots=True)
class FleetKind:
    """What a fleet is like; ratios are standard deviations of compute time unless said otherwise.

    Attributes:
        jobs: in the month.
        slow_hosts: how many hosts compute 3 % longer in every job.
        healthy_ratio: by which healthy hosts differ for good.
        place_ratio: by which hosts differ in one job for its whole life, because of their place in it.
        noise_ratio: (least, most) of a day's figure; each job has its own.
        slow_stage_ratio: how much longer one stage of a pipeline computes.
        first_rank_ratio: how much longer one host of every second job computes: it also logs and evaluates.
    """

    jobs: int = 200
    slow_hosts: int = 5
    healthy_ratio: float = 0.003
    place_ratio: float = 0.005
    noise_ratio: tuple[float, float] = (0.01, 0.01)
    slow_stage_ratio: float = 0.0
    first_rank_ratio: float = 0.0


SLOW_RATIO = 0.03
USUAL = FleetKind()
HARD = FleetKind(
    jobs=80,
    healthy_ratio=0.005,
    place_ratio=0.008,
    noise_ratio=(0.005, 0.05),
    slow_stage_ratio=0.1,
    first_rank_ratio=0.03,
)


@dataclass(frozen=True, slots=True)
class Fleet:
    """A month of a fleet: how late hosts were in their jobs, and which of them are slow."""

    seen: HostLateness
    slow: Int


def made_fleet(kind: FleetKind, seed: int) -> Fleet:
    """Draw a month: jobs of 4 to 128 hosts and a quarter of a day to three weeks, on hosts that are free then."""
    rng = np.random.default_rng(seed)
    slow = rng.choice(HOSTS, kind.slow_hosts, replace=False)
    factor = 1 + rng.normal(0, kind.healthy_ratio, HOSTS)
    factor[slow] = 1 + SLOW_RATIO
    free_from = np.zeros(HOSTS)
    rows = []
    for job, start in enumerate(np.sort(rng.uniform(0, DAYS, kind.jobs)).tolist()):
        lasting = min(max(float(rng.lognormal(np.log(2.5), 0.9)), 0.25), 21.0, DAYS - start)
        free = np.flatnonzero(free_from <= start)
        size = int(rng.choice(_SIZES, p=_SHARES))
        if len(free) < size:
            continue
        members = rng.choice(free, size, replace=False)
        free_from[members] = start + lasting
        rows.append(_job(kind, rng, job, members, factor, max(round(lasting), 1)))
    columns = (np.concatenate(one) for one in zip(*rows, strict=True))
    return Fleet(HostLateness(*columns), np.sort(slow))


def _job(
    kind: FleetKind, rng: np.random.Generator, job: int, members: Int, factor: Float, days: int
) -> tuple[Int, Int, Int, Float]:
    """Host, job, stage and lateness of each member: the median over days of what each day shows."""
    size = len(members)
    stages = int(rng.choice([n for n in _STAGES if size // n >= _MIN_HOSTS_OF_STAGE]))
    stage = np.arange(size) % stages
    compute = factor[members] * (1 + rng.normal(0, kind.place_ratio, size))
    compute *= np.where(stage == rng.integers(stages), 1 + kind.slow_stage_ratio, 1)
    compute[rng.integers(size)] *= 1 + kind.first_rank_ratio * int(rng.integers(2))
    noise = np.exp(rng.uniform(*np.log(kind.noise_ratio)))
    shown = compute[:, None] * (1 + rng.normal(0, noise, (size, days)))
    late = np.stack([day / medians_of_own_group(day, stage) - 1 for day in shown.T])
    return members, np.full(size, job), stage, np.median(late, axis=0)
