"""Where each endpoint of a job stands in its layout, and the one order in which all pictures list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from socket import AF_INET, AF_INET6, inet_pton

from datamodel.layout import Groups
from datamodel.report import JobReport


@dataclass(frozen=True, slots=True)
class Position:
    """One endpoint's place.

    Attributes:
        number: 1, 2 ... in the order of all pictures: by stage, then replica, then address.
        stage: place in its pipeline chain from 0; None where the job has no chains or it stands in none.
        replica: which copy of the model it belongs to, from 0: endpoints joined by pp, tp or cp groups.
        groups: names of its process groups, e.g. `dp 2`, in the order dp, pp, tp, ep, cp.
    """

    address: str
    number: int
    stage: int | None
    replica: int
    groups: tuple[str, ...]


def positions(job: JobReport) -> list[Position]:
    """Every endpoint of a job, in the order of all pictures."""
    return placed(job.endpoints, job.groups)


@lru_cache(maxsize=4)
def placed(endpoints: tuple[str, ...], groups: Groups) -> list[Position]:
    """Every one of some endpoints by the process groups they stand in, in the order of all pictures.

    Kept, and not to be changed: of a hundred thousand endpoints it takes longer than all the rest of a page.
    """
    keys = {address: _by_address(address) for address in endpoints}
    addresses = sorted(keys, key=keys.__getitem__)
    stages = {address: stage for chain in groups.pp for stage, address in enumerate(chain)}
    replicas = _replicas(addresses, groups)
    last = len(addresses)
    ordered = sorted(addresses, key=lambda a: (stages.get(a, last), replicas[a], keys[a]))
    names = _group_names(groups)
    return [
        Position(address, number, stages.get(address), replicas[address], tuple(names.get(address, ())))
        for number, address in enumerate(ordered, 1)
    ]


def _by_address(address: str) -> tuple[int, int, str]:
    """Numerical order of addresses (10.0.0.2 before 10.0.0.10); anything else after them, as text."""
    for version, family in ((4, AF_INET), (6, AF_INET6)):
        try:
            return version, int.from_bytes(inet_pton(family, address), "big"), ""
        except (OSError, ValueError):  # none of this family
            continue
    return 9, 0, address


def _replicas(addresses: list[str], groups: Groups) -> dict[str, int]:
    """Address -> replica, numbered by its lowest address."""
    leader = {address: address for address in addresses}

    def root(address: str) -> str:
        while leader[address] != address:
            leader[address] = leader[leader[address]]
            address = leader[address]
        return address

    for group in (*groups.pp, *groups.tp, *groups.cp):
        members = [member for member in group if member in leader]
        for member in members[1:]:
            leader[root(member)] = root(members[0])
    numbers: dict[str, int] = {}
    return {address: numbers.setdefault(root(address), len(numbers)) for address in addresses}


def _group_names(groups: Groups) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for kind in ("dp", "pp", "tp", "ep", "cp"):
        listed: Iterable[tuple[str, ...]] = getattr(groups, kind)
        for number, members in enumerate(listed, 1):
            for member in members:
                names.setdefault(member, []).append(f"{kind} {number}")
    return names
