"""What the timeline page shows, read from what scans kept: iterations to choose from, and spans of the chosen ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.reconstructed.timeline import Timelines
from datamodel.reports.layout import Groups
from datamodel.service.api_models import IterationPoint, JobDetail
from datamodel.service.filters import IncidentFilter
from datamodel.service.incidents import Incident
from diagnose.patterns.critical_path import Step, critical_path
from flowprism.dashboard.timeline.endpoint_selection import chosen
from flowprism.dashboard.timeline.lateness import Shares, shares
from flowprism.dashboard.timeline.pack import IterationBlock
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats
from flowprism.rendering.names import Names
from flowprism.rendering.suspects import pointed_at, slowest
from flowprism.service.queries.incidents.incident_queries import incidents
from flowprism.service.queries.jobs.analyses import names
from flowprism.service.queries.jobs.endpoint_positions import places
from flowprism.service.queries.jobs.job_queries import iterations, job
from flowprism.service.queries.jobs.timelines import MOST_SPAN_NS, TimeSpan, newest, of_iterations, timeline
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

MOST_ITERATIONS = 20  # shown side by side
MOST_READ = 2048  # endpoints whose spans are read
MOST_SPANS = 150_000  # drawn
AROUND = 120  # iterations before and after, to choose from
_NEAR = 6  # times as long as what is wanted: reading less of a lake takes hardly less time
_MOST_POINTS = 2 * AROUND + 4 * MOST_ITERATIONS
MEDIAN = "median"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which iterations are asked for; None where the address does not say.

    Attributes:
        first, last: indices.
        at_ns: a time inside the iteration, UTC, where no index is given.
        against: index of the iteration to compare with, "median" or "" for none.
    """

    first: int | None = None
    last: int | None = None
    at_ns: int | None = None
    against: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A job's iterations around those that were chosen.

    Attributes:
        job: whose.
        points: to choose from, in order of time.
        shown: those that were chosen.
        other: the one to compare with, if any.
        cut: how many were chosen beyond what is shown side by side.
    """

    job: JobDetail
    points: tuple[IterationPoint, ...]
    shown: tuple[IterationPoint, ...]
    other: IterationPoint | None
    cut: int

    @property
    def groups(self) -> Groups:
        """The process groups in force when the first of them began."""
        at_ns = self.shown[0].start_ns if self.shown else self.job.last_seen_ns
        known = self.job.layouts
        return next((one.groups for one in known if one.since_ns <= at_ns), known[-1].groups if known else Groups())

    def is_during(self, one: Incident) -> bool:
        """Whether an incident was on in what is shown."""
        if not self.shown:
            return False
        begin_ns, end_ns = self.shown[0].start_ns, self.shown[-1].end_ns
        return any(f.start_ns < end_ns and (f.end_ns is None or f.end_ns > begin_ns) for f in one.stretches(end_ns))

    def beside(self, step: int) -> IterationPoint | None:
        """The iteration right before (-1) or after (1) those that are shown."""
        if not self.shown:
            return None
        place = self.points.index(self.shown[0 if step < 0 else -1]) + step
        return self.points[place] if 0 <= place < len(self.points) else None


@dataclass(frozen=True, slots=True)
class Shown:
    """The spans of a choice with what was worked out of them.

    Attributes:
        choice: what was chosen.
        names: what people call endpoints.
        drawn: endpoints that have a lane, in the order of all pictures.
        endpoints: how many the job has; those not read are not in `drawn` either.
        suspects: addresses that incidents point at which are open, or were on in the chosen iterations.
        case: of those that were on then the one that slows the job most.
        part: spans of the chosen iterations, of all endpoints that were read; None where nothing was kept.
        other: the same of the one to compare with.
        shares: of the drawn endpoints, over the chosen iterations.
        usual: their shares in the iteration to compare with; None without one.
    """

    choice: Choice
    names: Names
    drawn: tuple[Position, ...]
    endpoints: int
    suspects: frozenset[str]
    case: Incident | None
    part: IterationBlock | None
    other: IterationBlock | None
    shares: Shares
    usual: Shares | None


def choose(stores: Stores, viewer: Viewer, now_ns: int, name: str, asked: Asked) -> Choice | None:
    """The iterations asked for; None where there is no such job that the viewer sees.

    Where none is asked for, the last one that the open incident made slow which slows the job most; without one the
    newest.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    found = job(stores, viewer, now_ns, name)
    if found is None:
        return None
    if asked.first is None and asked.at_ns is None:
        own = incidents(stores, viewer, now_ns, IncidentFilter(job=name))
        worst = slowest([row.incident for row in own])
        asked = asked if worst is None else replace(asked, at_ns=_within(worst, found))
    around = _around(stores, viewer, found, asked)
    series = None if around is None else iterations(stores, viewer, name, around.start_ns, around.end_ns, _MOST_POINTS)
    points = () if series is None else series.points
    wanted = _wanted(points, asked)
    shown = tuple(p for p in wanted[:MOST_ITERATIONS] if p.end_ns - wanted[0].start_ns <= MOST_SPAN_NS) or wanted[:1]
    return Choice(found, points, shown, _other(points, shown, asked.against), len(wanted) - len(shown))


