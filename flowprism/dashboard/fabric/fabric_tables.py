"""The tables of the fabric page: the links that matter most, hosts by rail, and the paths of a pair."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from datamodel.service.api_models import FabricLink, FabricNode, FabricView
from flowprism.dashboard.fabric.pair_routes import routes
from flowprism.rendering.figures.fabric import natural
from flowprism.rendering.names import Names

MOST_LINKS = 100
MOST_HOSTS = 24
MOST_NAMES = 2000  # of endpoints that are offered to choose from


@dataclass(frozen=True, slots=True)
class RailCell:
    """An endpoint where its host and its rail meet."""

    address: str
    leaf: str
    load_ratio: float | None
    suspicion: float


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host with its endpoints by rail; several of one rail stand in one cell."""

    name: str
    jobs: tuple[str, ...]
    rails: tuple[tuple[RailCell, ...], ...]


@dataclass(frozen=True, slots=True)
class Hosts:
    """Hosts by rail.

    Attributes:
        rails: rail numbers; None stands for endpoints without a known rail.
        rows: hosts, by name.
        of: number of hosts that match, before the limit of MOST_HOSTS.
    """

    rails: tuple[int | None, ...]
    rows: tuple[HostRow, ...]
    of: int


@dataclass(frozen=True, slots=True)
class Ways:
    """The shortest paths between two endpoints.

    Attributes:
        src, dst: addresses; "" where no endpoint has the name.
        asked: the two names as the viewer entered them.
        ways: all shortest paths, each as its nodes.
        hops: the nodes of each hop.
        cables: links that packets may take, in order of hops.
    """

    src: str
    dst: str
    asked: tuple[str, str]
    ways: tuple[tuple[str, ...], ...]
    hops: tuple[tuple[str, ...], ...]
    cables: tuple[FabricLink, ...]

    @property
    def nodes(self) -> frozenset[str]:
        """Every node that packets may come by."""
        return frozenset(node for way in self.ways for node in way)


def links_that_matter(view: FabricView) -> tuple[FabricLink, ...]:
    """Cables by suspicion, then by load, then as the inventory has them; at most `MOST_LINKS`."""

    def rank(link: FabricLink) -> tuple[float, float]:
        return -link.suspicion, 1.0 if link.load_ratio is None else -link.load_ratio

    return tuple(sorted(view.links, key=rank)[:MOST_LINKS])


def suspected(view: FabricView, names: Names) -> frozenset[str]:
    """Endpoints and switches that open incidents are about: of a host or a group all its endpoints."""
    found: set[str] = set()
    for subject in view.subjects:
        if subject.type == "host":
            found.update(*(names.on_host(host) for host in subject.ids))
        elif subject.type not in {"link", "job"}:
            found.update(subject.ids)
    return frozenset(found)


def hosts(view: FabricView, text: str, suspects: Collection[str] = (), offenders: Collection[str] = ()) -> Hosts:
    """Hosts with `text` in their name, a job or an address, or plugged into the switch that is called so.

    Those under suspicion come first, then repeat offenders, at most `MOST_HOSTS`.
    """
    endpoints = [node for node in view.nodes if node.role == "endpoint"]
    by_host: dict[str, list[FabricNode]] = {}
    for node in endpoints:
        by_host.setdefault(node.host or "", []).append(node)
    plugged = {
        end for link in view.links if text.lower() in {link.a.lower(), link.b.lower()} for end in (link.a, link.b)
    }
    wanted = [host for host, own in by_host.items() if _matches(text.lower(), host, own, plugged)]
    cables = _cables(view)
    doubt = {n.id: 1.0 if n.id in suspects else cables[n.id].suspicion for n in endpoints if n.id in cables}
    worst = {host: max(doubt.get(n.id, 0.0) for n in by_host[host]) for host in wanted}
    order = sorted(wanted, key=lambda host: (-worst[host], host not in offenders, natural(host)))[:MOST_HOSTS]
    rails = sorted({n.rail for n in endpoints}, key=lambda rail: (rail is None, rail or 0))
    rows = tuple(_host(host, by_host[host], rails, cables, doubt) for host in order)
    return Hosts(tuple(rails), rows, len(wanted))


def _matches(text: str, host: str, own: Sequence[FabricNode], plugged: Collection[str]) -> bool:
    return text in host.lower() or any(
        text in n.id or n.id in plugged or any(text in job.lower() for job in n.jobs) for n in own
    )


def _cables(view: FabricView) -> dict[str, FabricLink]:
    """Each endpoint's cable; of several the worst."""
    endpoints = {node.id for node in view.nodes if node.role == "endpoint"}
    found: dict[str, FabricLink] = {}
    for link in view.links:
        for end in (link.a, link.b):
            if end in endpoints and (end not in found or _worse(link, found[end])):
                found[end] = link
    return found


def _worse(link: FabricLink, than: FabricLink) -> bool:
    return (link.suspicion, link.load_ratio or 0.0) > (than.suspicion, than.load_ratio or 0.0)


def _host(
    name: str,
    own: Sequence[FabricNode],
    rails: Sequence[int | None],
    cables: dict[str, FabricLink],
    doubt: dict[str, float],
) -> HostRow:
    jobs = dict.fromkeys(job for node in own for job in node.jobs)
    cells = tuple(
        tuple(_cell(node, cables.get(node.id), doubt.get(node.id, 0.0)) for node in own if node.rail == rail)
        for rail in rails
    )
    return HostRow(name, tuple(jobs), cells)


def _cell(node: FabricNode, cable: FabricLink | None, doubt: float) -> RailCell:
    if cable is None:
        return RailCell(node.id, "", None, 0.0)
    return RailCell(node.id, cable.a if cable.b == node.id else cable.b, cable.load_ratio, doubt)


def ways(view: FabricView, names: Names, src: str, dst: str) -> Ways | None:
    """The ways between two endpoints, called by address or by host and GPU; None where none is asked for."""
    if not src and not dst:
        return None
    called = {names.short(node.id): node.id for node in view.nodes if node.role == "endpoint"}
    known = set(called.values())
    ends = [text if text in known else called.get(text, "") for text in (src, dst)]
    found = tuple(routes(view.links, *ends)) if all(ends) else ()
    hops = tuple(tuple(sorted(set(hop), key=natural)) for hop in zip(*found, strict=True))
    return Ways(ends[0], ends[1], (src, dst), found, hops, _along(view, found))


def _along(view: FabricView, found: Collection[tuple[str, ...]]) -> tuple[FabricLink, ...]:
    steps = {frozenset(pair): n for way in found for n, pair in enumerate(pairwise(way))}
    used = [link for link in view.links if frozenset((link.a, link.b)) in steps]
    return tuple(sorted(used, key=lambda link: (steps[frozenset((link.a, link.b))], natural(link.a), natural(link.b))))
