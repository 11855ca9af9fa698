"""The page: what it says, that it needs nothing else, and that it stays small."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.endpoint_rates import RATES
from datamodel.reports.analysis import Analysis
from flowprism.rendering.formats.html import render_html
from flowprism.rendering.names import names_of
from tests.flowprism import sample

VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Elements with their attributes, the text, and a check that what is opened is closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(source)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, {k: v or "" for k, v in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.elements.append((tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """It must close the youngest open element."""
        assert self._open.pop() == tag
        if tag in {"dt", "td"}:
            self.text += " "

    def handle_data(self, data: str) -> None:
        """Gather the text outside of the style sheet."""
        if "style" not in self._open:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        """Attributes of every element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]


def rendered(analysis: Analysis) -> str:
    """The page with the sample's names."""
    return render_html(analysis, names_of(sample.inventory()))


@pytest.fixture(scope="module")
def source() -> str:
    """The sample's page."""
    return rendered(sample.analysis())


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    """The sample's page, parsed."""
    return Page(source)


def test_the_verdict_is_heading_and_title(page: Page) -> None:
    """The first thing seen, and the name of the browser's tab."""
    assert "1 critical finding in 1 of 2 jobs, 1 note about the feed · flowprism" in page.text
    assert page.text.index("1 critical finding") < page.text.index("Do next")


@pytest.mark.parametrize(
    "fact",
    [
        "The network link of 10.1.1.1 moves data at a sixth of the rate of its peers.",
        "since 2026-11-20 15:20:56.777 UTC (iteration 14), still on",
        "saves 795 ms (48 %) per iteration: 1.64 s → 845 ms",
        "link leaf1 port 2 – 10.1.1.1 (s11 gpu 0)",
        "62.0 Mbit/s",
        "Job llama-70b (A) 16 GPUs · 16 endpoints on 8 hosts · research",
        "97 % sure · not sharded",
        "Fits as well tp 2 · pp 1 · dp 4",
        "checkpoint, 3.00 s: 6.4 GB to 10.9.0.5",
        "the last packet is cut off",
        "not IP 212",
        "10.9.0.5: joins 24 endpoints without a period",
        "flowprism 0.1.0",
    ],
)
def test_facts_are_said(page: Page, fact: str) -> None:
    """The page tells all that the text report tells."""
    assert fact in " ".join(page.text.split())


def test_it_needs_nothing_else(page: Page) -> None:
    """No script, no style attribute, and no address but fragments of itself and the empty icon."""
    assert not page.all("script")
    for _, attributes in page.elements:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        for name in ("href", "src", "srcset", "action", "data"):
            assert attributes.get(name, "#").startswith(("#", "data:,"))
    targets = {a["href"][1:] for a in page.all("a")}
    assert targets <= {attributes["id"] for _, attributes in page.elements if "id" in attributes}


def test_the_policy_admits_its_own_style_sheet_only(source: str, page: Page) -> None:
    """By hash, so that nothing else could be slipped in."""
    (policy,) = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    found = re.search(r"<style>(.*)</style>", source, re.DOTALL)
    assert found is not None
    digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "url(" not in found[1].replace("url(#hatch)", "")


def test_every_figure_is_named_and_has_a_table(source: str, page: Page) -> None:
    """For those who cannot see it."""
    images = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(images) == 8  # two of the finding; iterations, timeline, matrix of each job
    assert all(svg["aria-label"] for svg in images)
    figures = re.findall(r"<figure>.*?</figure>", source, re.DOTALL)
    assert len(figures) == len(images)
    assert all("<table" in figure and "<figcaption" in figure for figure in figures)


def test_names_with_markup_are_text() -> None:
    """A label from an inventory or an exporter's string cannot become an element."""
    made = sample.analysis(iterations=16)
    evil = "<img src=x onerror=alert(1)>\"'&"
    jobs = (made.report.jobs[0].model_copy(update={"label": evil, "tenant": evil}), made.report.jobs[1])
    feed = made.report.feed.model_copy(update={"warnings": (evil,), "rejected": {evil: 1}, "exporters": (evil,)})
    events = tuple(e.model_copy(update={"detail": evil}) for e in made.report.events)
    report = made.report.model_copy(update={"jobs": jobs, "feed": feed, "events": events})
    page = Page(rendered(Analysis(report, made.timelines, made.pairs)))
    assert not page.all("img")
    assert page.text.count(evil) >= 6


