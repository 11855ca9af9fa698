"""How fast a job goes: its trend and its norm, from stretches of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from datamodel.durations import DAY_NS, HOUR_NS, MINUTE_NS
from datamodel.reports.findings import Severity
from datamodel.service.api_models import Trend
from datamodel.service.incidents import Incident
from storage.database.connection import Database
from storage.database.jobs.overview import RANKS, Stretch, stretches

_ENOUGH = 3  # stretches without a finding make a norm


@dataclass(frozen=True, slots=True)
class Recent:
    """A job's minutes of the last hour and its hours of the last day, in order of time."""

    minutes: Sequence[Stretch]
    hours: Sequence[Stretch]


@dataclass(frozen=True, slots=True)
class IterationPace:
    """How fast a job goes; see `datamodel.service.api_models.JobRow`."""

    trend: Trend
    iteration_s: float | None
    iteration_span_ns: tuple[int, int] | None
    norm_s: float | None
    slowdown_ratio: float | None
    slowdown_span_ns: tuple[int, int] | None


def recent(database: Database, names: Sequence[str], end_ns: int) -> dict[str, Recent]:
    """Minutes of the last hour and hours of the last day before a time, UTC, of some jobs, by job."""
    minutes = stretches(database, names, MINUTE_NS, _whole(end_ns, MINUTE_NS) - HOUR_NS, end_ns)
    hours = stretches(database, names, HOUR_NS, _whole(end_ns, HOUR_NS) - DAY_NS, end_ns)
    return {name: Recent(minutes[name], hours[name]) for name in names}


def pace(past: Recent, end_ns: int, worst: Incident | None = None) -> IterationPace:
    """A job's pace up to `end_ns`, UTC, the newest that is known of it.

    The norm is the median over stretches without a finding. How much slower the job is comes from the open incident
    that slows it most, `worst`: the newest stretch may have recovered, or be part healthy and part slow. Without one it
    is the newest stretch against the norm.
    """
    newest = next((one for one in (*reversed(past.minutes), *reversed(past.hours)) if one.iterations), None)
    now_s = None if newest is None else _mean_s(newest)
    norm_s = _norm_s(past)
    span_ns = None if newest is None else (newest.start_ns, newest.start_ns + newest.length_ns)
    slowdown = None if now_s is None or norm_s is None else now_s / norm_s
    slow_ns = None if slowdown is None else span_ns
    if worst is not None:
        slowdown, slow_ns = worst.slowdown_ratio, worst.measured_ns
    return IterationPace(_trend(past, end_ns), now_s, span_ns, norm_s, slowdown, slow_ns)


def series(rows: Sequence[Stretch], start_ns: int, end_ns: int, step_ns: int) -> Trend:
    """Stretches of [start_ns, end_ns) put together in steps, each a multiple of the stretches' length."""
    steps = max(-(-(end_ns - start_ns) // step_ns), 0)
    iterations, spent_ns = [0] * steps, [0] * steps
    worst: list[Severity | None] = [None] * steps
    for row in rows:
        at = (row.start_ns - start_ns) // step_ns
        if 0 <= at < steps:
            iterations[at] += row.iterations
            spent_ns[at] += row.iteration_ns
            if row.severity is not None:
                worst[at] = _worse(worst[at], row.severity)
    means = tuple(spent / count / 1e9 if count else None for spent, count in zip(spent_ns, iterations, strict=True))
    return Trend(start_ns=start_ns, step_ns=step_ns, mean_s=means, severity=tuple(worst))


def _trend(past: Recent, until_ns: int) -> Trend:
    """The last hour by the minute or, where no minute is known, the last day by the hour."""
    if past.minutes or not past.hours:
        end_ns = _whole(until_ns, MINUTE_NS)
        return series(past.minutes, end_ns - HOUR_NS, end_ns, MINUTE_NS)
    end_ns = _whole(until_ns, HOUR_NS)
    return series(past.hours, end_ns - DAY_NS, end_ns, HOUR_NS)


def _norm_s(past: Recent) -> float | None:
    clean = [_mean_s(one) for one in past.hours if one.iterations and one.severity is None]
    if len(clean) < _ENOUGH:
        clean += [_mean_s(one) for one in past.minutes if one.iterations and one.severity is None]
    return median(clean) if len(clean) >= _ENOUGH else None


def _mean_s(one: Stretch) -> float:
    return one.iteration_ns / one.iterations / 1e9


def _whole(time_ns: int, length_ns: int) -> int:
    return time_ns // length_ns * length_ns


def _worse(one: Severity | None, other: Severity) -> Severity:
    return other if one is None or RANKS[other] > RANKS[one] else one