def _within(one: Incident, found: JobDetail) -> int:
    """A time inside the last iteration that an incident was measured in.

    Scans differ by microseconds in when that one ended, so its end may lie in the next one, which may be healthy.
    """
    start_ns, end_ns = one.measured_ns
    return max(end_ns - round((found.period_s or 0.0) * 1e9 / 2) - 1, start_ns)


def _around(stores: Stores, viewer: Viewer, found: JobDetail, asked: Asked) -> TimeSpan | None:
    """The time of the iterations asked for, with room before and after it."""
    if asked.first is not None:
        last = max(asked.first if asked.last is None else asked.last, asked.first)
        middle = of_iterations(stores, viewer, found.id, asked.first, min(last, asked.first + MOST_ITERATIONS - 1))
    elif asked.at_ns is not None:
        middle = TimeSpan(asked.at_ns, asked.at_ns)
    else:
        middle = newest(stores, viewer, found.id, 1)
    if middle is None:
        return None
    each_ns = int((found.period_s or 60.0) * 1e9)
    return TimeSpan(middle.start_ns - AROUND * each_ns, middle.end_ns + AROUND * each_ns)


def _wanted(points: tuple[IterationPoint, ...], asked: Asked) -> tuple[IterationPoint, ...]:
    if asked.first is not None:
        last = max(asked.first if asked.last is None else asked.last, asked.first)
        return tuple(p for p in points if p.last >= asked.first and p.first <= last)
    if asked.at_ns is not None:
        after = [p for p in points if p.end_ns > asked.at_ns]
        return tuple(after[:1] or points[-1:])
    return points[-1:]


