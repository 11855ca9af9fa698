"""Which idle host can take the place of one that leaves; several at once by assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.cluster.inventory import Host, StageRole
from datamodel.reconstructed.streams import Float

# Added load decides; the leaf where that is equal, and the role that a standby is warmed up for where that is too.
LOAD, LEAF, ROLE = 100.0, 1.0, 0.01
UNFIT = 1e9


@dataclass(frozen=True, slots=True)
class Vacancy:
    """A host that leaves, and the stage that it trains."""

    host: Host
    role: StageRole | None = None


@dataclass(frozen=True, slots=True)
class Standby:
    """An idle host.

    Attributes:
        host: what the inventory says of it.
        load_ratio: host that leaves -> load of the slowest uplink to its peers with this one in its place, over that
            uplink's speed; where it is not known for one standby but for others, it counts as the worst of theirs.
        roles: it is warmed up for.
    """

    host: Host
    load_ratio: Mapping[str, float]
    roles: frozenset[StageRole] = frozenset()


def stage_role(stage: int | None, stages: int | None) -> StageRole | None:
    """Return what a stage is to its pipeline; None where either number is not known."""
    if stage is None or stages is None:
        return None
    if stages == 1:
        return "only"
    return "first" if stage == 0 else "last" if stage == stages - 1 else "middle"


def idle_hosts(hosts: Sequence[Host], busy: frozenset[str], faulty: frozenset[str]) -> tuple[Host, ...]:
    """Hosts in no job and with no open incident, by name; where any are marked as standbys, only those."""
    marked = [host for host in hosts if host.standby]
    free = (host for host in marked or hosts if host.endpoints and host.name not in busy | faulty)
    return tuple(sorted(free, key=lambda host: host.name))


def fits(leaver: Host, other: Host) -> bool:
    """Whether a host has as many NICs on each rail, with as many GPUs, none of them slower.

    What the inventory does not say of both is no reason against it.
    """
    own, its = _rails(leaver), _rails(other)
    if Counter({rail: len(nics) for rail, nics in own.items()}) != Counter({r: len(nics) for r, nics in its.items()}):
        return False
    return all(
        mine[1] <= theirs[1] and (not mine[0] or not theirs[0] or mine[0] <= theirs[0])
        for rail in own
        for mine, theirs in zip(own[rail], its[rail], strict=True)
    )


def _rails(host: Host) -> dict[int, list[tuple[float, int]]]:
    """Rail, -1 unknown -> speed and number of GPUs of each NIC there, the fastest last."""
    found: dict[int, list[tuple[float, int]]] = {}
    for nic in host.endpoints:
        gpus = len(nic.gpu) if isinstance(nic.gpu, tuple) else int(nic.gpu is not None)
        found.setdefault(-1 if nic.rail is None else nic.rail, []).append((nic.speed_gbps or 0.0, gpus))
    return {rail: sorted(nics) for rail, nics in found.items()}


def costs(vacancies: Sequence[Vacancy], standbys: Sequence[Standby]) -> Float:
    """(vacancies, standbys) what each costs in each place; `UNFIT` where it does not fit."""
    found = np.full((len(vacancies), len(standbys)), UNFIT)
    for row, vacancy in enumerate(vacancies):
        name = vacancy.host.name
        worst = max((one.load_ratio[name] for one in standbys if name in one.load_ratio), default=0.0)
        for column, standby in enumerate(standbys):
            if fits(vacancy.host, standby.host):
                found[row, column] = (
                    LOAD * standby.load_ratio.get(name, worst)
                    + LEAF * (1 - _same_leaf(vacancy.host, standby.host))
                    + ROLE * (vacancy.role not in standby.roles)
                )
    return found


def _same_leaf(one: Host, other: Host) -> float:
    """Share of a host's switches that the other is plugged into too."""
    switches, others = ({port.switch for nic in host.endpoints for port in nic.attachments} for host in (one, other))
    return len(switches & others) / len(switches) if switches else 0.0


def assign_standbys(vacancies: Sequence[Vacancy], standbys: Sequence[Standby]) -> dict[str, str]:
    """Host that leaves -> the standby that takes its place: as many as fit, at the least cost of all together."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - a fifth of the API's start, which needs it rarely

    table = costs(vacancies, standbys)
    rows, columns = linear_sum_assignment(table)
    return {
        vacancies[r].host.name: standbys[c].host.name for r, c in zip(rows, columns, strict=True) if table[r, c] < UNFIT
    }
