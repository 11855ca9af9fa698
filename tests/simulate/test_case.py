from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from capture.reader import read_all
from datamodel.errors import InputError
from datamodel.reports.truth import Truth
from flowprism.inputs.inventory_file import load_inventory
from simulate.case import simulate_case, write_case
from simulate.export.feed_spec import Clocks, FeedSpec
from simulate.faults import Fault
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import CATALOGUE, scenario
from simulate.scenarios.scenario import BackgroundTraffic, Scenario
from simulate.training.workload import Noise, Pauses
from tests.simulate.cases import FABRIC, assert_same_readings, job

FILES = ("flows.parquet", "inventory.yaml", "truth/spans.parquet", "truth/paths.parquet", "truth/truth.json")
SLOW = Fault("slow_nic", first=3, rank=5, size=50)
SMALL = Scenario("small", "a test", FABRIC, (job(iterations=5, noise=Noise()),), faults=(SLOW,))


def truth_of(folder: Path) -> Truth:
    """The truth of a case."""
    return Truth.model_validate_json((folder / "truth" / "truth.json").read_bytes())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small case, written."""
    folder = tmp_path_factory.mktemp("small")
    write_case(SMALL, folder, 1)
    return folder


@pytest.mark.parametrize("telemetry", ["exact", "mirror"])
def test_the_same_seed_writes_the_same_bytes(tmp_path: Path, telemetry: str) -> None:
    """All four files; another seed writes other flow records."""
    made = replace(SMALL, telemetry=telemetry)  # type: ignore[arg-type]
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_case(made, tmp_path / name, seed)
    assert all((tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes() for f in FILES)
    assert (tmp_path / "a" / FILES[0]).read_bytes() != (tmp_path / "c" / FILES[0]).read_bytes()


def test_flow_records_are_read_without_a_complaint(small: Path) -> None:
    """Every row counts, none is rejected, and endpoints are those of the inventory."""
    reading = read_all([small / "flows.parquet"])
    assert not reading.notes.rejected
    assert len(reading.flows) == pq.read_metadata(small / "flows.parquet").num_rows
    known = {a for h in load_inventory(small / "inventory.yaml").hosts for e in h.endpoints for a in e.all_addresses}
    assert set(reading.flows.addresses) == known


@pytest.mark.parametrize(
    "made", [SMALL, scenario("twin-healthy", ScenarioOptions(iterations=2)), replace(SMALL, coupled=False)]
)
def test_a_case_in_memory_is_what_its_files_say(tmp_path: Path, made: Scenario) -> None:
    """Flow records with their address book, truth and inventory are those read back from the files."""
    size = write_case(made, tmp_path, 5)
    case = simulate_case(made, 5)
    read = read_all([tmp_path / "flows.parquet"])
    assert case.size == size
    assert case.readings["flows"].flows.addresses == read.flows.addresses
    for name, column in case.readings["flows"].flows.frame.columns().items():
        assert (column == read.flows.frame[name]).all(), name
    assert replace(case.readings["flows"], flows=read.flows) == read
    assert case.truth == truth_of(tmp_path)
    assert case.inventory == load_inventory(tmp_path / "inventory.yaml")


@pytest.mark.parametrize("made", [replace(SMALL, coupled=False), SMALL])
def test_feeds_in_memory_are_what_their_captures_say(tmp_path: Path, made: Scenario) -> None:
    """Each feed has a capture and a place in the truth, exporters among it; reading it gives the same records."""
    made = replace(made, feeds=(FeedSpec("sflow", 64), FeedSpec("ipfix", clocks=Clocks(offset_ms=100))))
    write_case(made, tmp_path, 5)
    case = simulate_case(made, 5)
    assert case.truth == truth_of(tmp_path)
    told = truth_of(tmp_path).model_dump()["telemetry"]
    assert [feed["kind"] for feed in told] == ["sflow", "ipfix"]
    for feed in told:
        read = read_all([tmp_path / "export" / f"{feed['kind']}.pcap.gz"])
        known = case.readings[feed["kind"]]
        assert replace(known, flows=read.flows, counters=read.counters) == read
        assert_same_readings(known.counters, read.counters)
        assert {e["agent"] for e in feed["exporters"]} == {a.agent for a in read.accounts}
        for name, column in case.readings[feed["kind"]].flows.frame.columns().items():
            assert (column == read.flows.frame[name]).all(), name


def test_mirror_and_exact_flows_carry_the_same_payload(tmp_path: Path) -> None:
    """Payload of a mirror's rows between two endpoints is the sum of the RDMA writes of exact records."""
    made = replace(SMALL, answers=False)
    totals = []
    for telemetry, column in (("mirror", "payload_bytes"), ("exact", "message_bytes")):
        write_case(replace(made, telemetry=telemetry), tmp_path / telemetry, 1)  # type: ignore[arg-type]
        frame = read_all([tmp_path / telemetry / "flows.parquet"]).flows.frame
        pair = frame["src_addr"].astype(np.int64) * 1000 + frame["dst_addr"]
        totals.append(np.bincount(pair, frame[column]).tolist())
    assert totals[0] == totals[1]


