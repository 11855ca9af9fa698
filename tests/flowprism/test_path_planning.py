"""Plans from simulated records: what they show, what becomes of them once applied, and what is no plan."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from capture.reader import merged
from datamodel.cluster.inventory import Attachment, Inventory, Link
from datamodel.errors import InputError
from datamodel.reports.path_plan import PathPlan
from datamodel.reports.report import Report
from datamodel.telemetry.flows import Flows
from diagnose.paths.follow_up import follow_up
from diagnose.paths.plan import plan_paths
from flowprism.evaluation.cases.paths import path_case
from flowprism.evaluation.paths.true_loads import with_interfaces
from flowprism.path_planning import plan_reading
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.rendering.formats.path_plan_files import path_plan_csv, path_plan_hccl
from reconstruct.paths.connection_table import connections
from reconstruct.streams.observations import select_primary
from simulate.case import Case, simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.network.hashing import HashFamily
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from simulate.scenarios.scenario import Scenario
from simulate.scenarios.source_ports import with_source_ports

OPTIONS = AnalysisOptions(tables=False)


def collisions(family: HashFamily = "crc", iterations: int = 10) -> Scenario:
    """Two queue pairs a connection under four leaves of eight spines, a few iterations."""
    made = scenario("collisions", ScenarioOptions(iterations=iterations))
    return replace(made, fabric=replace(made.fabric, hash_family=family))


def planned(case: Case, inventory: Inventory | None = None, seen: Callable[[Flows], Flows] = lambda f: f) -> PathPlan:
    """The plan from exact records and what leaves export in IPFIX."""
    readings = [case.readings["flows"], replace(case.readings["ipfix"], flows=seen(case.readings["ipfix"].flows))]
    return plan_reading(merged(readings), ("a case",), inventory or case.inventory, OPTIONS)


@pytest.fixture(scope="module")
def case() -> Case:
    """The case whose leaves hash with CRC."""
    return simulate_case(collisions(), 1)


@pytest.fixture(scope="module")
def plan(case: Case) -> PathPlan:
    """Its plan."""
    return planned(case)


def slowest_s(plan: PathPlan) -> tuple[float, float]:
    """(now, planned), summed over phases."""
    return sum(p.now_s for p in plan.jobs[0].phases), sum(p.planned_s for p in plan.jobs[0].phases)


def test_collisions_are_shown_with_what_the_plan_makes_of_them(plan: PathPlan) -> None:
    """All paths are known; cables of several connections are slower than any is planned; balance becomes even."""
    now, best = slowest_s(plan)
    assert plan.jobs[0].known_ratio == 1
    assert now > 1.5 * best
    assert plan.collisions
    assert all(c.now_s >= 1.1 * c.best_s and len(c.elephants) >= 2 for c in plan.collisions)
    assert max(b.planned for b in plan.balance) < 1.001
    assert max(b.now for b in plan.balance) > 1.4
    assert {c.action for c in plan.connections} == {"set", "keep"}
    assert plan.jobs[0].gain_ratio > 0.05


def analyzed(case: Case) -> Report:
    """The report of the same two feeds."""
    reading = merged([case.readings["flows"], case.readings["ipfix"]])
    return analyze_reading(reading, ("a case",), case.inventory, OPTIONS).report


def test_an_analysis_names_shared_cables_once(case: Case, plan: PathPlan) -> None:
    """Rates of streams show them already, as no warning; the job has how uneven its uplinks are."""
    report = analyzed(case)
    assert [(f.kind, f.severity) for f in report.findings if f.cause == "ecmp_collision"] == [("slow_uplink", "info")]
    assert report.jobs[0].uplink_imbalance == max(b.now for b in plan.balance)


def test_what_a_plan_would_gain_is_a_finding_where_nothing_else_names_it(case: Case, plan: PathPlan) -> None:
    """At the worst cable, with the plan's gain."""
    report = analyzed(case).model_copy(update={"findings": ()})
    flows = merged([case.readings["flows"], case.readings["ipfix"]]).flows
    switches = {s.agent: s.name for s in case.inventory.switches if s.agent is not None}
    tables = connections(flows, select_primary(flows), switches, case.inventory.links)
    (found,) = plan_paths(tables, report, case.inventory).findings
    assert (found.kind, found.severity, found.subject.type) == ("slow_uplink", "info", "link")
    assert found.slowdown_ratio == pytest.approx(1 / (1 - plan.jobs[0].gain_ratio), abs=1e-4)


