"""An incident or finding -> the hosts and GPUs in question, and healthy hosts to compare them with. Plain functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datamodel.cluster.inventory import Inventory
from datamodel.reports.findings import Finding
from datamodel.reports.layout import Groups
from datamodel.service.incidents import Incident

# Enough for a median that one bad host does not move; the answer comes in time.
MOST_SUSPECTS = MOST_PEERS = 8


@dataclass(frozen=True, slots=True)
class HostSelection:
    """Hosts to ask for.

    Attributes:
        suspects: hosts with the indices of the GPUs in question; none: all of that host.
        peers: of the same stage where that is known, else of the same job.
        suspected: how many hosts are suspected; of many an even choice is asked for.
    """

    suspects: Mapping[str, tuple[int, ...]]
    peers: tuple[str, ...]
    suspected: int


def select_hosts(
    incident: Incident | Finding, endpoints: Sequence[str], groups: Groups, inventory: Inventory
) -> HostSelection | None:
    """The hosts to ask for; None where the inventory knows none of the suspects.

    Endpoints of a tensor group on one host look alike from the network: the GPUs of all of them are in question.
    """
    nics = {
        address: (host.name, nic) for host in inventory.hosts for nic in host.endpoints for address in nic.all_addresses
    }
    own = [address for address in endpoints if address in nics]
    named = {*incident.subject.ids, *(one for suspect in incident.suspects for one in suspect.ids)}
    if incident.subject.type == "job":
        named |= set(own)
    blamed = [one for one in own if one in named or nics[one][0] in named]
    alike = {member for group in groups.tp if not named.isdisjoint(group) for member in group}
    hosts = sorted({nics[one][0] for one in blamed})
    if not hosts:
        return None
    chosen = _evenly(hosts, MOST_SUSPECTS)
    gpus: dict[str, tuple[int, ...]] = {}
    for host in chosen:
        some = [nics[one][1].gpu for one in own if nics[one][0] == host and (one in blamed or one in alike)]
        known = [(gpu,) if isinstance(gpu, int) else gpu for gpu in some if gpu is not None]
        gpus[host] = tuple(sorted({index for few in known for index in few})) if len(known) == len(some) else ()
    stage = {member: n for chain in groups.pp for n, member in enumerate(chain)}
    stages = {stage[one] for one in blamed if one in stage}
    others = [one for one in own if nics[one][0] not in hosts]
    same = [one for one in others if stage.get(one) in stages]
    return HostSelection(gpus, _evenly(sorted({nics[one][0] for one in same or others}), MOST_PEERS), len(hosts))


def _evenly(names: Sequence[str], most: int) -> tuple[str, ...]:
    return tuple(names[:: max(-(-len(names) // most), 1)])
