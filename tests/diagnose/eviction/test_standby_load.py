"""Loads of uplinks with a standby in a host's place, against routes that are followed cable by cable."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from datamodel.cluster.inventory import Attachment, Endpoint, Host, Inventory, Link, Switch
from datamodel.reports.path_plan import Port
from diagnose.eviction.standby import LEAF, LOAD, UNFIT, Standby, Vacancy, assign_standbys
from diagnose.eviction.standby_load import Carried, standby_loads
from tests.diagnose.eviction.exhaustive import least_cost

GBPS = 1e9 / 8


def host(number: int, leaf: str) -> Host:
    """A host with one NIC."""
    return Host(name=f"h{number}", endpoints=(Endpoint(address=f"10.0.0.{number}", rail=0, switch=leaf),))


def fabric(hosts: tuple[Host, ...], links: tuple[Link, ...]) -> Inventory:
    """Hosts and links, with every switch listed."""
    named = {end for link in links for end in (link.a, link.b)}
    named |= {to.switch for one in hosts for nic in one.endpoints for to in nic.attachments}
    return Inventory(hosts=hosts, links=links, switches=tuple(Switch(name=name) for name in sorted(named)))


def link(a: str, b: str, port: int, gbps: float | None = 100) -> Link:
    """A cable; both ports have its number."""
    return Link(a=a, b=b, a_port=port, b_port=port, speed_gbps=gbps)


TWO_SPINES = tuple(
    link(f"leaf{n}", f"spine{m}", 2 * n + m) for n in range(3) for m in range(2)
)  # fmt: skip


def test_a_standby_behind_another_leaf_loads_its_uplinks() -> None:
    """Host 1 sends host 2 80 Gbit/s: nothing on an uplink at their leaf, 40 on each of two at another."""
    hosts = (host(1, "leaf0"), host(2, "leaf0"), host(3, "leaf0"), host(4, "leaf1"))
    traffic = [Carried("10.0.0.1", "10.0.0.2", 80 * GBPS)]
    found = standby_loads(fabric(hosts, TWO_SPINES), traffic, hosts[:1], hosts[2:])
    assert found == {"h3": {"h1": 0.0}, "h4": {"h1": pytest.approx(0.4)}}


def test_traffic_of_others_counts_on_the_cable_that_it_is_seen_on() -> None:
    """Spread it would add 30, on one cable it adds 60, and on the cables of another leaf nothing."""
    hosts = (host(1, "leaf0"), host(2, "leaf0"), host(3, "leaf1"), host(4, "leaf2"), host(5, "leaf1"))
    own, spread = Carried("10.0.0.1", "10.0.0.2", 20 * GBPS), Carried("10.0.0.5", "10.0.0.2", 60 * GBPS)
    seen = Carried("10.0.0.5", "10.0.0.2", 60 * GBPS, (Port(switch="leaf1", port=2), Port(switch="spine0", port=0)))
    away = Carried("10.0.0.5", "10.0.0.2", 60 * GBPS, (Port(switch="leaf1", port=2),))
    inventory = fabric(hosts, TWO_SPINES)

    def load(other: Carried) -> list[float]:
        found = standby_loads(inventory, [own, other], hosts[:1], hosts[2:4])
        return [found[name]["h1"] for name in ("h3", "h4")]

    assert load(spread) == pytest.approx([0.4, 0.4])
    assert load(seen) == pytest.approx([0.7, 0.7])  # the cable to leaf0 is full for both
    assert load(away) == pytest.approx([0.7, 0.1])


def test_no_route_leads_through_a_nic_with_two_ports() -> None:
    """One behind leaf0 and leaf1 would be as short a way as a spine; it sends by both of its own ports."""
    nic = Endpoint(
        address="10.0.0.9", rail=0, speed_gbps=100,
        links=(Attachment(switch="leaf0", port=7), Attachment(switch="leaf1", port=7)),
    )  # fmt: skip
    hosts = (host(1, "leaf0"), host(2, "leaf1"), host(3, "leaf0"), Host(name="h9", endpoints=(nic,)))
    inventory = fabric(hosts, TWO_SPINES)
    traffic = [Carried("10.0.0.1", "10.0.0.2", 80 * GBPS)]
    assert standby_loads(inventory, traffic, hosts[:1], hosts[2:3])["h3"]["h1"] == pytest.approx(0.4)
    assert standby_loads(inventory, traffic, hosts[:1], hosts[3:])["h9"]["h1"] == pytest.approx(80 / 50)


def test_what_the_links_do_not_say_is_not_known() -> None:
    """Without speeds nothing is; a standby behind an unknown switch counts as the worst."""
    hosts = (host(1, "leaf0"), host(2, "leaf1"), host(3, "leaf0"), host(4, "other"), host(5, "leaf2"))
    traffic = [Carried("10.0.0.1", "10.0.0.2", 80 * GBPS), Carried("10.0.0.5", "10.0.0.2", 10 * GBPS)]
    slow = tuple(one.model_copy(update={"speed_gbps": None}) for one in TWO_SPINES)
    assert standby_loads(fabric(hosts, slow), traffic, hosts[:1], hosts[2:]) == {}
    found = standby_loads(fabric(hosts, TWO_SPINES), traffic, hosts[:1], hosts[2:])
    assert set(found) == {"h3", "h5"}
    free = [Standby(one, found.get(one.name, {})) for one in (hosts[3], hosts[2])]
    assert assign_standbys([Vacancy(hosts[0])], free) == {"h1": "h3"}


def followed(inventory: Inventory, traffic: list[Carried]) -> dict[tuple[int, bool], float]:
    """Cable and direction -> bytes per second, by following each connection from switch to switch."""
    graph = nx.Graph((one.a, one.b) for one in inventory.links)
    behind = {nic.address: nic.switch for one in inventory.hosts for nic in one.endpoints}
    doors = {
        (end, port): n
        for n, one in enumerate(inventory.links)
        for end, port in ((one.a, one.a_port), (one.b, one.b_port))
    }
    load = dict[tuple[int, bool], float]()

    def follow(at: str, far: dict[str, int], rate: float) -> None:
        near = [
            (n, one.b == at, one.a if one.b == at else one.b)
            for n, one in enumerate(inventory.links)
            if at in (one.a, one.b) and far[one.a if one.b == at else one.b] == far[at] - 1
        ]
        for n, turned, head in near:
            load[n, turned] = load.get((n, turned), 0.0) + rate / len(near)
            follow(head, far, rate / len(near))

    for one in traffic:
        if one.doors:
            for port in one.doors:
                cable = doors[port.switch, port.port]
                key = cable, inventory.links[cable].b == port.switch
                load[key] = load.get(key, 0.0) + one.bytes_per_s
        elif behind[one.src_addr] != behind[one.dst_addr]:
            far = nx.single_source_shortest_path_length(graph, behind[one.dst_addr])
            follow(str(behind[one.src_addr]), dict(far), one.bytes_per_s)
    return load


def test_the_standbys_are_the_best_of_all_ways() -> None:
    """100 drawn fabrics with up to eight places and eight standbys: loads and choice as found by trying all."""
    random = np.random.default_rng(112602)
    several = 0
    for _ in range(100):
        leaves, spines = (int(n) for n in random.integers(2, 5, 2))
        links = tuple(
            link(f"leaf{n}", f"spine{m}", 10 * n + m + 100 * k, float(random.choice([100, 400])))
            for n in range(leaves) for m in range(spines) for k in range(int(random.integers(1, 3)))
        )  # fmt: skip
        places, free = (int(n) for n in random.integers(1, 9, 2))
        hosts = tuple(host(n, f"leaf{random.integers(leaves)}") for n in range(places + free + 6))
        inventory = fabric(hosts, links)
        leavers, standbys, busy = hosts[:places], hosts[places : places + free], (*hosts[:places], *hosts[-6:])
        traffic = []
        for one in busy:
            for other in random.choice(len(busy), 3, replace=False):
                if busy[other] is not one:
                    ends = (str(one.endpoints[0].address), str(busy[other].endpoints[0].address))
                    traffic.append(Carried(*ends, float(random.uniform(1, 50)) * GBPS))
        found = standby_loads(inventory, traffic, leavers, standbys)
        table = np.zeros((places, free))
        for row, leaver in enumerate(leavers):
            own = leaver.endpoints[0].address
            before = followed(inventory, [one for one in traffic if own not in (one.src_addr, one.dst_addr)])
            mine = [one for one in traffic if own in (one.src_addr, one.dst_addr)]
            for column, standby in enumerate(standbys):
                moved = [one.between({str(own): str(standby.endpoints[0].address)}) for one in mine]
                added = followed(inventory, moved)
                worst = max(
                    ((before.get(key, 0.0) + rate) / (inventory.links[key[0]].speed_gbps or 0) / GBPS)
                    for key, rate in {(0, False): 0.0, **added}.items() if rate or not added
                )  # fmt: skip
                worst = worst if added else 0.0
                assert found[standby.name][leaver.name] == pytest.approx(worst)
                near = leaver.endpoints[0].switch == standby.endpoints[0].switch
                table[row, column] = LOAD * worst + LEAF * (not near) + 0.01
        chosen = assign_standbys(
            [Vacancy(one, "first") for one in leavers], [Standby(one, found[one.name]) for one in standbys]
        )
        number = {one.name: n for n, one in enumerate(standbys)}
        cost = sum(table[row, number[chosen[one.name]]] for row, one in enumerate(leavers) if one.name in chosen)
        assert len(chosen) == min(places, free)
        unfilled = UNFIT * (places - len(chosen))
        assert cost == pytest.approx(least_cost(table.tolist()) - unfilled, abs=1e-5)
        several += len(chosen) > 1
    assert several > 50
