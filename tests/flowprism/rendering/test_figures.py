"""What the figures draw: the right iteration, the right endpoints, all bytes, all time."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.timeline import SPAN_NAMES
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Subject
from flowprism.rendering.endpoint_order import positions
from flowprism.rendering.facts import iteration_seconds
from flowprism.rendering.figures import evidence, timeline
from flowprism.rendering.figures.heatmap import heat, roles, table
from flowprism.rendering.figures.iterations import draw_iterations, iteration_rows
from flowprism.rendering.figures.svg import Drawing, Scale, round_ticks
from flowprism.rendering.lanes import assign_lanes
from flowprism.rendering.names import names_of
from flowprism.rendering.suspects import behind_uplink, suspect_addresses
from tests.flowprism import sample


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    """Two jobs, one with a slow link."""
    return sample.analysis()


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0.81, 1.65, [1.0, 1.2, 1.4, 1.6]), (3, 3, [3]), (-1, 1, [-1, -0.5, 0, 0.5, 1])],
)
def test_ticks_are_round_and_inside(low: float, high: float, ticks: list[float]) -> None:
    """Multiples of 1, 2 or 5 times a power of ten."""
    assert round_ticks(low, high, 5) == pytest.approx(ticks)


def test_drawings_escape_what_they_are_given() -> None:
    """In text, in hints and in attributes."""
    drawing = Drawing(10, 10, 'a "label" <b>')
    drawing.add("text", "<i>", title="<u>", x=1.25, css='x" onload="y')
    text = str(drawing.markup())
    assert 'aria-label="a &quot;label&quot; &lt;b&gt;"' in text
    assert '<text x="1.2" class="x&quot; onload=&quot;y"><title>&lt;u&gt;</title>&lt;i&gt;</text>' in text


def test_a_scale_of_one_value_does_not_divide_by_zero() -> None:
    """All iterations may take the same time."""
    assert Scale(5, 5, 0, 100)(5) == 0


def test_labels_of_medians_lie_over_the_points(analysis: Analysis) -> None:
    """A dot or a line over a letter makes it illegible."""
    job = analysis.report.jobs[0]
    figure = draw_iterations(job, [one for one in analysis.report.findings if one.job == job.id], ())
    assert figure.index(">median ") > max(figure.rindex("<circle"), figure.rindex('class="line"'))


def test_the_drawn_iteration_lies_inside_the_finding(analysis: Analysis) -> None:
    """Where there is a finding, its work is shown; of those the median one."""
    job = analysis.report.jobs[0]
    index = timeline.representative(job, analysis.report.findings[:1], analysis.timelines)
    assert index is not None
    assert index >= sample.SLOW_FROM
    slow = iteration_seconds(job)[sample.SLOW_FROM :]
    assert sorted(slow).index(iteration_seconds(job)[index]) == len(slow) // 2


def test_without_a_finding_the_median_iteration_is_drawn(analysis: Analysis) -> None:
    """Neither the fastest nor the slowest."""
    job = analysis.report.jobs[1]
    index = timeline.representative(job, (), analysis.timelines)
    seconds = iteration_seconds(job)
    assert index is not None
    assert sorted(seconds).index(seconds[index]) == len(seconds) // 2


def test_an_iteration_without_spans_is_not_chosen(analysis: Analysis) -> None:
    """And none is where no span is at all."""
    job = analysis.report.jobs[0]
    spans = analysis.timelines.spans
    only = type(analysis.timelines)(
        spans.take(spans["iteration"] == 3), analysis.timelines.addresses, analysis.timelines.jobs, ()
    )
    assert timeline.representative(job, analysis.report.findings[:1], only) == 3
    assert timeline.representative(job, (), sample.no_job().timelines) is None


def test_merging_keeps_bytes_and_extent(analysis: Analysis) -> None:
    """However coarse, no byte is lost, every bar lies inside what it stands for, and wide spans stand alone."""
    spans = analysis.timelines.spans
    spans = spans.take((spans["iteration"] == 5) & (spans["endpoint"] == 0))
    row, _ = assign_lanes(spans["start_ns"], spans["end_ns"])
    alone = timeline.merged(spans, row, 0.0)
    assert len(alone) == len(spans)
    coarse = timeline.merged(spans, row, 100.0 * sample.MS)
    assert len(coarse) < len(alone)
    assert coarse.count.sum() == len(spans)
    assert coarse.moved.sum() == spans["bytes"].sum()
    assert coarse.start_ns.min() == spans["start_ns"].min()
    assert coarse.end_ns.max() == spans["end_ns"].max()
    wide = spans["end_ns"] - spans["start_ns"] >= 100 * sample.MS
    assert (coarse.end_ns - coarse.start_ns >= 100 * sample.MS).sum() >= wide.sum()


def test_few_lanes_hold_the_suspects_and_their_groups() -> None:
    """Of 256 endpoints 48 are drawn: the suspect, ring neighbours, and some of every part."""
    made = sample.analysis(replicas=64, iterations=16)
    job = made.report.jobs[0]
    placed = positions(job)
    chosen = timeline.selected(placed, {sample.SLOW})
    assert len(chosen) == timeline.MOST_LANES
    assert [p.number for p in chosen] == sorted(p.number for p in chosen)
    addresses = {p.address for p in chosen}
    assert {sample.SLOW, "10.3.1.1", "10.1.1.2"} <= addresses
    assert {p.stage for p in chosen} == {0, 1}
    assert len([p for p in chosen if p.number > 200]) >= 3


def test_the_matrix_holds_every_byte(analysis: Analysis) -> None:
    """Cells add up to the pair table; each shows the pair that moves most."""
    job = analysis.report.jobs[0]
    pairs = analysis.pairs["A"]
    shown = heat(pairs, analysis.timelines.addresses, positions(job), "volume")
    assert shown.block == 1
    assert shown.moved.sum() == pairs["bytes"].sum()
    assert roles(shown) == ["dp", "pp"]
    words = [told for sender, receiver, told in table(shown, names_of(None), 1000) if sender == "10.1.1.1"]
    assert any(told.startswith("pp ") and "takes 5.96 times as long as its peers" in told for told in words)


def test_a_large_matrix_is_gathered_in_blocks() -> None:
    """Of 256 endpoints three share a row, and no byte is lost."""
    made = sample.analysis(replicas=64, iterations=16)
    pairs = made.pairs["A"]
    shown = heat(pairs, made.timelines.addresses, positions(made.report.jobs[0]), "volume")
    assert shown.block == 3
    assert max(shown.src.max(), shown.dst.max()) == shown.size - 1 == 85
    assert shown.moved.sum() == pairs["bytes"].sum()


def test_a_slow_link_stands_out_from_its_peers(analysis: Analysis) -> None:
    """Before the fault it is like them; from then on it takes about five times as long a byte."""
    job, finding = analysis.report.jobs[0], analysis.report.findings[0]
    series = evidence.peer_series(finding, job, analysis.timelines, positions(job), {sample.SLOW})
    assert series is not None
    assert series.is_ratio
    assert series.peers == 7
    own = series.suspects[sample.SLOW]
    assert own[: sample.SLOW_FROM] == pytest.approx(1, abs=0.01)
    assert (own[sample.SLOW_FROM :] > 4.5).all()
    assert series.middle == pytest.approx(1, abs=0.01)


def test_compute_time_is_compared_within_the_stage(analysis: Analysis) -> None:
    """A straggler's seconds are those of its compute spans; its peers are those that do the same work."""
    job = analysis.report.jobs[0]
    finding = analysis.report.findings[0].model_copy(update={"kind": "straggler"})
    series = evidence.peer_series(finding, job, analysis.timelines, positions(job), {"10.1.2.1"})
    assert series is not None
    spans = analysis.timelines.spans
    own = spans.take(
        (spans["endpoint"] == analysis.timelines.addresses.index("10.1.2.1"))
        & (spans["span"] == SPAN_NAMES.index("compute"))
        & (spans["iteration"] == 4)
    )
    assert series.suspects["10.1.2.1"][4] == pytest.approx((own["end_ns"] - own["start_ns"]).sum() / 1e9)
    assert series.peers == 7


