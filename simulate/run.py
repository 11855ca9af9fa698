"""Jobs that share a fabric, put together into one graph with their faults and other traffic, and run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from simulate.faults import CapacityChange, Fault, crash, list_capacity_changes
from simulate.network.background import Traffic
from simulate.network.engine import Timing, run
from simulate.network.fabric import Fabric
from simulate.network.graph import MARK, NO_INDEX, SETTING, TRANSFER
from simulate.network.sharing import NEVER_NS, WIDTH
from simulate.training.job import PlacedIteration, SimulatedJob, place_iteration, rollout_factor, work_of

NS = 1e9


@dataclass(frozen=True, slots=True)
class Instance:
    """One iteration of one job in the graph.

    Attributes:
        job: index of the job in the scenario.
        attempt, iteration: which, iterations counted through all attempts.
        first: number of its first operation.
        seat: its operations on their NICs.
    """

    job: int
    attempt: int
    iteration: int
    first: int
    seat: PlacedIteration

    @property
    def rows(self) -> slice:
        """Its operations."""
        return slice(self.first, self.first + len(self.seat.graph))


@dataclass(frozen=True, slots=True)
class Run:
    """What happened.

    Attributes:
        fabric, jobs, faults: what was run; jobs by index in the scenario.
        instances: iterations in the order of jobs and time.
        timing: of all operations.
        work: (n,) work of all operations.
        fault_ns: when each fault set in; nan where it never did or is there from the beginning.
        fault_end_ns: when it ended; nan where it did not.
        traffic, traffic_first: other traffic and its first operation.
        until_ns: when the run stopped.
        changed, changed_ns, changed_to: (changes,) links whose capacity changed, when (nan: never) and to how much.
    """

    fabric: Fabric
    jobs: dict[int, SimulatedJob]
    faults: tuple[Fault, ...]
    instances: tuple[Instance, ...]
    timing: Timing
    work: Float
    fault_ns: tuple[float, ...]
    fault_end_ns: tuple[float, ...]
    traffic: Traffic
    traffic_first: int
    until_ns: float
    changed: Int
    changed_ns: Float
    changed_to: Float


def run_jobs(
    fabric: Fabric,
    jobs: dict[int, SimulatedJob],
    faults: Sequence[Fault],
    traffic: Traffic,
    seed: int,
    until_ns: float = NEVER_NS,
) -> Run:
    """Run jobs that share a fabric; their links are shared with one another and with `traffic`."""
    faults = [replace(f, spine=_busiest_spine(fabric, jobs[f.job], f)) if f.spine is None else f for f in faults]
    assembly = _Assembly(fabric, jobs, tuple(faults), seed)
    for index in jobs:
        assembly.add_job(index)
    traffic_first = assembly.add_traffic(traffic)
    marks = [assembly.add_fault(fault) for fault in faults]
    timing, work, changed, link = assembly.run(until_ns)
    onset = [float(timing.start_ns[m[0]]) if m else float("nan") for m in marks]
    ends = [float(timing.start_ns[m[1]]) if len(m) > 1 else float("nan") for m in marks]
    return Run(
        fabric,
        jobs,
        tuple(faults),
        tuple(assembly.instances),
        timing,
        work,
        tuple(onset),
        tuple(ends),
        traffic,
        traffic_first,
        until_ns,
        link,
        timing.start_ns[changed],
        work[changed],
    )


@dataclass(slots=True)
class _Assembly:
    """The graph of several jobs under construction."""

    fabric: Fabric
    jobs: dict[int, SimulatedJob]
    faults: tuple[Fault, ...]
    seed: int
    instances: list[Instance] = field(default_factory=list)
    _count: int = 0
    _resources: int = 0
    _cells: dict[tuple[int, int], int] = field(default_factory=dict)
    _columns: dict[str, list[np.ndarray]] = field(
        default_factory=lambda: {
            name: [] for name in ("kind", "work", "lag_ns", "delay_ns", "path", "earliest_ns", "before", "after")
        }
    )

    def __post_init__(self) -> None:
        self._resources = self.fabric.resources

    def _add(
        self, kind: np.ndarray, work: np.ndarray, lag_ns: np.ndarray, path: np.ndarray, earliest_ns: np.ndarray
    ) -> Int:
        """Operations; their numbers."""
        delay = np.where(kind == TRANSFER, self.fabric.latency_ns, 0.0)
        values = (kind.astype(np.int32), work, lag_ns, delay, path.astype(np.int32), earliest_ns)
        for name, column in zip(("kind", "work", "lag_ns", "delay_ns", "path", "earliest_ns"), values, strict=True):
            self._columns[name].append(column)
        ids = np.arange(self._count, self._count + len(kind))
        self._count += len(kind)
        return ids

    def _edges(self, before: np.ndarray, after: np.ndarray) -> None:
        self._columns["before"].append(before.astype(np.int32))
        self._columns["after"].append(after.astype(np.int32))

    def add_job(self, index: int) -> None:
        """All attempts of a job, one behind the other."""
        job = self.jobs[index]
        number, down = 0, NO_INDEX
        last = len(job.attempts) - 1
        for attempt, run_of in enumerate(job.attempts):
            self._cells[index, attempt] = self._resources
            self._resources += job.plan_of(attempt).cells
            seats: dict[tuple[bool, ...], PlacedIteration] = {}
            ends: Int | None = None
            for step in range(run_of.iterations):
                seat = self._seat(index, attempt, number, attempt > 0 and step == 0, seats)
                first = self._add_iteration(index, attempt, number, seat)
                begin = first + seat.iteration.begin
                if ends is not None:
                    self._edges(ends, begin)
                elif down != NO_INDEX:
                    self._edges(np.full(len(begin), down), begin)
                ends = first + seat.iteration.end
                number += 1
            if run_of.crashes:
                ends = self._settings(index, crash(job, attempt, number - 1))[:1]
            if attempt < last and ends is not None:
                down = self._begins_again(ends, job.attempts[attempt + 1].down_s)

    def _begins_again(self, stops: Int, down_s: float) -> int:
        """The operation that ends the time between two attempts."""
        up = self._add(
            np.array([MARK]), np.zeros(1), np.array([down_s * NS]), np.full((1, WIDTH), NO_INDEX), np.zeros(1)
        )
        self._edges(stops, np.repeat(up, len(stops)))
        return int(up[0])

    def _seat(
        self, index: int, attempt: int, number: int, first: bool, seats: dict[tuple[bool, ...], PlacedIteration]
    ) -> PlacedIteration:
        job = self.jobs[index]
        p = job.workload.pauses
        checkpoint = bool(p.checkpoint_every) and (number + 1) % p.checkpoint_every == 0
        evaluation = bool(p.evaluation_every) and number > 0 and number % p.evaluation_every == 0
        moved = [f for f in self.faults if f.kind == "ecmp_collision" and number >= f.first and f.job == index]
        moved = [f for f in moved if f.last is None or number <= f.last]
        rl = job.workload.post_training
        syncs = rl is not None and (number + 1) % rl.every == 0
        key = (checkpoint, evaluation, bool(moved), first, syncs)
        if key not in seats:
            seat = place_iteration(
                self.fabric, job, attempt, checkpoint=checkpoint, evaluation=evaluation, first=first, syncs=syncs
            )
            seats[key] = _rerouted(seat, self.fabric, moved) if moved else seat
        return seats[key]

    def _add_iteration(self, index: int, attempt: int, number: int, seat: PlacedIteration) -> int:
        job, g = self.jobs[index], seat.graph
        work = work_of(seat, job, attempt, (self.seed, index, number))
        path = seat.path.copy()
        computes = (g.kind != TRANSFER) & (path[:, 0] != NO_INDEX)
        path[computes, 0] += self._cells[index, attempt]
        lag_ns = g.lag_ns * rollout_factor(seat, job, (self.seed, index, number))
        ids = self._add(g.kind, work, lag_ns, path, np.full(len(g), job.start_s * NS))
        self._edges(g.before + ids[0], g.after + ids[0])
        self.instances.append(Instance(index, attempt, number, int(ids[0]), seat))
        return int(ids[0])

    def add_traffic(self, traffic: Traffic) -> int:
        """Messages that belong to no job; the number of the first."""
        count = len(traffic.src)
        spine = self.fabric.spine(traffic.src, traffic.dst, traffic.src_port)
        path = self.fabric.path(traffic.src, traffic.dst, spine)
        kind = np.full(count, TRANSFER)
        self._add(kind, traffic.bytes.astype(np.float64), np.zeros(count), path, traffic.start_ns.astype(np.float64))
        return self._count - count

    def add_fault(self, fault: Fault) -> list[int]:
        """A fault's changes; the operations that mark its beginning and its end, none where nothing changes."""
        job = self.jobs[fault.job]
        iterations = sum(a.iterations for a in job.attempts)
        if fault.kind in {"ecmp_collision", "contention"}:
            sets_in = self._begin(fault.job, fault.first, 0)
            if fault.kind == "contention":
                rival = next(i for i in self.instances if i.job == fault.other)
                begin = rival.first + rival.seat.iteration.begin
                self._edges(np.full(len(begin), sets_in), begin)
            return [sets_in]
        changes = list_capacity_changes(fault, self.fabric, job, iterations, self.seed)
        ids = self._settings(fault.job, changes)
        if not changes or not len(ids):
            return []
        return [int(ids[0])] + ([int(ids[-1])] if fault.last is not None else [])

    def _begin(self, index: int, iteration: int, cell: int) -> int:
        instance = next(i for i in self.instances if i.job == index and i.iteration == iteration)
        return instance.first + int(instance.seat.iteration.begin[cell])

    def _settings(self, index: int, changes: Sequence[CapacityChange]) -> Int:
        """Operations that make the changes; those for iterations that are never begun are left out."""
        known = {i.iteration: i for i in self.instances if i.job == index}
        changes = [c for c in changes if c.iteration in known]
        path = np.full((len(changes), WIDTH), NO_INDEX)
        nominal = self.fabric.capacity()
        work = np.zeros(len(changes))
        for n, change in enumerate(changes):
            base = self._cells[index, known[change.iteration].attempt] if change.of_cell else 0
            path[n, 0] = base + change.resource
            work[n] = change.ratio * (1.0 if change.of_cell else nominal[change.resource])
        lag = np.array([c.lag_ns for c in changes])
        ids = self._add(np.full(len(changes), SETTING), work, lag, path, np.zeros(len(changes)))
        self._edges(np.array([self._begin(index, c.iteration, c.cell) for c in changes], np.int64), ids)
        return ids

    def run(self, until_ns: float) -> tuple[Timing, Float, Int, Int]:
        """Run the whole graph; timing and work of all operations, and which of them change which link's capacity."""
        self._edges(np.zeros(0, np.int64), np.zeros(0, np.int64))  # where no job runs there are no others
        c = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        self._columns.clear()
        capacity = np.ones(self._resources)
        capacity[: self.fabric.resources] = self.fabric.capacity()
        timing = run(
            c["kind"],
            c["work"],
            c["lag_ns"],
            c["delay_ns"],
            c["path"],
            (c["before"], c["after"]),
            capacity,
            c["earliest_ns"],
            until_ns,
            self.fabric.bucket_ns,
        )
        changes = np.flatnonzero((c["kind"] == SETTING) & (c["path"][:, 0] < self.fabric.resources))
        return timing, c["work"], changes, c["path"][changes, 0]


