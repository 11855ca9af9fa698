"""Pages of a job of which iterations are known and single transfers are not, as from samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from playwright.sync_api import Browser

from datamodel.reports.analysis import Analysis
from flowprism.service.stores import Stores
from tests.flowprism.dashboard.browser import served_stores, visiting
from tests.flowprism.service.api.client import client
from tests.flowprism.service.stored import demo_analysis, stored_demo

UNTRUE = ("No waiting was seen", "No endpoint waited", "Reading spans", "None of these endpoints send")


ERROR_NS = 60_000_000


def without_transfers() -> Analysis:
    """The bundled capture's analysis as samples would leave it: iterations with errors, and neither spans nor pairs."""
    whole = demo_analysis()
    spans = whole.timelines.spans.take(np.zeros(0, np.int64))
    (job,) = whole.report.jobs
    steps = tuple(one.model_copy(update={"duration_error_ns": ERROR_NS}) for one in job.iterations)
    report = whole.report.model_copy(update={"jobs": (job.model_copy(update={"iterations": steps}),)})
    return replace(whole, report=report, timelines=replace(whole.timelines, spans=spans), pairs={})


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A store of such a job."""
    stores = stored_demo(tmp_path_factory.mktemp("sampled"), analysis=without_transfers())
    yield stores
    stores.database.close()


def test_empty_places_name_the_feed_that_fills_them(sampled: Stores) -> None:
    """Timeline, matrix and layout say what is missing, and nothing that was not measured is stated."""
    name = demo_analysis().report.jobs[0].id
    for page in ("timeline", "matrix"):
        text = unescape(client(sampled).get(f"/jobs/{name}/{page}").text)
        assert "unsampled NetFlow or IPFIX records" in text
        assert not [words for words in UNTRUE if words in text]
    assert "No data for this measure" in client(sampled).get(f"/jobs/{name}?by=late").text


def test_the_timeline_draws_how_well_iterations_are_known(sampled: Stores) -> None:
    """A bar of 1.96 standard errors either way at each iteration, the same in numbers, and the mean with its own."""
    name = demo_analysis().report.jobs[0].id
    page = unescape(client(sampled).get(f"/jobs/{name}/timeline").text)
    steps = len(demo_analysis().report.jobs[0].iterations)
    assert page.count("<title>± 118 ms, 95 %</title>") == steps
    assert page.count('<td class="num">118 ms</td>') == steps
    assert f"Mean of {steps} iterations" in page


@pytest.mark.parametrize("width", [1440, 390])
def test_no_page_of_the_job_throws(chromium: Browser, sampled: Stores, width: int) -> None:
    """Neither an error of a script nor a page wider than its window."""
    name = demo_analysis().report.jobs[0].id
    with served_stores(sampled) as address, visiting(chromium, address, width=width) as visit:
        for page in (f"/jobs/{name}", f"/jobs/{name}/timeline", f"/jobs/{name}/matrix", "/", "/fabric", "/feeds"):
            visit.open(page)
            visit.in_sight()
        visit.quiet()
