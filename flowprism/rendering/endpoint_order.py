"""Where each endpoint of a job stands in its layout, and the one order in which all pictures list them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count, repeat
from socket import AF_INET, AF_INET6, inet_pton
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.reports.layout import GROUP_KINDS, Groups
from datamodel.reports.report import JobReport

Ints = npt.NDArray[np.int64]


class Memberships:
    """Which process groups endpoints stand in, found out when the first one is asked for."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """By address the names of its groups, e.g. `dp 2`, in the order dp, pp, tp, ep, cp."""
        names: dict[str, tuple[str, ...]] = {}
        for kind in GROUP_KINDS:
            listed: tuple[tuple[str, ...], ...] = getattr(self._groups, kind)
            for number, members in enumerate(listed, 1):
                own = (f"{kind} {number}",)
                for member in members:
                    names[member] = names.get(member, ()) + own
        return names


NO_MEMBERSHIPS = Memberships(Groups())


class Position(NamedTuple):
    """One endpoint's place.

    Attributes:
        address: its name.
        number: 1, 2 ... in the order of all pictures: by stage, then replica, then address.
        stage: place in its pipeline chain from 0; None where the job has no chains or it stands in none.
        replica: which copy of the model it belongs to, from 0: endpoints joined by pp, tp or cp groups.
        memberships: of all endpoints of the job.
    """

    address: str
    number: int
    stage: int | None
    replica: int
    memberships: Memberships = NO_MEMBERSHIPS

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of its process groups."""
        return self.memberships.names.get(self.address, ())


class EndpointOrder(Sequence[Position]):
    """Every endpoint of a job, in the order of all pictures; positions are computed on demand.

    A hundred thousand of them would take longer to make than all the rest of a page.

    Attributes:
        addresses: of each, in order.
        stages: of each, -1 where it stands in none, shape (endpoints,).
        replicas: of each, shape (endpoints,).
    """

    def __init__(self, addresses: list[str], stages: Ints, replicas: Ints, memberships: Memberships) -> None:
        self.addresses = addresses
        self.stages = stages
        self.replicas = replicas
        self._memberships = memberships

    def __len__(self) -> int:
        """How many endpoints."""
        return len(self.addresses)

    def __iter__(self) -> Iterator[Position]:
        """One after another."""
        stages = (stage if stage >= 0 else None for stage in self.stages.tolist())
        return map(Position, self.addresses, count(1), stages, self.replicas.tolist(), repeat(self._memberships))

    @overload
    def __getitem__(self, at: int) -> Position: ...

    @overload
    def __getitem__(self, at: slice) -> list[Position]: ...

    def __getitem__(self, at: int | slice) -> Position | list[Position]:
        """One of them, or some."""
        if isinstance(at, slice):
            return [self[n] for n in range(len(self))[at]]
        n = range(len(self))[at]
        stage = int(self.stages[n])
        return Position(
            self.addresses[n], n + 1, stage if stage >= 0 else None, int(self.replicas[n]), self._memberships
        )


def positions(job: JobReport) -> EndpointOrder:
    """Every endpoint of a job, in the order of all pictures."""
    return placed(job.endpoints, job.groups)


def placed(endpoints: tuple[str, ...], groups: Groups) -> EndpointOrder:
    """Every one of some endpoints by the process groups they stand in, in the order of all pictures."""
    addresses = sorted(endpoints, key=_by_address)
    replicas = _replicas(addresses, groups)
    stage_of = {address: stage for chain in groups.pp for stage, address in enumerate(chain)}
    stages = np.array([stage_of.get(address, -1) for address in addresses], np.int64)
    order = np.lexsort((replicas, stages, stages < 0))
    ordered = [addresses[n] for n in order.tolist()]
    return EndpointOrder(ordered, stages[order], replicas[order], Memberships(groups))


def _by_address(address: str) -> bytes:
    """Numerical order of addresses (10.0.0.2 before 10.0.0.10), IPv4 first; anything else after them, as text."""
    try:
        return b"4" + inet_pton(AF_INET, address)
    except (OSError, ValueError):
        pass  # none of this family
    try:
        return b"6" + inet_pton(AF_INET6, address)
    except (OSError, ValueError):
        pass
    return b"9" + address.encode(errors="surrogatepass")


def _replicas(addresses: list[str], groups: Groups) -> Ints:
    """Replica of each address, numbered by its lowest address, shape (addresses,)."""
    place = {address: n for n, address in enumerate(addresses)}
    joined = (*groups.pp, *groups.tp, *groups.cp)
    size, nodes = len(addresses), len(addresses) + len(joined)
    member = np.fromiter((place.get(one, -1) for group in joined for one in group), np.int64)
    group = np.repeat(np.arange(size, nodes), [len(one) for one in joined])[member >= 0]
    ends = member[member >= 0], group
    graph = coo_array((np.ones(len(group), np.int8), ends), shape=(nodes, nodes))
    label = connected_components(graph, directed=False)[1][:size]
    _, lowest, which = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(lowest), np.int64)
    rank[np.argsort(lowest)] = np.arange(len(lowest))
    return np.asarray(rank[which], np.int64)