def _other(
    points: tuple[IterationPoint, ...], shown: tuple[IterationPoint, ...], against: str
) -> IterationPoint | None:
    """The iteration to compare with: by index, or the one of median length of those around."""
    if against == MEDIAN and points:
        return sorted(points, key=lambda p: (p.mean_s, p.first))[(len(points) - 1) // 2]
    if not against.isdecimal() or not shown:
        return None
    return next((p for p in points if p.first <= int(against) <= p.last), None)


def read(stores: Stores, viewer: Viewer, now_ns: int, choice: Choice) -> Shown:
    """The spans of a choice.

    Raises:
        StorageError: the database or the lake cannot be reached.
        LimitExceededError: the chosen iterations last too long to be read at once.
    """
    known = names(stores)
    own = IncidentFilter(states=("open", "resolved"), job=choice.job.id)
    cases = [row.incident for row in incidents(stores, viewer, now_ns, own)]
    during = [one for one in cases if choice.is_during(one)]
    suspects = pointed_at([one for one in cases if one.state == "open" or one in during], known)
    everyone = places(stores, choice.job.addresses, choice.groups)
    few = _few(everyone, suspects)
    part, other = _parts(stores, viewer, choice, few, len(everyone))
    late_s = _shares(part, few).late_s
    drawn = few if part is None else chosen(few, late_s, suspects, _spans_each(part, few), MOST_SPANS)
    usual = None if other is None else _shares(other, drawn)
    return Shown(
        choice, known, tuple(drawn), len(everyone), suspects, slowest(during), part, other, _shares(part, drawn), usual
    )  # fmt: skip


def _few(everyone: Sequence[Position], suspects: Collection[str]) -> list[Position]:
    """At most about `MOST_READ` endpoints: suspects, and an even choice of all."""
    every = max(-(-len(everyone) // MOST_READ), 1)
    return [p for n, p in enumerate(everyone) if n % every == 0 or p.address in suspects]


def _parts(
    stores: Stores, viewer: Viewer, choice: Choice, few: list[Position], endpoints: int
) -> tuple[IterationBlock | None, IterationBlock | None]:
    """The spans of what is shown and of what it is compared with; read at once where they lie near one another."""
    only = None if len(few) == endpoints else [p.address for p in few]
    wanted = [points for points in (choice.shown, (choice.other,) if choice.other else ()) if points]
    bounds = [(points[0].start_ns, points[-1].end_ns) for points in wanted]
    start_ns, end_ns = min((b[0] for b in bounds), default=0), max((b[1] for b in bounds), default=0)
    if end_ns - start_ns <= _NEAR * sum(b[1] - b[0] for b in bounds):
        bounds = [(start_ns, end_ns)] * len(bounds)
    read_once = {span: timeline(stores, viewer, choice.job.id, *span, only) for span in dict.fromkeys(bounds)}
    found = [_part(read_once[span], points) for span, points in zip(bounds, wanted, strict=True)]
    return (found[0] if found else None, found[1] if len(found) > 1 else None)


def _part(stored: Timelines | None, points: tuple[IterationPoint, ...]) -> IterationBlock | None:
    """Select the spans of some adjacent iterations, with their critical path; None where no span was stored."""
    if stored is None:
        return None
    start_ns, end_ns = points[0].start_ns, points[-1].end_ns
    inside = (stored.spans["start_ns"] >= start_ns) & (stored.spans["end_ns"] <= end_ns)
    spans = stored.spans.take(np.flatnonzero(inside))
    if not len(spans):
        return None
    starts = np.array([p.start_ns for p in points], np.int64)
    number = np.searchsorted(starts, spans["start_ns"], "right") - 1
    spans = spans.replace(iteration=np.array([p.first for p in points], np.int64)[number])
    path: list[Step] = []
    for point in points:
        path += critical_path(spans.take(np.flatnonzero(spans["iteration"] == point.first)))
    kept = Timelines(spans, stored.addresses, stored.jobs, stored.groups)
    return IterationBlock(kept, tuple((p.first, p.start_ns, p.end_ns) for p in points), tuple(path))


def _codes(part: IterationBlock, who: list[Position]) -> list[int]:
    code = {address: n for n, address in enumerate(part.timelines.addresses)}
    return [code.get(p.address, -1) for p in who]


def _shares(part: IterationBlock | None, who: list[Position]) -> Shares:
    if part is None:
        unknown = np.full(len(who), np.nan)
        return Shares(unknown, unknown, unknown, unknown, unknown)
    return shares(part.timelines.spans, np.array(_codes(part, who), np.int64), who)


def _spans_each(part: IterationBlock, who: list[Position]) -> Floats:
    many = np.bincount(part.timelines.spans["endpoint"], minlength=len(part.timelines.addresses) + 1)
    each: Floats = many[_codes(part, who)].astype(np.float64)
    return each
