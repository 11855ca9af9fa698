"""Bursts: what the fabric carried, message by message, before any telemetry looked at it.

This is the joint between the simulation and all telemetry: everything a mirror, a meter or a sampling switch can know
is in these rows, their addresses and the fabric.
"""

from __future__ import annotations

import numpy as np

from datamodel.frame import Column, Frame, Schema
from datamodel.reconstructed.streams import Float, Int
from datamodel.telemetry.flows import ROCE_V2_PORT, TCP, UDP
from simulate.network.graph import NO_INDEX, ROLLOUT, TRANSFER
from simulate.network.hashing import mixed
from simulate.run import Instance, Run
from simulate.training.job import queue_pair_numbers

MTU_BYTES = 4096  # payload of a RoCE packet
SEGMENT_BYTES = 8948  # payload of a TCP packet in a jumbo frame
PSNS = 1 << 24
ROLLOUT_PORT = 10_002  # of Ray's object manager, as it is usually set
MESSAGE_BYTES = 1 << 20  # largest RDMA write of what is no job's
UNHEARD_BYTES = 1 << 18  # what a sender puts on its link before it waits for a first acknowledgement

BURSTS = Schema(
    "bursts",
    (
        Column("job", "i4", "", "index of the job in the scenario; -1 none"),
        Column("iteration", "i4", "", "counted through the job's attempts; -1 none"),
        Column("purpose", "i1", "code", "what it serves, an index into simulate.network.graph.PURPOSES"),
        Column("src", "i4", "code", "endpoint that sends, a number of the fabric"),
        Column("dst", "i4", "code", "endpoint that receives"),
        Column("src_address", "i4", "code", "address that it leaves from, an index into the fabric's addresses"),
        Column("dst_address", "i4", "code", "address that it goes to"),
        Column("rank", "i4", "", "rank that sends, where another's NIC carries it; -1 none"),
        Column("proto", "u1", "", "IP protocol: UDP for RoCEv2, TCP for other traffic"),
        Column("src_port", "u2", "", "transport source port, constant for a queue pair"),
        Column("dst_port", "u2", "", "transport destination port"),
        Column("plane", "i1", "", "network that carries it"),
        Column("turns", "i1", "", "planes that the packets of its message take by turns; 1 for one that keeps to one"),
        Column("spine", "i2", "", "spine that its packets cross; -1 inside a leaf"),
        Column("src_qp", "i8", "", "sender's queue pair, which no data packet names; -1 not RoCE"),
        Column("dst_qp", "i8", "", "receiver's queue pair, as in the BTH; -1 not RoCE"),
        Column("psn_first", "i8", "", "packet sequence number of the first packet, modulo 2^24; -1 not RoCE"),
        Column("psn_last", "i8", "", "of the last packet"),
        Column("ready_ns", "i8", "ns", "the receiver's clear-to-send is there: it has posted its buffer"),
        Column("start_ns", "i8", "ns", "first byte leaves the sender, UTC"),
        Column("end_ns", "i8", "ns", "last byte leaves the sender"),
        Column("paused_ns", "i8", "ns", "nothing could be sent from here; 0 never"),
        Column("resumed_ns", "i8", "ns", "until here; 0 never"),
        Column("delivered_ns", "i8", "ns", "the receiver had the last byte; 0 never"),
        Column("bytes", "i8", "B", "payload, each byte once"),
        Column("packets", "i8", "", "packets that carry it, each once"),
        Column("message_bytes", "i8", "B", "length in each RETH but the last, which has the rest; 0 not RoCE"),
        Column("messages", "i8", "", "RDMA writes it consists of; 0 not RoCE"),
        Column("retransmitted_packets", "i8", "", "packets sent again"),
    ),
)


