"""Problems run end to end: a configuration, what its device would send, and what a scan of that says.

The twin of a device is the simulator: it samples at the rate and the points that the configuration's reader gives, and
sends to the collectors that it names. A scan must say of the right configuration's feed that the job has become slower,
and of the wrong one's what the finding predicts. Open vSwitch is there itself: its database takes the commands.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from datamodel.reports.report import Report
from flowprism.exporter_config.device import Device
from flowprism.exporter_config.dialects import DIALECTS
from flowprism.exporter_config.model import Direction, Vendor
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec, Point
from simulate.faults import Fault
from simulate.scenarios.sweep import Cell, sweep
from tests.configs.problem import Problem, problems

SILENT = frozenset({"not-enabled", "nothing-sampled", "no-collector", "other-collector"})
RATES = frozenset({"default-rate", "rate-off-plan", "unequal-rates"})
ASKED = SILENT | RATES | {"both-directions", "egress-only"}
POINTS: dict[Direction, tuple[Point, ...]] = {
    Direction.INGRESS: ("source",),
    Direction.EGRESS: ("delivery",),
    Direction.BOTH: ("source", "delivery"),
}
SLOW = Fault("slow_nic", first=14, rank=3, size=4.0)


def rules(problem: Problem) -> set[str]:
    """What the labels name, and the twin can show."""
    return {label["rule"] for label in problem.labels} & ASKED


def samples(problem: Problem) -> bool:
    """Whether the right configuration samples packets, and does not meter flows."""
    return all("sflow" in file.read_text().lower() or "_uuid" in file.read_text() for file in references(problem))


def references(problem: Problem) -> list[Path]:
    """Files of the right configuration."""
    return sorted((problem.folder / "reference").iterdir())


TWINNED = [problem for problem in problems() if rules(problem) and samples(problem)]


def devices(problem: Problem, folder: str) -> dict[str, Device]:
    """Devices by name."""
    return {device.name: device for device in problem.audit(problem.folder / folder).devices}


def sent(device: Device) -> FeedSpec | None:
    """What a device sends to the planned collectors; None: nothing reaches all of them."""
    sampling, plan = device.sampling, device.plan
    if sampling is None:
        return None
    ports = device.sampled_ports() or ([("", 400_000)] if sampling.all_ports.value else [])
    reached = {(c.address, c.port.value, c.vrf.value if c.vrf else None) for c in sampling.collectors}
    for wanted in plan.collectors:
        if not any(r[:2] == (wanted.address, wanted.port) and wanted.vrf in (None, r[2]) for r in reached):
            return None
    rates = [rate.value for name, mbps in ports if (rate := device.rate_of(name, mbps)) is not None]
    ways = [way.value for name, _ in ports if (way := device.direction_of(name)) is not None]
    if not rates or max(rates) < 1 or Direction.NONE in ways:
        return None
    both = Direction.BOTH if Direction.BOTH in ways else ways[0]
    return FeedSpec("sflow", max(rates, key=lambda rate: abs(np.log(rate / 16_384))), POINTS[both])


@cache
def scanned(feed: FeedSpec) -> tuple[Report, int, frozenset[int]]:
    """A job of eight with a link that becomes slow: its report, how many samples came, and which rates they have."""
    case = simulate_case(sweep(Cell(feed, 400.0, 2.0, 8, samples=40_000), SLOW), 5)
    reading = case.readings["sflow"]
    rates = frozenset(np.unique(reading.flows.frame["sampling_rate"]).tolist())
    report = analyze_reading(reading, ("twin",), case.inventory, AnalysisOptions(tables=False)).report
    return report, reading.records, rates


@pytest.mark.slow
def test_there_are_enough() -> None:
    """Thirty problems at least, of all languages, run end to end."""
    assert len(TWINNED) >= 30
    assert {problem.folder.parent.name for problem in TWINNED} == {vendor.value for vendor in Vendor}


@pytest.mark.slow
@pytest.mark.parametrize("problem", TWINNED, ids=lambda problem: problem.name)
def test_right_configuration_shows_the_slow_job(problem: Problem) -> None:
    """With the right configuration samples of the planned rate arrive, and the scan finds the job slower."""
    for device in devices(problem, "reference").values():
        feed = sent(device)
        assert feed is not None
        report, _, rates = scanned(feed)
        assert rates == {feed.rate}
        assert any(finding.slowdown_ratio > 1.05 for finding in report.findings)


@pytest.mark.slow
@pytest.mark.parametrize("problem", TWINNED, ids=lambda problem: problem.name)
def test_wrong_configuration_shows_what_its_finding_predicts(problem: Problem) -> None:
    """Nothing arrives, at another rate, twice, or only what leaves."""
    right = devices(problem, "reference")
    wrong = devices(problem, "configs")
    for label in problem.labels:
        device, rule = label["device"], label["rule"]
        if rule not in ASKED:
            continue
        feed, planned = sent(wrong[device]), sent(right[device])
        assert planned is not None
        if rule in SILENT:
            assert feed is None
            continue
        if feed is None:
            continue  # another label of the problem says that nothing arrives
        _, samples, rates = scanned(feed)
        if rule in RATES:
            assert rates == {feed.rate} != {planned.rate}
        elif rule == "both-directions" and Direction.INGRESS in wrong[device].dialect.directions:
            assert samples > 1.8 * scanned(planned)[1]
        elif rule == "egress-only":
            assert feed.points == ("delivery",)


@contextmanager
def database(folder: Path) -> Iterator[Path]:
    """A running `ovsdb-server` with the bridges that the problems name; its socket."""
    socket, schema = folder / "db.sock", "/usr/share/openvswitch/vswitch.ovsschema"
    subprocess.run(["ovsdb-tool", "create", str(folder / "conf.db"), schema], check=True, capture_output=True)
    command = ["ovsdb-server", str(folder / "conf.db"), f"--remote=punix:{socket}", f"--unixctl={folder}/ctl"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + 60
            while not socket.exists() and time.monotonic() < until:
                time.sleep(0.02)
            typed(socket, "--no-wait", "init", "--", "add-br", "br0", "--", "add-br", "br1")
            yield socket
        finally:
            server.terminate()


def typed(socket: Path, *words: str) -> str:
    """What `ovs-vsctl` prints."""
    command = ["ovs-vsctl", f"--db=unix:{socket}", "--no-wait", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


COMMANDS = [
    file
    for file in sorted((Path(__file__).parent / "problems" / "open-vswitch").glob("*/*/leaf1.cfg"))
    if "ovs-vsctl" in file.read_text() and "ipfix" not in file.read_text()
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ovsdb-server") is None, reason="no Open vSwitch here")
@pytest.mark.parametrize("file", COMMANDS, ids=lambda file: f"{file.parents[1].name}-{file.parent.name}")
def test_open_vswitch_takes_the_commands_and_lists_the_same(file: Path, tmp_path: Path) -> None:
    """The shell types a problem's file into a real database; what that lists reads as the same settings."""
    read = DIALECTS[Vendor.OPEN_VSWITCH].read
    meant = read(file.read_text(), "leaf1.cfg").sampling
    assert meant is not None
    with database(tmp_path) as socket:
        script = file.read_text().replace("ovs-vsctl ", f"ovs-vsctl --db=unix:{socket} --no-wait ")
        subprocess.run(["sh", "-e", "-c", script], check=True, capture_output=True)
        listed = read(typed(socket, "list", "sflow"), "list").sampling
        used = {port.name for port in meant.ports if typed(socket, "get", "bridge", port.name, "sflow").strip() != "[]"}
    assert used == {port.name for port in meant.ports}
    if not used:  # the database keeps no row that no bridge uses
        assert listed is None
        return
    assert listed is not None
    for name in ("rate", "polling_s", "header_bytes", "agent", "collectors"):
        assert getattr(listed, name) == getattr(meant, name), name
