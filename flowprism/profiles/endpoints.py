"""Profiles -> endpoints: of the inventory by host and GPU, or of timelines by when their collectives begin and end.

Where two profiles claim one GPU, neither has it; where the two ways name different endpoints, the profile has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass

from datamodel.cluster.inventory import Host, Inventory
from datamodel.reconstructed.timeline import Timelines
from datamodel.telemetry.profiles import Profile
from diagnose.profiles.placement import ProfilePlacement, place_profiles


@dataclass(frozen=True, slots=True)
class ProfilePlace:
    """Where a profile was recorded: the inventory's host and the GPU's index, as far as known, and the endpoint."""

    host: str | None
    gpu: int | None
    endpoint: str

    @property
    def text(self) -> str:
        """For people."""
        if self.host is None:
            return self.endpoint
        return f"{self.endpoint} of {self.host}" if self.gpu is None else f"GPU {self.gpu} of {self.host}"


def places_of(profiles: Sequence[Profile], inventory: Inventory) -> list[ProfilePlace | None]:
    """The place of each profile; None where the inventory does not say it, or several profiles claim it.

    A process that sees only its own GPU counts it as the first. So do the others of its host, and none has a place.
    """
    hosts = _hosts(profiles, inventory)
    found: list[ProfilePlace | None] = []
    for profile, host in zip(profiles, hosts, strict=True):
        nics = [] if host is None else [nic for nic in host.endpoints if profile.gpu in _gpus(nic.gpu)]
        one = host is not None and profile.gpu is not None and len(nics) == 1
        found.append(ProfilePlace(host.name, profile.gpu, nics[0].all_addresses[0]) if one else None)  # type: ignore[union-attr]
    claimed = Counter((place.host, place.gpu) for place in found if place is not None)
    return [place if place is not None and claimed[place.host, place.gpu] == 1 else None for place in found]


@dataclass(frozen=True, slots=True)
class PlacedProfiles:
    """Where profiles were recorded.

    Attributes:
        places: of each; None unknown.
        by_collectives: what timelines say of each; None: nothing.
        problems: what timelines leave open, one line each.
    """

    places: tuple[ProfilePlace | None, ...]
    by_collectives: tuple[ProfilePlacement | None, ...]
    problems: tuple[str, ...]


def place_all(profiles: Sequence[Profile], inventory: Inventory, timelines: Timelines | None) -> PlacedProfiles:
    """Places by host and GPU, and by timelines where there are some."""
    places = places_of(profiles, inventory)
    if timelines is None:
        return PlacedProfiles(tuple(places), (None,) * len(profiles), ())
    hosts = _hosts(profiles, inventory)
    fits = place_profiles(profiles, timelines, [_addresses(host) for host in hosts])
    certain = {_place_at(fit.endpoint, inventory).endpoint for fit in fits if fit is not None and fit.endpoint}
    problems = []
    for n, (profile, fit) in enumerate(zip(profiles, fits, strict=True)):
        problem, places[n] = _agreed(places[n], fit, inventory, certain)
        if problem:
            problems.append(f"{profile.name}: {problem}")
    return PlacedProfiles(tuple(places), tuple(fits), tuple(problems))


def _addresses(host: Host | None) -> frozenset[str] | None:
    return None if host is None else frozenset(at for nic in host.endpoints for at in nic.all_addresses)


def _agreed(
    place: ProfilePlace | None, fit: ProfilePlacement | None, inventory: Inventory, certain: Container[str]
) -> tuple[str, ProfilePlace | None]:
    """What is left open, and the place that both ways give; `certain`: endpoints that collectives give some profile."""
    if fit is not None and fit.endpoint is not None:
        found = _place_at(fit.endpoint, inventory)
        if place is not None and place.endpoint != found.endpoint:
            return f"its GPU's index gives {place.text}, its collectives give {found.text}", None
        return "", place or found
    if place is not None and place.endpoint in certain:
        return f"its GPU's index gives {place.text}, where another profile's collectives are", None
    if place is not None:
        return "", place
    if fit is None:
        return "its collectives fit no endpoint of the timelines", None
    return f"its collectives fit {' or '.join(fit.fitting)}, and none alone", None


def _place_at(address: str, inventory: Inventory) -> ProfilePlace:
    for host in inventory.hosts:
        for nic in host.endpoints:
            if address in nic.all_addresses:
                gpu = nic.gpu if isinstance(nic.gpu, int) else None
                return ProfilePlace(host.name, gpu, nic.all_addresses[0])
    return ProfilePlace(None, None, address)


def _hosts(profiles: Sequence[Profile], inventory: Inventory) -> list[Host | None]:
    """The inventory's host of each profile, by its name with or without the domain."""
    hosts = {host.name: host for host in inventory.hosts}
    short = Counter(name.partition(".")[0] for name in hosts)
    by_short = {name.partition(".")[0]: host for name, host in hosts.items() if short[name.partition(".")[0]] == 1}
    return [hosts.get(one.host or "") or by_short.get((one.host or "").partition(".")[0]) for one in profiles]


def _gpus(gpu: int | tuple[int, ...] | None) -> tuple[int, ...]:
    return (gpu,) if isinstance(gpu, int) else gpu or ()
