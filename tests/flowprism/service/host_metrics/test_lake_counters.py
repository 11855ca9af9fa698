"""Why hosts are slow, from sFlow datagrams in a lake: of made hosts, of an incident, and beside a Prometheus."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.cluster.inventory import Inventory
from flowprism.service.config.settings import Settings
from flowprism.service.host_metrics.host_selection import HostSelection
from flowprism.service.host_metrics.host_watch import SETTLED_NS, HostWatch, answer_of
from flowprism.service.host_metrics.lake_counters import host_agents, read_counters
from flowprism.service.queries.incidents.incident_queries import incident
from flowprism.service.scans.leases import Leases
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.host_answers import host_answers
from storage.database.incidents.incident_records import incidents
from tests.capture.sflow.wire import counters, datagram
from tests.diagnose.host_metrics.made_hosts import Case, made_cases
from tests.flowprism.service.alerts.listening import listening
from tests.flowprism.service.host_metrics.made_counters import (
    exported,
    interface_with,
    inventory_of,
    shown_by_counters,
    stored,
)
from tests.flowprism.service.stored import demo_inventory
from tests.storage.database import results

START_S = 1_790_006_400
COUNT = 24  # every kind of fault, every eighth a decoy
Made = tuple[list[Case], Inventory, str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Cases, their inventory and lake."""
    cases = made_cases(1, START_S, COUNT)
    known = inventory_of(cases)
    hosts = {host.name: host for host in known.hosts}
    sent = [one for n, case in enumerate(cases) for one in exported(case, hosts, by_switch=n % 2 == 1)]
    return cases, known, str(stored(tmp_path_factory.mktemp("lake") / "flows", sent))


def test_causes_from_counters_alone(made: Made) -> None:
    """Heat, double-bit errors, lost GPUs, errors of NICs by host or port; nothing else is named, and no single GPU."""
    cases, known, lake = made
    found, shown = {}, {}
    for case in cases:
        until_ns = (case.onset_s + 600) * 10**9
        series = read_counters(lake, known, case.hosts, case.onset_s * 10**9, until_ns, with_gpus=True)
        selection = HostSelection({case.hosts[0]: case.in_question}, tuple(case.hosts[1:]), 1)
        one = results.incident(start_ns=case.onset_s * 10**9)
        said = answer_of(Settings(), one, selection, until_ns, series)
        assert (said.problem, said.peers) == ("", 3)
        found[case.name] = None if said.cause is None else (said.cause.kind, said.cause.host, said.cause.gpu)
        kind = shown_by_counters(case)
        shown[case.name] = None if kind is None else (kind, case.hosts[0], None)
    assert found == shown
    assert {one[0] for one in shown.values() if one is not None} >= {"thermal", "nic_errors"}


def test_agents_are_those_of_hosts_and_of_their_nics() -> None:
    """One named in the inventory does not displace the NICs' addresses: an agent may use either."""
    (case,) = made_cases(1, START_S, 1)
    known = inventory_of([case])
    assert host_agents(known, [case.hosts[1]]) == dict.fromkeys(("10.0.0.2", "10.1.0.2", "10.9.0.2"), case.hosts[1])


def watch(stores: Stores, url: str | None, lake: Path) -> HostWatch:
    """One replica's, with a lake and maybe a Prometheus."""
    said = {"host_metrics": {"url": url, "timeout_s": 0.5}, "store": {"flows": str(lake)}}
    return HostWatch(Settings.model_validate(said), stores.database, Leases(stores.database, "a", 30.0))


def port_errors(folder: Path, onset_ns: int, per_sample: int) -> Path:
    """A lake with half an hour of the demo's ports; frames of the slow one are damaged from the onset on."""
    agents = {switch.name: switch.agent for switch in demo_inventory().switches}
    nics = [nic for host in demo_inventory().hosts for nic in host.endpoints]
    ports = [(str(agents[nic.switch]), nic.port or 0, nic.address == "10.2.3.2") for nic in nics if nic.switch]
    sent = [
        (onset_ns + at * 20 * 10**9, datagram(
            counters(interface_with(port, 5 + max(at, 0) * per_sample * slow), source=port), agent=agent,
            sub_agent=port, sequence=at + 91, uptime_ms=(at + 91) * 20_000,
        ))
        for at in range(-90, 20)
        for agent, port, slow in ports
    ]  # fmt: skip
    return stored(folder, sent)


def test_an_incident_is_explained_without_a_prometheus(own_demo: Stores, tmp_path: Path) -> None:
    """By what the switches count at the hosts' ports; the answer is kept with the incident."""
    (one,) = incidents(own_demo.database)
    hosts = watch(own_demo, None, port_errors(tmp_path / "flows", one.start_ns, 60))
    hosts.tick(one.start_ns + SETTLED_NS)
    detail = incident(own_demo, Viewer("ann", "viewer", None), one.seen_ns, one.id)
    assert detail is not None
    assert detail.hosts is not None
    assert detail.hosts.cause is not None
    assert (detail.hosts.cause.kind, detail.hosts.cause.host) == ("nic_errors", "s3")
    assert detail.hosts.cause.evidence[0].device == "leaf2 port 8"
    assert detail.hosts.summary.startswith("s3: NIC errors (receive errors 180 per minute; before 0, peers 0; since ")
    assert hosts.figures()["hosts_explained_total"] == 1


def test_a_prometheus_that_is_away_leaves_the_lake(own_demo: Stores, tmp_path: Path) -> None:
    """The cause is there at once; the Prometheus is asked again."""
    (one,) = incidents(own_demo.database)
    lake = port_errors(tmp_path / "flows", one.start_ns, 60)
    with listening(b"HTTP/1.1 503 Away\r\n\r\n") as server:
        watch(own_demo, server.url, lake).tick(one.start_ns + SETTLED_NS)
    answer = host_answers(own_demo.database, [one.id])[one.id]
    assert answer.cause is not None
    assert (answer.cause.kind, answer.failed, answer.problem) == ("nic_errors", True, "Prometheus: 503 Away")
    assert answer.summary.endswith("; Prometheus: 503 Away")


def test_hosts_that_export_nothing_leave_no_line(own_demo: Stores, tmp_path: Path) -> None:
    """Without a Prometheus and counters an incident is as it was; it is tried again once, when more would be there."""
    (one,) = incidents(own_demo.database)
    hosts = watch(own_demo, None, tmp_path / "nowhere")
    for later_ns in (0, SETTLED_NS // 2, SETTLED_NS, 2 * SETTLED_NS):
        hosts.tick(one.start_ns + later_ns)
    assert host_answers(own_demo.database, [one.id]) == {}
    assert hosts.asked == 2
    assert hosts.unknown[one.id].problem.startswith("the lake has no counters of s3")