def test_no_job_says_why() -> None:
    """A page without jobs is still a page."""
    page = Page(rendered(sample.no_job()))
    assert "No training job found" in page.text
    assert "none of it comes back with a period" in page.text
    assert not [svg for svg in page.all("svg") if svg.get("role") == "img"]


def test_health_is_said() -> None:
    """Without findings there is no section of them."""
    page = Page(rendered(sample.analysis(slow=False)))
    assert "No findings in 2 jobs" in page.text
    assert "findings" not in {attributes.get("id") for _, attributes in page.elements}


def test_a_job_without_iterations_or_spans_is_shown() -> None:
    """What could be told is told, and what could not is said."""
    made = sample.no_job()
    job = (
        sample.analysis(iterations=2, slow=False).report.jobs[0].model_copy(update={"iterations": (), "period_s": None})
    )
    report = made.report.model_copy(update={"jobs": (job,)})
    page = Page(rendered(Analysis(report, made.timelines, {})))
    assert "No iteration could be distinguished." in page.text
    assert "s11/0" in page.text


def sampled(whole: Analysis) -> Analysis:
    """The sample as samples leave it: no spans, and job A's rates over two mean iterations of 20 parts."""
    (job, *_), book = whole.report.jobs, whole.timelines.addresses
    many, bins = len(job.endpoints), 20
    codes = [book.index(address) for address in job.endpoints]
    rows = 2 * many * bins
    part, pace = np.tile(np.arange(bins), 2 * many), np.repeat([0, 1], many * bins)
    rates = Frame(
        RATES,
        {
            "endpoint": np.tile(np.repeat(codes, bins), 2), "pace": pace, "bin": part, "bins": np.full(rows, bins),
            "iterations": np.where(pace == 0, 13, 16), "iteration_ns": np.where(pace == 0, 10**8, 10**9),
            "sent_bps": 1e9 * (part < 5), "sent_error_bps": np.full(rows, 1e7),
            "received_bps": 2e9 * (part > 14), "received_error_bps": np.full(rows, 2e7),
        },
    )  # fmt: skip
    spans = whole.timelines.spans.take(np.zeros(0, np.int64))
    return replace(whole, timelines=replace(whole.timelines, spans=spans), rates={job.id: rates})


def test_a_job_known_from_samples_has_its_mean_iteration() -> None:
    """Where there are no spans: rates with 95 % intervals over the iterations of the finding's pace, in numbers too."""
    whole = sampled(sample.analysis())
    page = Page(rendered(whole))
    (job, *_) = whole.report.jobs
    assert "Timeline of iteration" not in page.text
    assert "of 16 iterations" in page.text
    assert f"rates of {len(job.endpoints)} endpoints in 20 parts" in page.text
    assert len([p for p in page.all("path") if p["class"] == "rate sent"]) == len(job.endpoints)
    assert page.text.count("19.6 Mbit/s") == len(job.endpoints)  # 1.96 standard errors of the highest rate sent
    assert page.text.count("50 %") >= len(job.endpoints)  # of the iteration data move
    assert "Mean iteration" not in Page(rendered(sample.analysis())).text


def test_what_was_not_measured_is_left_blank() -> None:
    """A suspect without spans in some iterations, pairs whose rate is not known."""
    made = sample.analysis(iterations=16)
    spans = made.timelines.spans
    code = made.timelines.addresses.index(sample.SLOW)
    timelines = replace(made.timelines, spans=spans.take((spans["endpoint"] != code) | (spans["iteration"] % 3 == 0)))
    unknown = np.full(len(made.pairs["A"]), np.nan)
    pairs = {"A": made.pairs["A"].replace(rate_bps=unknown, late_ratio=unknown)}
    page = Page(rendered(Analysis(made.report, timelines, pairs)))
    assert "nan" not in page.text
    assert "dp 201 MB in 32 transfers " in page.text


def test_equal_analyses_are_equal_pages(source: str) -> None:
    """No clock, no random name in it."""
    assert rendered(sample.analysis()) == source


def test_a_hundred_thousand_spans_stay_below_half_a_megabyte() -> None:
    """One iteration is drawn, lanes are chosen, neighbours too narrow to see are merged."""
    made = sample.analysis(replicas=64, iterations=24)
    assert len(made.timelines.spans) > 100_000
    assert len(rendered(made)) < 500_000
