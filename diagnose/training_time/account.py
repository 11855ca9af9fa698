"""Intervals in, account out: every nanosecond of a job's time is given to what took it.

Where several intervals hold a moment, the first of these counts: unknown, down, paused, slowed, productive. So a hole
of the feed is never counted as down, and a pause inside a slow iteration is a pause. Effective training time is the
productive time that no later crash undid (Jiang et al., MegaScale, NSDI 2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from datamodel.reports.training_time import TrainingTime


@dataclass(frozen=True, slots=True)
class CausedInterval:
    """A time with what took it.

    Attributes:
        start_ns, end_ns: from when to when.
        cause: kind of finding, event or change.
        slowdown_ratio: of a finding: iteration time with it / without it.
    """

    start_ns: int
    end_ns: int
    cause: str
    slowdown_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class JobIntervals:
    """What is known of a job's time; intervals may overlap and reach beyond the account.

    Attributes:
        iterations: start and end of each, UTC.
        slowed: findings that slow it.
        paused, down: pauses; interruptions by changes and restarts.
        unknown: start and end of holes of the feed.
        repeated: times in which iterations may have done again what was lost.
    """

    iterations: Sequence[tuple[int, int]] = ()
    slowed: Sequence[CausedInterval] = ()
    paused: Sequence[CausedInterval] = ()
    down: Sequence[CausedInterval] = ()
    unknown: Sequence[tuple[int, int]] = ()
    repeated: Sequence[tuple[int, int]] = ()


def training_time(known: JobIntervals, start_ns: int, end_ns: int, gpus: int | None = None) -> TrainingTime:
    """The account of a job from one time to another.

    Args:
        known: what is known of its time.
        start_ns: begin of the account, UTC.
        end_ns: its end, not before its begin.
        gpus: how many it uses; None unknown.
    """
    cuts = _cuts(known, start_ns, end_ns)
    begin, length = cuts[:-1], np.diff(cuts)
    left = ~_covered(begin, known.unknown)
    down = _taken(begin, length, left, known.down)
    paused = _taken(begin, length, left, known.paused)
    left &= _covered(begin, known.iterations)
    slowed = _slowed(begin, length, left, known.slowed)
    running = int(length[left].sum())
    slowed_ns, paused_ns, down_ns = (sum(some.values()) for some in (slowed, paused, down))
    productive, total = running - slowed_ns, end_ns - start_ns
    repeated = min(int(length[left & _covered(begin, known.repeated)].sum()), productive)
    unknown = total - running - paused_ns - down_ns
    causes = {**slowed, **paused, **down, "repeated": repeated}
    return TrainingTime(
        start_ns=start_ns,
        end_ns=end_ns,
        productive_ns=productive,
        slowed_ns=slowed_ns,
        paused_ns=paused_ns,
        down_ns=down_ns,
        unknown_ns=unknown,
        repeated_ns=(0, repeated),
        slowed_by_ns=slowed,
        paused_by_ns=paused,
        down_by_ns=down,
        effective_ratio=effective_bounds(productive, repeated, unknown, total),
        lost_gpu_hours=None if gpus is None else {c: gpus * ns / 3.6e12 for c, ns in causes.items() if ns},
    )


def effective_bounds(productive: float, repeated: float, unknown: float, total: float) -> tuple[float, float] | None:
    """The effective-training-time ratio, least and most; None of no time.

    Args:
        productive: time at the pace that it should have.
        repeated: most of it that may have done again what was lost.
        unknown: time that may have been productive.
        total: all of it.
    """
    return (round((productive - repeated) / total, 6), round((productive + unknown) / total, 6)) if total else None


def _cuts(known: JobIntervals, start_ns: int, end_ns: int) -> Int:
    """All times at which anything begins or ends, inside the account."""
    caused = (*known.slowed, *known.paused, *known.down)
    spans = [*known.iterations, *known.unknown, *known.repeated, *((one.start_ns, one.end_ns) for one in caused)]
    times = np.array([start_ns, end_ns, *(time for span in spans for time in span)], np.int64)
    return np.unique(np.clip(times, start_ns, end_ns))


def _covered(begin: Int, spans: Iterable[tuple[int, int]]) -> Bool:
    """(parts,) whether a span holds each part of the account, by where the part begins."""
    rows = np.array([span for span in spans if span[1] > span[0]], np.int64).reshape(-1, 2)
    opened = np.searchsorted(np.sort(rows[:, 0]), begin, "right")
    closed = np.searchsorted(np.sort(rows[:, 1]), begin, "right")
    return np.asarray(opened > closed)


def _taken(begin: Int, length: Int, left: Bool, some: Sequence[CausedInterval]) -> dict[str, int]:
    """Cause -> its time; what is taken is not `left` any more."""
    found: dict[str, int] = {}
    for cause in sorted({one.cause for one in some}):
        own = left & _covered(begin, ((one.start_ns, one.end_ns) for one in some if one.cause == cause))
        left &= ~own
        found[cause] = int(length[own].sum())
    return found


def _slowed(begin: Int, length: Int, left: Bool, some: Sequence[CausedInterval]) -> dict[str, int]:
    """Cause -> what iterations took longer by; of several findings the one that slows most counts."""
    free, found = left.copy(), dict[str, int]()
    for one in sorted(some, key=lambda one: (-one.slowdown_ratio, one.cause, one.start_ns)):
        own = free & _covered(begin, ((one.start_ns, one.end_ns),))
        free &= ~own
        took = int(length[own].sum())
        found[one.cause] = found.get(one.cause, 0) + took - round(took / max(one.slowdown_ratio, 1.0))
    return found
