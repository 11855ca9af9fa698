"""docker-compose.yml: of the right form, closed where it can be, and true to the service's settings."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import yaml

import flowprism
from flowprism.service.access.access_settings import check_listening
from tests.deploy.shipped import (
    API,
    COMPOSE,
    EXPORTERS,
    PROFILES,
    compose,
    mounted,
    ours,
    published,
    services,
    settings,
)
from tests.house.checkout import ROOT

PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+(\.\d+)?(-\w+)?")


def test_it_is_a_compose_file() -> None:
    """By the schema of the Compose specification."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_profiles_are_two_and_every_service_is_in_one() -> None:
    """Nothing starts that nobody asked for."""
    said = compose()["services"]
    assert {profile for one in said.values() for profile in one["profiles"]} == set(PROFILES)
    assert set(services("small")) == {"flowprism"}
    assert set(services("full")) == {
        "flowprism-full", "postgres", "kafka", "goflow2", "prometheus", "alertmanager", "grafana"
    }  # fmt: skip


def test_images_are_pinned() -> None:
    """Each to a version; our own to this one."""
    images = [service["image"] for service in compose()["services"].values()]
    assert [image for image in images if not PINNED.fullmatch(image)] == []
    assert {image for image in images if image.startswith("flowprism:")} == {f"flowprism:{flowprism.__version__}"}


@pytest.mark.parametrize("profile", PROFILES)
def test_what_a_service_needs_is_there(profile: str) -> None:
    """Services that it waits for start with it, volumes are declared, files exist."""
    started = services(profile)
    for service in started.values():
        assert set(service.get("depends_on", {})) <= set(started)
        for source, _ in mounted(service):
            assert (ROOT / source).exists() if source.startswith(".") else source in compose()["volumes"], source
    needed = {source for one in compose()["services"].values() for source, _ in mounted(one)}
    assert set(compose()["volumes"]) == {source for source in needed if not source.startswith(".")}


@pytest.mark.parametrize("profile", PROFILES)
def test_services_that_are_waited_for_say_when_they_are_healthy(profile: str) -> None:
    """Else nothing that waits for them would ever start."""
    started = services(profile)
    for service in started.values():
        for name, how in service.get("depends_on", {}).items():
            assert how["condition"] == "service_healthy"
            assert "healthcheck" in started[name]


def test_we_wait_for_the_engines_that_we_use() -> None:
    """Else the first minutes are errors of a database and a broker that are not there yet."""
    assert set(ours("full")["depends_on"]) == {"postgres", "kafka"}


def test_no_service_has_a_default_password() -> None:
    """Each comes from the environment and is empty without it; who would then take a known one does not start."""
    named = re.findall(r"(\w*PASSWORD\w*): (.*)", COMPOSE.read_text())
    assert dict(named) == {
        "POSTGRES_PASSWORD": '"${POSTGRES_PASSWORD:-}"', "GF_SECURITY_ADMIN_PASSWORD": '"${GRAFANA_PASSWORD:-}"'
    }  # fmt: skip
    command = [part.replace("$$", "$") for part in compose()["services"]["grafana"]["entrypoint"]]
    ended = [
        subprocess.run(
            command, env={"GF_SECURITY_ADMIN_PASSWORD": password}, capture_output=True, text=True, check=False
        )
        for password in ("", "secret")
    ]
    assert (ended[0].returncode, ended[0].stderr) == (1, "GRAFANA_PASSWORD is not set\n")
    assert "/run.sh" in ended[1].stderr  # the image's own start, which this machine has not


@pytest.mark.parametrize("profile", PROFILES)
def test_ports_are_the_services_defaults(profile: str) -> None:
    """Exporters reach us where they would without a container; no port is published twice."""
    assert {(inside, protocol) for _, _, inside, protocol in published(ours(profile))} == {*EXPORTERS, API}
    assert all(outside == inside for _, outside, inside, _ in published(ours(profile)))
    taken = [(outside, protocol) for one in services(profile).values() for _, outside, _, protocol in published(one)]
    assert len(taken) == len(set(taken))


def test_pages_are_for_this_machine_only() -> None:
    """Whatever speaks HTTP is published on loopback; a proxy with TLS goes before it."""
    for service in compose()["services"].values():
        for host, outside, inside, protocol in published(service):
            assert host == "127.0.0.1" or (inside, protocol) in EXPORTERS, outside


@pytest.mark.parametrize("profile", PROFILES)
def test_settings_are_settings(profile: str) -> None:
    """File and variables can be used, reach the container, and let nobody in without credentials."""
    service = ours(profile)
    (file,) = (source for source, target in mounted(service) if target == "/etc/flowprism/flowprism.yaml")
    found = settings(ROOT / file, service.get("environment", {}))
    assert found.api.host == "0.0.0.0"  # noqa: S104 - of the container
    assert found.access.mode == "login"
    check_listening(found.access, found.api.host)
    assert service["command"] == ["serve", "/etc/flowprism/flowprism.yaml"]


def test_the_full_profile_uses_what_it_starts() -> None:
    """Results in PostgreSQL, GoFlow2's topic, Alertmanager; all by the names that their services have."""
    service, started = ours("full"), services("full")
    found = settings(ROOT / "deploy" / "compose" / "full.yaml", service["environment"])
    assert "@postgres/" in found.store.database
    servers = found.collect.kafka["bootstrap.servers"].get_secret_value()
    assert servers == "kafka:9092"
    assert f"-transport.kafka.brokers={servers}" in started["goflow2"]["command"]
    assert [f"-transport.kafka.topic={topic}" for topic in found.collect.kafka_topics] == [
        "-transport.kafka.topic=flows"
    ]
    (receiver,) = found.alerts.receivers
    assert receiver.url == "http://alertmanager:9093"
    assert {"postgres", "kafka", "alertmanager"} <= set(started)


def test_prometheus_scrapes_the_service() -> None:
    """At the name and port that it has there, without credentials."""
    said = yaml.safe_load((ROOT / "deploy/compose/prometheus/prometheus.yml").read_text())
    (target,) = next(one for one in said["scrape_configs"] if one["job_name"] == "flowprism")["static_configs"]
    assert target["targets"] == [f"flowprism:{API[0]}"]
    assert ours("full")["networks"]["default"]["aliases"] == ["flowprism"]
    assert settings(ROOT / "deploy/compose/full.yaml", {}).access.open_metrics


def test_alertmanager_uses_labels_that_alerts_have() -> None:
    """Grouping and inhibition name labels that we set."""
    said = yaml.safe_load((ROOT / "deploy/compose/alertmanager/alertmanager.yml").read_text())
    labels = {"alertname", "incident", "kind", "severity", "training_job", "tenant"}
    (rule,) = said["inhibit_rules"]
    named = re.findall(r"(\w+)=", " ".join(rule["source_matchers"] + rule["target_matchers"]))
    assert {*said["route"]["group_by"], *rule["equal"], *named} <= labels
    assert said["route"]["receiver"] in {one["name"] for one in said["receivers"]}


def test_containers_are_closed() -> None:
    """No capability that is not named, no new privileges, a root file system that cannot be written."""
    said = compose()["services"]
    assert all(one["cap_drop"] == ["ALL"] for one in said.values())
    assert all("no-new-privileges:true" in one["security_opt"] for one in said.values())
    assert {name for name, one in said.items() if not one["read_only"]} == {"kafka"}
    assert {name for name, one in said.items() if one.get("cap_add")} == {"postgres"}
    assert not any(one.get("privileged") or "user" in one for one in said.values())
