"""Keeps measurements for feed plans, and makes one at a time in the background."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import NamedTuple

import structlog

from datamodel.errors import FlowprismError
from flowprism.feed_plan.cost_model import Costs
from flowprism.feed_plan.feed_measurements import FeedMeasurements
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import FabricPorts
from flowprism.service.feed_plans.measuring_process import Measure, measure_in_process

_MOST_KEPT, _MOST_WAITING = 16, 4
_LOG = structlog.get_logger(__name__)


class PlannerBusyError(FlowprismError):
    """Too many measurements are waiting."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """Measurements that are not finished: steps done of all; `total` is 0 while they wait for others."""

    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class MeasuringFailed:
    """Measurements that failed, and why."""

    reason: str


MeasuringState = FeedMeasurements | Measuring | MeasuringFailed | None  # None: not started


class _JobKey(NamedTuple):
    """What measurements depend on: the job and the speeds of its NICs."""

    gbps: tuple[int, ...]
    members: int
    iteration_s: float
    busy_ratio: float


def _key(ports: FabricPorts, goal: FeedGoal) -> _JobKey:
    return _JobKey(tuple(sorted(ports.hosts)), goal.members, goal.iteration_s, goal.busy_ratio)


class FeedPlanner:
    """Measurements by job. Costs of this machine are measured once; goals of the same job share what rates show."""

    def __init__(self, measure: Measure = measure_in_process) -> None:
        """Nothing runs before `start`."""
        self._measure = measure
        self._lock = threading.Lock()
        self._states: dict[_JobKey, MeasuringState] = {}
        self._waiting: dict[_JobKey, tuple[FabricPorts, FeedGoal]] = {}
        self._costs: Costs | None = None
        self._running = False

    def state(self, ports: FabricPorts, goal: FeedGoal) -> MeasuringState:
        """The measurements for a goal, or how far they are."""
        with self._lock:
            return self._states.get(_key(ports, goal))

    def start(self, ports: FabricPorts, goal: FeedGoal) -> None:
        """Measure in the background, unless that is done or under way.

        Raises:
            PlannerBusyError: too many others are waiting.
        """
        key = _key(ports, goal)
        with self._lock:
            if isinstance(self._states.get(key), (FeedMeasurements, Measuring)):
                return
            if len(self._waiting) >= _MOST_WAITING:
                raise PlannerBusyError(f"{len(self._waiting)} other plans are being measured")
            self._waiting[key] = (ports, goal)
            self._keep(key, Measuring())
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        """Measure what waits, in order, until nothing does."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._running = False
                    return
                key, (ports, goal) = next(iter(self._waiting.items()))
            state = self._measured(key, ports, goal)
            with self._lock:
                del self._waiting[key]
                self._keep(key, state)

    def _measured(self, key: _JobKey, ports: FabricPorts, goal: FeedGoal) -> MeasuringState:
        def progress(done: int, total: int) -> None:
            with self._lock:
                self._states[key] = Measuring(done, total)

        try:
            measured = self._measure(ports, goal, self._costs, progress)
        except (FlowprismError, OSError) as error:
            _LOG.warning("feed plan not measured", reason=str(error))
            return MeasuringFailed(str(error))
        self._costs = measured.costs
        return measured

    def _keep(self, key: _JobKey, state: MeasuringState) -> None:
        """Keep a state as the newest; the oldest finished ones are dropped."""
        self._states.pop(key, None)
        self._states[key] = state
        finished = [one for one, kept in self._states.items() if not isinstance(kept, Measuring)]
        for one in finished[: max(len(finished) - _MOST_KEPT, 0)]:
            del self._states[one]