def test_truth_names_the_job_as_it_ran(small: Path) -> None:
    """Layout, groups with stages in order, and iterations that follow one another."""
    true = truth_of(small).jobs[0]
    assert true.layout == {"tp": 2, "cp": 1, "ep": 1, "dp": 4, "pp": 2}
    assert true.groups["pp"][0] == ("10.0.0.1", "10.0.4.1")
    assert true.groups["dp"][0] == ("10.0.0.1", "10.0.1.1", "10.0.2.1", "10.0.3.1")
    assert true.groups["tp"][0] == ("10.0.0.1", "10.0.0.2")
    ends = [end for _, end in true.iterations]
    assert len(ends) == 5
    assert ends == sorted(ends)


def test_truth_dates_and_places_the_fault(small: Path) -> None:
    """It sets in with its iteration, on the NIC's address and its cable to the leaf."""
    truth = truth_of(small)
    fault = truth.faults[0]
    begun = truth.jobs[0].iterations[3][0]
    assert fault.iteration == 3
    assert fault.start_ns is not None
    assert begun <= fault.start_ns < truth.jobs[0].iterations[3][1]
    assert not fault.optional
    assert {(a.type, a.ids) for a in fault.accept} == {
        ("endpoint", ("10.0.2.2",)), ("link", ("leaf1-rail1", "10.0.2.2")), ("link", ("leaf1-rail1", "h2")),
    }  # fmt: skip


def test_a_fault_that_costs_nothing_may_go_unnoticed(tmp_path: Path) -> None:
    """A NIC a tenth slower makes the iteration less than 5 % longer: the fault is optional."""
    write_case(replace(SMALL, faults=(Fault("slow_nic", first=3, rank=5, size=1.1),)), tmp_path, 1)
    assert truth_of(tmp_path).faults[0].optional


def test_spans_fill_every_endpoints_iterations(small: Path) -> None:
    """Nothing is left out from an endpoint's first span to the end of the last iteration."""
    table = pq.read_table(small / "truth" / "spans.parquet")
    last = truth_of(small).jobs[0].iterations[-1][1]
    endpoint, start, end = (table[name].to_pylist() for name in ("endpoint", "start_ns", "end_ns"))
    until: dict[str, int] = {}
    for who, begun, ended in zip(endpoint, start, end, strict=True):
        assert begun <= until.get(who, begun)
        assert ended >= begun
        until[who] = max(until.get(who, 0), ended)
    assert set(until.values()) == {last}
    assert len(until) == 16


def test_spans_name_what_was_done(small: Path) -> None:
    """A job with stages and replicas computes, sends, receives, reduces, waits and rests."""
    names = set(pq.read_table(small / "truth" / "spans.parquet")["span"].to_pylist())
    assert names == {"compute", "pp_send", "pp_recv", "dp_comm", "wait", "idle"}


