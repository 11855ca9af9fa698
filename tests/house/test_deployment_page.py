"""docs/deployment.md knows every file in deploy/, and says of them what they say."""

from __future__ import annotations

import re

import yaml

from tests.deploy.shipped import manifests, published, services
from tests.house.checkout import ROOT, files, rows

PAGE = "docs/deployment.md"


def first_cells(heading: str) -> list[str]:
    """First cells of the tables under a heading, without their quotes."""
    return [row[0].strip("`") for row in rows(PAGE, heading)]


def test_every_file_is_named() -> None:
    """By itself or by its folder, which has a section."""
    text = (ROOT / PAGE).read_text()
    shipped = [path.relative_to(ROOT) for path in files() if path.relative_to(ROOT).parts[0] == "deploy"]
    folders = set(re.findall(r"`(deploy/\w+)/`", text))
    assert [path for path in shipped if str(path) not in text and "/".join(path.parts[:2]) not in folders] == []


def test_every_exporter_has_its_row() -> None:
    """The table is the folder; each sends to a port that is listened on by default."""
    named = [row[1].strip("`") for row in rows(PAGE, "Exporters")]
    folder = ROOT / "deploy" / "exporters"
    assert sorted(named) == sorted(path.name for path in folder.iterdir())
    for path in folder.iterdir():
        text = path.read_text()
        assert "10.0.0.5" in text, path.name
        ports = {int(port) for port in re.findall(r"\b(?:10\.0\.0\.5[: ]|port[ =]|udp-port |--port )(\d{4})\b", text)}
        assert ports <= {6343, 2055, 4739}, path.name


def test_every_service_has_its_row() -> None:
    """The table of the profile `full`, with the ports that are published."""
    table = {row[0].strip("`"): row[2] for row in rows(PAGE, "Containers")}
    full = services("full")
    assert set(table) == set(full)
    for name, service in full.items():
        outside = {port for _, port, _, _ in published(service)}
        assert {int(port) for port in re.findall(r"\d{4,5}", table[name])} == outside, name


def test_every_object_has_its_row() -> None:
    """The table of the manifests, but for the namespace."""
    made = {f"{one['kind']}/{one['metadata']['name']}" for one in manifests() if one["kind"] != "Namespace"}
    assert set(first_cells("Kubernetes")) == made


def test_every_rule_has_its_row() -> None:
    """The table of Prometheus' rules."""
    said = yaml.safe_load((ROOT / "deploy/compose/prometheus/rules.yml").read_text())
    rules = [rule["alert"] for group in said["groups"] for rule in group["rules"]]
    assert first_cells("Watching the service") == rules
