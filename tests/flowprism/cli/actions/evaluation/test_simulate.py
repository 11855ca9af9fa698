from pathlib import Path

import pytest
from typer.testing import CliRunner

from datamodel.errors import InputError
from flowprism.cli import app
from simulate.scenarios.catalogue import CATALOGUE


def test_the_list_names_every_scenario() -> None:
    """A line each, in order: its name, and what it shows."""
    shown = CliRunner().invoke(app, ["simulate", "--list"])
    assert shown.exit_code == 0
    printed = [line.split(maxsplit=1) for line in shown.stdout.splitlines()]
    assert printed == [[name, about] for name, (about, _) in CATALOGUE.items()]


def test_a_case_is_written_and_analysed_and_marked(tmp_path: Path) -> None:
    """From scenario to marks, through the commands: a twin's layout, iterations and slow NIC are all found."""
    case, report = tmp_path / "case", tmp_path / "report.json"
    runner = CliRunner()
    made = runner.invoke(app, ["simulate", "twin-slow-nic", "--out", str(case), "--seed", "3"])
    assert made.exit_code == 0
    assert "flow records" in made.stderr
    arguments = [str(case / "flows.parquet"), "--inventory", str(case / "inventory.yaml")]
    assert runner.invoke(app, ["analyze", *arguments, "--format", "json", "--out", str(report)]).exit_code == 0
    needs = [f"--need={mark}" for mark in ("jobs=1", "sizes=1", "groups=1", "stages=1", "faults=1", "false=0")]
    marked = runner.invoke(app, ["evaluate", str(report), str(case / "truth" / "truth.json"), *needs])
    assert marked.exit_code == 0, marked.stdout + marked.stderr


def test_a_feed_is_written_beside_the_records(tmp_path: Path) -> None:
    """`--feed` writes a capture that `feeds` takes for what it is, with the rate that was asked for."""
    runner, case = CliRunner(), tmp_path / "case"
    wish = ["--iterations", "2", "--feed", "sflow:32", "--feed", "netflow9"]
    assert runner.invoke(app, ["simulate", "twin-healthy", "--out", str(case), *wish]).exit_code == 0
    shown = [runner.invoke(app, ["feeds", str(case / "export" / f"{k}.pcap.gz")]).stdout for k in ("sflow", "netflow9")]
    assert "sFlow v5" in shown[0]
    assert "1:32" in shown[0]
    assert "NetFlow v9" in shown[1]
    refused = runner.invoke(app, ["simulate", "twin-healthy", "--out", str(case), "--feed", "netflow"])
    assert isinstance(refused.exception, InputError)


def test_nothing_to_do_is_said(tmp_path: Path) -> None:
    """Without a scenario or a place to write to, the command line is wrong; an unknown scenario is named."""
    assert CliRunner().invoke(app, ["simulate", "dense"]).exit_code == 2
    unknown = CliRunner().invoke(app, ["simulate", "densest", "--out", str(tmp_path)])
    assert isinstance(unknown.exception, InputError)
    with pytest.raises(InputError, match="densest"):
        raise unknown.exception