def test_an_analysis_after_the_plan_was_applied_reports_no_collision(plan: PathPlan, tmp_path: Path) -> None:
    """Uplinks are even, and there is nothing to find."""
    file = tmp_path / "plan.csv"
    file.write_text(path_plan_csv(plan))
    report = analyzed(simulate_case(with_source_ports(collisions(), file), 1))
    assert not [f for f in report.findings if f.cause == "ecmp_collision"]
    assert report.jobs[0].uplink_imbalance == pytest.approx(1.0, abs=1e-3)


def test_queue_pairs_that_share_a_source_port_are_a_finding_of_their_own(plan: PathPlan, tmp_path: Path) -> None:
    """Hosts that send across leaves are named, with what ports of their own would save; where they have them, none."""
    file = tmp_path / "one.csv"
    rows = [f"{c.src_addr},{c.dst_addr},{c.src_port},49152" for c in plan.connections]
    file.write_text("\n".join(["src_addr,dst_addr,src_port,new_src_port", *rows]))
    shared = with_source_ports(collisions(), file)
    thin = replace(shared, fabric=replace(shared.fabric, uplink_gbps=300))
    found = [f for f in analyzed(simulate_case(thin, 1)).findings if f.cause == "one_source_port"]
    assert [(f.kind, f.severity, f.subject.type) for f in found] == [("slow_uplink", "info", "host")]
    assert found[0].subject.ids == ("h1", "h3", "h5", "h7")  # the other hosts of a ring send to one of their own leaf
    assert found[0].evidence[0].value == 2
    assert found[0].slowdown_ratio > 1.05
    assert not [f for f in plan.findings if f.cause == "one_source_port"]
    # Where two queue pairs on a cable take no longer than their NICs do, nothing is lost.
    assert not [f for f in analyzed(simulate_case(shared, 1)).findings if f.cause == "one_source_port"]


def test_an_applied_plan_is_kept_and_as_fast_as_predicted(plan: PathPlan, tmp_path: Path) -> None:
    """Replayed, every connection leaves by the doors planned, and the slowest cable is as predicted within 2 %."""
    file = tmp_path / "plan.csv"
    file.write_text(path_plan_csv(plan))
    after = planned(simulate_case(with_source_ports(collisions(), file), 1))
    moved = sum(one.action == "set" for one in plan.connections)
    assert follow_up(plan, after).applied == {"kept": moved, "drifted": 0, "not applied": 0, "not seen": 0}
    assert slowest_s(after)[0] == pytest.approx(slowest_s(plan)[1], rel=0.02)
    assert not after.collisions
    assert {one.action for one in after.connections} == {"keep"}


def test_a_plan_that_is_not_applied_is_said_to_be_so(plan: PathPlan) -> None:
    """The old ports are seen, none of the new ones."""
    moved = sum(one.action == "set" for one in plan.connections)
    assert follow_up(plan, plan).applied == {"kept": 0, "drifted": 0, "not applied": moved, "not seen": 0}


def test_files_name_each_connection_once(plan: PathPlan) -> None:
    """CSV has a row, HCCL's file a port, for each long connection; a pair of addresses has one line."""
    rows = list(csv.DictReader(io.StringIO(path_plan_csv(plan))))
    assert len(rows) == len(plan.connections) == 64
    assert len({(r["src_addr"], r["dst_addr"], r["new_src_port"]) for r in rows}) == 64
    lines = [line.split("=") for line in path_plan_hccl(plan).splitlines()]
    assert len({ends for ends, _ in lines}) == len(lines) == 32
    assert sum(len(ports.split(",")) for _, ports in lines) == 64


