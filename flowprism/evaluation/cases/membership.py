"""Jobs whose members or connections change, and others that only look so, for the family `membership`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from datamodel.reconstructed.streams import Int
from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.quiet import paused
from flowprism.evaluation.cases.training import Drawn, Training, draw, hosts_of
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.scenarios.scenario import Scenario
from simulate.training.job import Attempt, SimulatedJob
from simulate.training.plan import Plan, pack_ranks

KINDS = ("live migration", "restart", "elastic")
DISTRACTORS = ("checkpoint", "evaluation", "feed gap", "exporter restart", "address reuse")
ITERATIONS = 24
# Iterations before and after a change, at least.
_BEFORE, _AFTER = 8, 6
_PLANS = (
    Plan(tp=8, dp=3, pp=2),
    Plan(tp=8, dp=4, pp=2),
    Plan(tp=8, dp=3, pp=3),
    Plan(tp=4, dp=4, pp=2),
    Plan(tp=4, dp=4, pp=4),
    Plan(tp=8, dp=4),
    Plan(tp=8, dp=6),
    Plan(tp=8, dp=3, pp=4),
)
_TRAINING = Training(_PLANS, batches=(4,), units=2)
_TRAININGS = (
    _TRAINING,
    replace(_TRAINING, workload={"buckets": 2, "overlap": True}),
    replace(_TRAINING, workload={"sharding": "zero"}),
)
# A rank's share of parameters and optimizer state that a joiner receives.
_STATE_BYTES = (2e8, 2e9)


@dataclass(frozen=True, slots=True)
class MembershipCase:
    """A case of the family.

    Attributes:
        scenario: what is run.
        kind: of the change, or the distractor.
        gap_s: from when to when records are missing, in shares of the case's length; None for none.
        gap_rail: rail whose records are missing then; None: all.
    """

    scenario: Scenario
    kind: str
    gap: tuple[float, float] | None = None
    gap_rail: int | None = None


def membership_case(number: int, kind: str) -> MembershipCase:
    """Draw the case of a kind and number."""
    random = np.random.default_rng(np.random.SeedSequence([number, *kind.encode()]))
    training = _TRAININGS[number % len(_TRAININGS)]
    if kind == "elastic":  # replicas of whole hosts
        training = replace(training, plans=tuple(p for p in _PLANS if p.tp == GPUS_PER_HOST))
    drawn = draw(training, random, ITERATIONS)
    made = _MAKERS[kind](drawn, random)
    named = replace(made, name=f"{kind.replace(' ', '-')}-{number:03}", about=kind)
    if kind not in {"feed gap", "exporter restart"}:
        return MembershipCase(named, kind)
    begin = float(random.uniform(0.4, 0.7))
    rail = int(random.integers(GPUS_PER_HOST)) if kind == "exporter restart" else None
    return MembershipCase(named, kind, (begin, begin + float(random.uniform(0.05, 0.2))), rail)


def _live(drawn: Drawn, random: np.random.Generator) -> Scenario:
    return _changed(drawn, random, _swapped(drawn.job, random), live=True, replicated=bool(random.integers(2)))


def _restart(drawn: Drawn, random: np.random.Generator) -> Scenario:
    job = drawn.job
    gpus = _swapped(job, random) if random.integers(2) else job.attempts[0].gpus.copy()
    return _changed(drawn, random, gpus)


def _elastic(drawn: Drawn, random: np.random.Generator) -> Scenario:
    """One replica fewer or more."""
    plan, first = drawn.job.plan, drawn.job.attempts[0].gpus
    grows = bool(random.integers(2))
    dp = plan.dp + 1 if grows else plan.dp - 1
    leaves = plan.dp - 1 if grows else int(random.integers(plan.dp))
    seats = first[plan.ranks()]  # (pp, dp, cp, tp)
    if grows:
        beyond = hosts_of(plan) * GPUS_PER_HOST + np.arange(plan.tp * plan.pp).reshape(plan.pp, 1, 1, plan.tp)
        seats = np.concatenate([seats, beyond], axis=1)
    else:
        seats = np.delete(seats, leaves, axis=1)
    return _changed(drawn, random, seats.ravel(), dp=dp)


def _changed(drawn: Drawn, random: np.random.Generator, gpus: Int, **how: object) -> Scenario:
    """A job that goes on with other GPUs; what is not live ends with a crash as a rule."""
    job = drawn.job
    times = int(random.integers(_BEFORE, ITERATIONS - _AFTER))
    crashes = not how.get("live") and bool(random.integers(3))
    after = Attempt(
        gpus, ITERATIONS - times, down_s=float(random.uniform(0.5, 4) if how.get("live") else random.uniform(5, 20)),
        state_bytes=float(random.uniform(*_STATE_BYTES)), **how,  # type: ignore[arg-type]  # fields of `Attempt`
    )  # fmt: skip
    before = replace(job.attempts[0], iterations=times, crashes=crashes)
    hosts = 1 + int(max(job.attempts[0].gpus.max(), gpus.max())) // GPUS_PER_HOST
    fabric = fabric_for(hosts * GPUS_PER_HOST, services=4 if not how.get("live") else 0)
    return Scenario("", "", fabric, (replace(job, attempts=(before, after)),))


def _swapped(job: SimulatedJob, random: np.random.Generator) -> Int:
    """The job's GPUs with those of one host replaced by a host beyond."""
    gpus, hosts = job.attempts[0].gpus.copy(), hosts_of(job.plan)
    lost = gpus // GPUS_PER_HOST == int(random.integers(hosts))
    gpus[lost] = hosts * GPUS_PER_HOST + gpus[lost] % GPUS_PER_HOST
    return gpus


def _paused(event: str) -> Callable[[Drawn, np.random.Generator], Scenario]:
    return lambda drawn, random: paused(drawn, random, event)


def _steady(drawn: Drawn, _: np.random.Generator) -> Scenario:
    return plain(drawn)


def _reused(drawn: Drawn, random: np.random.Generator) -> Scenario:
    """A job ends, and another one with a plan and a model of its own begins on the same hosts."""
    first = drawn.job
    plans = tuple(p for p in _PLANS if p != first.plan and hosts_of(p) == hosts_of(first.plan)) or _PLANS
    second = draw(replace(_TRAINING, plans=plans, models=("mixtral-8x7b",)), random, ITERATIONS, "job1").job
    length_s = ITERATIONS * (first.workload.volumes.forward_s + first.workload.volumes.backward_s) * 16
    second = replace(second, start_s=length_s, attempts=(replace(second.attempts[0], gpus=pack_ranks(second.plan, 0)),))
    hosts = max(hosts_of(first.plan), hosts_of(second.plan))
    return Scenario("", "", fabric_for(hosts * GPUS_PER_HOST), (first, second), coupled=False)


_MAKERS: dict[str, Callable[[Drawn, np.random.Generator], Scenario]] = {
    "live migration": _live,
    "restart": _restart,
    "elastic": _elastic,
    "checkpoint": _paused("checkpoints"),
    "evaluation": _paused("evaluations"),
    "feed gap": _steady,
    "exporter restart": _steady,
    "address reuse": _reused,
}
