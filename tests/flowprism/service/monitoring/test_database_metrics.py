"""Metrics of single jobs and exporters."""

from __future__ import annotations

import pytest
from prometheus_client.core import Metric

from flowprism.service.config.settings import Settings
from flowprism.service.monitoring import database_metrics
from flowprism.service.monitoring.database_metrics import StoredMetrics
from flowprism.service.stores import Stores
from tests.flowprism.service.stored import demo_analysis

NOW_NS = 1_800_000_000 * 10**9


def told(stores: Stores, now_ns: int) -> dict[str, Metric]:
    """What is scraped at a time, by name."""
    return {one.name: one for one in StoredMetrics(stores, Settings(), lambda: now_ns).collect()}


def test_a_job_has_its_numbers(demo: Stores) -> None:
    """Iteration time, slowdown, lost GPU-hours and state, as pages show them."""
    report = demo_analysis().report
    found = told(demo, report.window.end_ns + 10**9)
    (finding,), (job,) = report.findings, report.jobs
    (slow,) = found["flowprism_training_job_slowdown_ratio"].samples
    assert slow.labels == {"training_job": job.id, "name": "llama-demo", "tenant": "research"}
    assert slow.value == finding.slowdown_ratio
    (state,) = found["flowprism_training_job_state"].samples
    assert (state.labels["state"], state.value) == ("slow", 1.0)
    assert found["flowprism_training_job_iteration_seconds"].samples[0].value > 0.5
    assert found["flowprism_training_job_lost_gpu_hours"].samples[0].value > 0
    assert job.training_time is not None
    spent = {one.labels["use"]: one.value for one in found["flowprism_training_job_time_seconds"].samples}
    assert spent["slowed"] == job.training_time.slowed_ns / 1e9 > 0
    assert sum(spent.values()) * 1e9 == pytest.approx(job.training_time.end_ns - job.training_time.start_ns)
    bounds = found["flowprism_training_job_effective_time_ratio"].samples
    assert tuple(one.value for one in bounds) == job.training_time.effective_ratio
    assert {one.labels["exporter"]: one.value for one in found["flowprism_exporter_lost_ratio"].samples} == {
        "192.168.250.11:0": 0.0,
        "192.168.250.12:0": 3 / 203,
    }


def test_a_large_site_has_few_of_them(many: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst jobs are told, and how many there are beyond."""
    monkeypatch.setattr(database_metrics, "MOST_JOBS", 7)
    found = told(many, NOW_NS)
    assert len(found["flowprism_training_job_state"].samples) == 7
    assert {one.labels["state"] for one in found["flowprism_training_job_state"].samples} == {"slow"}
    (left,) = found["flowprism_training_jobs_left_out"].samples
    assert left.value == 33
