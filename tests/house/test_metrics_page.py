"""docs/metrics.md has every metric that the real service tells, with its type and labels, and no other."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from datamodel.reconstructed.traffic import PostTraining
from datamodel.service.api_models import ComponentStatus
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.host_metrics.host_watch import HostWatch
from flowprism.service.monitoring.component_metrics import FIGURES
from flowprism.service.monitoring.health import checks
from flowprism.service.scans.leases import Leases
from flowprism.service.scans.scanner_stats import Tally
from flowprism.service.stores import Stores
from storage.database.components import save_component
from storage.database.incidents.alerts import add_alerts
from tests.flowprism.service.access.asking import Asker
from tests.flowprism.service.stored import demo_analysis, stored_demo
from tests.house.checkout import ROOT, rows
from tests.storage.database.incidents.test_alerts import outgoing

PAGE = "docs/metrics.md"


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    """Of a service in which everything has happened once."""
    shown = demo_analysis()
    weights = PostTraining(takers=("10.0.0.1",), syncs=3, sync_s=0.1, sync_bytes=1, rollout_gap_s=2.0)
    jobs = tuple(job.model_copy(update={"post_training": weights}) for job in shown.report.jobs)
    made = stored_demo(tmp_path, analysis=replace(shown, report=shown.report.model_copy(update={"jobs": jobs})))
    add_alerts(made.database, [outgoing()])
    now_ns = time.time_ns()
    for kind in ("collector", "compactor", "scanner", "alerter", "api"):
        told = {figure.name: 1.0 for figure in FIGURES if figure.kind in {kind, "any"}} | {"unheard_of": 1.0}
        save_component(made.database, ComponentStatus.model_validate(
            {"name": f"{kind} a", "kind": kind, "started_ns": now_ns, "seen_ns": now_ns, "figures": told}
        ))  # fmt: skip
    return made


def test_every_metric_has_its_row(stores: Stores) -> None:
    """Name, type and labels as Prometheus sees them."""
    asker = Asker(application(stores, Settings(), AccessSettings()), "http://localhost", "127.0.0.1")
    asker.ask("GET", "/healthz")
    told: dict[str, tuple[str, set[str]]] = {}
    for family in text_string_to_metric_families(asker.ask("GET", "/metrics").text):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert family.samples, f"{name}: nothing of it happened in this test"
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        told[name] = (family.type, labels)
    written = {row[0].strip("`"): (row[1], set(re.findall(r"`(\w+)`", row[2]))) for row in rows(PAGE, "The metrics")}
    assert written == told


def test_what_parts_tell_is_known(stores: Stores) -> None:
    """A scanner's figures have metrics of their own."""
    known = {figure.name for figure in FIGURES if figure.kind == "scanner"}
    assert set(Tally().figures()) <= known
    assert set(HostWatch(Settings(), stores.database, Leases(stores.database, "a", 1.0)).figures()) <= known


def test_every_check_has_its_row(tmp_path: Path, stores: Stores) -> None:
    """Every check of the service has its row."""
    with_lake = Stores(stores.database, str(tmp_path), stores.analyses)
    looked = {check.name for check in checks(with_lake, Settings(), time.time_ns())}
    assert {row[0].strip("`") for row in rows(PAGE, "Checks")} == looked


def test_the_line_of_a_log_is_one() -> None:
    """The example can be read by a machine."""
    text = (ROOT / PAGE).read_text().partition("```json\n")[2].partition("```")[0]
    assert json.loads(text)["event"] == "answered"