class Sequences:
    """Packet sequence numbers of queue pairs, carried from one part of a simulation to the next."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}

    def first(self, queue_pair: Int, packets: Int) -> Int:
        """(n,) number of each burst's first packet; bursts of a queue pair in the order they were sent."""
        order = np.argsort(queue_pair, kind="stable")
        pairs, begin = np.unique(queue_pair[order], return_index=True)
        sent = np.concatenate([[0], np.cumsum(packets[order])])
        base = np.array([self._next.get(int(p), int(p) * 7919 % PSNS) for p in pairs], np.int64)
        ends = np.append(begin[1:], len(order))
        repeat = np.repeat(np.arange(len(pairs)), ends - begin)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = base[repeat] + sent[:-1] - sent[begin][repeat]
        totals = (base + sent[ends] - sent[begin]) % PSNS
        self._next.update(zip(pairs.tolist(), totals.tolist(), strict=True))
        return numbers % PSNS


def bursts(run: Run, epoch_ns: int, sequences: Sequences, seed: int) -> Frame:
    """What left every NIC for another host, in order of time.

    What had not begun when the run stopped, or the job, is left out. Where its receiver had posted a buffer for it
    there is a row without a packet: the clear-to-send left, and nothing came. A NIC that is dead says nothing, no
    clear-to-send either; its senders put some bytes on their links and receive no answer.

    Args:
        run: the simulation.
        epoch_ns: UTC of its time 0.
        sequences: packet sequence numbers so far; carried on.
        seed: of what packets are lost.
    """
    parts = [_of_instance(run, instance) for instance in run.instances] + [_of_traffic(run)]
    columns = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    begun = ~np.isnan(columns["start"])
    _silence(run, columns)
    moved = begun & (columns["bytes"] > 0)
    for name in ("start", "end"):
        columns[name] = np.where(moved, columns[name], columns["ready"])
    keep = moved | ~np.isnan(columns["ready"])
    columns = {name: values[keep] for name, values in columns.items()}
    order = np.lexsort([columns["dst"], columns["src"], columns["connection"], np.round(columns["start"])])
    columns = {name: values[order] for name, values in columns.items()}
    return _frame(run, columns, epoch_ns, sequences, np.random.default_rng(seed))


def _timed(run: Run, rows: slice, chosen: Int) -> dict[str, Float]:
    """Times of the chosen ones of some operations, and what they moved."""
    t = run.timing
    start, end = t.start_ns[rows][chosen], t.end_ns[rows][chosen]
    paused, resumed = t.paused_ns[rows][chosen], t.resumed_ns[rows][chosen]
    unfinished = np.isnan(end)
    stopped = np.where(np.isnan(paused) | (resumed > paused), run.until_ns, paused)  # what stands still has ended
    end = np.where(unfinished & ~np.isnan(start), stopped, end)
    moved = np.where(unfinished, np.floor(t.moved[rows][chosen]), np.rint(run.work[rows][chosen]))
    again = ~np.isnan(resumed) & (resumed > paused) & (paused > start) & (resumed < end)
    return {
        "start": start,
        "end": end,
        "bytes": moved.astype(np.int64),
        "work": run.work[rows][chosen],
        "paused": np.where(again, paused, np.nan),
        "resumed": np.where(again, resumed, np.nan),
    }


