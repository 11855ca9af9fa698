"""Trainings that samples show, each followed through changes of its members: its jobs before and after each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.flows import Flows
from flowprism.analysis.job_changes import CopiedChange, seat_of
from reconstruct.membership.connection_lives import ConnectionLives, ReplacementTime
from reconstruct.membership.member_changes import FOREVER, changes_at
from reconstruct.membership.resized_jobs import does_same_work, resized_ring
from reconstruct.membership.sampled_lives import SampledLives, find_replacements, sampled_lives
from reconstruct.membership.successors import is_as_fast
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.jobs.sampled_recognition import SampledJob, SampledRecognition, find_sampled_jobs
from strategy.placement import Seat


class SampledEpoch(NamedTuple):
    """A training between two changes of its members."""

    job: SampledJob
    progress: ProgressCurves
    samples: Flows

    @property
    def moved_bytes(self) -> dict[tuple[int, int], float]:
        """Source and destination -> what it moves in an iteration."""
        job, progress = self.job, self.progress
        found: dict[tuple[int, int], float] = {}
        for n, quantum in zip(job.connections.tolist(), job.quantum_bytes.tolist(), strict=True):
            pair = int(progress.src[n]), int(progress.dst[n])
            found[pair] = found.get(pair, 0.0) + quantum
        return found


@dataclass(frozen=True, slots=True)
class SampledTraining:
    """One training.

    Attributes:
        epochs: its job before, between and after changes, in order of time.
        changes: those between them; as many as there are epochs, less one.
    """

    epochs: tuple[SampledEpoch, ...]
    changes: tuple[CopiedChange, ...] = ()

    @property
    def endpoints(self) -> Int:
        """(e,) address codes of all who ever trained it, ascending."""
        return np.unique(np.concatenate([epoch.job.endpoints for epoch in self.epochs]))

    @property
    def total_bytes(self) -> float:
        """Moved in all iterations."""
        return sum(float(epoch.job.quantum_bytes.sum()) * len(epoch.job.edges_ns) for epoch in self.epochs)


class SampleContext(NamedTuple):
    """What is known besides the samples: codes that are part of no job, the host of each code, and where each sits."""

    services: frozenset[int]
    hosts: Sequence[str | None] | None
    seats: Mapping[int, Seat]


def find_trainings(samples: Flows, around: SampleContext) -> tuple[list[SampledTraining], dict[str, Int]]:
    """The trainings, those that move most bytes first, and why other sampled traffic is in none.

    Args:
        samples: packets with sequence numbers, at least one.
        around: what else is known.
    """
    known = sampled_lives(samples)
    replaced = find_replacements(known, around.services, around.hosts, len(samples.addresses))
    left = np.ones(len(samples), np.bool_)
    found: list[SampledTraining] = []
    reasons: list[Mapping[str, Int]] = []
    src, dst = samples.frame["src_addr"], samples.frame["dst_addr"]
    for ends, times in replaced:
        own = np.isin(src, ends) | np.isin(dst, ends)
        some = samples.take(np.flatnonzero(own & left))
        trainings, why = _followed(some, times, known, around)
        if trainings:
            found += trainings
            reasons.append(why)
            left &= ~own
    if left.any():
        whole, recognized = _recognized(samples if left.all() else samples.take(np.flatnonzero(left)), around)
        found += [SampledTraining((epoch,)) for epoch in whole]
        reasons.append(recognized.unassigned)
    return sorted(found, key=lambda one: (-one.total_bytes, int(one.endpoints[0]))), _merged(reasons)


def _followed(
    samples: Flows, times: Sequence[ReplacementTime], known: SampledLives, around: SampleContext
) -> tuple[list[SampledTraining], dict[str, Int]]:
    """Trainings of a part of the fabric whose connections were replaced; none where no training goes on with others."""
    cuts_ns = [(one.stopped_ns + one.begun_ns) // 2 for one in times]
    part = np.searchsorted(np.array(cuts_ns), samples.frame["time_flow_start_ns"])
    found: list[list[SampledEpoch]] = []
    reasons: list[Mapping[str, Int]] = []
    for number in range(len(times) + 1):
        rows = np.flatnonzero(part == number)
        if not len(rows):
            continue
        epochs, recognized = _recognized(samples.take(rows), around)
        reasons.append(recognized.unassigned)
        for epoch in epochs:
            earlier = (one for one in found if one[-1].samples is not epoch.samples)
            before = next((one for one in earlier if _may_go_on(one[-1], epoch)), None)
            if before is None:
                found.append([epoch])
            else:
                before.append(epoch)
    trainings = [_training(epochs, times, known, around) for epochs in found]
    if not any(one.changes for one in trainings):
        return [], {}
    whole = [one for one in trainings if len(one.epochs) > 1 and not one.changes]
    again = [again for one in whole for again in recognize_again(samples, one, around)]
    return [*(one for one in trainings if one not in whole), *again], _merged(reasons)


def _recognized(samples: Flows, around: SampleContext) -> tuple[list[SampledEpoch], SampledRecognition]:
    found = find_sampled_jobs(samples, around.services, around.hosts)
    return [SampledEpoch(job, found.progress, samples) for job in found.jobs], found


def _may_go_on(before: SampledEpoch, after: SampledEpoch) -> bool:
    """Whether a job is on half of the endpoints of another one, and about as fast."""
    common = np.intersect1d(before.job.endpoints, after.job.endpoints)
    fewest = min(len(before.job.endpoints), len(after.job.endpoints))
    return is_as_fast(before.job.period_ns, after.job.period_ns) and 2 * len(common) >= fewest


def _training(
    epochs: list[SampledEpoch], times: Sequence[ReplacementTime], known: SampledLives, around: SampleContext
) -> SampledTraining:
    """A training with the changes between its epochs; without any where its connections show others, or other work."""
    without = SampledTraining(tuple(epochs))
    if len(epochs) != len(times) + 1:
        return without
    members = _with_hosts(without.endpoints, around.hosts)
    gaps = [_gap(one, after) for one, after in zip(times, epochs[1:], strict=True)]
    once = [_sent_once(known.lives, gap, after) for gap, after in zip(gaps, epochs[1:], strict=True)]
    to = np.isin(known.lives.dst, members)
    own = np.isin(known.lives.src, members) & to & ~np.any(once, axis=0)
    patience_ns = np.where(known.steady, known.patience_ns, FOREVER)[own]
    lives = _of(known.lives, own)
    changes = changes_at(lives, gaps, patience_ns, lambda endpoint: seat_of(around.seats, endpoint))
    if any(one.kind == "live_migration" and not one.joiners for one in changes):  # its connections go on
        return without
    size = len(np.union1d(lives.src, lives.dst)) - sum(len(one.joiners) for one in changes)
    for one, before, after in zip(changes, epochs, epochs[1:], strict=False):
        later = size - len(one.leavers) + len(one.joiners)
        old, new = before.moved_bytes, after.moved_bytes
        pairs = sorted(old.keys() & new.keys())
        was, now = (np.array([some[pair] for pair in pairs], np.float64) for some in (old, new))
        if not does_same_work(was, now, resized_ring(size, later)):
            return without
        size = later
    copied = [
        CopiedChange(one, round(float(known.lives.bytes[sent & to & ~np.isin(known.lives.dst, one.leavers)].sum())))
        for one, sent in zip(changes, once, strict=True)
    ]
    return SampledTraining(tuple(epochs), tuple(copied))


def _gap(gap: ReplacementTime, after: SampledEpoch) -> ReplacementTime:
    """When a job's connections were replaced: what began first may have been a copy of state."""
    begun_ns = int(after.job.edges_ns[0] - after.job.period_ns)
    return ReplacementTime(gap.stopped_ns, max(gap.begun_ns, begun_ns))


