"""What is answered about jobs."""

from __future__ import annotations

import pytest

from datamodel.service.filters import JobFilter
from flowprism.service.queries.jobs.iteration_pace import Recent, pace
from flowprism.service.queries.jobs.job_queries import iterations, job, jobs, trend
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.jobs.overview import Stretch, worst_incidents
from tests.flowprism.service.stored import HOUR_NS, MINUTE_NS, TENANT, demo_analysis

ALL = Viewer("ann", "admin", None)
OWN = Viewer("bob", "viewer", TENANT)
OTHER = Viewer("eve", "admin", "search")
NOW_NS = 1_800_000_000 * 10**9  # a minute after the newest window of the made-up jobs


def test_a_job_at_a_glance(demo: Stores) -> None:
    """The row says what the report of the scan said."""
    report = demo_analysis().report
    (row,) = jobs(demo, ALL, report.window.end_ns + 10**9)
    (told,) = report.jobs
    assert (row.id, row.label, row.tenant, row.layout) == (told.id, "llama-demo", TENANT, told.layout)
    assert (row.endpoints, row.hosts, row.world_size) == (16, 8, told.world_size)
    assert (row.state, row.incidents) == ("slow", len(report.findings))
    assert row.iteration_s == pytest.approx(told.period_s, rel=0.3)
    assert row.slowdown_ratio is not None
    assert row.slowdown_ratio > 1.05
    assert row.gpu_hours_lost is not None
    assert 0 < row.gpu_hours_lost < 16 * (report.window.end_ns - report.window.start_ns) / HOUR_NS
    assert any(mean is not None for mean in row.trend.mean_s)
    assert len(row.trend.mean_s) == len(row.trend.severity) == 60


def test_one_job_with_its_layouts(demo: Stores) -> None:
    """Members and groups are those of the report."""
    (told,) = demo_analysis().report.jobs
    detail = job(demo, OWN, NOW_NS, told.id)
    assert detail is not None
    assert (detail.addresses, detail.host_names, detail.period_s) == (told.endpoints, told.hosts, told.period_s)
    assert [(one.layout, one.groups) for one in detail.layouts] == [(told.layout, told.groups)]
    assert job(demo, ALL, NOW_NS, "nonsense") is None


def test_a_tenant_sees_its_own_jobs(demo: Stores, many: Stores) -> None:
    """Whatever is asked for; what belongs to nobody is for those who see all."""
    name = demo_analysis().report.jobs[0].id
    assert jobs(demo, OTHER, NOW_NS) == []
    assert job(demo, OTHER, NOW_NS, name) is None
    assert iterations(demo, OTHER, name, 0, NOW_NS) is None
    assert trend(demo, OTHER, name, 0, NOW_NS) is None
    own = jobs(many, OTHER, NOW_NS)
    assert [row.tenant for row in own] == ["search"] * 10
    for tenant in ("", TENANT, "nobody"):
        assert jobs(many, OTHER, NOW_NS, JobFilter(tenant=tenant)) == []
    assert len(jobs(many, ALL, NOW_NS, JobFilter(tenant=""))) == 10
    assert len(jobs(many, OTHER, NOW_NS, JobFilter(tenant="search"))) == 10


def test_norms_come_from_stretches_without_a_finding(many: Stores) -> None:
    """A job that has been slow for an hour is slower than its day; one that has not is as fast as ever."""
    rows = {row.id: row for row in jobs(many, ALL, NOW_NS)}
    slow, sound = rows["j00004"], rows["j00005"]
    assert slow.norm_s == pytest.approx(1.000004, rel=1e-6)
    assert slow.iteration_s == pytest.approx(1.2000048, rel=1e-6)
    assert slow.slowdown_ratio == pytest.approx(1.1)  # of its open incident
    assert sound.slowdown_ratio == pytest.approx(1.0)
    assert set(slow.trend.severity) == {"warning"}


def test_a_recovered_stretch_hides_no_open_incident(demo: Stores) -> None:
    """The slowdown is the open incident's, of the incident's time; the iteration time says which stretch it is of."""
    report = demo_analysis().report
    (finding,) = report.findings
    (told,) = report.jobs
    quick_ns = told.iterations[-1].end_ns // MINUTE_NS * MINUTE_NS + MINUTE_NS
    recovered = Recent((Stretch(quick_ns, MINUTE_NS, 60, MINUTE_NS, None),), ())
    (row,) = jobs(demo, ALL, report.window.end_ns + 10**9)
    worst = worst_incidents(demo.database, [told.id])[told.id]
    going = pace(recovered, quick_ns + MINUTE_NS, worst)
    assert (going.iteration_s, going.iteration_span_ns) == (1.0, (quick_ns, quick_ns + MINUTE_NS))
    assert going.slowdown_ratio == row.slowdown_ratio == finding.slowdown_ratio
    assert going.slowdown_span_ns == row.slowdown_span_ns == finding.evidence[0].window_ns
    assert pace(recovered, quick_ns + MINUTE_NS).slowdown_ratio is None


def test_worst_first_in_pages(many: Stores) -> None:
    """Pages of the worst first give every job once, severities falling."""
    found, after = [], ""
    while page := jobs(many, ALL, NOW_NS, JobFilter(order="worst"), after, 7):
        found += page
        after = page[-1].id
    assert len({row.id for row in found}) == 40
    ranks = [["info", "warning", "critical"].index(row.severity) if row.severity else -1 for row in found]
    assert ranks == sorted(ranks, reverse=True)


def test_iterations_are_put_together_but_for_the_slowest(demo: Stores) -> None:
    """One by one they are the report's; in few points none is lost, and the slowest is told."""
    (told,) = demo_analysis().report.jobs
    each = iterations(demo, ALL, told.id, 0, NOW_NS)
    assert each is not None
    assert [(one.first, one.start_ns, one.end_ns) for one in each.points] == [
        (one.index, one.start_ns, one.end_ns) for one in told.iterations
    ]
    few = iterations(demo, ALL, told.id, 0, NOW_NS, most=3)
    assert few is not None
    assert few.iterations == len(told.iterations)
    assert len(few.points) <= 3
    slowest = max(told.iterations, key=lambda one: one.end_ns - one.start_ns)
    assert max(few.points, key=lambda one: one.longest_s).longest == slowest.index
    assert few.points[0].first == 0
    assert few.points[-1].last == told.iterations[-1].index
    nothing = iterations(demo, ALL, told.id, NOW_NS, NOW_NS + 1)
    assert nothing is not None
    assert nothing.points == ()


def test_a_long_trend_has_few_steps(many: Stores) -> None:
    """Two days by the hour, or in few steps of several hours, with the same mean."""
    (row, *_) = jobs(many, ALL, NOW_NS)
    end_ns = row.last_seen_ns
    told = trend(many, ALL, row.id, end_ns - 48 * HOUR_NS, end_ns)
    assert told is not None
    assert told.step_ns == HOUR_NS
    few = trend(many, ALL, row.id, end_ns - 48 * HOUR_NS, end_ns, most=10)
    assert few is not None
    assert len(few.mean_s) <= 10
    assert few.step_ns == 5 * HOUR_NS
    assert few.mean_s[0] == pytest.approx(1.0, rel=1e-3)


def test_without_a_lake_there_are_no_iterations(many: Stores) -> None:
    """A job is known by its database alone; what the lake would tell is empty."""
    told = iterations(many, ALL, "j00001", 0, NOW_NS)
    assert told is not None
    assert (told.iterations, told.points) == (0, ())
