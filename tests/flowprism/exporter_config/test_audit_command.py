"""`flowprism config audit` and `generate` through the real command line."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from typer.testing import CliRunner

from datamodel.errors import InputError
from flowprism.cli import app
from flowprism.exporter_config.dialects import DIALECTS
from flowprism.exporter_config.model import Vendor
from tests.configs.problem import FOLDER
from tests.house.checkout import ROOT

EOS = FOLDER / "arista-eos" / "3"


def run(*arguments: object) -> tuple[int, str]:
    """Exit code and stdout; an error of the user's is raised."""
    result = CliRunner().invoke(app, ["config", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def audit(folder: Path, *more: object) -> tuple[int, str]:
    """The audit of a problem's folder."""
    return run("audit", folder, "--plan", EOS / "plan.yaml", "--inventory", EOS / "inventory.yaml", *more)


def test_wrong_configuration_exits_1_with_file_line_and_lines_to_type() -> None:
    """An uncovered port is an error at its line, and the lines to type follow."""
    code, text = audit(EOS / "configs")
    assert code == 1
    assert "leaf1.cfg:21: not sampled: Ethernet2/1 [port-uncovered]" in text
    assert "type: interface Ethernet2/1" in text
    assert "devices 1: error 1" in text


def test_right_configuration_exits_0() -> None:
    """Nothing to type is exit code 0."""
    assert audit(EOS / "reference") == (0, "devices 1: no findings\n")


def test_no_configuration_is_an_error_of_the_user(tmp_path: Path) -> None:
    """A folder without a configuration cannot be audited (exit code 2), and the message names why."""
    (tmp_path / "notes.txt").write_text("nothing of a switch\n")
    with pytest.raises(InputError, match=r"notes.txt: not recognized"):
        run("audit", tmp_path)


def test_json_has_devices_findings_and_skipped_files(tmp_path: Path) -> None:
    """The JSON names rates and collectors, every finding, and files that were not used with the reason."""
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "leaf1.cfg").write_text((EOS / "configs" / "leaf1.cfg").read_text())
    (folder / "notes.txt").write_text("nothing of a switch\n")
    out = tmp_path / "audit.json"
    assert audit(folder, "--format", "json", "--out", out) == (1, "")
    document = json.loads(out.read_text())
    assert document["schema"] == "flowprism.config_audit/v1"
    assert document["devices"][0]["sampling_rates"] == [16384]
    assert document["devices"][0]["collectors"] == ["10.0.0.5:6343"]
    assert [found["rule"] for found in document["findings"]] == ["port-uncovered"]
    assert document["skipped"][0]["reason"] == "not recognized as a vendor's configuration"


def test_sarif_points_at_the_line() -> None:
    """A result has its rule, level, file and line."""
    run_ = json.loads(audit(EOS / "configs", "--format", "sarif")[1])["runs"][0]
    (result,) = run_["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["level"], place["region"]["startLine"]) == ("error", 21)
    assert run_["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "port-uncovered"


def test_junit_fails_the_case_of_the_rule() -> None:
    """One suite for the device, one failing case."""
    root = ET.fromstring(audit(EOS / "configs", "--format", "junit")[1])  # noqa: S314 -- our own output
    failing = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert failing == ["port-uncovered"]
    assert root[0].get("failures") == "1"


def test_switch_without_configuration_is_missed() -> None:
    """A switch of the inventory whose file is not there has a finding of its own."""
    problem = FOLDER / "arista-eos" / "8"
    arguments = ("--plan", problem / "plan.yaml", "--inventory", problem / "inventory.yaml")
    code, text = run("audit", problem / "reference" / "leaf1.cfg", *arguments)
    assert code == 1
    assert "no configuration of this switch was read [no-configuration]" in text


VENDORS = [vendor for vendor in Vendor if vendor not in (Vendor.HSFLOWD, Vendor.OPEN_VSWITCH)]


@pytest.mark.parametrize("vendor", VENDORS)
def test_generated_settings_pass_the_audit(vendor: Vendor, tmp_path: Path) -> None:
    """What `generate` writes for a fabric has no error and no warning, and the service takes its settings."""
    first, second = {Vendor.CISCO_NXOS: (436207616, 436211712), Vendor.SONIC: (1, 9)}.get(vendor, (1001, 2001))
    inventory = {
        "schema": "flowprism.inventory/v1",
        "hosts": [
            {"name": "s1", "endpoints": [{"address": "10.1.1.1", "switch": "leaf1", "port": first, "speed_gbps": 400}]},
            {
                "name": "s2",
                "endpoints": [{"address": "10.1.1.2", "switch": "leaf1", "port": second, "speed_gbps": 400}],
            },
        ],
        "switches": [{"name": "leaf1", "agent": "10.255.0.1"}],
    }
    plan = {"collectors": ["10.0.0.5:6344"], "rates": {400: 8192}, "vendors": {"leaf*": str(vendor)}}
    if vendor not in (Vendor.ARISTA_EOS, Vendor.CISCO_NXOS, Vendor.SONIC, Vendor.CUMULUS_NVUE):
        plan["ports"] = {"leaf1": ["et-0/0/0", "et-0/0/1"] if vendor is Vendor.JUNIPER_JUNOS else ["1/1", "1/2"]}
    for name, document in (("fabric.yaml", inventory), ("plan.yaml", plan)):
        (tmp_path / name).write_text(yaml.safe_dump(document))
    given = ("--inventory", tmp_path / "fabric.yaml", "--plan", tmp_path / "plan.yaml")
    assert run("generate", *given, "--out", tmp_path / "out")[0] == 0
    name = DIALECTS[vendor].file_name.format("leaf1")
    code, text = run("audit", tmp_path / "out" / name, *given)
    assert code == 0, text
    assert run("check", tmp_path / "out" / "flowprism.yaml")[0] == 0
    settings = yaml.safe_load((tmp_path / "out" / "flowprism.yaml").read_text())
    assert "*:6344" in settings["collect"]["listen"]


def test_plan_without_collector_generates_nothing(tmp_path: Path) -> None:
    """A plan that leaves the destination open is refused in one line."""
    (tmp_path / "plan.yaml").write_text("rate: 16384\n")
    with pytest.raises(InputError, match="names no collector"):
        run("generate", "--inventory", EOS / "inventory.yaml", "--plan", tmp_path / "plan.yaml", "--out", tmp_path)


def test_plan_with_an_unknown_field_is_refused(tmp_path: Path) -> None:
    """A misspelled field of the plan is named with the file."""
    (tmp_path / "plan.yaml").write_text("sampling_rate: 16384\n")
    with pytest.raises(InputError, match=r"plan.yaml: sampling_rate"):
        run("audit", EOS / "configs", "--plan", tmp_path / "plan.yaml")


def test_shipped_templates_are_understood() -> None:
    """Of the settings in deploy/exporters every statement is read, and none lacks a collector or a port."""
    report = json.loads(run("audit", ROOT / "deploy" / "exporters", "--format", "json")[1])
    assert {device["vendor"] for device in report["devices"]} >= {str(v) for v in Vendor} - {"sonic", "openconfig"}
    assert all(not device["unread_statements"] for device in report["devices"])
    rules = {found["rule"] for found in report["findings"]}
    assert not rules & {"no-collector", "nothing-sampled", "not-enabled", "refused-value", "limiter", "slow-counters"}
