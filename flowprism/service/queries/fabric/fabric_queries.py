"""The fabric by the inventory: ports, loads of links, and suspected links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from datamodel.cluster.inventory import Attachment, Inventory, Link
from datamodel.reports.findings import Finding
from datamodel.service.api_models import FabricLink, FabricNode, FabricView, NodeRole
from datamodel.service.filters import IncidentFilter, JobFilter
from datamodel.service.incidents import Incident
from flowprism.service.queries.inventory import in_force
from flowprism.service.queries.jobs.job_states import job_states, situation
from flowprism.service.queries.lake import kept
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.incident_pages import incident_page
from storage.database.jobs.overview import JobSummary, glances
from storage.lake.selection import Selection

_MOST_JOBS, _MOST_INCIDENTS = 10_000, 1000
_ROLES: Mapping[str | None, NodeRole] = {"leaf": "leaf", "spine": "spine"}

_NODES, _LINKS = TypeAdapter(tuple[FabricNode, ...]), TypeAdapter(tuple[FabricLink, ...])  # many at once: far quicker

Load = dict[tuple[str, str], float]
PairRate = tuple[str, str, float]  # sender, receiver, bit/s


@dataclass(frozen=True, slots=True)
class _Nic:
    """What an inventory says of an endpoint.

    Attributes:
        host: its name.
        addresses: all of them, the first being its name.
        attachments: every switch port it is plugged into.
        rail: its number, if known.
        speed_bps: of each of its cables; None where unknown.
    """

    host: str
    addresses: tuple[str, ...]
    attachments: tuple[Attachment, ...]
    rail: int | None
    speed_bps: float | None


@dataclass(frozen=True, slots=True)
class _Scene:
    """What a view is drawn from, cut to its viewer.

    Attributes:
        inventory: switches and cables.
        nics: its endpoints.
        jobs: ids of live jobs by address.
        mine: addresses that are shown; None for all.
        up_bps: mean load of each endpoint's own cable, by address.
        across_bps: mean load between two leaves, both ways, by their names in order.
        incidents: open now.
        doubts: by the ends of a cable, how likely each incident holds it for the cause, and which one.
    """

    inventory: Inventory
    nics: tuple[_Nic, ...]
    jobs: dict[str, list[str]]
    mine: frozenset[str] | None
    up_bps: dict[str, float]
    across_bps: Load
    incidents: Sequence[Incident | Finding]
    doubts: dict[frozenset[str], dict[str, float]]


def fabric(stores: Stores, viewer: Viewer, now_ns: int) -> FabricView:
    """Return switches, hosts, endpoints and links; for viewers of one tenant, those its live jobs touch.

    The load of an endpoint's cable is the larger of what it sent and what it received; between two leaves it is shared
    evenly by all cables of shortest paths, which hashing does not quite do. It counts the traffic of jobs only, those
    that the viewer sees.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    drawn = in_force(stores)
    if drawn is None:
        return FabricView()
    judged = job_states(stores, situation(stores, now_ns), JobFilter(tenant=viewer.tenant), with_ended=False)
    live = glances(stores.database, [one.mark.id for one in judged[:_MOST_JOBS]])
    open_now = incident_page(stores.database, IncidentFilter(tenant=viewer.tenant), now_ns, "", _MOST_INCIDENTS)
    cases = [one.incident for one in open_now]
    follows_from = (drawn, viewer, live, cases)
    return stores.at_hand.once("fabric", follows_from, lambda: _answered(stores, viewer, drawn, live, cases))


def _answered(
    stores: Stores, viewer: Viewer, drawn: Inventory, live: list[JobSummary], cases: list[Incident]
) -> FabricView:
    members = {one.job.id: one.job.endpoints for one in live}
    nics = stores.at_hand.once("nics", (drawn,), lambda: _nics(drawn))
    mine = None if viewer.tenant is None else frozenset(address for own in members.values() for address in own)
    return _drawn(drawn, nics, members, _rates(stores, live), cases, mine)


