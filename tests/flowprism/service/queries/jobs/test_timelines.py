"""What is answered of timelines and of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodel.errors import LimitExceededError
from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPANS
from datamodel.reports.analysis import Analysis
from flowprism.rendering.formats.html import render_html
from flowprism.service.queries.jobs.analyses import kept_analysis, names
from flowprism.service.queries.jobs.span_downsampling import downsample
from flowprism.service.queries.jobs.timelines import MOST_SPAN_NS, TimeSpan, newest, of_iterations, pairs, timeline
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.stored import demo_analysis

ALL = Viewer("ann", "viewer", None)
OTHER = Viewer("eve", "admin", "search")
FOREVER = TimeSpan(0, 4 * 10**18)


def demo_job() -> str:
    """The id of the bundled capture's job."""
    return demo_analysis().report.jobs[0].id


def whole() -> TimeSpan:
    """The time that the capture spans."""
    window = demo_analysis().report.window
    return TimeSpan(window.start_ns, window.end_ns + 1)


def test_timelines_come_back(demo: Stores) -> None:
    """All spans of the analysis; of one endpoint, and of some iterations, those."""
    spans = demo_analysis().timelines.spans
    told = timeline(demo, ALL, demo_job(), whole().start_ns, whole().end_ns)
    assert told is not None
    ended = spans["end_ns"] <= demo_analysis().report.window.end_ns
    assert len(told.spans) == int(ended.sum())
    assert int(told.spans["bytes"].sum()) == int(spans["bytes"][ended].sum())
    one = timeline(demo, ALL, demo_job(), whole().start_ns, whole().end_ns, ["10.1.1.1"])
    assert one is not None
    assert {one.addresses[code] for code in one.spans["endpoint"]} == {"10.1.1.1"}
    third = of_iterations(demo, ALL, demo_job(), 3, 3)
    iteration = demo_analysis().report.jobs[0].iterations[3]
    assert third == TimeSpan(iteration.start_ns, iteration.end_ns)
    last = newest(demo, ALL, demo_job())
    assert last is not None
    assert last.end_ns == demo_analysis().report.jobs[0].iterations[-1].end_ns


def test_others_are_told_nothing(demo: Stores) -> None:
    """None of it to another tenant, whatever role."""
    assert timeline(demo, OTHER, demo_job(), 0, 1) is None
    assert of_iterations(demo, OTHER, demo_job(), 0, 9) is None
    assert newest(demo, OTHER, demo_job()) is None
    assert pairs(demo, OTHER, demo_job()) is None
    assert kept_analysis(demo, OTHER, demo_job(), whole()) is None


def test_a_day_of_spans_is_refused(demo: Stores) -> None:
    """Rather than reading it all; of iterations, a day is little."""
    with pytest.raises(LimitExceededError, match="more than an hour"):
        timeline(demo, ALL, demo_job(), 0, MOST_SPAN_NS + 1)


def test_pairs_of_a_window(demo: Stores) -> None:
    """The newest window's pairs, and those at a time; none of a time before."""
    expected = demo_analysis().pairs[demo_job()]
    for at_ns in (None, whole().start_ns, whole().end_ns - 1):
        told = pairs(demo, ALL, demo_job(), at_ns)
        assert told is not None
        assert len(told[0]) == len(expected)
        assert int(told[0]["bytes"].sum()) == int(expected["bytes"].sum())
    before = pairs(demo, ALL, demo_job(), whole().start_ns - 1)
    assert before is not None
    assert len(before[0]) == 0


def test_a_report_of_what_was_kept(demo: Stores) -> None:
    """The page of the kept analysis shows the same job, pairs and findings as that of the analysis itself."""
    kept = kept_analysis(demo, ALL, demo_job(), whole())
    assert kept is not None
    first = demo_analysis()
    (told,), (job,) = kept.report.jobs, first.report.jobs
    assert (told.iterations, told.layout, told.groups) == (job.iterations, job.layout, job.groups)
    assert {one.summary for one in kept.report.findings} == {one.summary for one in first.report.findings}
    assert moved(kept) == moved(first)
    page = render_html(kept, names(demo))
    assert first.report.findings[0].summary.split(":")[0] in page


def moved(analysis: Analysis) -> dict[tuple[str, str], int]:
    """Bytes of each pair of the job, by its addresses."""
    own, addresses = analysis.pairs[demo_job()], analysis.timelines.addresses
    rows = zip(own["src"].tolist(), own["dst"].tolist(), own["bytes"].tolist(), strict=True)
    return {(addresses[src], addresses[dst]): size for src, dst, size in rows}


def frame_of(rows: list[tuple[int, int, int, int]]) -> Frame:
    """Spans of (endpoint, kind, start, length)."""
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    zero = np.zeros(len(rows), np.int64)
    said = {"job": zero, "endpoint": columns[0], "span": columns[1], "start_ns": columns[2]}
    rest = {"iteration": zero, "peer": zero, "bytes": columns[3], "group": zero, "end_ns": columns[2] + columns[3]}
    return Frame(SPANS, said | rest).sort("endpoint", "start_ns", "span")


SPAN_ROWS = st.tuples(st.integers(0, 3), st.integers(0, 7), st.integers(0, 10_000), st.integers(0, 300))


@settings(max_examples=60)
@given(rows=st.lists(SPAN_ROWS, min_size=1, max_size=200), most=st.integers(32, 120))
def test_thinning_loses_nothing_that_counts(rows: list[tuple[int, int, int, int]], most: int) -> None:
    """Bytes, time spent, numbers and the longest span of each endpoint and kind stay; there are few enough."""
    spans = frame_of(rows)
    few = downsample(spans, most)
    assert len(few.spans) <= most
    assert int(few.merged.sum()) == len(spans)
    assert int(few.spans["bytes"].sum()) == int(spans["bytes"].sum())
    assert int(few.busy_ns.sum()) == int((spans["end_ns"] - spans["start_ns"]).sum())
    lengths = spans["end_ns"] - spans["start_ns"]
    assert int(few.longest_ns.max()) == int(lengths.max())
    for row in np.flatnonzero(lengths >= max(few.resolution_ns, 1)):
        same = (few.spans["start_ns"] == spans["start_ns"][row]) & (few.spans["end_ns"] == spans["end_ns"][row])
        assert (same & (few.spans["endpoint"] == spans["endpoint"][row])).any()
    assert len(few.merged) == len(few.spans)
    assert (np.diff(few.spans["endpoint"]) >= 0).all()


def test_few_spans_stay_as_they_are() -> None:
    """Where there is room, each stands for itself."""
    spans = frame_of([(0, 0, 5, 10), (0, 1, 15, 10)])
    told = downsample(spans, 2)
    assert told.resolution_ns == 0
    assert told.merged.tolist() == [1, 1]
