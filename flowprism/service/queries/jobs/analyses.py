"""What was kept of one job in one stretch of time, put together as the analysis that its report is drawn from."""

from __future__ import annotations

import numpy as np

from datamodel.errors import LimitExceededError
from datamodel.frame import Frame
from datamodel.reconstructed.timeline import Timelines
from datamodel.reconstructed.transfers import PAIRS
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, JobReport, Provenance, Report, Window
from datamodel.service.filters import EventFilter, IncidentFilter
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import JobRecord, LayoutRecord
from flowprism import __version__
from flowprism.rendering.names import Names, names_of
from flowprism.service.queries.inventory import in_force
from flowprism.service.queries.jobs.job_queries import iteration_frame, iterations_of
from flowprism.service.queries.jobs.post_training import post_training
from flowprism.service.queries.jobs.timelines import TimeSpan, pairs, timeline
from flowprism.service.queries.visibility import masked
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.incident_pages import incident_page
from storage.database.jobs.overview import events
from storage.database.scans.scan_records import job as known_job
from storage.database.scans.scan_records import layouts

MOST_SPANS = 3_000_000  # in memory at once
_SPANS_AN_ITERATION = 12  # of an endpoint, about
_MOST_HAPPENINGS = 500


def kept_analysis(stores: Stores, viewer: Viewer, name: str, span: TimeSpan) -> Analysis | None:
    """The analysis of one job in a stretch of time; None where there is no such job that the viewer sees.

    Raises:
        StorageError: the database or the lake cannot be reached.
        LimitExceededError: it is more than fits into memory.
    """
    known = known_job(stores.database, name)
    frame = iteration_frame(stores, name, span.start_ns, span.end_ns + 1)
    if known is not None and len(frame) * len(known.endpoints) * _SPANS_AN_ITERATION > MOST_SPANS:
        raise LimitExceededError(f"{len(frame)} iterations of {len(known.endpoints)} endpoints: ask for a shorter time")
    found = timeline(stores, viewer, name, span.start_ns, span.end_ns)
    if known is None or found is None:
        return None
    behaviour, book = pairs(stores, viewer, name, span.end_ns - 1) or (None, ())
    found, own = _joined(found, behaviour, book)
    report = Report(
        provenance=Provenance(version=__version__, inputs=("what scans kept",)),
        window=Window(start_ns=span.start_ns, end_ns=span.end_ns),
        feed=_feed(own, found),
        jobs=(
            _job(known, _layout_at(layouts(stores.database, name), span.end_ns), frame).model_copy(
                update={"post_training": post_training(stores, name, min(span.end_ns, known.last_seen_ns))}
            ),
        ),
        events=_events(stores, name, span),
        findings=tuple(masked(viewer, one.as_finding(span.end_ns), {name}) for one in _incidents(stores, name, span)),
    )
    return Analysis(report, found, {} if own is None else {name: own})


def names(stores: Stores) -> Names:
    """What people call endpoints, by the inventory in force."""
    drawn = in_force(stores)
    return stores.at_hand.once("names", (drawn,), lambda: names_of(drawn))


def _joined(found: Timelines, behaviour: Frame | None, book: tuple[str, ...]) -> tuple[Timelines, Frame | None]:
    """Timelines and pairs with codes into the same addresses."""
    if behaviour is None or not len(behaviour):
        return found, None
    used = {book[code] for code in np.unique(np.concatenate([behaviour["src"], behaviour["dst"]])).tolist()}
    addresses = (*found.addresses, *sorted(used - set(found.addresses)))
    place = {address: code for code, address in enumerate(addresses)}
    table = np.array([place.get(text, -1) for text in book])
    ends = {"src": table[behaviour["src"]], "dst": table[behaviour["dst"]]}
    own = Frame(PAIRS, {name: behaviour[name] for name in PAIRS.names} | ends)
    return Timelines(found.spans, addresses, found.jobs, found.groups), own


def _feed(own: Frame | None, found: Timelines) -> FeedSummary:
    """Summarize the records of this job alone: its transfers, where windows have them, or its spans."""
    if own is None:
        return FeedSummary(records=len(found.spans), bytes=int(found.spans["bytes"].sum()))
    return FeedSummary(records=int(own["transfers"].sum()), bytes=int(own["bytes"].sum()))


def _layout_at(known: list[LayoutRecord], time_ns: int) -> tuple[Layout, Groups]:
    """The layout in force at a time, or the first one."""
    if not known:
        return Layout(), Groups()
    found = next((one for one in known if one.since_ns <= time_ns), known[-1])
    return found.layout, found.groups


def _job(known: JobRecord, arranged: tuple[Layout, Groups], frame: Frame) -> JobReport:
    return JobReport(
        id=known.id,
        label=known.label,
        tenant=known.tenant,
        endpoints=known.endpoints,
        hosts=known.hosts,
        world_size=known.world_size,
        layout=arranged[0],
        groups=arranged[1],
        iterations=iterations_of(frame),
        period_s=known.period_s,
        detectability=Detectability(
            timeline_error_ratio=None,
            smallest_slowdown_ratio=known.smallest_slowdown_ratio,
            reasons=known.reasons,
        ),
    )


def _incidents(stores: Stores, name: str, span: TimeSpan) -> list[Incident]:
    wanted = IncidentFilter(states=("open", "resolved"), job=name, since_ns=span.start_ns, until_ns=span.end_ns)
    return [one.incident for one in incident_page(stores.database, wanted, span.end_ns, "", _MOST_HAPPENINGS)]


def _events(stores: Stores, name: str, span: TimeSpan) -> tuple[Event, ...]:
    wanted = EventFilter(job=name, start_ns=span.start_ns, end_ns=span.end_ns)
    return tuple(reversed(events(stores.database, wanted, None, "", _MOST_HAPPENINGS)))