def _sent_once(lives: ConnectionLives, gap: ReplacementTime, after: SampledEpoch) -> Bool:
    """(connections,) those of a change alone, which end before the first iteration after it does: copies of state."""
    return np.asarray((lives.start_ns >= gap.stopped_ns) & (lives.end_ns <= after.job.edges_ns[0]), np.bool_)


def _with_hosts(endpoints: Int, hosts: Sequence[str | None] | None) -> Int:
    """Endpoints and others on their hosts: few iterations may not show all that train there."""
    if hosts is None:
        return endpoints
    own = {hosts[e] for e in endpoints.tolist()} - {None}
    return np.union1d(endpoints, [code for code, host in enumerate(hosts) if host in own])


def _of(lives: ConnectionLives, some: Bool) -> ConnectionLives:
    return ConnectionLives(
        lives.src[some], lives.dst[some], lives.start_ns[some], lives.end_ns[some], lives.bytes[some]
    )


def recognize_again(samples: Flows, training: SampledTraining, around: SampleContext) -> list[SampledTraining]:
    """A training whose connections were not replaced, by all of its samples; its longest part where these show none."""
    src, dst = samples.frame["src_addr"], samples.frame["dst_addr"]
    own = np.isin(src, training.endpoints) & np.isin(dst, training.endpoints)
    epochs, _ = _recognized(samples.take(np.flatnonzero(own)), around)
    longest = max(training.epochs, key=lambda epoch: len(epoch.job.edges_ns))
    return [SampledTraining((epoch,)) for epoch in epochs or [longest]]


def _merged(reasons: Iterable[Mapping[str, Int]]) -> dict[str, Int]:
    """Why endpoints are in no job, by any of several recognitions."""
    found: dict[str, Int] = {}
    for some in reasons:
        for why, ends in some.items():
            found[why] = np.union1d(found[why], ends) if why in found else ends
    return found
