"""A job's own times, or delays of its sends -> who computes longer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int
from diagnose.compute.send_delays import PP, SendDelays, assign_peer_classes
from diagnose.compute.stragglers import LATE, compute_ratio, lateness, share_of_chain
from diagnose.endpoint_index import Numbering, group_numbers
from diagnose.job_view import JobView
from diagnose.model.compared_iterations import ComparedIterations
from diagnose.model.compute import (
    Cells,
    Explanation,
    Grown,
    compare,
    grown,
    pursue,
)
from diagnose.model.own_time import cells
from diagnose.options import MODEL
from reconstruct.numeric.medians import MAD_TO_SIGMA, group_medians

NOBODY_WAITS = np.zeros((0, 2), np.int64)


@dataclass(frozen=True, slots=True)
class Culprits:
    """Who computes longer.

    Attributes:
        cell: (e,) number of each endpoint's cell.
        grown: own time of all cells.
        hosts: of each cell; names of their own where unknown.
        known_hosts: those that are hosts' names.
        named: the most likely first; empty where nobody does beyond doubt.
    """

    cell: Int
    grown: Grown
    hosts: tuple[str, ...]
    known_hosts: frozenset[str]
    named: tuple[Explanation, ...]

    @property
    def places(self) -> int:
        """On how many hosts those are that are named or may be instead; without hosts as many as are named."""
        near = [h.own for late in self.named for h, _ in late.near if h.who in {"cell", "host"}]
        known = {self.hosts[n] for own in near for n in np.flatnonzero(own).tolist()} & self.known_hosts
        return max(len(known), len(self.named))

    def parts(self, stage: Explanation) -> Explanation:
        """A stage's hosts, cells where hosts are not known, each as likely as the others."""
        hosts = np.array(self.hosts)
        held = sorted({self.hosts[n] for n in np.flatnonzero(stage.best.own).tolist()})
        parts = [stage.best._replace(who="cell", own=stage.best.own & (hosts == host)) for host in held]
        parts = [part._replace(who="host") if part.own.sum() > 1 else part for part in parts]
        return Explanation(stage.best, tuple((part, stage.near[0][1] / len(parts)) for part in parts))

    @property
    def faults(self) -> tuple[Explanation, ...]:
        """Those named, a fault each; a stage by its parts.

        Layers stay on their stage while a job runs: of a stage that slows down, some machine holds the others up.
        """
        return tuple(self.parts(late) if late.best.who == "stage" else late for late in self.named)

    @property
    def as_one_fault(self) -> tuple[Explanation, ...]:
        """All those named as suspects of one fault, each as likely as the others."""
        near = tuple((h, share / len(self.named)) for late in self.faults for h, share in late.near)
        return tuple(Explanation(late.best, near) for late in self.named[:1])


def culprits(job: JobView, kinds: tuple[SendDelays, ...], compared: ComparedIterations) -> Culprits:
    """Those whose own time grew, or is longer than that of cells of the same stage and as many neighbours.

    In a tree leaves, branches and the root have turns of their own, however long they compute. Without ready messages
    delays before sends stand for own time.

    Args:
        job: theirs.
        kinds: delays of its sends.
        compared: which iterations.
    """
    cell = job.own.cell if job.own is not None else cells(job.endpoints, job.groups.get("tp", ()))
    first = np.unique(cell, return_index=True)[1]
    alike = job.stages if len(compared.baseline) else assign_peer_classes(job.operations, job.endpoints, job.stages)
    hosts = tuple(job.fabric.host.get(e, f"of {e} alone") for e in job.endpoints[first].tolist())
    if job.own is not None:
        found, waits = grown(job.own, compared, alike[first], MODEL), NOBODY_WAITS
    else:
        found, waits = _delayed(job, kinds, cell, alike, compared), _predecessors(job, kinds, cell)
    named = pursue(found, Cells(hosts, job.stages[first], waits), compared, MODEL)
    return Culprits(cell, found, hosts, frozenset(job.fabric.host.values()), tuple(named))


def _delayed(job: JobView, kinds: tuple[SendDelays, ...], cell: Int, alike: Int, compared: ComparedIterations) -> Grown:
    """By how much longer cells take before they send.

    In a pipeline whoever neighbours a late stage sends late too, but not always: delays of those do not count whose
    compute is not longer before every message. What happens at a rank while it computes cuts its delay short, at all
    ranks alike: the latest one is late by what the iteration lost, others in proportion.
    """
    if not len(compared.baseline):  # of other turns nobody knows between which stages they are
        kinds = tuple(k for k in kinds if k.role != PP or k.towards)
    seen = lateness(kinds, alike, compared.interval, compared.baseline)
    excess_ns = seen.excess_ns
    if any(k.role == PP for k in kinds):
        together = group_numbers(job.endpoints, job.groups.get("tp", ()))
        ratio = compute_ratio(kinds, job.stages, compared.interval, compared.baseline, together)
        excess_ns = excess_ns * share_of_chain(job.endpoints, job.groups.get("pp", ()), ratio)
    latest_ns = float(excess_ns.max(initial=0.0))
    if len(compared.baseline) and LATE * compared.iteration_ns <= latest_ns < compared.longer_ns:
        excess_ns = excess_ns * (compared.longer_ns / latest_ns)
    count = int(cell.max(initial=-1)) + 1
    normal, excess, spread = (group_medians(v, cell, count) for v in (seen.normal_ns, excess_ns, seen.spread_ns))
    floor_ns = MODEL.own_floor_ratio * compared.iteration_ns
    variance = np.maximum(MAD_TO_SIGMA * spread, floor_ns) ** 2 / min(len(compared.interval), MODEL.counted)
    return compare(normal + excess, normal, 2 * variance, compared, MODEL)


def _predecessors(job: JobView, kinds: tuple[SendDelays, ...], cell: Int) -> Int:
    """(n, 2) cells, each with the one that sends to it in a ring, where the next must be ready before one sends."""
    if any(k.role == PP for k in kinds):
        return NOBODY_WAITS
    number, after = Numbering(job.endpoints), job.successors()
    sender, receiver = (number.of(np.array(list(ends), np.int64)) for ends in (after.keys(), after.values()))
    known = (sender >= 0) & (receiver >= 0)
    return np.unique(np.stack([cell[receiver[known]], cell[sender[known]]], axis=1), axis=0)
