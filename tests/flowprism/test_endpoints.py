"""NICs with several addresses, through the real command: one endpoint each, declared or told by packet numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from capture.reader import read_all
from capture.records.record_writer import write_records
from datamodel.reports.truth import Truth
from flowprism.cli import app
from simulate.case import write_case
from simulate.faults import Fault
from simulate.scenarios.base_job import dense_volumes, fabric_for, one_job
from simulate.scenarios.scenario import Scenario, Telemetry
from simulate.training.plan import Plan
from simulate.training.workload import Workload

PLAN = Plan(tp=8, dp=2, pp=2)
Make = Callable[..., Path]


def scenario(*, sprayed: bool, telemetry: Telemetry = "exact", faults: tuple[Fault, ...] = ()) -> Scenario:
    """32 GPUs whose NICs have an address in each of two planes."""
    work = Workload(volumes=dense_volumes(PLAN, "llama2-7b", units=2), batches=4)
    job = one_job(PLAN, work, 24 if faults else 12, queue_pairs=1 if sprayed else 2)
    fabric = fabric_for(PLAN.world, planes=2, sprayed=sprayed)
    gathered = 64 if telemetry == "mirror" else 1
    return Scenario("planes", "", fabric, (job,), faults=faults, telemetry=telemetry, gathered=gathered)


def report(folder: Path, *more: str | Path, records: str = "flows.parquet") -> dict:  # type: ignore[type-arg]
    """What `flowprism analyze` prints of a case."""
    asked = ["analyze", str(folder / records), "--format", "json", *map(str, more)]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    found: dict = json.loads(result.stdout)  # type: ignore[type-arg]
    return found


def truth(folder: Path) -> Truth:
    """What was really so."""
    return Truth.model_validate_json((folder / "truth" / "truth.json").read_text())


def groups(of: dict) -> dict[str, set[frozenset[str]]]:  # type: ignore[type-arg]
    """Process groups as sets."""
    return {kind: {frozenset(group) for group in found} for kind, found in of.items() if found}


@pytest.fixture(scope="module", params=["queue pairs", "packets"])
def planes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case from exact records, split over the planes by queue pair or packet by packet."""
    folder = tmp_path_factory.mktemp("planes")
    write_case(scenario(sprayed=request.param == "packets"), folder, 1)
    return folder


def test_declared_addresses_are_one_endpoint(planes: Path) -> None:
    """32 endpoints, not 64, named by their first address; layout, groups and iterations are the true ones."""
    (found,), (true,) = report(planes, "--inventory", planes / "inventory.yaml")["jobs"], truth(planes).jobs
    assert set(found["endpoints"]) == set(true.endpoints)
    assert {name: found["layout"][name] for name in ("tp", "dp", "pp")} == {"tp": 8, "dp": 2, "pp": 2}
    assert found["world_size"] == 32
    assert groups(found["groups"])["dp"] == groups(true.model_dump()["groups"])["dp"]
    assert len(found["iterations"]) == len(true.iterations)
    ends = np.array([i["end_ns"] for i in found["iterations"]]), np.array([end for _, end in true.iterations])
    assert abs(np.diff(ends[0]) - np.diff(ends[1])).max() < 1e-3 * np.diff(ends[1]).mean()


def test_the_report_is_the_same_whatever_the_order_of_rows(planes: Path, tmp_path: Path) -> None:
    """Of records in any order, to the byte."""
    flows = read_all([planes / "flows.parquet"]).flows
    order = np.random.default_rng(7).permutation(len(flows))
    write_records(flows.take(order), tmp_path / "flows.parquet")
    for more in ((), ("--inventory", planes / "inventory.yaml")):
        assert report(tmp_path, *more) == report(planes, *more)


def test_packets_by_turns_tell_addresses_of_one_nic(tmp_path: Path) -> None:
    """Without an inventory: each address shows all packet numbers of a queue pair and carries half of the packets."""
    write_case(scenario(sprayed=True), tmp_path, 1)
    found = report(tmp_path)
    (job,) = found["jobs"]
    assert set(job["endpoints"]) == set(truth(tmp_path).jobs[0].endpoints)
    assert any("32 endpoints with several addresses" in warning for warning in found["feed"]["warnings"])


