"""Grafana's dashboard and Prometheus' rules: of the right form, over metrics that there are."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from prometheus_client import CollectorRegistry

from datamodel.service.job_state import JobState
from flowprism.service.config.settings import Settings
from flowprism.service.monitoring.database_metrics import StoredMetrics
from flowprism.service.monitoring.request_metrics import HttpMetrics
from flowprism.service.stores import Stores
from storage.database.connection import Database
from tests.house.checkout import ROOT

DASHBOARD = ROOT / "deploy" / "grafana" / "flowprism.json"
PROMETHEUS = ROOT / "deploy" / "compose" / "prometheus"
PROVISIONED = ROOT / "deploy" / "compose" / "grafana" / "provisioning"
_METRIC = re.compile(r"\bflowprism_[a-z_]+")
_OF_TYPE = re.compile(r"_(total|bucket|count|sum)$")


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of all metrics that the service tells, without what a type appends."""
    folder = tmp_path_factory.mktemp("metrics")
    database = Database(f"sqlite:///{folder / 'results.sqlite'}")
    registry = CollectorRegistry()
    HttpMetrics(registry)
    stored = StoredMetrics(Stores(database, str(folder), None), Settings(), time.time_ns)
    found = {family.name for family in (*registry.collect(), *stored.collect())}
    database.close()
    return found


def dashboard() -> dict[str, Any]:
    """Grafana's dashboard."""
    said: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return said


def rules() -> list[dict[str, Any]]:
    """Prometheus' alerting rules."""
    groups = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> Iterator[str]:
    """All that is asked of Prometheus."""
    yield from (target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", []))
    yield from (rule["expr"] for rule in rules())


def test_metrics_are_told(metrics: set[str]) -> None:
    """Every one that a panel or a rule asks for is one of the service's."""
    asked = {_OF_TYPE.sub("", name) for expression in expressions() for name in _METRIC.findall(expression)}
    assert len(asked) > 15
    assert asked - metrics == set()


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_expressions_are_whole(expression: str) -> None:
    """Brackets match; labels are quoted."""
    for opening, closing in ("()", "{}", "[]"):
        assert expression.count(opening) == expression.count(closing)
    assert expression.count('"') % 2 == 0


def test_panels_do_not_overlap() -> None:
    """Each has its place, its own number, and says what it shows."""
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        assert panel["type"] == "row" or panel["description"]
        taken |= cells


def test_training_comes_first() -> None:
    """Below the figures at the top; each metric of a job or an exporter has a panel, chosen by variables."""
    said = dashboard()
    first = min((one for one in said["panels"] if one["type"] == "row"), key=lambda one: one["gridPos"]["y"])
    assert first["title"] == "Training"
    asked = [target["expr"] for panel in said["panels"] for target in panel.get("targets", [])]
    for metric, variables in (
        ("training_job_state", ("$training_job", "$tenant")),
        ("training_job_iteration_seconds", ("$training_job", "$tenant")),
        ("training_job_slowdown_ratio", ("$training_job", "$tenant")),
        ("training_job_lost_gpu_hours", ("$training_job", "$tenant")),
        ("training_job_effective_time_ratio", ("$training_job", "$tenant")),
        ("exporter_newest_timestamp_seconds", ("$exporter",)),
        ("exporter_lost_ratio", ("$exporter",)),
    ):
        (expression,) = [one for one in asked if f"flowprism_{metric}" in one]
        assert all(name in expression for name in variables)


def test_variables_are_read_from_labels(metrics: set[str]) -> None:
    """Each from a metric that there is, and none is unused."""
    said = dashboard()
    used = " ".join(target["expr"] for panel in said["panels"] for target in panel.get("targets", []))
    for variable in said["templating"]["list"]:
        query = re.fullmatch(r"label_values\((\w+)(\{.*\})?, (\w+)\)", variable["definition"])
        assert query is not None
        assert query[1] in metrics
        assert f"${variable['name']}" in used
    assert {one["name"] for one in said["templating"]["list"]} == {"tenant", "training_job", "exporter"}


def test_states_of_the_timeline_are_those_of_jobs() -> None:
    """A state that the service gains must get its color here."""
    (panel,) = [one for one in dashboard()["panels"] if one["title"] == "State of each job"]
    (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
    shown = {code: one["text"] for code, one in mapping["options"].items()}
    asked = dict(re.findall(r'state="(\w+)".*?\* (\d)', panel["targets"][0]["expr"]))
    assert {state: shown[code] for state, code in asked.items()} == {state: state for state in asked}
    assert set(asked) == set(get_args(JobState)) - {"ended"}


def test_panels_ask_the_provisioned_source() -> None:
    """By the id that provisioning gives it; the dashboard lies where provisioning looks."""
    (source,) = yaml.safe_load((PROVISIONED / "datasources" / "prometheus.yml").read_text())["datasources"]
    used = {target["datasource"]["uid"] for panel in dashboard()["panels"] for target in panel.get("targets", [])}
    assert used == {source["uid"]}
    (provider,) = yaml.safe_load((PROVISIONED / "dashboards" / "flowprism.yml").read_text())["providers"]
    grafana = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["grafana"]
    assert f"./deploy/grafana:{provider['options']['path']}:ro" in grafana["volumes"]


def test_rules_say_what_is_wrong_and_what_to_do() -> None:
    """Each with severity, summary and description, by names of their own; Prometheus reads them."""
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    files: list[str] = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())["rule_files"]
    assert [name for name in files if not Path(PROMETHEUS / name).exists()] == []
