"""The line of iteration times."""

from __future__ import annotations

from flowprism.rendering.sparkline import sparkline
from tests.flowprism import sample


def test_a_slow_half_stands_high() -> None:
    """One column an iteration while there is room; the finding is marked under its first."""
    report = sample.analysis().report
    drawn = sparkline(report.jobs[0], report.findings[:1], (), 78)
    assert drawn.bars == "▁" * sample.SLOW_FROM + "█" * 16
    assert drawn.marks == " " * sample.SLOW_FROM + "!"
    assert drawn.key == ("! critical slow link, iteration 14",)


def test_noise_below_the_reporting_threshold_stays_flat() -> None:
    """Half a per cent of spread does not fill the scale."""
    job = sample.analysis(slow=False).report.jobs[0]
    assert set(sparkline(job, (), (), 78).bars) <= set("▁▂▃▄")


def test_a_single_slow_iteration_survives_a_narrow_screen() -> None:
    """A column shows the slowest of its iterations."""
    job = sample.analysis(iterations=200, slow=False).report.jobs[1]
    late = [i if i.index < 77 else i.model_copy(update={"start_ns": i.start_ns + 9**10, "end_ns": i.end_ns + 9**10})
            for i in job.iterations]  # fmt: skip
    late[77] = late[77].model_copy(update={"start_ns": job.iterations[77].start_ns})
    bars = sparkline(job.model_copy(update={"iterations": tuple(late)}), (), (), 20).bars
    assert len(bars) == 20
    assert bars.index("█") == 7
    assert bars.count("█") == 1


def test_events_are_marked_where_they_begin() -> None:
    """By a letter, explained below."""
    report = sample.analysis().report
    drawn = sparkline(report.jobs[1], (), report.events, 78)
    assert drawn.marks.index("c") == 16
    assert "c checkpoint, iteration 16" in drawn.key