def _of_instance(run: Run, instance: Instance) -> dict[str, np.ndarray]:
    """Transfers of one iteration that cross a NIC."""
    seat, job = instance.seat, run.jobs[instance.job]
    g = seat.graph
    chosen = np.flatnonzero((g.kind == TRANSFER) & (seat.path[:, 0] != NO_INDEX))
    count = len(chosen)
    roce = g.purpose[chosen] != ROLLOUT  # answers of models go through the hosts' memory
    salt = instance.job * 64 + seat.since[chosen]
    return {
        **_timed(run, instance.rows, chosen),
        "ready": _posted(run, instance, chosen),
        "job": np.full(count, instance.job),
        "iteration": np.full(count, instance.iteration),
        "purpose": g.purpose[chosen],
        "src": seat.src[chosen],
        "dst": seat.dst[chosen],
        "rank": np.where(g.src[chosen] < job.plan.world, g.src[chosen], NO_INDEX),
        "connection": seat.connection[chosen],
        "src_port": seat.port[chosen],
        "dst_port": np.where(roce, ROCE_V2_PORT, ROLLOUT_PORT),
        "plane": seat.plane[chosen],
        "turns": np.full(count, run.fabric.planes if run.fabric.sprayed else 1),
        "message": seat.message[chosen] + instance.first,
        "spine": np.where(seat.path[chosen, 2] == NO_INDEX, NO_INDEX, seat.spine[chosen]),
        "proto": np.where(roce, UDP, TCP),
        "dst_qp": np.where(roce, queue_pair_numbers(seat.connection[chosen], salt), NO_INDEX),
        "src_qp": np.where(roce, queue_pair_numbers(seat.connection[chosen], salt + (1 << 20)), NO_INDEX),
        "message_bytes": np.where(roce, job.message_bytes, 0),
    }


def _posted(run: Run, instance: Instance, chosen: Int) -> Float:
    """When the receivers of some transfers had posted their buffers; nan where they never did."""
    posted = instance.seat.graph.posted[chosen]
    start, end = run.timing.start_ns[instance.rows], run.timing.end_ns[instance.rows]
    return np.where(posted == NO_INDEX, start[chosen], end[posted])


def _silence(run: Run, columns: dict[str, np.ndarray]) -> None:
    """Take out what dead NICs would have said, and put in what others say to them in vain."""
    since = np.full(run.fabric.resources, np.inf)
    dead = run.changed_to == 0
    since[run.changed[dead]] = np.where(np.isnan(run.changed_ns[dead]), np.inf, run.changed_ns[dead])
    src, dst = columns["src"], columns["dst"]
    columns["ready"] = np.where(columns["ready"] < since[run.fabric.sending(dst)], columns["ready"], np.nan)
    start = np.where(np.isnan(columns["ready"]), np.nan, columns["start"])
    vain = (start >= since[run.fabric.receiving(dst)]) & (start < since[run.fabric.sending(src)])
    columns["bytes"] = np.where(vain, np.minimum(columns["work"], UNHEARD_BYTES), columns["bytes"]).astype(np.int64)
    columns["end"] = np.where(vain, start + columns["bytes"] / run.fabric.capacity()[src], columns["end"])
    columns["answered"] = ~vain


def _of_traffic(run: Run) -> dict[str, np.ndarray]:
    """Messages of no job."""
    t = run.traffic
    count = len(t.src)
    rows = slice(run.traffic_first, run.traffic_first + count)
    absent, roce = np.full(count, NO_INDEX), t.proto == UDP
    queue_pair = mixed(t.src, t.dst, t.src_port)
    spine = run.fabric.spine(t.src, t.dst, t.src_port)
    crosses = run.fabric.path(t.src, t.dst, spine)[:, 2] != NO_INDEX
    return {
        **_timed(run, rows, np.arange(count)),
        "ready": run.timing.start_ns[rows],
        "job": absent,
        "iteration": absent,
        "purpose": t.purpose,
        "src": t.src,
        "dst": t.dst,
        "rank": absent,
        "connection": t.src_port * 65536 + t.dst_port,
        "src_port": t.src_port,
        "dst_port": t.dst_port,
        "plane": np.zeros(count, np.int64),
        "turns": np.ones(count, np.int64),
        "message": run.traffic_first + np.arange(count),
        "spine": np.where(crosses, spine, NO_INDEX),
        "proto": t.proto,
        "dst_qp": np.where(roce, queue_pair_numbers(queue_pair, absent), NO_INDEX),
        "src_qp": np.where(roce, queue_pair_numbers(queue_pair, absent + (1 << 20)), NO_INDEX),
        "message_bytes": np.where(roce, MESSAGE_BYTES, 0),
    }


