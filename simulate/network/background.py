"""Traffic of no training job as messages, and the usual kinds of it: copies to storage, remote calls, monitoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.telemetry.flows import ROCE_V2_PORT, TCP, UDP
from simulate.network.fabric import EPHEMERAL_PORT, EPHEMERAL_PORTS
from simulate.network.graph import CHECKPOINT, DATA, MANAGEMENT
from simulate.network.hashing import mixed

STORAGE_PORT, CALL_PORT, METRICS_PORT = 2049, 8443, 9100


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages between endpoints; (n,) each.

    Attributes:
        src, dst: endpoint numbers.
        start_ns: when it is ready to be sent.
        bytes: payload.
        src_port, dst_port: of TCP, or of UDP that carries RoCEv2.
        proto: IP protocol: TCP, or UDP for RoCEv2.
        purpose: index into `simulate.network.graph.PURPOSES`.
    """

    src: Int
    dst: Int
    start_ns: Int
    bytes: Int
    src_port: Int
    dst_port: Int
    proto: Int
    purpose: Int


def none() -> Traffic:
    """No traffic."""
    return Traffic(*(np.zeros(0, np.int64) for _ in fields(Traffic)))


def together(parts: Sequence[Traffic]) -> Traffic:
    """Several kinds of traffic in one."""
    parts = [*parts, none()]
    return Traffic(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Traffic)))


def bulk(
    clients: Int, servers: Int, seconds: float, every_s: float, size: float, random: np.random.Generator
) -> Traffic:
    """Each client moves files to and from a server, about `size` bytes about `every_s` apart."""
    count = random.poisson(seconds / every_s, len(clients))
    client = np.repeat(clients, count)
    server = random.choice(servers, len(client))
    up = random.random(len(client)) < 0.5
    start = (random.random(len(client)) * seconds * 1e9).astype(np.int64)
    volume = np.maximum(random.lognormal(np.log(size), 0.5, len(client)), 1500).astype(np.int64)
    port = EPHEMERAL_PORT + random.integers(0, EPHEMERAL_PORTS, len(client))
    server_port = np.full(len(client), STORAGE_PORT)
    return Traffic(
        np.where(up, client, server),
        np.where(up, server, client),
        start,
        volume,
        np.where(up, port, server_port),
        np.where(up, server_port, port),
        np.full(len(client), TCP),
        np.where(up, CHECKPOINT, DATA),
    )


def calls(callers: Int, seconds: float, every_s: float, random: np.random.Generator) -> Traffic:
    """Remote calls: a short request to a random host and an answer of up to some 100 kB, on connections that last."""
    count = int(random.poisson(seconds / every_s * len(callers)))
    caller, other = random.choice(callers, count), random.choice(callers, count)
    keep = caller != other
    caller, other = caller[keep], other[keep]
    start = (random.random(len(caller)) * seconds * 1e9).astype(np.int64)
    port = EPHEMERAL_PORT + (caller * 31 + other) % EPHEMERAL_PORTS
    service = np.full(len(caller), CALL_PORT)
    kind = np.full(len(caller), TCP), np.full(len(caller), MANAGEMENT)
    request = Traffic(caller, other, start, random.integers(200, 4000, len(caller)), port, service, *kind)
    took = random.integers(200_000, 5_000_000, len(caller))
    answer = Traffic(other, caller, start + took, random.integers(500, 100_000, len(caller)), service, port, *kind)
    return together([request, answer])


def scrapes(collector: int, targets: Int, seconds: float, every_s: float, size: int) -> Traffic:
    """A collector that fetches `size` bytes of metrics from each target at a fixed beat."""
    beats = np.arange(0, seconds, every_s)
    target = np.tile(targets, len(beats))
    start = (np.repeat(beats, len(targets)) * 1e9).astype(np.int64) + target % 997 * 100_000
    port = EPHEMERAL_PORT + target % EPHEMERAL_PORTS
    src_port = np.full(len(target), METRICS_PORT)
    kind = np.full(len(target), TCP), np.full(len(target), MANAGEMENT)
    return Traffic(target, np.full(len(target), collector), start, np.full(len(target), size), src_port, port, *kind)


def remote_writes(src: Int, dst: Int, start_ns: Int | Float, size: Int | Float, purpose: int) -> Traffic:
    """RoCEv2 messages on one queue pair for each pair of endpoints."""
    port = EPHEMERAL_PORT + mixed(src, dst) % EPHEMERAL_PORTS
    return Traffic(
        src,
        dst,
        np.asarray(start_ns).astype(np.int64),
        np.maximum(np.asarray(size), 1).astype(np.int64),
        port,
        np.full(len(src), ROCE_V2_PORT),
        np.full(len(src), UDP),
        np.full(len(src), purpose),
    )


def over_tcp(traffic: Traffic, server_port: int, *, served_by_source: bool) -> Traffic:
    """The same messages on one TCP connection for each pair, with the server's port at one end."""
    port, server = traffic.src_port, np.full(len(traffic.src), server_port)
    ports = (server, port) if served_by_source else (port, server)
    return replace(traffic, src_port=ports[0], dst_port=ports[1], proto=np.full(len(port), TCP))