def test_a_mirror_shows_planes_too(tmp_path: Path) -> None:
    """Trains of two planes are one endpoint's, without an inventory."""
    write_case(scenario(sprayed=True, telemetry="mirror"), tmp_path, 1)
    (job,), (true,) = report(tmp_path)["jobs"], truth(tmp_path).jobs
    assert set(job["endpoints"]) == set(true.endpoints)
    assert len(job["iterations"]) == len(true.iterations)


def test_rails_with_equal_numbers_stay_apart(tmp_path: Path) -> None:
    """Queue pair and packet numbers that are alike on all rails, as deterministic drivers give them: no planes."""
    made = scenario(sprayed=True)
    write_case(replace(made, fabric=fabric_for(PLAN.world)), tmp_path, 1)
    flows = read_all([tmp_path / "flows.parquet"]).flows
    columns = {"dst_qp": np.full(len(flows), 7), "psn_first": np.zeros(len(flows))}
    alike = flows.frame.replace(**columns, psn_last=np.maximum(flows.frame["packets"] - 1, 0))
    write_records(replace(flows, frame=alike), tmp_path / "alike.parquet")
    (job,) = report(tmp_path, records="alike.parquet")["jobs"]
    assert len(job["endpoints"]) == 32


def test_addresses_declared_apart_stay_apart(tmp_path: Path) -> None:
    """What the inventory says of two NICs outweighs what packets show."""
    write_case(scenario(sprayed=True), tmp_path, 1)
    known = json.loads((tmp_path / "inventory.yaml").read_text())
    for host in known["hosts"]:
        host["endpoints"] = [{"address": a} for e in host["endpoints"] for a in e["addresses"]]
    (tmp_path / "apart.yaml").write_text(json.dumps(known))
    (job,) = report(tmp_path, "--inventory", tmp_path / "apart.yaml")["jobs"]
    assert len(job["endpoints"]) == 64


def test_a_nic_of_two_families_is_one_endpoint(tmp_path: Path) -> None:
    """One plane of IPv4, one of IPv6: one endpoint all the same, named as declared first."""
    write_case(scenario(sprayed=False), tmp_path, 1)
    flows = read_all([tmp_path / "flows.parquet"]).flows

    def second(address: str) -> str:
        *_, host, last = address.split(".")
        return f"2001:db8::{host}:{last}" if int(last) > 64 else address

    write_records(replace(flows, addresses=tuple(map(second, flows.addresses))), tmp_path / "both.parquet")
    known = json.loads((tmp_path / "inventory.yaml").read_text())
    for host in known["hosts"]:
        for endpoint in host["endpoints"]:
            endpoint["addresses"] = [second(a) for a in endpoint["addresses"]]
    (tmp_path / "both.yaml").write_text(json.dumps(known))
    (job,) = report(tmp_path, "--inventory", tmp_path / "both.yaml", records="both.parquet")["jobs"]
    assert set(job["endpoints"]) == set(truth(tmp_path).jobs[0].endpoints)
    assert (job["layout"]["tp"], job["world_size"]) == (8, 32)


@pytest.mark.parametrize("sprayed", [False, True], ids=["queue pairs", "packets"])
@pytest.mark.parametrize("plane", [1, None], ids=["one plane", "both planes"])
def test_a_slow_link_says_over_which_address(tmp_path: Path, plane: int | None, *, sprayed: bool) -> None:
    """One plane of a NIC at a third: its link to that plane's leaf; both planes: the endpoint."""
    slow = Fault("slow_nic", first=12, rank=5, size=3.0, plane=plane)
    write_case(scenario(sprayed=sprayed, faults=(slow,)), tmp_path, 1)
    (finding,) = report(tmp_path, "--inventory", tmp_path / "inventory.yaml")["findings"]
    assert finding["kind"] == "slow_link"
    by_address = {e["where"]: e["value"] for e in finding["evidence"] if e["metric"] == "rate of one of its addresses"}
    first, second = by_address["10.0.0.6, leaf0-rail5"], by_address["10.0.0.70, leaf0-rail5-plane1"]
    if plane is None:
        assert (finding["subject"]["type"], finding["subject"]["ids"]) == ("endpoint", ["10.0.0.6"])
        assert first == pytest.approx(second, rel=0.01)
    else:
        assert (finding["subject"]["type"], finding["subject"]["ids"]) == ("link", ["leaf0-rail5-plane1", "10.0.0.6"])
        assert second == pytest.approx(first / 3, rel=0.05)
        assert "leaf0-rail5-plane1" in finding["summary"]
        assert "10.0.0.70" in finding["summary"]
