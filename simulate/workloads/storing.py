"""What reads and writes storage: checkpoints, data sets, and parameter servers of recommendation models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from simulate.network.background import Traffic, over_tcp, remote_writes, together
from simulate.network.fabric import Fabric
from simulate.network.graph import CHECKPOINT, DATA

Kind = Literal["checkpoints", "reads", "parameters"]
NS = 1e9


@dataclass(frozen=True, slots=True)
class Storing:
    """Hosts that move data to and from the fabric's services.

    Attributes:
        kind: checkpoints: all hosts write at a beat, and read back once; reads: files at random times; parameters:
            each host pulls rows of a table, works and pushes them back, at a pace of its own.
        hosts: of the fabric.
        seconds: how long it is watched.
        every_s: mean time between two checkpoints, files of a NIC, or steps of a host.
        size_bytes: of a NIC's part of a checkpoint, a file, or the rows of a step.
        tcp_port: of the servers; None for RDMA.
    """

    kind: Kind
    hosts: tuple[int, ...]
    seconds: float
    every_s: float
    size_bytes: float
    tcp_port: int | None = None

    def traffic(self, fabric: Fabric, random: np.random.Generator) -> Traffic:
        """Its messages, drawn."""
        nics = (np.array(self.hosts)[:, None] * fabric.nics_per_host + np.arange(fabric.nics_per_host)).ravel()
        servers = fabric.nics + np.arange(fabric.services)
        if self.kind == "checkpoints":
            return self._checkpoints(nics, servers, random)
        if self.kind == "reads":
            return self._reads(nics, servers, random)
        return self._parameters(nics, servers, random)

    def _moved(self, clients: Int, servers: Int, start: Float, size: Float, *, written: bool) -> Traffic:
        """Messages to the servers (`written`) or from them."""
        ends = (clients, servers) if written else (servers, clients)
        made = remote_writes(*ends, start * NS, size, CHECKPOINT if written else DATA)
        return made if self.tcp_port is None else over_tcp(made, self.tcp_port, served_by_source=not written)

    def _checkpoints(self, nics: Int, servers: Int, random: np.random.Generator) -> Traffic:
        beats = np.arange(float(random.uniform(0.2, 1)) * self.every_s, self.seconds, self.every_s)
        parts = [self._read_back(nics, servers, random)]
        for beat in beats.tolist():
            start = beat + random.exponential(0.05, len(nics))
            size = self.size_bytes * random.normal(1.0, 0.01, len(nics))
            to = servers[(np.arange(len(nics)) + int(random.integers(len(servers)))) % len(servers)]
            parts.append(self._moved(nics, to, start, size, written=True))
        return together(parts)

    def _read_back(self, nics: Int, servers: Int, random: np.random.Generator) -> Traffic:
        """The first thing that a client does: it loads the last checkpoint."""
        size = np.full(len(nics), self.size_bytes)
        start = random.exponential(0.05, len(nics))
        return self._moved(nics, servers[np.arange(len(nics)) % len(servers)], start, size, written=False)

    def _reads(self, nics: Int, servers: Int, random: np.random.Generator) -> Traffic:
        count = random.poisson(self.seconds / self.every_s, len(nics))
        client = np.repeat(nics, count)
        start = random.random(len(client)) * self.seconds
        size = np.maximum(random.lognormal(np.log(self.size_bytes), 0.6, len(client)), 4096)
        return self._moved(client, random.choice(servers, len(client)), start, size, written=False)

    def _parameters(self, nics: Int, servers: Int, random: np.random.Generator) -> Traffic:
        parts = []
        for nic in nics.tolist():
            pace = self.every_s * float(random.uniform(0.6, 1.6))
            gaps = pace * random.lognormal(0.0, 0.25, int(2 * self.seconds / pace) + 2)
            start = np.cumsum(gaps)
            start = start[start < self.seconds]
            shape = (len(start), len(servers))
            size = self.size_bytes / len(servers) * random.lognormal(0.0, 0.3, shape)
            ends = np.full(size.size, nic), np.broadcast_to(servers, shape).ravel()
            pulled, pushed = np.repeat(start, len(servers)), np.repeat(start + 0.5 * pace, len(servers))
            parts += [self._moved(*ends, pulled, size.ravel(), written=False)]
            parts += [self._moved(*ends, pushed, size.ravel(), written=True)]
        return together(parts)
