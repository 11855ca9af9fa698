"""`flowprism profile plan` and `run`: which hosts, which commands, what becomes of them, and who is written down."""

import os
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.reports.findings import Finding, Subject
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, JobReport, Provenance, Report, Window
from flowprism.cli import app
from flowprism.profiles.recording_plan import MOST_SUSPECTS, PEERS_A_SUSPECT
from storage.database.access import audit_log
from storage.database.connection import Database

HOSTS = 40
INVENTORY = Inventory(
    hosts=tuple(Host(name=f"s{n}", endpoints=(Endpoint(address=f"10.1.0.{n}", gpu=0),)) for n in range(HOSTS))
)


def report(*blamed: int) -> Report:
    """A job on all hosts but the last, with a straggler on some."""
    endpoints = tuple(f"10.1.0.{n}" for n in range(HOSTS - 1))
    finding = Finding(
        id="f1", job="j", kind="straggler", severity="warning", start_ns=1, end_ns=None, confidence=0.9,
        slowdown_ratio=1.2, subject=Subject(type="group", ids=tuple(f"10.1.0.{n}" for n in blamed)), summary="late",
        action="",
    )  # fmt: skip
    job = JobReport(
        id="j", endpoints=endpoints, layout=Layout(confidence=1.0), groups=Groups(),
        detectability=Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None),
    )  # fmt: skip
    return Report(
        provenance=Provenance(version="1"), window=Window(start_ns=0, end_ns=9), feed=FeedSummary(records=1, bytes=1),
        jobs=(job,), findings=(finding,),
    )  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with inventory.yaml, report.json and results."""
    (tmp_path / "inventory.yaml").write_text(INVENTORY.model_dump_json(by_alias=True))
    (tmp_path / "report.json").write_text(report(3).model_dump_json(by_alias=True))
    Database(f"sqlite:///{tmp_path}/results.db").close()
    return tmp_path


def run(verb: str, files: Path, *more: str, finding: str = "f1") -> tuple[int, list[str]]:
    """Exit code and lines of stdout, or of the error."""
    arguments = ("profile", verb, finding, "--inventory", f"{files}/inventory.yaml", "--report", f"{files}/report.json")
    result = CliRunner().invoke(app, [*arguments, "--folder", "/shared/traces", *more])
    return result.exit_code, (result.stdout or str(result.exception)).splitlines()


def test_plan_records_suspect_and_two_peers_of_its_job(files: Path) -> None:
    """One command a host of the inventory, the suspect's first; nothing is run."""
    code, lines = run("plan", files, "--iterations", "5", "--port", "1900", "--job-id", "77")
    hosts = [line.split()[2] for line in lines[1:]]
    assert code == 0
    assert hosts[0] == "s3"
    assert len(hosts) == 1 + PEERS_A_SUSPECT
    assert f"s{HOSTS - 1}" not in hosts
    assert lines[1] == (
        "dyno --hostname s3 --port 1900 gputrace --job-id 77 --log-file /shared/traces/s3.json --iterations 5"
        " --profile-start-iteration-roundup 10 --process-limit 16 --with-stacks"
    )


def test_many_suspects_are_capped(files: Path) -> None:
    """And the plan says how many are left out."""
    (files / "report.json").write_text(report(*range(20)).model_dump_json(by_alias=True))
    _, lines = run("plan", files)
    commands = [line for line in lines if line.startswith("dyno")]
    assert len(commands) <= MOST_SUSPECTS * (1 + PEERS_A_SUSPECT)
    assert "# 16 more suspected hosts are left out" in lines


def test_names_that_a_shell_or_an_option_could_take_are_refused(files: Path) -> None:
    """A host that begins with a dash would be an option."""
    text = (files / "inventory.yaml").read_text().replace('"s3"', '"--help"')
    (files / "inventory.yaml").write_text(text)
    code, lines = run("plan", files)
    assert (code, "is no name that a host is reached by" in lines[0]) == (1, True)


def test_unknown_finding_is_an_error(files: Path) -> None:
    """One line names the report."""
    code, lines = run("plan", files, finding="f2")
    assert (code, lines) == (1, [f"{files}/report.json: has no finding f2"])


def test_run_needs_an_audit_log(files: Path) -> None:
    """Without results nothing is run."""
    code, lines = run("run", files)
    assert (code, lines) == (1, ["--results: needed to run a plan, for its audit log"])


def test_run_starts_each_host_and_is_written_down(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that records, one without a registered process and one that refuses: each is a line."""
    client = files / "bin" / "dyno"
    client.parent.mkdir()
    client.write_text(
        '#!/bin/sh\necho "$@" >> "$SEEN"\ncase $2 in\n'
        's3) echo "Matched 8 processes";;\ns0) echo "No processes were matched";;\n*) echo "refused"; exit 3;;\nesac\n'
    )
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{client.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", str(files / "seen"))
    results = f"sqlite:///{files}/results.db"
    code, lines = run("run", files, "--results", results)
    assert code == 1
    assert lines[0] == "s3: recording 8 processes"
    assert lines[1].startswith("s0: no process is registered")
    assert lines[2].endswith(": refused")
    assert len((files / "seen").read_text().splitlines()) == len(lines)
    ((_, entry),) = audit_log(Database(results))
    assert (entry.action, entry.subject, entry.detail["hosts"].split(", ")[0]) == ("record profiles", "f1", "s3")


def test_missing_client_is_a_line_per_host(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dynolog's client is no part of flowprism."""
    monkeypatch.setenv("PATH", str(files))
    code, lines = run("run", files, "--results", f"sqlite:///{files}/results.db")
    assert (code, lines[0]) == (1, "s3: dyno: No such file or directory")