def _busiest_spine(fabric: Fabric, job: SimulatedJob, fault: Fault) -> int:
    """The spine over which a job sends most from the fault's leaf, or to it where that is the fault's direction."""
    if fault.kind not in {"slow_uplink", "ecmp_collision", "contention"}:
        return 0
    seat = place_iteration(fabric, job, 0, checkpoint=False, evaluation=False)
    crosses = seat.path[:, 2] != NO_INDEX
    end = seat.dst if fault.direction == "rx" else seat.src
    here = crosses & (fabric.leaf_of_nic(np.maximum(end, 0)) == fault.leaf)
    return int(np.argmax(np.bincount(seat.spine[here], seat.graph.work[here], minlength=fabric.spines)))


def _rerouted(seat: PlacedIteration, fabric: Fabric, faults: Sequence[Fault]) -> PlacedIteration:
    """The same iteration where all connections that leave a leaf take one spine."""
    spine = seat.spine.copy()
    moves = seat.src != NO_INDEX
    leaf = np.where(moves, fabric.leaf_of_nic(np.maximum(seat.src, 0)), NO_INDEX)
    for fault in faults:
        spine[leaf == fault.leaf] = fault.spine or 0
    path = seat.path.copy()
    path[moves] = fabric.path(seat.src[moves], seat.dst[moves], spine[moves], seat.plane[moves])
    return replace(seat, spine=spine, path=path)