def fabric_view(
    drawn: Inventory, members: Mapping[str, Sequence[str]], rates: Iterable[PairRate], found: Sequence[Finding]
) -> FabricView:
    """Return the fabric of an inventory with the loads and suspects of one analysis.

    Args:
        drawn: switches, hosts, endpoints and cables.
        members: addresses of each job's endpoints, by its id.
        rates: sender, receiver and mean bit/s of each pair.
        found: findings that suspect links.
    """
    return _drawn(drawn, _nics(drawn), members, rates, found, None)


def _drawn(
    drawn: Inventory,
    nics: tuple[_Nic, ...],
    members: Mapping[str, Sequence[str]],
    rates: Iterable[PairRate],
    cases: Sequence[Incident | Finding],
    mine: frozenset[str] | None,
) -> FabricView:
    jobs: dict[str, list[str]] = defaultdict(list)
    for job, addresses in members.items():
        for address in addresses:
            jobs[address].append(job)
    up_bps, across_bps = _loads(nics, rates)
    return _view(_Scene(drawn, nics, jobs, mine, up_bps, across_bps, cases, _doubts(cases)))


def _loads(nics: Iterable[_Nic], rates: Iterable[PairRate]) -> tuple[dict[str, float], Load]:
    """Load of endpoints' own cables, and between leaves, in bit/s."""
    leaf_of = {a: nic.attachments[0].switch for nic in nics if nic.attachments for a in nic.addresses}
    sent: dict[str, float] = defaultdict(float)
    received: dict[str, float] = defaultdict(float)
    across: Load = defaultdict(float)
    for src, dst, rate_bps in rates:
        sent[src] += rate_bps
        received[dst] += rate_bps
        ends = leaf_of.get(src), leaf_of.get(dst)
        if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
            across[ends[0], ends[1]] += rate_bps
    return {address: max(sent[address], received[address]) for address in {*sent, *received}}, across


def _rates(stores: Stores, live: list[JobSummary]) -> Iterable[PairRate]:
    """Source, destination and mean bit/s of each pair of each job, in the newest window with data."""
    if not live:
        return
    newest_ns = {one.job.id: one.job.last_seen_ns for one in live}
    selection = Selection(min(newest_ns.values()), max(newest_ns.values()) + 1, jobs=frozenset(newest_ns))
    frame, book = kept(stores, "patterns", selection)
    ends = np.array([newest_ns.get(text, -1) for text in book] or [-1], np.int64)
    frame = frame.take(frame["end_ns"] == ends[frame["job"]])
    lasted_s = np.maximum(frame["end_ns"] - frame["start_ns"], 1) / 1e9
    rates_bps = frame["bytes"] * 8 / lasted_s
    for src, dst, rate_bps in zip(frame["src"].tolist(), frame["dst"].tolist(), rates_bps.tolist(), strict=True):
        yield book[src], book[dst], rate_bps


def _nics(drawn: Inventory) -> tuple[_Nic, ...]:
    """Every endpoint of an inventory."""
    return tuple(
        _Nic(host.name, n.all_addresses, n.attachments, n.rail, n.speed_gbps * 1e9 if n.speed_gbps else None)
        for host in drawn.hosts
        for n in host.endpoints
    )


def _view(scene: _Scene) -> FabricView:
    own = [nic for nic in scene.nics if scene.mine is None or not scene.mine.isdisjoint(nic.addresses)]
    leaves = {attachment.switch for nic in own for attachment in nic.attachments}
    cables = [link for link in scene.inventory.links if scene.mine is None or {link.a, link.b} & leaves]
    near = leaves | {end for link in cables for end in (link.a, link.b)}
    switches = [
        FabricNode(id=switch.name, role=_ROLES.get(switch.role, "switch"))
        for switch in scene.inventory.switches
        if scene.mine is None or switch.name in near
    ]
    hosts = [FabricNode(id=host, role="host") for host in dict.fromkeys(nic.host for nic in own)]
    links = [link for nic in own for link in _access_links(nic, scene)]
    return FabricView(
        nodes=(*switches, *hosts, *_NODES.validate_python([_endpoint(nic, scene) for nic in own])),
        links=_LINKS.validate_python([*links, *_uplinks(cables, scene)]),
        subjects=tuple(incident.subject for incident in scene.incidents),
    )