def test_rows_in_any_order_give_the_same_plan(case: Case, plan: PathPlan) -> None:
    """To the byte."""
    random = np.random.default_rng(4)
    assert planned(case, seen=lambda f: f.take(random.permutation(len(f)))) == plan


def test_a_nonlinear_hash_gives_ports_to_try() -> None:
    """No port is predicted; moves come with a list, and the switches are named as unknown."""
    plan = planned(simulate_case(collisions("nonlinear"), 1))
    assert plan.hashes == ()
    assert plan.unknown_hashes == ("leaf0", "leaf1", "leaf2", "leaf3")
    moving = [one for one in plan.connections if one.action != "keep"]
    assert moving
    assert {one.action for one in moving} == {"try"}
    assert min(len(one.try_src_ports) for one in moving) == 23  # 1 - (7/8)^23 > 95 %
    assert path_plan_hccl(plan) == "" or len(path_plan_hccl(plan).splitlines()) < 32


def sprayed(flows: Flows) -> Flows:
    """The records as a switch exports them that sends each packet over another uplink."""
    door = 1 + np.random.default_rng(2).integers(0, 8, len(flows))
    frame = flows.frame
    uplink = (frame["out_if"] >= 1) & (frame["out_if"] <= 8)
    return Flows(frame.replace(out_if=np.where(uplink, door, frame["out_if"])), flows.addresses)


def without_speed(inventory: Inventory) -> Inventory:
    """The same links without speeds."""
    links = tuple(link.model_copy(update={"speed_gbps": None}) for link in inventory.links)
    return inventory.model_copy(update={"links": links})


def shared_interface(inventory: Inventory) -> Inventory:
    """A second link of the first one's interface."""
    first = inventory.links[0]
    twin = Link(a=first.a, a_port=first.a_port, b="spine7", b_port=99, speed_gbps=800)
    return inventory.model_copy(update={"links": (*inventory.links, twin)})


@pytest.mark.parametrize(
    ("change", "seen", "line"),
    [
        (without_speed, lambda f: f, "no speed_gbps"),
        (shared_interface, lambda f: f, "not distinguished"),
        (lambda i: i.model_copy(update={"links": ()}), lambda f: f, "no links between switches"),
        (lambda i: i, sprayed, "no path to plan"),
        (
            lambda i: i,
            lambda f: Flows(f.frame.without({"in_if", "out_if"}), f.addresses),
            "no record names an interface",
        ),
    ],
)
def test_what_is_not_known_is_one_line_and_no_plan(
    case: Case, change: Callable[[Inventory], Inventory], seen: Callable[[Flows], Flows], line: str
) -> None:
    """Missing speeds, a shared ifIndex, no links, sprayed packets, no interfaces in the records."""
    plan = planned(case, change(case.inventory), seen)
    assert len(plan.notes) == 1
    assert line in plan.notes[0]
    assert (plan.jobs, plan.connections, plan.collisions) == ((), (), ())


def test_an_address_behind_two_switches_by_ports_of_unknown_speed_is_not_planned(case: Case) -> None:
    """Which of them its packets take is unknown: one line says so, and its connections are left out."""
    host = case.inventory.hosts[1]
    both = (Attachment(switch="leaf0", port=20), Attachment(switch="leaf1", port=20))
    twice = host.endpoints[0].model_copy(update={"switch": None, "port": None, "links": both, "speed_gbps": None})
    changed = host.model_copy(update={"endpoints": (twice, *host.endpoints[1:])})
    hosts = (case.inventory.hosts[0], changed, *case.inventory.hosts[2:])
    plan = planned(case, case.inventory.model_copy(update={"hosts": hosts}))
    address = twice.all_addresses[0]
    assert [note for note in plan.notes if "behind several switches" in note and address in note]
    assert address not in {end for one in plan.connections for end in (one.src_addr, one.dst_addr)}
    assert len(plan.connections) == 62