def test_missing_spans_leave_gaps_and_no_error(analysis: Analysis) -> None:
    """A suspect of whom nothing was seen in some iterations, and one of whom nothing was seen at all."""
    job, finding = analysis.report.jobs[0], analysis.report.findings[0]
    spans = analysis.timelines.spans
    code = analysis.timelines.addresses.index(sample.SLOW)
    some = spans.take((spans["endpoint"] != code) | (spans["iteration"] % 3 == 0))
    none = spans.take(spans["endpoint"] != code)
    for left, seen in ((some, 10), (none, 0)):
        made = type(analysis.timelines)(left, analysis.timelines.addresses, analysis.timelines.jobs, ())
        series = evidence.peer_series(finding, job, made, positions(job), {sample.SLOW})
        assert series is not None
        assert np.isfinite(series.suspects[sample.SLOW]).sum() == seen
        assert "<svg" in evidence.draw_peers(series, [finding], job, names_of(None))


def test_a_finding_about_everyone_has_no_peers(analysis: Analysis) -> None:
    """There is nobody to compare with."""
    job, finding = analysis.report.jobs[0], analysis.report.findings[0]
    assert evidence.peer_series(finding, job, analysis.timelines, positions(job), job.endpoints) is None
    assert evidence.peer_series(finding, job, analysis.timelines, positions(job), ()) is None
    assert evidence.peer_series(finding, job, sample.no_job().timelines, positions(job), {sample.SLOW}) is None


