"""What strategy needs to know of where endpoints sit: host, GPU index and GPUs behind each address code."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.cluster.inventory import Inventory


@dataclass(frozen=True, slots=True)
class Seat:
    """Where an endpoint sits.

    Attributes:
        host: machine.
        rail: rail, or else the first GPU's index; None unknown.
        gpus: how many GPUs use the NIC; None unknown.
    """

    host: str
    rail: int | None
    gpus: int | None


def seats(inventory: Inventory | None, addresses: tuple[str, ...]) -> dict[int, Seat]:
    """Address code -> seat, for the endpoints the inventory knows."""
    if inventory is None:
        return {}
    known = {}
    for host in inventory.hosts:
        for endpoint in host.endpoints:
            gpu = (endpoint.gpu,) if isinstance(endpoint.gpu, int) else endpoint.gpu
            rail = endpoint.rail if endpoint.rail is not None else (gpu[0] if gpu else None)
            seat = Seat(host.name, rail, len(gpu) if gpu else None)
            known.update(dict.fromkeys(endpoint.all_addresses, seat))
    return {code: known[a] for code, a in enumerate(addresses) if a in known}