def test_without_links_or_ways_over_them_one_line_says_so() -> None:
    """With NICs of two ports, too, whose cables are no links between switches."""
    case = simulate_case(path_case(77).scenario, 77)
    fabric, flows = path_case(77).scenario.fabric, case.readings["flows"].flows
    reading = replace(case.readings["flows"], flows=with_interfaces(flows, fabric))
    for links, note in (((), "lists no links"), (case.inventory.links[:1], "no connection has a way over the links")):
        plan = plan_reading(reading, ("a case",), case.inventory.model_copy(update={"links": links}), OPTIONS)
        assert [one for one in plan.notes if note in one]
        assert plan.connections == ()


def test_a_link_that_has_become_slow_is_left_out() -> None:
    """Although it was full before, as it is when nothing is wrong with it."""
    made = scenario("slow-uplink", ScenarioOptions(iterations=16))
    case = simulate_case(made, 1)
    reading = replace(case.readings["flows"], flows=with_interfaces(case.readings["flows"].flows, made.fabric))
    plan = plan_reading(reading, ("a case",), case.inventory, OPTIONS)
    assert [[(end.switch, end.port) for end in link] for link in plan.left_out] == [[("leaf0-rail0", 1), ("spine0", 1)]]


def test_a_cable_that_is_slow_because_links_are_full_is_no_fault() -> None:
    """Rings of one job drift, and fill cables in other iterations than at its best: worth knowing, nothing to check."""
    drawn = path_case(806)
    case = simulate_case(drawn.scenario, 806)
    reading = replace(
        case.readings["flows"], flows=with_interfaces(case.readings["flows"].flows, drawn.scenario.fabric)
    )
    alone, whole = (
        analyze_reading(reading, ("a case",), case.inventory, replace(OPTIONS, paths=paths)).report.findings
        for paths in (False, True)
    )
    (suspected,) = (f for f in alone if f.kind == "slow_uplink" and f.severity == "critical")
    (cleared,) = (f for f in whole if f.id == suspected.id)
    assert (cleared.severity, cleared.cause) == ("info", "ecmp_collision")
    assert cleared.evidence[0].value >= 0.8
    assert not [f for f in whole if f.severity != "info"]


def test_a_job_that_is_not_there_is_refused_with_those_that_are(case: Case) -> None:
    """The message names the jobs of the records."""
    with pytest.raises(InputError, match="there are job0"):
        plan_reading(case.readings["flows"], ("a case",), case.inventory, OPTIONS, "job7")


@pytest.fixture(scope="module")
def counted() -> Case:
    """The case as leaves export it in sFlow, with counters of their interfaces every half second."""
    feed = FeedSpec("sflow", rate=1024, counters_s=0.5, stamped=True)
    return simulate_case(replace(collisions(iterations=7), feeds=(feed,)), 1)


def sampled_plan(case: Case, change: Callable[[Flows], Flows]) -> PathPlan:
    """The plan from sFlow alone."""
    reading = case.readings["sflow"]
    return plan_reading(replace(reading, flows=change(reading.flows)), ("a case",), case.inventory, OPTIONS)


def test_interface_counters_confirm_loads(counted: Case) -> None:
    """Samples show what counters do within 4 % on every cable, the clocks' edges included; no line is needed."""
    plan = sampled_plan(counted, lambda f: f)
    assert len(plan.counted) >= 48
    assert all(one.agrees and one.least_bytes == one.most_bytes for one in plan.counted)
    assert [one.counted_bytes for one in plan.counted] == pytest.approx([n.least_bytes for n in plan.counted], rel=0.04)
    assert not [note for note in plan.notes if "interface counters" in note]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda f: f.take(f.frame["src_port"] % 4 != 0), "more than the records"),
        (lambda f: Flows(f.frame.replace(sampling_rate=f.frame["sampling_rate"] * 3), f.addresses), "less than the"),
    ],
)
def test_counters_that_contradict_the_records_are_one_line(
    counted: Case, change: Callable[[Flows], Flows], line: str
) -> None:
    """Where a quarter of the connections is missing, or three times as much is claimed as passed."""
    plan = sampled_plan(counted, change)
    (note,) = [note for note in plan.notes if "interface counters" in note]
    assert line in note
    assert not all(one.agrees for one in plan.counted)
