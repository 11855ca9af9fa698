"""Packets of a small training job, sampled 1 in N: what a switch would tell of it, with the true ends of iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from datamodel.telemetry.flows import FLOWS, TCP, UDP, Flows

PACKET_BYTES = 4096
MS = 1_000_000
NAMES = tuple(f"10.0.0.{n}" for n in range(1, 33))


@dataclass(frozen=True, slots=True)
class Message:
    """What one connection sends in every iteration: at which share of it, for how long, how many packets."""

    src: int
    dst: int
    at: float
    lasts: float
    packets: int


def ring(members: list[int], at: float = 0.8, lasts: float = 0.15, packets: int = 20_000) -> list[Message]:
    """A gradient ring: everybody to the next one, at once."""
    return [Message(a, b, at, lasts, packets) for a, b in zip(members, members[1:] + members[:1], strict=True)]


def iteration_ends(count: int, period_ms: float, jitter: float, seed: int) -> Int:
    """Ends of iterations whose lengths scatter by `jitter`."""
    lengths = period_ms * MS * (1 + jitter * np.random.default_rng(seed).standard_normal(count))
    return (1_700_000_000 * 10**9 + np.cumsum(lengths)).astype(np.int64)


def sampled(
    messages: list[Message], ends: Int, rate: int, seed: int, *, tcp: bool = False, queue_pair: int = 7
) -> Flows:
    """The samples of a job's packets: each is taken with a chance of 1 in `rate`, and bears the switch's own stamp."""
    chance = np.random.default_rng(seed)
    begins = np.concatenate([[ends[0] - np.median(np.diff(ends))], ends[:-1]])
    rows: list[dict[str, Int]] = []
    pairs = sorted({(m.src, m.dst) for m in messages})
    for number, (src, dst) in enumerate(pairs):
        own = [m for m in messages if (m.src, m.dst) == (src, dst)]
        times = np.concatenate([_packets(m, begin, end) for begin, end in zip(begins, ends, strict=True) for m in own])
        taken = chance.random(len(times)) < 1 / rate
        first = int(chance.integers(1 << 32))  # anywhere: numbers wrap
        index = np.flatnonzero(taken)
        rows.append(
            _rows(src, dst, times[taken], first + index * (PACKET_BYTES if tcp else 1), rate, queue_pair + number, tcp)
        )
    columns = {name: np.concatenate([r[name] for r in rows]) for name in rows[0]}
    order = np.argsort(columns["time_flow_start_ns"], kind="stable")
    return Flows(Frame(FLOWS, {name: values[order] for name, values in columns.items()}), NAMES)


def _packets(message: Message, begin: float, end: float) -> Float:
    start = begin + message.at * (end - begin)
    return np.asarray(start + np.linspace(0, message.lasts * (end - begin), message.packets), np.float64)


def _rows(src: int, dst: int, times: Float, number: Int, rate: int, queue_pair: int, tcp: bool) -> dict[str, Int]:
    def every(value: int) -> Int:
        return np.full(len(times), value, np.int64)

    stamp = times.astype(np.int64)
    return {
        "time_received_ns": stamp,
        "time_flow_start_ns": stamp,
        "time_flow_end_ns": stamp,
        "src_addr": every(src),
        "dst_addr": every(dst),
        "src_port": every(50000),
        "dst_port": every(4791),
        "proto": every(TCP if tcp else UDP),
        "bytes": every(PACKET_BYTES),
        "packets": every(1),
        "sampling_rate": every(rate),
        "dst_qp": every(-1 if tcp else queue_pair),
        "psn_first": every(-1) if tcp else number % (1 << 24),
        "tcp_seq_first": number % (1 << 32) if tcp else every(-1),
    }