def _endpoint(nic: _Nic, scene: _Scene) -> dict[str, Any]:
    """The fields of its `FabricNode`."""
    jobs = dict.fromkeys(job for address in nic.addresses for job in scene.jobs.get(address, ()))
    return {"id": nic.addresses[0], "role": "endpoint", "host": nic.host, "rail": nic.rail, "jobs": tuple(jobs)}


def _access_links(nic: _Nic, scene: _Scene) -> list[dict[str, Any]]:
    """The fields of an endpoint's own cables; their load is shared by all of them."""
    rate_bps = sum([scene.up_bps.get(address, 0.0) for address in nic.addresses])
    ratio = rate_bps / nic.speed_bps if nic.speed_bps else None
    return [
        {
            "a": attachment.switch,
            "b": nic.addresses[0],
            "a_port": attachment.port,
            "speed_bps": nic.speed_bps / len(nic.attachments) if nic.speed_bps else None,
            "load_ratio": ratio,
            **_suspicion(scene.doubts, attachment.switch, nic.addresses[0]),
        }
        for attachment in nic.attachments
    ]


def _uplinks(cables: list[Link], scene: _Scene) -> list[dict[str, Any]]:
    """The fields of cables between switches."""
    shares = _shared(scene.inventory.links, scene.across_bps)
    return [
        {
            "a": link.a,
            "b": link.b,
            "a_port": link.a_port,
            "b_port": link.b_port,
            "speed_bps": link.speed_gbps * 1e9 if link.speed_gbps else None,
            "load_ratio": _busier_ratio(link, shares) if link.speed_gbps else None,
            **_suspicion(scene.doubts, link.a, link.b),
        }
        for link in cables
    ]


def _busier_ratio(link: Link, shares: Load) -> float:
    """Load of the busier direction of one cable, of its speed."""
    rate_bps = max(shares.get((link.a, link.b), 0.0), shares.get((link.b, link.a), 0.0))
    return rate_bps / ((link.speed_gbps or 1.0) * 1e9)


def _shared(links: tuple[Link, ...], across_bps: Load) -> Load:
    """Load of one cable of each pair of switches, by direction: directly, or over one switch between two leaves."""
    cables: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for link in links:
        cables[link.a][link.b] += 1
        cables[link.b][link.a] += 1
    shares: Load = defaultdict(float)
    for (src, dst), rate_bps in across_bps.items():
        if dst in cables[src]:
            shares[src, dst] += rate_bps / cables[src][dst]
            continue
        middles = [switch for switch in cables[src] if dst in cables[switch]]
        widths = [min(cables[src][switch], cables[switch][dst]) for switch in middles]
        for switch, width in zip(middles, widths, strict=True):
            part_bps = rate_bps * width / sum(widths)
            shares[src, switch] += part_bps / cables[src][switch]
            shares[switch, dst] += part_bps / cables[switch][dst]
    return shares


def _doubts(incidents: Sequence[Incident | Finding]) -> dict[frozenset[str], dict[str, float]]:
    """By the ends of a cable: ids of the open incidents that hold it for the cause, and how likely each does."""
    found: dict[frozenset[str], dict[str, float]] = {}
    for incident in incidents:
        named = [(incident.subject.type, incident.subject.ids, incident.confidence)]
        named += [(suspect.type, suspect.ids, suspect.probability) for suspect in incident.suspects]
        for kind, ids, probability in named:
            if kind == "link":
                own = found.setdefault(frozenset(ids), {})
                own[incident.id] = max(own.get(incident.id, 0.0), probability)
    return found


def _suspicion(doubts: dict[frozenset[str], dict[str, float]], a: str, b: str) -> dict[str, Any]:
    """The fields `suspicion` and `incidents` of a cable."""
    found = doubts.get(frozenset((a, b))) if doubts else None
    return {"suspicion": max(found.values()), "incidents": tuple(sorted(found))} if found else {}
