"""The Kubernetes manifests: of the right form, restricted, and true to the service's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import flowprism
from flowprism.service.access.access_settings import check_listening
from tests.deploy.shipped import API, EXPORTERS, KUBERNETES, manifests, pods, settings

NAMES = sorted(pods())


def one(kind: str, name: str = "") -> dict[str, Any]:
    """The only object of a kind, or the one of a name."""
    (found,) = (m for m in manifests() if m["kind"] == kind and (not name or m["metadata"]["name"] == name))
    return found


def container(name: str) -> dict[str, Any]:
    """The only container of a workload."""
    (found,) = pods()[name]["spec"]["containers"]
    said: dict[str, Any] = found
    return said


@pytest.mark.parametrize("manifest", manifests(), ids=lambda m: f"{m['kind']}-{m['metadata']['name']}")
def test_each_is_of_its_kind(manifest: dict[str, Any]) -> None:
    """By Kubernetes' own schemas, in which nothing unknown may stand."""
    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_all_are_applied_but_the_example() -> None:
    """The kustomization names every file; secrets are made by whoever knows them."""
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    files = {path.name for path in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml", "secret.example.yaml"}
    assert set(listed) == files
    assert len(listed) == len(files)


@pytest.mark.parametrize("name", NAMES)
def test_pods_are_restricted(name: str) -> None:
    """What the namespace's `restricted` level asks for, and a root file system that cannot be written."""
    spec, own = pods()[name]["spec"], container(name)["securityContext"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    labels = one("Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("name", NAMES)
def test_no_variable_of_a_service_is_taken_for_a_setting(name: str) -> None:
    """Kubernetes would set FLOWPRISM_API_PORT and the like, which we refuse as unknown settings."""
    assert pods()[name]["spec"]["enableServiceLinks"] is False


@pytest.mark.parametrize("name", NAMES)
def test_images_and_resources_are_said(name: str) -> None:
    """Our own version; memory has a bound."""
    assert container(name)["image"] == f"flowprism:{flowprism.__version__}"
    assert "memory" in container(name)["resources"]["limits"]
    assert {"cpu", "memory"} <= set(container(name)["resources"]["requests"])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_mounted_is_there(name: str) -> None:
    """Every mount has its volume, every volume its object, every secret its example."""
    spec = pods()[name]["spec"]
    assert {mount["name"] for mount in container(name)["volumeMounts"]} == {v["name"] for v in spec["volumes"]}
    for volume in spec["volumes"]:
        if "configMap" in volume:
            assert volume["configMap"]["name"] == one("ConfigMap")["metadata"]["name"]
        if "persistentVolumeClaim" in volume:
            assert volume["persistentVolumeClaim"]["claimName"] == one("PersistentVolumeClaim")["metadata"]["name"]
    for source in container(name).get("envFrom", []):
        assert source["secretRef"]["name"] == one("Secret")["metadata"]["name"]


def test_settings_are_settings(tmp_path: Path) -> None:
    """The config map's file with the secret's variables can be used, and lets nobody in without credentials."""
    file = tmp_path / "flowprism.yaml"
    file.write_text(one("ConfigMap")["data"]["flowprism.yaml"])
    found = settings(file, one("Secret")["stringData"])
    check_listening(found.access, found.api.host)
    assert found.access.mode == "login"
    assert found.store.database.startswith("postgresql://")


def test_exporters_reach_the_collector() -> None:
    """By the ports they use by default, and with their own addresses."""
    service = one("Service", "flowprism-exporters")["spec"]
    assert {(port["port"], port["protocol"].lower()) for port in service["ports"]} == EXPORTERS
    assert service["externalTrafficPolicy"] == "Local"
    ports = {
        port["name"]: (port["containerPort"], port["protocol"].lower()) for port in container("flowprism")["ports"]
    }
    assert {ports[port["targetPort"]] for port in service["ports"]} == EXPORTERS


@pytest.mark.parametrize("service", ["flowprism-exporters", "flowprism-api"])
def test_services_find_their_pods(service: str) -> None:
    """Their selectors are labels of pods that have the ports."""
    said = one("Service", service)["spec"]
    found = [name for name, pod in pods().items() if said["selector"].items() <= pod["metadata"]["labels"].items()]
    assert len(found) == 1
    ports = {port["name"] for port in container(found[0])["ports"]}
    assert {port["targetPort"] for port in said["ports"]} <= ports


@pytest.mark.parametrize("name", ["flowprism", "flowprism-api"])
def test_probes_ask_the_api(name: str) -> None:
    """Alive by /healthz, ready by /readyz, at the API's port."""
    said = container(name)
    assert {port["name"]: port["containerPort"] for port in said["ports"]}["http"] == API[0]
    assert said["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert said["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}


def test_workloads_select_their_own_pods() -> None:
    """And none of another's."""
    for kind, name in (("StatefulSet", "flowprism"), ("Deployment", "flowprism-api")):
        selector = one(kind, name)["spec"]["selector"]["matchLabels"].items()
        assert [n for n, pod in pods().items() if selector <= pod["metadata"]["labels"].items()] == [name]
    assert one("StatefulSet")["spec"]["serviceName"] == "flowprism-exporters"


def test_the_network_is_open_for_what_is_needed() -> None:
    """Exporters to the collector's ports, the ingress to the API's, nobody to anything else."""
    spec = one("NetworkPolicy")["spec"]
    assert set(spec["policyTypes"]) == {"Ingress", "Egress"}
    opened = [{(port["port"], port["protocol"].lower()) for port in rule["ports"]} for rule in spec["ingress"]]
    assert opened == [EXPORTERS, {API}]
    assert all(rule.get("from") for rule in spec["ingress"])


def test_a_nightly_scan_runs_once_at_a_time() -> None:
    """And is not tried again: another try would find the same."""
    spec = one("CronJob")["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["jobTemplate"]["spec"]["backoffLimit"] == 0
    assert spec["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] == "Never"
