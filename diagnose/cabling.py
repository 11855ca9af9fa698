"""The inventory against what switches see: endpoints that are plugged in elsewhere than it says.

A packet enters the fabric at the port that its sender is plugged into. A record names the switch and that port; where
the port belongs to no cable between switches and only one endpoint sends through it, it is the sender's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.cluster.inventory import Attachment, Endpoint, Inventory
from datamodel.reports.findings import Evidence, Finding, Subject
from datamodel.telemetry.flows import Flows
from diagnose.finding_text import finding_id, listed
from diagnose.options import MODEL
from reconstruct.numeric.factorize import factorize_rows
from reconstruct.streams.paths import find_uplink_ports

# sFlow's numbers of no interface begin here (formats of dropped packets and of several outputs).
NO_INTERFACE = 0x3FFFFFFF


@dataclass(frozen=True, slots=True)
class CablingOptions:
    """What it takes to doubt the inventory.

    Attributes:
        fewest_sightings: records at one port: a single one may be of an address that somebody made up.
        least_share: of an endpoint's records at ports of its own: NICs of several cables send through each of them.
    """

    fewest_sightings: int = 3
    least_share: float = 0.05


Port = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Misplaced:
    """An endpoint that is plugged in elsewhere: by the inventory, what was seen there, and where else it was seen."""

    host: str
    declared: Endpoint
    found: tuple[Port, ...]
    sightings: int
    right: int

    @property
    def name(self) -> str:
        return self.declared.all_addresses[0]


def cabling_findings(
    flows: Flows,
    inventory: Inventory | None,
    switches: Mapping[str, str],
    window_ns: tuple[int, int],
    options: CablingOptions,
) -> list[Finding]:
    """Findings of kind `feed` and cause `cabling`: of two endpoints that changed places, or of one that is elsewhere.

    Args:
        flows: of all feeds, by endpoint, second sightings included.
        inventory: of the fabric; without one nothing is declared.
        switches: name of the switch of each exporter's address.
        window_ns: of the records.
        options: thresholds.
    """  # fmt: skip
    if inventory is None or not len(flows) or not flows.frame["in_if"].any():
        return []
    seen = _edge_sightings(flows, inventory, switches)
    misplaced = {one.name: one for one in _misplaced(flows, inventory, seen, options)}
    pairs = list(_exchanged(misplaced))
    paired = {one.name for pair in pairs for one in pair}
    alone = [(one,) for name, one in misplaced.items() if name not in paired]
    return [_finding(each, inventory, window_ns) for each in [*pairs, *alone]]


def _edge_sightings(flows: Flows, inventory: Inventory, switches: Mapping[str, str]) -> dict[int, dict[Port, int]]:
    """Endpoint -> ports that only its packets entered by -> how many records."""
    frame, uplinks = flows.frame, set(find_uplink_ports(inventory.links))
    names = {code: switches[address] for code, address in enumerate(flows.addresses) if address in switches}
    entered = (frame["in_if"] > 0) & (frame["in_if"] < NO_INTERFACE) & np.isin(frame["sampler_address"], list(names))
    columns = [frame[name][entered] for name in ("sampler_address", "in_if", "src_addr")]
    first, sighting = factorize_rows(*columns)
    found, count = [column[first].tolist() for column in columns], np.bincount(sighting).tolist()
    senders: dict[Port, list[tuple[int, int]]] = {}
    for sampler, port, src, often in zip(*found, count, strict=True):
        senders.setdefault((names[sampler], port), []).append((src, often))
    seen: dict[int, dict[Port, int]] = {}
    for where, of in senders.items():
        if where not in uplinks and len(of) == 1:
            seen.setdefault(of[0][0], {})[where] = of[0][1]
    return seen


def _misplaced(
    flows: Flows, inventory: Inventory, seen: Mapping[int, Mapping[Port, int]], options: CablingOptions
) -> Iterator[_Misplaced]:
    codes = {address: code for code, address in enumerate(flows.addresses)}
    for host in inventory.hosts:
        for endpoint in host.endpoints:
            ports: dict[Port, int] = {}
            for code in {codes[a] for a in endpoint.all_addresses if a in codes}:
                ports.update(seen.get(code, {}))
            if not ports or not endpoint.attachments:
                continue
            total = sum(ports.values())
            least = max(options.fewest_sightings, options.least_share * total)
            wrong = {port: n for port, n in ports.items() if n >= least and not _declared(endpoint, port)}
            if wrong:
                right = tuple(sorted(port for port in ports if _declared(endpoint, port)))
                sightings = sum(wrong.values())
                yield _Misplaced(host.name, endpoint, (*right, *sorted(wrong)), sightings, total - sightings)


def _declared(endpoint: Endpoint, port: Port) -> bool:
    return any(one.switch == port[0] and one.port in (None, port[1]) for one in endpoint.attachments)


def _exchanged(misplaced: Mapping[str, _Misplaced]) -> Iterator[tuple[_Misplaced, ...]]:
    """Pairs of which each is where the inventory has the other one."""
    at: dict[Port, str] = {}
    for name, one in misplaced.items():
        at.update({(a.switch, a.port): name for a in one.declared.attachments if a.port is not None})
    for name, one in misplaced.items():
        others = {at[port] for port in one.found if port in at and at[port] != name}
        for other in sorted(others):
            back = {at.get(port) for port in misplaced[other].found}
            if name in back and name < other:
                yield one, misplaced[other]


def _finding(each: Sequence[_Misplaced], inventory: Inventory, window_ns: tuple[int, int]) -> Finding:
    names = tuple(one.name for one in each)
    holders = {port: name for name, port in _attachments(inventory)}
    said = "; ".join(_place(one, holders) for one in each)
    crossed = " Rails are crossed." if len({one.declared.rail for one in each} - {None}) > 1 else ""
    lines = listed(tuple(_line(one) for one in each), len(each))
    return Finding(
        id=finding_id("inventory", "feed", ("cabling", *names), window_ns[0]),
        job=None,
        kind="feed",
        cause="cabling",
        severity="warning",
        start_ns=window_ns[0],
        end_ns=None,
        confidence=MODEL.most_confidence,
        slowdown_ratio=1.0,
        subject=Subject(type="endpoint", ids=names),
        evidence=tuple(
            Evidence(
                metric="records that entered the fabric elsewhere than declared",
                value=float(one.sightings),
                baseline=float(one.right),
                unit="",
                where=f"{one.name} at {_named(one.found)}",
                window_ns=window_ns,
            )
            for one in each
        ),
        summary=f"The inventory has cables that are not so: {said}.{crossed}",
        action=f"Plug the cables in as planned, or correct the inventory: {lines}",
    )


def _attachments(inventory: Inventory) -> Iterator[tuple[str, Port]]:
    for host in inventory.hosts:
        for endpoint in host.endpoints:
            for one in endpoint.attachments:
                if one.port is not None:
                    yield endpoint.all_addresses[0], (one.switch, one.port)


def _place(one: _Misplaced, holders: Mapping[Port, str]) -> str:
    wrong = tuple(port for port in one.found if not _declared(one.declared, port))
    others = tuple(holders[port] for port in wrong if port in holders)
    instead = f", the place of {listed(others)}" if others else ""
    declared = tuple((a.switch, a.port) for a in one.declared.attachments)
    return f"{one.name} of {one.host} is at {_named(wrong)}{instead}, not at {_named(declared)}"


def _named(ports: Sequence[tuple[str, int | None]]) -> str:
    return listed(tuple(name if port is None else f"{name} port {port}" for name, port in ports))


def _line(one: _Misplaced) -> str:
    """The endpoint's line as the inventory should have it."""
    links = tuple(Attachment(switch=switch, port=port) for switch, port in one.found)
    kept = one.declared.model_copy(update={"switch": None, "port": None, "links": ()})
    if len(links) == 1:
        kept = kept.model_copy(update={"switch": links[0].switch, "port": links[0].port})
    else:
        kept = kept.model_copy(update={"links": links})
    fields = kept.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return json.dumps(fields)