def test_many_iterations_become_few_columns() -> None:
    """Each the largest of its run, so that no spike is lost."""
    made = sample.analysis(replicas=2, iterations=480)
    job, finding = made.report.jobs[0], made.report.findings[0]
    series = evidence.peer_series(finding, job, made.timelines, positions(job), {sample.SLOW})
    assert series is not None
    assert len(series.iterations) == 240
    rows = iteration_rows(job, made.report.findings[:1])
    assert len(rows) == 240
    assert rows[0].first == 0
    assert rows[-1].last == 479
    assert max(row.slowest_s for row in rows) == iteration_seconds(job).max()


def test_late_pairs_are_split_by_the_finding(analysis: Analysis) -> None:
    """Those that touch the suspect, or for an uplink those that leave the leaf."""
    pairs = analysis.pairs["A"]
    late = evidence.late_pairs(pairs, analysis.timelines, {sample.SLOW}, across=False)
    assert late is not None
    assert len(late.touched) == 4
    assert min(ratio for *_, ratio in late.touched) > max(ratio for *_, ratio in late.others)
    leaf = behind_uplink(
        analysis.report.findings[0].model_copy(update={"subject": Subject(type="link", ids=("leaf1", "spine1"))}),
        names_of(sample.inventory()),
    )
    crossing = evidence.late_pairs(pairs, analysis.timelines, leaf, across=True)
    assert crossing is not None
    assert {(src[:5], dst[:5]) for src, dst, _ in crossing.touched} == {("10.1.", "10.3."), ("10.3.", "10.1.")}
    assert evidence.late_pairs(pairs, analysis.timelines, (), across=False) is None


@pytest.mark.parametrize(
    ("subject", "marked"),
    [
        (Subject(type="endpoint", ids=("10.1.1.1",)), {"10.1.1.1"}),
        (Subject(type="host", ids=("s12",)), {"10.1.2.1", "10.1.2.2"}),
        (Subject(type="link", ids=("leaf1", "10.1.1.2")), {"10.1.1.2"}),
        (Subject(type="group", ids=("10.1.1.1", "10.9.9.9")), {"10.1.1.1"}),
        (Subject(type="job", ids=("A",)), set()),
        (Subject(type="switch", ids=("leaf1",)), set()),
    ],
)
def test_suspects_are_resolved_to_endpoints(analysis: Analysis, subject: Subject, marked: set[str]) -> None:
    """By address or by host; never beyond the job."""
    finding = analysis.report.findings[0].model_copy(update={"subject": subject, "suspects": ()})
    assert suspect_addresses(analysis.report.jobs[0], [finding], names_of(sample.inventory())) == marked
    assert not suspect_addresses(analysis.report.jobs[1], [finding], names_of(sample.inventory()))
