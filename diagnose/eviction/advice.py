"""Whether to evict a slow host now, at the next checkpoint, or never: whichever lets the job end first.

With W the work left in seconds at the usual pace, S the slowdown, D the downtime of a change, R the progress that it
loses and T the time to the next checkpoint, the job still takes S W without a change; D + R + W with one now; and
T + D + W - T / S with one at the checkpoint, where nothing is lost. So a change costs D and the lesser of R and
T (1 - 1 / S), and is worth it where (S - 1) W is more. Of a job that ends at a given time, whatever it has done by
then, a change makes more under the same condition, with S W the time left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from datamodel.reports.eviction import DowntimeSource, EvictionTime
from datamodel.reports.findings import ChangeKind, Finding

# What a host at fault slows; the others are nobody's fault, or not a host's.
EVICTABLE = frozenset({"straggler", "slow_link"})
# TrainMover (arXiv:2412.12636): migrations of 32 to 1,024 GPUs took up to 16.6 s, a restart of 8,192 GPUs 6.47 min.
PUBLISHED_S: Mapping[ChangeKind, float] = {"live_migration": 16.6, "restart": 388.0, "elastic": 388.0}
# Jobs of up to so many times as many GPUs, or as few, are of one size.
SAME_SIZE = 2.0


@dataclass(frozen=True, slots=True)
class PastChange:
    """Downtime of one change: of a job of so many GPUs; None where that is not known."""

    kind: ChangeKind
    down_s: float
    gpus: int | None


@dataclass(frozen=True, slots=True)
class EvictionVerdict:
    """What to do, see `datamodel.reports.eviction.EvictionAdvice`."""

    when: EvictionTime
    cost_s: float
    lost_s: float
    break_even_s: float


def slow_host(finding: Finding, host_of: Mapping[str, str]) -> str | None:
    """The one host that a finding blames; None where it is no host's fault, or suspects are on several.

    Args:
        finding: of a job; those of severity info cost too little to act on.
        host_of: endpoint address -> name of its host.
    """
    if finding.severity == "info" or finding.kind not in EVICTABLE:
        return None
    subject = finding.subject
    named = [(subject.type, subject.ids), *((one.type, one.ids) for one in finding.suspects)]
    if any(kind not in {"endpoint", "host", "group", "link"} for kind, _ in named):
        return None
    # an endpoint's own link names its switch first
    ends = {one for kind, ids in named for one in (ids[1:] if kind == "link" else ids)}
    hosts = {host_of.get(one, one if one in host_of.values() else None) for one in ends}
    return hosts.pop() if len(hosts) == 1 else None


def expected_downtime(
    own: Sequence[PastChange], others: Sequence[PastChange], kind: ChangeKind, gpus: int | None
) -> tuple[float, DowntimeSource]:
    """Seconds of downtime of a change: the median of the job's own, else of jobs of its size, else published.

    Args:
        own: past changes of the job.
        others: those of other jobs.
        kind: of the change to come.
        gpus: that the job uses.
    """
    mine = [one.down_s for one in own if one.kind == kind]
    if mine:
        return median(mine), "job"
    alike = [one.down_s for one in others if one.kind == kind and _same_size(one.gpus, gpus)]
    return (median(alike), "cluster") if alike else (PUBLISHED_S[kind], "published")


def _same_size(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one <= SAME_SIZE * other and other <= SAME_SIZE * one


def advise(
    slowdown: float, down_s: float, lost_s: float, checkpoint_in_s: float | None, ends_in_s: float | None
) -> EvictionVerdict | None:
    """The verdict on one slow host; None where it slows nothing.

    Args:
        slowdown: iteration time now / without the fault.
        down_s: downtime of a change.
        lost_s: progress since the last checkpoint, at the usual pace; 0 where a change keeps it.
        checkpoint_in_s: time to the next checkpoint, without pauses; None where none is expected.
        ends_in_s: time for which the job still runs, as slow as it is; None where that is not known, which is taken for
            long enough.
    """
    if slowdown <= 1:
        return None
    wait_s = float("inf") if checkpoint_in_s is None else checkpoint_in_s * (1 - 1 / slowdown)
    least = min(lost_s, wait_s)
    cost = down_s + least
    when: EvictionTime = "now" if lost_s <= wait_s else "next_checkpoint"
    break_even_s = slowdown * cost / (slowdown - 1)
    if ends_in_s is not None and ends_in_s <= break_even_s:
        when = "never"
    return EvictionVerdict(when, cost, least, break_even_s)
