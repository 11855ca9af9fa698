"""Scans kept in a real database: incidents live on between processes, and a window told twice counts once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from capture.records.record_writer import write_records
from datamodel.telemetry.flows import Flows
from flowprism import cli
from storage.database.connection import Database
from storage.database.incidents.incident_records import history, incidents
from storage.database.scans.scan_records import jobs, scans
from tests.workloads.feed import Feed, flows
from tests.workloads.grid import Grid
from tests.workloads.training import Fault, Workload, train

Run = Callable[..., tuple[int, str]]
MINUTE_NS = 60_000_000_000


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run(...)` runs `flowprism scan ...` and gives exit code and stdout."""

    def command(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["flowprism", "scan", *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            cli.main()
        return int(exited.value.code or 0), capsys.readouterr().out

    return command


def window(folder: Path, minute: int, *, slow: bool) -> Path:
    """A file of one window of a job, that begins so many minutes later; rank 5 computes late where it is slow."""
    faults = (Fault("compute", rank=5, first=12, factor=1.6),) if slow else ()
    records = flows([train(Workload(Grid(dp=4, pp=2), faults=faults, seed=3))], Feed(trains=True))
    frame = records.frame
    moved = {name: frame[name] + minute * MINUTE_NS for name in ("time_flow_start_ns", "time_flow_end_ns")}
    moved["time_acknowledged_ns"] = (
        frame["time_acknowledged_ns"] + (frame["time_acknowledged_ns"] > 0) * minute * MINUTE_NS
    )
    path = folder / f"{minute}.parquet"
    write_records(Flows(frame.replace(**moved), records.addresses), path)
    return path


def test_an_incident_lives_over_scans(run: Run, tmp_path: Path) -> None:
    """Seen, confirmed, gone for three scans, back: one incident, by commands that know only the database."""
    url = f"sqlite:///{tmp_path / 'results.db'}"
    said = []
    for minute, slow in enumerate([True, True, False, False, False, True]):
        code, out = run(window(tmp_path, minute, slow=slow), "--results", url)
        assert code == int(slow)
        said.append(out[out.index("incidents: ") :].splitlines())
    assert [lines[0] for lines in said] == [f"incidents: {n} open" for n in (0, 1, 1, 1, 0, 1)]
    database = Database(url)
    (incident,) = incidents(database)
    assert (incident.kind, incident.times_reopened) == ("straggler", 1)
    kinds = [change.kind for change in history(database, incident.id)]
    assert kinds[-2:] == ["resolved", "reopened"]
    assert len(scans(database)) == 6
    assert len(jobs(database)) == 1
    database.close()


def test_a_window_scanned_twice_counts_once(run: Run, tmp_path: Path) -> None:
    """A second scan of the same window under the same policy changes nothing; under another it is another scan."""
    url, path = f"sqlite:///{tmp_path / 'results.db'}", window(tmp_path, 0, slow=True)
    run(path, "--results", url)
    code, out = run(path, "--results", url)
    assert code == 1
    assert out.endswith("incidents: this window was scanned before; nothing is changed\n")
    run(path, "--results", url, "--policy", "nightly")
    database = Database(url)
    assert sorted(kept.policy for kept in scans(database)) == ["default", "nightly"]
    database.close()


def test_only_the_last_part_may_be_scanned(run: Run, tmp_path: Path) -> None:
    """Eight seconds of a window of many more: fewer iterations, and what is no duration is told."""
    path = window(tmp_path, 0, slow=False)
    _, whole = run(path)
    _, part = run(path, "--last", "8s")
    assert "26 iterations" in whole
    assert "26 iterations" not in part
    code, _ = run(path, "--last", "8")
    assert code == 2
