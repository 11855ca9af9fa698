"""A job of reinforcement learning: weights and rollout gaps on its page, in its report, in the API and in metrics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser

from datamodel.frame import concat
from datamodel.reconstructed.traffic import PostTraining
from datamodel.reports.analysis import Analysis
from flowprism.evaluation.cases.classes import class_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.rendering import units
from flowprism.rendering.formats.html import render_html
from flowprism.rendering.names import names_of
from flowprism.service.stores import Stores
from simulate.bursts import BURSTS
from simulate.case import flow_reading
from simulate.inventory import simulated_inventory
from simulate.scenario_runs import iter_runs
from simulate.true_traffic import weight_syncs_ns
from tests.flowprism.dashboard.browser import served_stores, visiting
from tests.flowprism.service.api.client import client
from tests.flowprism.service.stored import stored_demo

CASE = 8  # weights are written to each engine, services are named
WIDTHS = (1440, pytest.param(390, marks=pytest.mark.slow))


@pytest.fixture(scope="module")
def analyzed() -> tuple[Analysis, float]:
    """The simulated case, and the true median time of a synchronization in seconds."""
    scenario = class_case(CASE).scenario
    runs = list(iter_runs(scenario, CASE))
    reading = flow_reading(scenario, [one.flows for one in runs])
    syncs = weight_syncs_ns(concat(BURSTS, [one.bursts for one in runs]), 0)
    found = analyze_reading(reading, (), simulated_inventory(scenario), AnalysisOptions())
    return found, float(np.median(syncs[:, 1] - syncs[:, 0])) / 1e9


@pytest.fixture(scope="module")
def kept(analyzed: tuple[Analysis, float], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A service's store after scans of it."""
    inventory = simulated_inventory(class_case(CASE).scenario)
    stores = stored_demo(tmp_path_factory.mktemp("weights"), analysis=analyzed[0], inventory=inventory)
    yield stores
    stores.database.close()


def measured(analysis: Analysis) -> tuple[str, PostTraining]:
    """The job, and what it does between its steps."""
    (job,) = analysis.report.jobs
    assert job.post_training is not None
    return job.id, job.post_training


def test_a_long_rollout_after_new_weights_is_no_checkpoint(analyzed: tuple[Analysis, float]) -> None:
    """One rollout lasts a third longer than the others; nothing is saved, and the account of time has no pause."""
    (job,) = analyzed[0].report.jobs
    durations = np.array([one.end_ns - one.start_ns for one in job.iterations])
    assert durations.max() > 1.3 * np.median(durations)
    assert analyzed[0].report.events == ()
    assert job.training_time is not None
    assert job.training_time.paused_ns == 0


def test_documents_and_metrics_have_the_time_of_a_synchronization(
    analyzed: tuple[Analysis, float], kept: Stores
) -> None:
    """The same in the job's document, its report and `/metrics`, and within 2 % of the truth."""
    name, found = measured(analyzed[0])
    assert found.sync_s == pytest.approx(analyzed[1], rel=0.02)
    asking = client(kept)
    shown = asking.get(f"/api/v1/jobs/{name}").json()["post_training"]
    assert PostTraining.model_validate(shown) == found
    report = asking.get(f"/api/v1/jobs/{name}/report").text
    assert f"{units.duration(found.sync_s)} each" in report
    metrics = asking.get("/metrics").text
    for what, value in (("weight_sync", found.sync_s), ("rollout_gap", found.rollout_gap_s)):
        (line,) = [one for one in metrics.splitlines() if one.startswith(f"flowprism_training_job_{what}_seconds{{")]
        assert float(line.rpartition(" ")[2]) == value


def test_a_report_as_a_page_has_it(analyzed: tuple[Analysis, float]) -> None:
    """In the words of the text report."""
    page = render_html(analyzed[0], names_of(None))
    assert "<dt>Reinforcement learning</dt>" in page
    assert f"{units.duration(measured(analyzed[0])[1].sync_s)} each" in page


@pytest.mark.parametrize("width", WIDTHS)
def test_the_job_page_shows_both_times_and_the_engines(
    analyzed: tuple[Analysis, float], kept: Stores, chromium: Browser, width: int
) -> None:
    """In a window of a desk and of a phone, whole and without a complaint of the browser."""
    name, found = measured(analyzed[0])
    assert found.rollout_gap_s is not None
    with served_stores(kept) as address, visiting(chromium, address, width=width) as visit:
        visit.open(f"/jobs/{name}")
        section = visit.page.locator("#post-training")
        text = section.inner_text()
        assert f"{units.duration(found.sync_s)} from the first byte to the last, median of {found.syncs}" in text
        assert units.duration(found.rollout_gap_s) in text
        assert f"{len(found.takers)} endpoints that take the weights" in text
        box = section.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        visit.quiet()
        visit.accessible()