def test_other_traffic_stands_beside_the_job(tmp_path: Path) -> None:
    """Storage, calls and scrapes go between hosts that do not train and services, over TCP."""
    fabric = replace(FABRIC, hosts=10, services=2)
    made = replace(SMALL, fabric=fabric, bustle=BackgroundTraffic(seconds=2.0))
    write_case(made, tmp_path, 1)
    frame = (reading := read_all([tmp_path / "flows.parquet"])).flows.frame
    other = frame["proto"] == 6
    addresses = {reading.flows.addresses[n] for n in np.unique(frame["src_addr"][other])}
    assert other.any()
    assert all(a.startswith("10.200.") or a.split(".")[2] in {"8", "9"} for a in addresses)


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    """A file where the folder should be is one line with its name."""
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="taken"):
        write_case(SMALL, tmp_path / "taken", 1)


# Those whose layers exchange much, those whose packets are seen before and after a fault, and the smallest cluster.
BIG = {
    "cluster", "moe", "moe-proxied", "planes-slow-nic", "sflow-slow-nic", "sflow-slow-uplink", "sflow-straggler",
    "slow-nic-mirror", "straggler-mirror", "tensor-across-hosts",
}  # fmt: skip


def shortest(name: str) -> Scenario:
    """A scenario of as few iterations as its faults need to set in, and of two at least."""
    onsets = [fault.first for fault in scenario(name, ScenarioOptions()).faults]
    return scenario(name, ScenarioOptions(seed=3, iterations=max([1, *onsets]) + 1))


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - BIG))
def test_every_scenario_of_the_catalogue_can_be_written(tmp_path: Path, name: str) -> None:
    """Two iterations or more of each, with jobs that end them, and an inventory that holds together."""
    write_case(shortest(name), tmp_path, 3)
    truth = truth_of(tmp_path)
    assert all(len(j.iterations) >= 1 for j in truth.jobs)
    assert len(truth.faults) >= len(scenario(name, ScenarioOptions()).faults)
    load_inventory(tmp_path / "inventory.yaml")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BIG))
def test_the_big_scenarios_can_be_written(tmp_path: Path, name: str) -> None:
    """Those that take seconds each."""
    made = scenario(name, ScenarioOptions(seed=3, gpus=1000)) if name == "cluster" else shortest(name)
    size = write_case(made, tmp_path, 3)
    assert size.records > 10_000
    assert all(j.iterations for j in truth_of(tmp_path).jobs)


def test_a_scenario_grows_by_replicas() -> None:
    """Twice the GPUs are twice the data parallelism; what makes no whole replica is refused in one line."""
    assert scenario("dense", ScenarioOptions(gpus=256)).jobs[0].plan.dp == 8
    with pytest.raises(InputError, match="multiples of 32"):
        scenario("dense", ScenarioOptions(gpus=100))
    with pytest.raises(InputError, match="no scenario is called 'densest'"):
        scenario("densest", ScenarioOptions())


def test_a_checkpoint_is_no_part_of_an_iteration(tmp_path: Path) -> None:
    """An iteration ends before its ranks write; the next begins when all have written and rested."""
    pauses = Pauses(checkpoint_every=2, checkpoint_bytes=1e9, checkpoint_s=1.5)
    made = replace(SMALL, jobs=(job(iterations=5, pauses=pauses),), fabric=replace(FABRIC, services=1), faults=())
    write_case(made, tmp_path, 1)
    took = [end - start for start, end in truth_of(tmp_path).jobs[0].iterations]
    starts = [start for start, _ in truth_of(tmp_path).jobs[0].iterations]
    assert max(took) < min(took) * 1.05
    assert starts[2] - starts[1] > 1.5e9 > starts[1] - starts[0]
    assert starts[4] - starts[3] > 1.5e9 > starts[3] - starts[2]
