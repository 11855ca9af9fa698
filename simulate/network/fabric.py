"""The fabric: hosts, NICs, leaves and spines, the resources that traffic shares, and the path of each connection."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Literal

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from simulate.network.hashing import FiveTuples, HashFamily, hash_tuples, mixed

GBPS = 0.125  # bytes per ns
SPINE_PORT = 1  # a leaf's ports to spines are numbered from here, those to NICs behind them
EPHEMERAL_PORT, EPHEMERAL_PORTS = 49152, 16384
PLANE_ADDRESSES = 64  # the last byte of a NIC's address is so much higher in each further plane
NONE = -1
_BOND_BIT = 6  # of the least byte, as that is all that a folded hash has
# ipv4; ipv6; segments: IPv6, and the destination is a segment of the receiver (SRv6, RFC 8986), never its address.
Addressing = Literal["ipv4", "ipv6", "segments"]
_IPV6_BLOCK = 0xFC000000 << 96  # unique local addresses; segments are as long as the block and two groups of 16 bits


@dataclass(frozen=True, slots=True)
class Fabric:
    """A leaf-spine fabric. Endpoints are NICs, numbered host by host; service NICs come last, one a host of its own.

    Attributes:
        hosts, gpus_per_host, nics_per_host: machines; GPUs share NICs evenly where there are fewer.
        rail_optimised: NIC n of each host of a pod goes to the pod's leaf n; else all NICs of a host to one leaf.
        hosts_per_leaf: hosts of a pod, or of a leaf.
        spines: each leaf has one cable to each.
        nic_gbps, uplink_gbps: rates.
        services: storage and management NICs, on leaves of their own with as many of them as a leaf has hosts.
        service_gbps: their rate.
        latency_ns: from the last byte sent until the receiver acts on it.
        bucket_ns: depth of a token bucket before each NIC, in time at its rate: so much of a message passes at once,
            which holds where messages lie further apart than it takes to refill. 0: none, as with hardware NICs.
        hash_seed: what switches hash five-tuples with.
        hash_family: the function; each leaf has a seed of its own, but for `shared`.
        planes: separate networks, each with leaves, spines, and an address and an equal share of the rate of each NIC.
            Numbers of leaves, spines and links are those of a plane.
        bonded: NICs have one address in all planes; which one a connection takes is its hash's choice, as in a link
            aggregation group of two ports behind two leaves (IEEE 802.1AX).
        sprayed: packets of a queue pair take the planes by turns; without, each queue pair keeps to one.
        addressing: what addresses flow records show.
    """

    hosts: int
    gpus_per_host: int = 8
    nics_per_host: int = 8
    rail_optimised: bool = True
    hosts_per_leaf: int = 32
    spines: int = 8
    nic_gbps: float = 400.0
    uplink_gbps: float = 1600.0
    services: int = 0
    service_gbps: float = 400.0
    latency_ns: float = 8_000.0
    bucket_ns: float = 0.0
    hash_seed: int = 0
    hash_family: HashFamily = "shared"
    planes: int = 1
    bonded: bool = False
    sprayed: bool = False
    addressing: Addressing = "ipv4"

    @property
    def gpus(self) -> int:
        """GPUs of all hosts."""
        return self.hosts * self.gpus_per_host

    @property
    def nics(self) -> int:
        """NICs of training hosts."""
        return self.hosts * self.nics_per_host

    @property
    def endpoints(self) -> int:
        """All NICs, services included."""
        return self.nics + self.services

    @property
    def pods(self) -> int:
        """Groups of hosts that share leaves."""
        return -(-self.hosts // self.hosts_per_leaf)

    @property
    def training_leaves(self) -> int:
        """Leaves with training hosts."""
        return self.pods * (self.nics_per_host if self.rail_optimised else 1)

    @property
    def leaves(self) -> int:
        """All leaves."""
        return self.training_leaves + -(-self.services // self.hosts_per_leaf)

    @property
    def plane_resources(self) -> int:
        """Links of one plane: each NIC's two directions, then each leaf's to and from each spine."""
        return 2 * self.endpoints + 2 * self.leaves * self.spines

    @property
    def resources(self) -> int:
        """Links of all planes, one plane after the other."""
        return self.planes * self.plane_resources

    def nic_of_gpu(self, gpu: Int) -> Int:
        """NIC that serves each GPU, GPUs numbered host by host."""
        host, place = np.divmod(gpu, self.gpus_per_host)
        nic: Int = host * self.nics_per_host + place * self.nics_per_host // self.gpus_per_host
        return nic

    def host_of_nic(self, nic: Int) -> Int:
        """Host of each NIC; a service is a host of its own."""
        return np.where(nic < self.nics, nic // self.nics_per_host, self.hosts + nic - self.nics)

    def leaf_of_nic(self, nic: Int) -> Int:
        """Leaf that each NIC is plugged into."""
        host, rail = np.divmod(nic, self.nics_per_host)
        pod = host // self.hosts_per_leaf
        training = pod * self.nics_per_host + rail if self.rail_optimised else pod
        return np.where(nic < self.nics, training, self.training_leaves + (nic - self.nics) // self.hosts_per_leaf)

    def leaf_port(self, nic: Int) -> Int:
        """Interface index of each NIC's port on its leaf."""
        host, rail = np.divmod(nic, self.nics_per_host)
        seat = host % self.hosts_per_leaf
        place = np.where(nic < self.nics, seat if self.rail_optimised else seat * self.nics_per_host + rail, 0)
        place = np.where(nic < self.nics, place, (nic - self.nics) % self.hosts_per_leaf)
        return SPINE_PORT + self.spines + place

    def sending(self, nic: Int) -> Int:
        """Resource of each NIC's sending direction, in the first plane."""
        return nic

    def receiving(self, nic: Int) -> Int:
        """Resource of each NIC's receiving direction, in the first plane."""
        return self.endpoints + nic

    def uplink(self, leaf: Int, spine: Int) -> Int:
        """Resource from a leaf to a spine, in the first plane."""
        return 2 * self.endpoints + leaf * self.spines + spine

    def downlink(self, leaf: Int, spine: Int) -> Int:
        """Resource from a spine to a leaf, in the first plane."""
        return 2 * self.endpoints + (self.leaves + leaf) * self.spines + spine

    def capacity(self) -> Float:
        """(resources,) bytes per ns."""
        nic = np.full(self.endpoints, self.nic_gbps * GBPS)
        nic[self.nics :] = self.service_gbps * GBPS
        plane = np.concatenate([nic, nic, np.full(2 * self.leaves * self.spines, self.uplink_gbps * GBPS)])
        return np.tile(plane / self.planes, self.planes)

    def spine(self, src: Int, dst: Int, src_port: Int) -> Int:
        """Spine that a connection's hash picks; destination port and protocol are always the same."""
        if self.hash_family == "shared":
            return mixed(src, dst, src_port, np.full_like(src, self.hash_seed)) % self.spines
        tuples = FiveTuples(self.address_number(src), self.address_number(dst), src_port)
        seed = self.hash_seed * self.leaves + self.leaf_of_nic(src)
        return hash_tuples(self.hash_family, tuples, seed) % self.spines

    def path(self, src: Int, dst: Int, spine: Int, plane: Int | int = 0) -> Int:
        """(n, 4) resources from NIC to NIC, NONE where fewer: inside a host none, inside a leaf two."""
        leaf, other = self.leaf_of_nic(src), self.leaf_of_nic(dst)
        inside = self.host_of_nic(src) == self.host_of_nic(dst)
        across = (leaf != other) & ~inside
        columns = [
            np.where(inside, NONE, self.sending(src)),
            np.where(inside, NONE, self.receiving(dst)),
            np.where(across, self.uplink(leaf, spine), NONE),
            np.where(across, self.downlink(other, spine), NONE),
        ]
        links = np.stack(columns, axis=1)
        return np.where(links == NONE, NONE, links + np.reshape(plane, (-1, 1)) * self.plane_resources)

    def plane_of(self, connection: Int, lane: Int) -> Int:
        """Plane of each queue pair, or of each part of a message that is sprayed; bonded NICs choose themselves."""
        turn = np.zeros_like(connection) if self.sprayed else mixed(connection)
        return (turn + lane) % self.planes

    def bonded_plane(self, src: Int, dst: Int, src_port: Int) -> Int:
        """Plane that each bonded NIC's hash picks: by other bits than those that leaves choose spines by."""
        if self.hash_family == "shared":
            return mixed(src, dst, src_port, np.full_like(src, self.hash_seed + 1)) % self.planes
        tuples = FiveTuples(self.address_number(src), self.address_number(dst), src_port)
        seed = np.full_like(src, self.hash_seed * self.leaves + self.leaves)
        return (hash_tuples(self.hash_family, tuples, seed) >> _BOND_BIT) % self.planes

    def address_code(self, nic: Int, plane: Int) -> Int:
        """Place among `addresses` of each NIC's address in a plane."""
        return nic if self.bonded else nic + plane * self.endpoints

    def address(self, nic: int, plane: int = 0) -> str:
        """Address of a NIC in a plane."""
        plane = 0 if self.bonded else plane
        if self.addressing != "ipv4":
            return str(IPv6Address(self._segment(nic, plane) | 1))
        if nic >= self.nics:
            service = nic - self.nics
            return f"10.{200 + plane}.{service // 250}.{service % 250 + 1}"
        host, rail = divmod(nic, self.nics_per_host)
        return f"10.{host // 250}.{host % 250}.{rail + 1 + PLANE_ADDRESSES * plane}"

    def _segment(self, nic: int, plane: int) -> int:
        """The prefix of 64 bits that is a NIC's alone: the block, its plane and its number."""
        return _IPV6_BLOCK | (plane + 1) << 80 | (nic + 1) << 64

    def destinations(self) -> tuple[str, ...]:
        """What packets to all endpoints are addressed to, in the order of `addresses`."""
        if self.addressing != "segments":
            return self.addresses()
        each = ((nic, plane) for plane in range(self._address_planes) for nic in range(self.endpoints))
        return tuple(str(IPv6Address(self._segment(nic, plane))) for nic, plane in each)

    def address_number(self, nic: Int) -> Int:
        """IPv4 addresses of NICs in the first plane, as numbers, whatever the records show."""
        host, rail = np.divmod(nic, self.nics_per_host)
        service = nic - self.nics
        own = (host // 250 << 16) + (host % 250 << 8) + rail + 1
        return (10 << 24) + np.where(service >= 0, (200 << 16) + (service // 250 << 8) + service % 250 + 1, own)

    def addresses(self) -> tuple[str, ...]:
        """Addresses of all endpoints, by number, plane after plane."""
        return tuple(self.address(n, plane) for plane in range(self._address_planes) for n in range(self.endpoints))

    @property
    def _address_planes(self) -> int:
        return 1 if self.bonded else self.planes

    def host_name(self, host: int) -> str:
        """Name of a host."""
        return f"h{host}" if host < self.hosts else f"service{host - self.hosts}"

    def leaf_name(self, leaf: int, plane: int = 0) -> str:
        """Name of a leaf: its number, or pod and rail; and its plane, but for the first."""
        where = f"-plane{plane}" if plane else ""
        if leaf >= self.training_leaves:
            return f"leaf-service{leaf - self.training_leaves}{where}"
        if not self.rail_optimised:
            return f"leaf{leaf}{where}"
        return f"leaf{leaf // self.nics_per_host}-rail{leaf % self.nics_per_host}{where}"

    def switch_name(self, switch: int, plane: int = 0) -> str:
        """Name of a switch: leaves by number, then spines."""
        if switch < self.leaves:
            return self.leaf_name(switch, plane)
        return f"spine{switch - self.leaves}" + (f"-plane{plane}" if plane else "")

    def agent(self, switch: int, plane: int = 0) -> str:
        """IPv4 address that a switch exports from."""
        net, place = (255, switch) if switch < self.leaves else (254, switch - self.leaves)
        return f"10.{net - 2 * plane}.{place // 250}.{place % 250 + 1}"


def source_port(connection: Int, queue_pair: Int) -> Int:
    """UDP source port of a queue pair, constant for its life."""
    return EPHEMERAL_PORT + mixed(connection, queue_pair) % EPHEMERAL_PORTS
