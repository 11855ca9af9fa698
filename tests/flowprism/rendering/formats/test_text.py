"""The text report: the verdict first, everything an operator needs, and no line too wide."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from datamodel.reports.report import Report
from flowprism.rendering.formats.text import print_report
from flowprism.rendering.names import names_of
from flowprism.rendering.phrases import verdict
from tests.flowprism import sample


def printed(report: Report, width: int = 80, *, terminal: bool | None = None) -> str:
    """The report as it is printed with that many columns, with the sample's inventory."""
    file = StringIO()
    print_report(
        report, names_of(sample.inventory()), Console(file=file, width=width, highlight=False, force_terminal=terminal)
    )
    return file.getvalue()


@pytest.fixture(scope="module")
def text() -> str:
    """The sample's report, wide enough that no sentence is broken."""
    return printed(sample.analysis().report, width=200)


def test_the_verdict_stands_on_the_first_line(text: str) -> None:
    """Before anything else: how bad it is, and where."""
    assert text.splitlines()[0] == "1 critical finding in 1 of 2 jobs, 1 note about the feed"


@pytest.mark.parametrize(
    "fact",
    [
        "CRITICAL  The network link of 10.1.1.1 moves data at a sixth of the rate of its peers.",
        "slow link · 93 % sure",
        "link leaf1 port 2 – 10.1.1.1 (s11 gpu 0) in job llama-70b (A)",
        "since 2026-11-20 15:20:56.777 UTC (iteration 14), still on",
        "saves 795 ms (48 %) per iteration: 1.64 s → 845 ms",
        "86 %  link leaf1 – 10.1.1.1 (s11 gpu 0)",
        "delivery rate  62.0 Mbit/s  against 371 Mbit/s",
        "Check optics, cable and error counters of leaf1 port 2",
        "JOB  llama-70b (A)  16 GPUs · 16 endpoints on 8 hosts",
        "tp 2 · pp 2 · dp 4 · not sharded · 97 % sure",
        "tp: a factor of 2 never leaves a host",
        "tp ? · pp 1 · dp 8 · fully sharded (FSDP) · 88 % sure",
        "tp 2 · pp 1 · dp 4",
        "s11/0 s12/0 s13/0 s14/0",
        "s11/0 → s31/0",
        "smallest detectable slowdown: 2.0 %",
        "! critical slow link, iteration 14",
        "checkpoint, 3.00 s: 6.4 GB to 10.9.0.5",
        "FEED  390,123 records · 1.23 GB · 2 exporters",
        "212  not IP",
        "3 datagrams",
        "the last packet is cut off",
        "10.9.0.5: joins 24 endpoints without a period",
    ],
)
def test_facts_are_said(text: str, fact: str) -> None:
    """Each in the words and units of a person on call."""
    assert fact in text


def test_findings_stand_before_jobs_and_jobs_before_the_feed(text: str) -> None:
    """What is urgent is on top."""
    places = [text.index(word) for word in ("CRITICAL", "INFO", "JOB  llama", "JOB  B", "FEED")]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [80, 60])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    """Long sentences wrap, and no line ends in spaces."""
    lines = printed(sample.analysis(replicas=8).report, width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


def test_there_is_colour_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """And on none where NO_COLOR is set."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    report = sample.analysis(iterations=16).report
    red = "\x1b[1;31m"
    assert red in printed(report, terminal=True)
    assert "\x1b" not in printed(report)
    monkeypatch.setenv("NO_COLOR", "1")
    assert red not in printed(report, terminal=True)


def test_markup_in_names_is_printed_as_it_is() -> None:
    """A label is not an instruction to the printer."""
    report = sample.analysis(iterations=16).report
    jobs = (report.jobs[0].model_copy(update={"label": "[red]x[/red]"}), report.jobs[1])
    assert "JOB  [red]x[/red] (A)" in printed(report.model_copy(update={"jobs": jobs}))


def test_no_job_says_why() -> None:
    """Unrelated traffic is answered, not failed on."""
    lines = printed(sample.no_job().report).splitlines()
    assert lines[0] == "No training job found"
    assert lines[1] == "because 41 endpoints exchange traffic, none of it comes back with a period"


def test_health_is_said_with_what_the_feed_could_show() -> None:
    """No finding is worth as much as the smallest slowdown that would have been seen."""
    lines = printed(sample.analysis(slow=False).report).splitlines()
    assert lines[:2] == ["No findings in 2 jobs", "Smallest detectable slowdown: 5.0 %"]


def test_jobs_that_could_not_be_checked_are_no_good_news() -> None:
    """Where the telemetry can show no fault the verdict is neither "No findings" nor good, and names the reason."""
    report = sample.analysis(slow=False).report
    unknown = {"smallest_slowdown_ratio": None, "reasons": ("cut by timeouts",)}
    blind = report.jobs[0].detectability.model_copy(update=unknown)
    jobs = tuple(job.model_copy(update={"detectability": blind}) for job in report.jobs)
    none = report.model_copy(update={"jobs": jobs})
    assert printed(none).splitlines()[:2] == ["2 jobs could not be checked for faults", "cut by timeouts"]
    assert verdict(none).tone == "none"
    one = report.model_copy(update={"jobs": (jobs[0], report.jobs[1])})
    assert verdict(one).headline == "No findings in 1 job, 1 job could not be checked for faults"
    assert verdict(one).tone == "none"


def test_many_groups_are_counted_not_listed() -> None:
    """Sixty-four replicas do not fill the screen."""
    text = printed(sample.analysis(replicas=64, iterations=16).report, 120)
    assert "and 124 groups more" in text
    assert "and 56 more" in text
    assert len(text.splitlines()) < 100
