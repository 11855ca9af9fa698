"""Files of a plan of paths that other programs read."""

from __future__ import annotations

from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.reports.path_plan import Action, PathPlan, PlannedConnection, Port
from datamodel.reports.report import Window
from flowprism.rendering.formats.path_plan_files import HCCN_PAIRS, PlanFile, path_plan_file


def connection(
    src: str, dst: str, action: Action = "set", port: int = 50000, new: int | None = 49200
) -> PlannedConnection:
    """One that is to leave by another door."""
    return PlannedConnection(
        job="a", src_addr=src, dst_addr=dst, src_port=port, queue_pairs=1, dst_qp=None, bytes=1, now=None,
        planned=(Port(switch="leaf0", port=1),), action=action, new_src_port=new if action == "set" else None,
    )  # fmt: skip


def hccn(*connections: PlannedConnection) -> str:
    """The lines of a plan for a host of three NICs, one of which serves two NPUs."""
    numbers: dict[str, int | tuple[int, ...]] = {"10.0.0.1": 3, "10.0.0.2": 0, "10.0.0.3": (1, 2)}
    npus = tuple(Endpoint(address=address, gpu=gpu) for address, gpu in numbers.items())
    plan = PathPlan(window=Window(start_ns=0, end_ns=1), connections=connections)
    return path_plan_file(plan, PlanFile.HCCN, Inventory(hosts=(Host(name="n1", endpoints=npus),)))


def test_hccn_tool_sets_a_port_for_a_pair_of_addresses_on_the_senders_npu() -> None:
    """By host and NPU; a connection that keeps its port has a line too, as the NIC may have forgotten it."""
    kept = connection("10.0.0.1", "10.0.1.2", "keep")
    assert hccn(connection("10.0.0.1", "10.0.1.1"), kept, connection("10.0.0.2", "10.0.1.1")) == (
        "# host n1\n"
        "hccn_tool -i 0 -udp -s port 49200 sip 10.0.0.2 dip 10.0.1.1\n"
        "hccn_tool -i 3 -udp -s port 49200 sip 10.0.0.1 dip 10.0.1.1\n"
        "hccn_tool -i 3 -udp -s port 50000 sip 10.0.0.1 dip 10.0.1.2\n"
    )


def test_what_hccn_tool_cannot_set_is_left_out_and_counted() -> None:
    """Two connections of a pair, an unknown NPU, an unknown port, IPv6, and more pairs than a NIC takes."""
    two = connection("10.0.0.1", "10.0.1.1"), connection("10.0.0.1", "10.0.1.1", port=50001, new=49201)
    unknown = connection("10.0.0.3", "10.0.1.1"), connection("10.0.0.9", "10.0.1.1")
    others = connection("10.0.0.1", "10.0.1.9", "try"), connection("fd00::1", "fd00::2")
    assert hccn(*two, *unknown, *others) == "# 5 pairs of addresses are left out\n"
    many = [connection("10.0.0.1", f"10.1.{n // 250}.{n % 250}") for n in range(HCCN_PAIRS + 7)]
    lines = hccn(*many).splitlines()
    assert lines[0] == "# 7 pairs of addresses are left out"
    assert len(lines) == 2 + HCCN_PAIRS


def test_a_port_of_a_nic_has_no_number_in_the_table() -> None:
    """A NIC with two ports is a switch of its own, by its address."""
    ports = Port(switch="10.0.0.1", port=None), Port(switch="leaf0", port=3)
    one = connection("10.0.0.1", "10.0.1.1").model_copy(update={"planned": ports})
    text = path_plan_file(PathPlan(window=Window(start_ns=0, end_ns=1), connections=(one,)), PlanFile.CSV, Inventory())
    assert text.splitlines()[1].endswith("10.0.0.1 leaf0:3")
