"""Hours of one job, for scans of consecutive windows: what slows it by 12 %, sets in and is fixed later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from simulate.case import simulate_case
from simulate.faults import Fault
from simulate.scenarios.base_job import dense_volumes, fabric_for, one_job
from simulate.scenarios.scenario import Scenario
from simulate.training.plan import Plan
from simulate.training.workload import Noise, Workload

SLOWDOWN_RATIO = 1.12
HOURS = 0.75
# A window and some scans lie before the onset; behind the end there is room for a window and the quiet scans.
_CALM_S, _ROOM_S = 180.0, 360.0
_PLANS = (Plan(tp=8, dp=2, pp=2), Plan(tp=8, dp=4), Plan(tp=8, dp=4, pp=2), Plan(tp=8, dp=2, pp=4))
_WINDOWS_S = (180.0, 300.0, 600.0)
_PROBE, _HALVINGS = 5, 7
_SPEEDS, _NIC_GBPS_PER_TFLOPS = (50.0, 200.0), 0.5

Conduct = Literal["fixed", "scanner away", "accepted", "accepted late"]
# Kind of fault, its largest size, and what people do about it. A change of batch size is a regression of all endpoints.
KINDS: tuple[tuple[Literal["regression", "straggler", "slow_nic"], float, Conduct], ...] = (
    ("regression", 1.5, "fixed"),
    ("straggler", 2.0, "fixed"),
    ("slow_nic", 60.0, "fixed"),
    ("regression", 1.5, "scanner away"),
    ("regression", 1.5, "accepted"),
    ("regression", 1.5, "accepted late"),
)


@dataclass(frozen=True, slots=True)
class WindowCase:
    """Hours of a job under a policy.

    Attributes:
        scenario: the job, with its fault.
        conduct: it is fixed after a while; it sets in while no scanner runs; an operator accepts it as soon as it is
            suspected, or only once its incident is open.
        window_s: length of a window of the policy.
        first, last: iterations it sets in and ends with.
    """

    scenario: Scenario
    conduct: Conduct
    window_s: float
    first: int
    last: int


def window_case(number: int, hours: float = HOURS) -> WindowCase:
    """Draw the case of a number: plan, pace, onset, place and end; the fault is as grave as costs 12 %."""
    random = np.random.default_rng(np.random.SeedSequence([number, *b"windows"]))
    kind, most, conduct = KINDS[number % len(KINDS)]
    plan = _PLANS[int(random.integers(len(_PLANS)))]
    # Slow GPUs behind slow NICs: long iterations of few records, in which transfers have their usual share.
    speed = float(random.uniform(*_SPEEDS))
    volumes = dense_volumes(plan, "llama2-70b", 1, 1, gpu_tflops=speed)
    fabric = fabric_for(plan.world, nic_gbps=_NIC_GBPS_PER_TFLOPS * speed)
    workload = Workload(volumes=volumes, batches=2, noise=Noise(jitter_ratio=float(random.uniform(0.002, 0.02))))
    fault = Fault(kind, rank=int(random.integers(plan.world)))
    calm = Scenario("", kind, fabric, (one_job(plan, workload, _PROBE),))
    usual_s = _iteration_s(calm)
    low, high = 1.0, most
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        is_less = _iteration_s(replace(calm, faults=(replace(fault, size=middle),))) < SLOWDOWN_RATIO * usual_s
        low, high = (middle, high) if is_less else (low, middle)
    iterations = int(hours * 3600 / usual_s)
    window_s = _WINDOWS_S[int(random.integers(len(_WINDOWS_S)))]
    first = int(random.uniform(window_s + _CALM_S, window_s + _ROOM_S) / usual_s)
    last = iterations - int((window_s + _ROOM_S) / usual_s)
    stays = conduct.startswith("accepted")
    fault = replace(fault, size=high, first=first, last=None if stays else last)
    scenario = replace(calm, jobs=(one_job(plan, workload, iterations),), faults=(fault,))
    return WindowCase(scenario, conduct, window_s, first, last)


def _iteration_s(scenario: Scenario) -> float:
    ends = [end for _, end in simulate_case(scenario, 0).truth.jobs[0].iterations]
    return float(np.median(np.diff(ends))) / 1e9
