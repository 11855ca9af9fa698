"""Where switches mark packets: queues that more wants to enter than can leave.

Sharing is fluid (`simulate.network.sharing`), so there are no queues to look at. A queue is taken to grow where the
senders, each dividing what its NIC can send among its messages, would fill a cable beyond its capacity at a burst's
middle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from datamodel.telemetry.flows import UDP
from simulate.export.counter_readings import Passing
from simulate.network.fabric import NONE, Fabric
from simulate.run import Run

# Share of packets marked where a cable gets all it could carry once more; what random early detection gives at the
# top of its ramp in the settings that vendors recommend for RoCE is some 20 %.
MOST_MARKED_RATIO = 0.2
# A receiver notifies a sender at most so often (Zhu et al., Congestion Control for Large-Scale RDMA Deployments,
# SIGCOMM 2015, section 3.2).
NOTIFY_EVERY_NS = 50_000
_FULL = 1.02  # a cable that is wanted by no more than that is shared without a queue
HOPS = 3  # queues on a path: of the leaf towards a spine, of the spine, of the leaf towards the receiver


@dataclass(frozen=True, slots=True)
class Capacities:
    """Capacity of each link of a fabric over time.

    Attributes:
        fabric: whose links.
        link, time_ns, bytes_per_ns: (n,) changes from what is nominal, UTC, by link and time.
    """

    fabric: Fabric
    link: Int
    time_ns: Int
    bytes_per_ns: Float

    @classmethod
    def of(cls, fabric: Fabric, runs: list[Run], epoch_ns: int) -> Capacities:
        """Those of some runs on one fabric."""
        parts = [(r.changed, r.changed_ns, r.changed_to) for r in runs]
        link, time, to = (np.concatenate(column) for column in zip(*parts, strict=True))
        happened = ~np.isnan(time)
        link, to = link[happened].astype(np.int64), to[happened]
        moment = np.rint(time[happened]).astype(np.int64) + epoch_ns
        order = np.lexsort([moment, link])
        return cls(fabric, link[order], moment[order], to[order])

    def at(self, link: Int, time_ns: Int) -> Float:
        """(m,) bytes per ns of links at times."""
        nominal = self.fabric.capacity()[link]
        if not len(self.link):
            return nominal
        base, span = int(self.time_ns.min()), int(self.time_ns.max() - self.time_ns.min()) + 2
        places = self.link * span + (self.time_ns - base) + 1
        at = np.searchsorted(places, link * span + np.clip(time_ns - base + 1, 0, span - 1), "right") - 1
        changed = (at >= 0) & (self.link[at] == link)
        return np.where(changed, self.bytes_per_ns[at], nominal)


def marked_ratio(bursts: Frame, capacities: Capacities) -> Float:
    """(n, HOPS) share of a burst's packets that each queue on its path marks; 0 for what is not RoCE."""
    fabric = capacities.fabric
    src, dst = bursts["src"].astype(np.int64), bursts["dst"].astype(np.int64)
    start, end = bursts["start_ns"], np.maximum(bursts["end_ns"], bursts["start_ns"] + 1)
    middle, took = (start + end) // 2, end - start
    plane = bursts["plane"].astype(np.int64)
    path = fabric.path(src, dst, bursts["spine"].astype(np.int64), plane)
    own = fabric.sending(src) + plane * fabric.plane_resources
    at_once = np.maximum(Passing(own, start, end, took).pace(own, middle), 1.0)
    wanted = capacities.at(own, middle) / np.rint(at_once)
    queues = np.stack([path[:, 2], path[:, 3], path[:, 1]], axis=1)
    rows, hops = np.nonzero(queues != NONE)
    link = queues[rows, hops]
    load = Passing(link, start[rows], end[rows], (wanted * took)[rows]).pace(link, middle[rows])
    room = capacities.at(link, middle[rows])
    over = np.where(load > _FULL * room, 1 - room / np.maximum(load, 1e-9), 0.0)
    ratio = np.zeros((len(bursts), HOPS))
    ratio[rows, hops] = np.where(bursts["proto"][rows] == UDP, MOST_MARKED_RATIO * over, 0.0)
    return ratio


def notifications(bursts: Frame, marked: Float, seed: int) -> Int:
    """(n,) congestion notifications that each burst's receiver sends: one for marked packets, no more than it may."""
    random = np.random.default_rng(np.random.SeedSequence((seed, 0xEC4)))
    ratio = 1 - np.prod(1 - marked, axis=1)
    packets = random.binomial(bursts["packets"], ratio)
    most = -(-(bursts["end_ns"] - bursts["start_ns"]) // NOTIFY_EVERY_NS)
    count: Int = np.minimum(packets, most)
    return count
