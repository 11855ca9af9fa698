"""Profiles -> endpoints of the inventory, by host and GPU; where two profiles claim one GPU, neither has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from datamodel.inventory import Inventory
from datamodel.profiles import Profile


@dataclass(frozen=True, slots=True)
class ProfilePlace:
    """Where a profile was recorded: the inventory's host, the GPU's index, and its endpoint's address."""

    host: str
    gpu: int
    endpoint: str


def places_of(profiles: Sequence[Profile], inventory: Inventory) -> list[ProfilePlace | None]:
    """The place of each profile; None where the inventory does not say it, or several profiles claim it.

    A process that sees only its own GPU counts it as the first. So do the others of its host, and none has a place.
    """
    hosts = {host.name: host for host in inventory.hosts}
    short = Counter(name.partition(".")[0] for name in hosts)
    by_short = {name.partition(".")[0]: host for name, host in hosts.items() if short[name.partition(".")[0]] == 1}
    found: list[ProfilePlace | None] = []
    for profile in profiles:
        named = profile.host or ""
        host = hosts.get(named) or by_short.get(named.partition(".")[0])
        nics = [] if host is None else [nic for nic in host.endpoints if profile.gpu in _gpus(nic.gpu)]
        one = host is not None and profile.gpu is not None and len(nics) == 1
        found.append(ProfilePlace(host.name, profile.gpu, nics[0].all_addresses[0]) if one else None)  # type: ignore[union-attr, arg-type]
    claimed = Counter((place.host, place.gpu) for place in found if place is not None)
    return [place if place is not None and claimed[place.host, place.gpu] == 1 else None for place in found]


def _gpus(gpu: int | tuple[int, ...] | None) -> tuple[int, ...]:
    return (gpu,) if isinstance(gpu, int) else gpu or ()
