"""The deployment files as they are read by whoever uses them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from flowprism.collector.collector_options import DEFAULT_LISTENS
from flowprism.service.config.settings import ApiSettings, Settings
from flowprism.service.config.settings_file import load_settings
from tests.house.checkout import ROOT

COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "Dockerfile"
KUBERNETES = ROOT / "deploy" / "kubernetes"
UNIT = ROOT / "deploy" / "systemd" / "flowprism.service"
PROFILES = ("small", "full")
# Where datagrams and API are by default: (port, protocol).
EXPORTERS = {(listen.port, "tcp" if listen.tcp else "udp") for listen in DEFAULT_LISTENS}
API = (ApiSettings().port, "tcp")
_VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")


def compose() -> dict[str, Any]:
    """docker-compose.yml, anchors followed, variables as they are when nobody sets them."""
    text = _VARIABLE.sub(lambda match: match[2], COMPOSE.read_text())
    document: dict[str, Any] = yaml.safe_load(text)
    return document


def services(profile: str) -> dict[str, dict[str, Any]]:
    """The services that a profile starts."""
    return {name: said for name, said in compose()["services"].items() if profile in said["profiles"]}


def ours(profile: str) -> dict[str, Any]:
    """The profile's service that is flowprism."""
    (found,) = (said for said in services(profile).values() if said["image"].startswith("flowprism:"))
    return found


def published(service: Mapping[str, Any]) -> set[tuple[str, int, int, str]]:
    """Host address ("" for every one), host port, port in the container, protocol."""
    found = set()
    for port in service.get("ports", []):
        where, _, protocol = port.partition("/")
        *host, outside, inside = where.split(":")
        found.add((host[0] if host else "", int(outside), int(inside), protocol or "tcp"))
    return found


def mounted(service: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is mounted, and where."""
    for volume in service.get("volumes", []):
        source, target = volume.split(":")[:2]
        yield source, target


def settings(file: Path, variables: Mapping[str, str]) -> Settings:
    """The settings of a file and of variables."""
    return load_settings(file, variables)


def manifests(name: str = "*") -> list[dict[str, Any]]:
    """Kubernetes objects of a file, or of all but the kustomization."""
    files = sorted(KUBERNETES.glob(f"{name}.yaml"))
    documents = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    return [document for document in documents if document["kind"] != "Kustomization"]


def pods() -> dict[str, dict[str, Any]]:
    """Pod templates of all workloads, by the name of the object."""
    found = {}
    for one in manifests():
        match one["kind"]:
            case "Deployment" | "StatefulSet":
                found[one["metadata"]["name"]] = one["spec"]["template"]
            case "CronJob":
                found[one["metadata"]["name"]] = one["spec"]["jobTemplate"]["spec"]["template"]
    return found


def unit() -> dict[str, list[str]]:
    """Directives of the systemd unit, each with its values in order."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def dockerfile() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]


def shell_environment() -> dict[str, str]:
    """This process's environment without settings of the service."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FLOWPRISM_")}
