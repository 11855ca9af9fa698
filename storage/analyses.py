"""What an analysis leaves in the lake: spans, iterations, pairs and rates, once though windows overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from datamodel.frame import Frame, Schema, concat
from datamodel.reconstructed.endpoint_rates import ENDPOINT_RATES
from datamodel.reconstructed.timeline import Timelines
from datamodel.reports.analysis import Analysis
from datamodel.reports.report import JobReport
from datamodel.service.scan_history import ITERATIONS, PAIR_PROFILES
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.manifest import Commit
from storage.lake.object_store import ObjectStore
from storage.lake.selection import EVERYTHING, Selection, select

Codes = npt.NDArray[np.int64]


_NOTHING: Mapping[str, int] = {}


def save_analysis(writer: LakeWriter, analysis: Analysis, known: Mapping[str, int] = _NOTHING) -> Commit | None:
    """Keep what an analysis of one window shows that ended by the end of the window and was not kept before.

    Windows of one writer may overlap. Of iterations those are kept that are numbered beyond the known ones: by time one
    would be lost where two windows place its end on different sides of the edge between them. Spans have no numbers;
    those that ended since the writer's newest commit are kept. Pairs and rates are kept of each window that goes
    beyond the one before.

    Args:
        writer: of analyses and nothing else.
        analysis: of a window.
        known: job -> number of its newest iteration that is kept; all of those of other jobs are new.

    Returns:
        The commit; None where all of this window was kept before.

    Raises:
        OSError: something could not be written; the same may be tried again.
    """
    window, timelines = analysis.report.window, analysis.timelines
    if writer.newest is not None and writer.newest.until >= window.end_ns:
        return None
    since_ns = writer.newest.until if writer.newest is not None else window.start_ns - 1
    jobs = tuple(
        dict.fromkeys([*timelines.jobs, *(job.id for job in analysis.report.jobs), *analysis.pairs, *analysis.rates])
    )
    book = (*jobs, *timelines.addresses, *timelines.groups)
    tables = (
        _ended(_spans(timelines, len(jobs)), since_ns, window.end_ns),
        _beyond(_iterations(analysis.report.jobs, jobs), [known.get(job, -1) for job in jobs], window.end_ns),
        _of_window(analysis, analysis.pairs, PAIR_PROFILES, ("src", "dst"), jobs),
        _of_window(analysis, analysis.rates, ENDPOINT_RATES, ("endpoint",), jobs),
    )
    return writer.commit(CommitBatch(window.end_ns, tables, book, b""))


def read_timelines(location: ObjectStore | Path | str, selection: Selection = EVERYTHING) -> Timelines:
    """Spans that were kept, in order of job, endpoint and time.

    Raises:
        InputError: the manifest cannot be read.
    """
    found = select(location, "spans", selection)
    frame, book = found.frame, found.book
    jobs, job = _own(book, frame["job"])
    addresses, at = _own(book, np.concatenate([frame["endpoint"], frame["peer"]]))
    groups, group = _own(book, frame["group"])
    recoded = frame.replace(job=job, endpoint=at[: len(frame)], peer=at[len(frame) :], group=group)
    return Timelines(recoded.sort("job", "endpoint", "start_ns", "end_ns", "span"), addresses, jobs, groups)


def _spans(timelines: Timelines, jobs: int) -> Frame:
    """Spans with codes into one book: jobs, then addresses, then groups."""
    spans, addresses = timelines.spans, len(timelines.addresses)
    return spans.replace(
        endpoint=spans["endpoint"] + jobs,
        peer=_moved(spans["peer"], jobs),
        group=_moved(spans["group"], jobs + addresses),
    )


def _iterations(reports: Sequence[JobReport], jobs: Sequence[str]) -> Frame:
    rows = [
        (jobs.index(job.id), one.index, one.start_ns, one.end_ns, _or(one.duration_error_ns, -1))
        for job in reports
        for one in job.iterations
    ]
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return Frame(ITERATIONS, dict(zip(ITERATIONS.names, columns, strict=True)))


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _of_window(
    analysis: Analysis, tables: Mapping[str, Frame], kept: Schema, ends: Sequence[str], jobs: Sequence[str]
) -> Frame:
    """Tables of jobs as one of a schema that also names job and window, with codes into one book."""
    window, frames = analysis.report.window, []
    for job, table in sorted(tables.items()):
        said = {
            "job": np.full(len(table), jobs.index(job)),
            "start_ns": np.full(len(table), window.start_ns),
            "end_ns": np.full(len(table), window.end_ns),
            **{name: table[name] + len(jobs) for name in ends},
        }
        frames.append(Frame(kept, {**said, **{name: table[name] for name in kept.names if name not in said}}))
    return concat(kept, frames)


def _ended(frame: Frame, since_ns: int, by_ns: int) -> Frame:
    end_ns = frame["end_ns"]
    return frame.take(np.flatnonzero((end_ns > since_ns) & (end_ns <= by_ns)))


def _beyond(iterations: Frame, known: Sequence[int], by_ns: int) -> Frame:
    newest = np.array(known, np.int64)[iterations["job"]] if len(iterations) else np.empty(0, np.int64)
    return iterations.take(np.flatnonzero((iterations["index"] > newest) & (iterations["end_ns"] <= by_ns)))


def _moved(codes: Codes, by: int) -> Codes:
    return np.where(codes < 0, codes, codes + by)


def _own(book: Sequence[str], codes: Codes) -> tuple[tuple[str, ...], Codes]:
    """The texts that some codes point to, sorted, and the codes into them; -1 stays."""
    used = np.unique(codes[codes >= 0])
    texts = tuple(sorted(book[code] for code in used))
    place = {text: n for n, text in enumerate(texts)}
    table = np.full(len(book) + 1, -1, np.int64)  # the last one serves the code -1
    for code in used:
        table[code] = place[book[code]]
    return texts, table[codes]
