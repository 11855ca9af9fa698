"""`flowprism plan feeds` as it is typed, with costs measured here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from flowprism.cli import app
from tests.flowprism.feed_plan.sample import fabric


def files(folder: Path) -> tuple[Path, Path]:
    """An inventory and an export plan."""
    inventory, plan = folder / "fabric.yaml", folder / "plan.yaml"
    inventory.write_text(fabric(2, 8).model_dump_json(by_alias=True, exclude_none=True))
    document = {"schema": "flowprism.export_plan/v1", "collectors": ["10.0.0.5"], "vendors": {"*": "arista-eos"}}
    plan.write_text(yaml.safe_dump(document))
    return inventory, plan


def test_settings_need_an_export_plan(tmp_path: Path) -> None:
    """Before anything is measured."""
    inventory, _ = files(tmp_path)
    result = CliRunner().invoke(app, ["plan", "feeds", "--inventory", str(inventory), "--out", str(tmp_path / "out")])
    assert str(result.exception).startswith("--out needs --plan")


@pytest.mark.slow
def test_plan_is_printed_and_its_settings_pass_the_audit(tmp_path: Path) -> None:
    """The plan's rates are in the files of the leaves, in which an audit with these rates finds nothing."""
    inventory, plan = files(tmp_path)
    out = tmp_path / "out"
    arguments = ["plan", "feeds", "--inventory", str(inventory), "--plan", str(plan), "--out", str(out)]
    result = CliRunner().invoke(app, [*arguments, "--members", "8", "--format", "json"])
    assert result.exit_code == 0, result.output
    chosen = json.loads(result.stdout)["plan"]
    assert chosen["smallest_slowdown_ratio"] <= 1.05
    assert {file.name for file in out.iterdir()} == {"leaf0.conf", "leaf1.conf", "flowprism.yaml"}
    rates = {int(speed): rate for speed, rate in chosen["rates"].items()}
    assert f"sflow sample {max(rates.values())}" in (out / "leaf0.conf").read_text()
    settings = {**yaml.safe_load(plan.read_text()), "rate": max(rates.values())}
    plan.write_text(yaml.safe_dump(settings))
    audited = CliRunner().invoke(app, ["config", "audit", str(out), "--plan", str(plan)])
    assert audited.exit_code == 0, audited.output