def _frame(
    run: Run, c: dict[str, np.ndarray], epoch_ns: int, sequences: Sequences, random: np.random.Generator
) -> Frame:
    def utc(name: str, absent: int = 0) -> Int:
        values = c[name]
        return np.where(np.isnan(values), absent, np.rint(np.nan_to_num(values)).astype(np.int64) + epoch_ns)

    roce = c["proto"] == UDP
    messages = -(-c["bytes"] // np.maximum(c["message_bytes"], 1))
    rest = c["bytes"] - (messages - 1) * c["message_bytes"]
    whole = (messages - 1) * -(-c["message_bytes"] // MTU_BYTES)
    packets = np.where(roce, whole - (-rest // MTU_BYTES), -(-c["bytes"] // SEGMENT_BYTES))
    again = random.binomial(packets, _lost_ratio(run, c))
    first = np.full(len(packets), NO_INDEX)
    first[roce] = _numbered({name: values[roce] for name, values in c.items()}, packets[roce], sequences)
    start, end = utc("start"), utc("end")
    return Frame(
        BURSTS,
        {
            **{
                name: c[name]
                for name in ("job", "iteration", "purpose", "src", "dst", "rank", "proto", "src_port", "dst_port")
            },
            **{name: c[name] for name in ("plane", "turns", "spine", "src_qp", "dst_qp", "bytes")},
            "src_address": run.fabric.address_code(c["src"], c["plane"]),
            "dst_address": run.fabric.address_code(c["dst"], c["plane"]),
            "psn_first": first,
            "psn_last": np.where(roce, (first + (packets - 1) * c["turns"]) % PSNS, NO_INDEX),
            "ready_ns": utc("ready"),
            "start_ns": start,
            "end_ns": end,
            "paused_ns": utc("paused"),
            "resumed_ns": utc("resumed"),
            "delivered_ns": np.where(c["answered"], end + int(run.fabric.latency_ns), 0),
            "packets": packets,
            "message_bytes": np.where(roce, np.minimum(c["message_bytes"], c["bytes"]), 0),
            "messages": np.where(roce, messages, 0),
            "retransmitted_packets": again,
        },
    )


def _numbered(c: dict[str, np.ndarray], packets: Int, sequences: Sequences) -> Int:
    """(n,) sequence number of each row's first packet; planes that take turns carry every so manieth of a message."""
    pair = c["job"] * (1 << 24) + c["dst_qp"]
    if (c["turns"] == 1).all():
        return sequences.first(pair, packets)
    _, head, of = np.unique(np.stack([pair, c["message"]]), axis=1, return_index=True, return_inverse=True)
    order, total = np.argsort(head), np.bincount(of, packets).astype(np.int64)
    first = np.empty(len(head), np.int64)
    first[order] = sequences.first(pair[head[order]], total[order])
    return (first[of] + np.where(c["turns"] > 1, c["plane"], 0)) % PSNS


def _lost_ratio(run: Run, c: dict[str, np.ndarray]) -> Float:
    """(n,) share of a burst's packets that its path loses while a lossy cable is on it."""
    ratio = np.zeros(len(c["start"]))
    leaf, other = run.fabric.leaf_of_nic(c["src"]), run.fabric.leaf_of_nic(c["dst"])
    for fault, begin, end in zip(run.faults, run.fault_ns, run.fault_end_ns, strict=True):
        if fault.loss_ratio and not np.isnan(begin):
            up = (leaf == fault.leaf) if fault.direction in {"tx", "both"} else np.zeros(len(ratio), np.bool_)
            down = (other == fault.leaf) if fault.direction in {"rx", "both"} else np.zeros(len(ratio), np.bool_)
            lossy = (up | down) & (c["spine"] == fault.spine) & (c["end"] > begin)
            lossy &= np.isnan(end) | (c["start"] < end)
            ratio[lossy] = fault.loss_ratio
    return ratio
