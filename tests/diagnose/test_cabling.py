"""Cables that are not as the inventory has them, from records that name interfaces."""

import json

import numpy as np
import pytest

from datamodel.cluster.inventory import Inventory
from datamodel.frame import Frame
from datamodel.reports.findings import Finding
from datamodel.telemetry.flows import FLOWS, recode
from diagnose.cabling import CablingOptions, cabling_findings

AGENTS = {"10.9.0.1": "leaf1", "10.9.0.2": "leaf2"}
BOOK = ("10.0.0.1", "10.0.0.2", "10.0.0.3", *AGENTS)


def inventory(*ports: tuple[str, int]) -> Inventory:
    """Three hosts of one endpoint each at these ports; the third may have two."""
    hosts = [
        {"name": f"h{n}", "endpoints": [{"address": BOOK[n], "gpu": 0, "rail": n, "switch": at[0], "port": at[1]}]}
        for n, at in enumerate(ports)
    ]
    switches = [{"name": name, "role": "leaf", "agent": agent} for agent, name in AGENTS.items()]
    links = [{"a": "leaf1", "a_port": 1, "b": "leaf2", "b_port": 1}]
    return Inventory.model_validate({"hosts": hosts, "switches": switches, "links": links})


RIGHT = inventory(("leaf1", 11), ("leaf1", 12), ("leaf2", 11))


def findings(known: Inventory, *sightings: tuple[int, str, int], times: int = 5) -> list[Finding]:
    """Findings from records of (sender, switch, interface), each so many times."""
    names = {name: code for code, name in enumerate(BOOK)}
    agents = {switch: names[agent] for agent, switch in AGENTS.items()}
    rows = [row for row in sightings for _ in range(times)]
    count = len(rows)
    frame = Frame(
        FLOWS,
        {
            "time_flow_start_ns": np.arange(count), "time_flow_end_ns": np.arange(count) + 1,
            "src_addr": [r[0] for r in rows], "dst_addr": [(r[0] + 1) % 3 for r in rows], "bytes": np.full(count, 1500),
            "sampler_address": [agents[r[1]] for r in rows], "in_if": [r[2] for r in rows],
        },
    )  # fmt: skip
    return cabling_findings(recode(frame, BOOK), known, AGENTS, (0, count), CablingOptions())


SEEN = ((0, "leaf1", 11), (1, "leaf1", 12), (2, "leaf2", 11))
TRANSIT = ((0, "leaf2", 1), (1, "leaf2", 1), (2, "leaf1", 1))


def test_a_right_inventory_has_no_finding() -> None:
    """Nor do packets that pass a cable between switches."""
    assert findings(RIGHT, *SEEN, *TRANSIT) == []


def test_exchanged_cables_are_one_finding_with_the_right_lines() -> None:
    """Across switches: the rails are crossed."""
    wrong = inventory(("leaf2", 11), ("leaf1", 12), ("leaf1", 11))
    (found,) = findings(wrong, *SEEN, *TRANSIT)
    assert (found.kind, found.cause, found.subject.ids) == ("feed", "cabling", ("10.0.0.1", "10.0.0.3"))
    assert "Rails are crossed." in found.summary
    line = {"address": "10.0.0.1", "gpu": 0, "rail": 0, "switch": "leaf1", "port": 11}
    assert json.dumps(line) in found.action


def test_an_endpoint_at_a_port_of_nobody_is_alone() -> None:
    """It was moved."""
    (found,) = findings(inventory(("leaf1", 30), ("leaf1", 12), ("leaf2", 11)), *SEEN)
    assert found.subject.ids == ("10.0.0.1",)
    assert "leaf1 port 11, not at leaf1 port 30" in found.summary


def test_a_switch_without_a_port_is_right_wherever_on_it() -> None:
    """The inventory says less, and nothing wrong."""
    known = RIGHT.hosts[0].endpoints[0].model_copy(update={"port": None})
    host = RIGHT.hosts[0].model_copy(update={"endpoints": (known,)})
    assert findings(RIGHT.model_copy(update={"hosts": (host, *RIGHT.hosts[1:])}), (0, "leaf1", 29)) == []


@pytest.mark.parametrize(("second", "count"), [(("leaf2", 12), 0), (("leaf2", 13), 1)])
def test_both_cables_of_a_nic_are_its_own(second: tuple[str, int], count: int) -> None:
    """A NIC of two cables is seen at both; where one of them is another one, its line has both."""
    links = ({"switch": "leaf2", "port": 12},)
    given = {**RIGHT.hosts[0].endpoints[0].model_dump(), "links": links}
    host = RIGHT.hosts[0].model_copy(update={"endpoints": (RIGHT.hosts[0].endpoints[0].model_validate(given),)})
    known = RIGHT.model_copy(update={"hosts": (host, *RIGHT.hosts[1:])})
    found = findings(known, *SEEN, (0, *second))
    assert len(found) == count
    assert all('"links": [{"switch": "leaf1", "port": 11}, {"switch": "leaf2", "port": 13}]' in f.action for f in found)


def test_a_port_of_many_senders_is_no_ones_own() -> None:
    """A cable between switches that the inventory does not list; and a single packet of an address proves nothing."""
    assert findings(RIGHT, *SEEN, (0, "leaf2", 2), (1, "leaf2", 2)) == []
    assert findings(RIGHT, (0, "leaf2", 3), times=2) == []
