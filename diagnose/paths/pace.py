"""How fast jobs are once a placement is applied, and what their connections then send in each other's iterations.

A cable that jobs share carries, in one iteration of a job, what the others send meanwhile: less of a job that has
become faster than the others did, more of one that has stayed as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.report import JobReport
from diagnose.paths.phases import Phases
from reconstruct.numeric.factorize import factorize

# Paces hang on one another; with so many rounds they settle to well below what a plan is judged by.
_ROUNDS = 12
_SETTLED = 1e-4
_FASTEST = 0.01
# A cable that is busy for this share of a phase is what the phase lasts for. Where what is computed sets the time, a
# full cable was busy for 0.89.
_FILLED = 0.9
# Iterations that differ by no more stay as they lie for ten; more than the other and they drift through in a scan.
_SAME, _NEAR = 0.01, 0.05


@dataclass(frozen=True, slots=True)
class Pace:
    """Times once a placement is applied, over what they are now.

    Attributes:
        jobs: (jobs,) of an iteration.
        phases: (phases,) of each phase.
    """

    jobs: Float
    phases: Float


@dataclass(frozen=True, slots=True)
class JobTimes:
    """What iterations take now.

    Attributes:
        period_s: (jobs,) mean of iterations, as bytes are means of them; 0 where none is known.
        nic_s: (phases,) time that the busiest NIC needs for what its job sends or receives; 0 where no speed is known.
    """

    period_s: Float
    nic_s: Float

    def length_s(self, folded: Phases) -> Float:
        """(phases,) how long each lasts now."""
        return np.asarray((folded.end - folded.begin) * self.period_s[folded.job], np.float64)

    def saved_s(self, folded: Phases, before_s: Float, after_s: Float) -> Float:
        """(phases,) time that each gets shorter at most, where its slowest cable needs another time.

        A phase gets no shorter than its cables and NICs need, and loses no more than it has. One that a cable fills
        lasts as long as the cable takes, and what it lasts longer goes with that.
        """
        length_s = self.length_s(folded)
        before, after = np.maximum(before_s, self.nic_s), np.maximum(after_s, self.nic_s)
        before = np.where(before >= _FILLED * length_s, np.maximum(before, length_s), before)
        return np.asarray(np.clip(before - after, 0, np.maximum(length_s - after, 0)), np.float64)

    def pace(self, folded: Phases, before_s: Float, slowest_s: Callable[[Phases], Float]) -> Pace:
        """How fast jobs are once a placement is applied.

        Args:
            folded: what connections send now.
            before_s: (phases,) time of the slowest cable now.
            slowest_s: the same under the placement, of what connections then send.
        """
        length_s = self.length_s(folded)
        found = Pace(np.ones(len(self.period_s)), np.ones(len(folded.job)))
        for _ in range(_ROUNDS):
            saved_s = self.saved_s(folded, before_s, slowest_s(self.sent(folded, found)))
            total_s = np.bincount(folded.job, saved_s, len(self.period_s)).astype(np.float64)
            before, found = found, Pace(_less(total_s, self.period_s), _less(saved_s, length_s))
            if np.allclose(found.phases, before.phases, rtol=0, atol=_SETTLED):
                break
        return found

    def sent(self, folded: Phases, pace: Pace) -> Phases:
        """What connections send in each phase, once iterations and phases take another time.

        Iterations of two jobs that take the same time now and then stay as they lie to each other. Where they take
        about the same only then, how they will lie is not known: they are taken to send at the same time. Others
        drift: in each phase a job sends its share of the time.
        """
        length_s, period_s = self.length_s(folded) * pace.phases, self.period_s * pace.jobs
        owner, known = folded.owner, np.append(self.period_s > 0, False)[folded.owner]
        busy_s = np.bincount(folded.job, length_s, len(period_s)).astype(np.float64)
        whole = np.where(folded.own, folded.bytes, 0.0).sum(axis=1)
        near = _alike(period_s, _NEAR)[:, folded.job]
        share = np.where(near, np.minimum(_over(length_s, busy_s), 1.0), _over(length_s, period_s))
        in_step = (_alike(self.period_s, _SAME) & _alike(period_s, _SAME))[:, folded.job]
        apart = known[:, None] & ~in_step[owner]
        kept = folded.bytes * (pace.phases / np.append(pace.jobs, 1.0)[owner][:, None])
        others = np.where(apart, whole[:, None] * share[owner], kept)
        return replace(folded, bytes=np.where(folded.own, folded.bytes, others))


def _over(length_s: Float, of_s: Float) -> Float:
    """(jobs, phases) length of each phase over the time of each job; 1 where that has none."""
    size = (len(of_s), len(length_s))
    return np.divide(length_s, of_s[:, None], out=np.ones(size), where=np.broadcast_to(of_s[:, None] > 0, size))


def _alike(period_s: Float, ratio: float) -> Bool:
    """(jobs, jobs) whether the iterations of two jobs take the same time, but for some."""
    return np.asarray(np.abs(period_s[:, None] - period_s) <= ratio * period_s)


def _less(saved_s: Float, of_s: Float) -> Float:
    """What is left over what there was; 1 where that is not known."""
    share = np.divide(saved_s, of_s, out=np.zeros(len(of_s)), where=of_s > 0)
    return np.asarray(np.maximum(1 - share, _FASTEST), np.float64)


def job_times(jobs: Sequence[JobReport], folded: Phases, ends: tuple[Int, Int], speed_bytes_per_s: Float) -> JobTimes:
    """What iterations of jobs take now.

    Args:
        jobs: of the report.
        folded: phases of their iterations.
        ends: NIC that each connection leaves, and the one that it reaches.
        speed_bytes_per_s: (NICs,) 0 where it is not known.
    """
    taken_ns = [[step.end_ns - step.start_ns for step in job.iterations] for job in jobs]
    # The first may lack what was computed before its first bytes.
    period_s = [float(np.mean(steps[1:] or steps)) / 1e9 if steps else 0.0 for steps in taken_ns]
    own, size = np.where(folded.own, folded.bytes, 0.0), len(speed_bytes_per_s)
    nic_s = np.zeros(len(folded.job))
    for phase, nic in ((p, nic) for p in range(len(nic_s)) for nic in ends):
        sent = np.bincount(nic, own[:, phase], size)
        needed = np.divide(sent, speed_bytes_per_s, out=np.zeros(size), where=speed_bytes_per_s > 0)
        nic_s[phase] = max(nic_s[phase], needed.max(initial=0.0))
    return JobTimes(np.array(period_s), nic_s)


def nics(addresses: Sequence[str], inventory: Inventory) -> tuple[Int, Float]:
    """(NIC of each address, bytes a second of each NIC); addresses that the inventory does not name are one each."""
    endpoints = [e for host in inventory.hosts for e in host.endpoints]
    number: Mapping[str, int] = {address: n for n, one in enumerate(endpoints) for address in one.all_addresses}
    named = np.array([number.get(a, len(endpoints) + n) for n, a in enumerate(addresses)], np.int64)
    _, nic = factorize(named)
    speed = np.zeros(int(nic.max(initial=-1)) + 1)
    for at, one in zip(nic.tolist(), named.tolist(), strict=True):
        speed[at] = (endpoints[one].speed_gbps or 0.0) * 1e9 / 8 if one < len(endpoints) else 0.0
    return nic, speed
