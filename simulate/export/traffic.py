"""What passed a fabric, as all of its feeds see it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from simulate.export.congestion import Capacities, marked_ratio, notifications
from simulate.export.trains import trains
from simulate.network.fabric import Fabric
from simulate.run import Run


@dataclass(frozen=True, slots=True)
class FabricTraffic:
    """What passed the fabric.

    Attributes:
        fabric: it.
        bursts, trains: rows of `BURSTS` and of `TRAINS`.
        marked: (bursts, HOPS) share of packets that each queue marks.
        addresses: IPv4 address of each endpoint as a number.
    """

    fabric: Fabric
    bursts: Frame
    trains: Frame
    marked: Float
    addresses: Int


def traffic(
    fabric: Fabric, bursts: Frame, runs: list[Run], epoch_ns: int, seed: int, *, answers: bool
) -> FabricTraffic:
    """What passed a fabric, as all of its feeds see it.

    Args:
        fabric: it.
        bursts: of all runs.
        runs: the simulation, part by part.
        epoch_ns: UTC of its time 0.
        seed: of what provokes notifications.
        answers: with what flows back.
    """
    marked = marked_ratio(bursts, Capacities.of(fabric, runs, epoch_ns))
    made = trains(bursts, notifications(bursts, marked, seed), answers=answers)
    addresses = np.array([int(IPv4Address(a)) for a in fabric.addresses()])
    return FabricTraffic(fabric, bursts, made, marked, addresses)
