"""`/metrics`, `/healthz`, `/readyz` and the watch on requests, of the real application."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from datamodel.service.api_models import ComponentStatus
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.monitoring.database_metrics import MOST_JOBS
from flowprism.service.stores import Stores
from storage.database import metric_queries
from storage.database.components import save_component
from tests.effort import least, processor_s
from tests.flowprism.service.access.asking import Asker, add_user, bearer
from tests.flowprism.service.stored import stored_many

Sample = tuple[str, frozenset[tuple[str, str]]]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """Twelve jobs, three of them with an incident."""
    made = stored_many(tmp_path, jobs=12, days=1, endpoints=4)
    yield made
    made.database.close()


def local(app: FastAPI) -> Asker:
    """Somebody on this machine."""
    return Asker(app, "http://localhost:8080", "127.0.0.1")


def samples(answer: httpx.Response) -> dict[Sample, float]:
    """Every value of a scrape, parsed as Prometheus does it."""
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(found: dict[Sample, float], metric: str, **labels: str) -> float | None:
    """One of them."""
    return found.get((metric, frozenset(labels.items())))


def test_what_is_kept_is_told(stores: Stores) -> None:
    """Jobs, incidents, scans, and the figures of components under their own names or the common one."""
    told = {"scans_total": 7.0, "something_new": 3.0}
    now_ns = time.time_ns()
    save_component(
        stores.database,
        ComponentStatus(name="scanner a", kind="scanner", started_ns=now_ns - 10**10, seen_ns=now_ns, figures=told),
    )
    found = samples(local(application(stores, Settings(), AccessSettings())).ask("GET", "/metrics"))
    assert [value(found, "flowprism_jobs", state=state) for state in ("healthy", "slow", "stale")] == [9, 3, 0]
    incidents = {labels: count for (name, labels), count in found.items() if name == "flowprism_incidents"}
    assert sum(incidents.values()) == sum(metric_queries.incident_counts(stores.database).values()) == 3
    assert value(found, "flowprism_scan_verdict", policy="health", verdict="findings") == 1
    assert value(found, "flowprism_scan_verdict", policy="health", verdict="healthy") == 0
    assert value(found, "flowprism_scan_window_end_timestamp_seconds", policy="health") == 1_799_999_940
    assert value(found, "flowprism_scanner_scans_total", component="scanner a") == 7
    assert (
        value(found, "flowprism_component_figure", component="scanner a", kind="scanner", figure="something_new") == 3
    )
    assert value(found, "flowprism_component_healthy", component="scanner a", kind="scanner") == 1
    assert value(found, "flowprism_check_ok", check="database") == 1


def test_requests_are_counted_by_route(stores: Stores) -> None:
    """Whatever paths, methods and names strangers make up, they make no new series."""
    app = application(stores, Settings(), AccessSettings())
    here = local(app)
    here.ask("GET", "/api/v1/jobs/no-such-job")
    here.ask("GET", "/api/v1/jobs/another")
    before = samples(here.ask("GET", "/metrics"))
    jobs = {"method": "GET", "route": "/api/v1/jobs/{job}", "status": "404"}
    assert value(before, "flowprism_http_requests_total", **jobs) == 2
    assert value(before, "flowprism_http_request_duration_seconds_count", route="/api/v1/jobs/{job}") == 2
    for number in range(5):
        here.ask("GET", f"/made/up/{number}")
        here.ask(f"MADE{number}", "/api/v1/jobs")
    again = samples(here.ask("GET", "/metrics"))
    new = {(name, labels) for name, labels in set(again) - set(before) if name == "flowprism_http_requests_total"}
    assert {(dict(labels)["method"], dict(labels)["route"]) for _, labels in new} == {
        ("GET", "none"), ("other", "/api/v1/jobs"), ("GET", "/metrics"),
    }  # fmt: skip
    assert all(route.startswith(("/", "none")) for _, labels in again for name, route in labels if name == "route")


def test_who_may_see_metrics(stores: Stores) -> None:
    """A token for them, whoever sees all tenants, or everybody where the settings say so; nobody of one tenant."""
    add_user(stores.database, "ann", "viewer")
    add_user(stores.database, "vic", "operator", "research")
    asker = Asker(application(stores, Settings(), AccessSettings(mode="login")))
    assert asker.ask("GET", "/metrics").status_code == 401
    assert asker.ask("GET", "/metrics", bearer(stores.database, "ann", "metrics")).status_code == 200
    assert asker.ask("GET", "/metrics", bearer(stores.database, "ann", "read")).status_code == 200
    assert asker.ask("GET", "/metrics", bearer(stores.database, "vic", "metrics")).status_code == 403
    opened = Asker(application(stores, Settings(), AccessSettings(mode="login", open_metrics=True)))
    assert opened.ask("GET", "/metrics").status_code == 200
    assert opened.ask("GET", "/api/v1/jobs").status_code == 401


def test_log_ins_are_counted(stores: Stores) -> None:
    """By what came of them."""
    add_user(stores.database, "ann", "admin")
    asker = Asker(application(stores, Settings(), AccessSettings(mode="login", login_failures=1)))
    for password in ("correct horse battery", "wrong", "wrong"):
        asker.log_in("ann", password)
    found = samples(asker.ask("GET", "/metrics"))
    assert [value(found, "flowprism_logins_total", outcome=name) for name in ("ok", "wrong", "wait")] == [1, 1, 1]


def test_ready_and_well(stores: Stores) -> None:
    """Strangers learn whether something is wrong, insiders what; only who asks strictly is told 503 for it."""
    add_user(stores.database, "ann", "viewer")
    add_user(stores.database, "vic", "viewer", "research")
    settings = Settings.model_validate({"scans": {"policies": [{"name": "health"}]}})
    asker = Asker(application(stores, settings, AccessSettings(mode="login")))
    assert asker.ask("GET", "/healthz").json() == {"status": "ok"}
    assert asker.ask("GET", "/readyz").json()["status"] == "ok", "the newest window of this store is yet to come"
    long_ago_ns = time.time_ns() - 60 * 10**9
    save_component(
        stores.database, ComponentStatus(name="compactor a", kind="compactor", started_ns=1, seen_ns=long_ago_ns)
    )
    answer = asker.ask("GET", "/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["checks"]["components"] == "failed"
    assert asker.ask("GET", "/readyz?strict=true").status_code == 503
    insider = asker.ask("GET", "/readyz", bearer(stores.database, "ann", "read")).json()
    assert insider["checks"]["components"].startswith("compactor a: silent for 6")
    tenants = asker.ask("GET", "/readyz", bearer(stores.database, "vic", "read")).json()
    assert tenants["checks"]["components"] == "failed"


def test_not_ready_without_the_database(stores: Stores) -> None:
    """Alive, not ready, and metrics say that they cannot say more."""
    app = application(stores, Settings(), AccessSettings(mode="login", open_metrics=True))
    with stores.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE parts")
    asker = Asker(app)
    assert asker.ask("GET", "/healthz").status_code == 200
    answer = asker.ask("GET", "/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    found = samples(asker.ask("GET", "/metrics"))
    assert value(found, "flowprism_check_ok", check="database") == 0
    assert value(found, "flowprism_jobs", state="healthy") is None


def test_an_error_of_ours(stores: Stores) -> None:
    """Is told without its insides, under the security headers, counted, and has its name in the answer."""
    app = application(stores, Settings(), AccessSettings())

    @app.get("/api/v1/broken")
    def broken() -> None:
        raise RuntimeError("the insides")

    answer = local(app).ask("GET", "/api/v1/broken")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-frame-options"] == "DENY"
    assert len(answer.headers["x-request-id"]) == 32
    assert "insides" not in answer.text
    found = samples(local(app).ask("GET", "/metrics"))
    assert value(found, "flowprism_http_requests_total", method="GET", route="/api/v1/broken", status="500") == 1


def test_a_scrape_is_cheap(tmp_path: Path) -> None:
    """Its size does not grow with jobs beyond a bound; of 400 it takes a fraction of a second of processor time."""
    small, large = (stored_many(tmp_path / str(jobs), jobs, 1, 2) for jobs in (4, 400))
    apps = [local(application(stores, Settings(), AccessSettings())) for stores in (small, large)]
    sizes = [len(samples(app.ask("GET", "/metrics"))) for app in apps]
    assert sizes[1] - sizes[0] < 4 * MOST_JOBS + 20
    assert least(lambda: processor_s(lambda: apps[1].ask("GET", "/metrics")), 0.25) < 0.25
    for stores in (small, large):
        stores.database.close()
